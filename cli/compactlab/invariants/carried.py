"""CL501 to CL507: what was there before a compaction is there after it, and within its caps."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.config.schema import Config
from compactlab.invariants.invariant import Broken
from compactlab.model.plan import Compact
from compactlab.tokens.session import Session

#: How a Read result begins that only says that the file is as it was.
UNCHANGED = "File unchanged since last read"

_ATTACHED = {"CL503": "invoked_skills", "CL504": "task_status"}


def check_carried(session: Session, plan: Compact, before: Sequence[int], config: Config) -> list[Broken]:
    """All of them for one applied compaction; `before` are the ids that it worked on."""
    kept = frozenset(plan.kept)
    found = _instruction(session, plan, before, kept)
    found += _plan(session, plan, before, kept)
    found += _attachments(session, plan, before, kept)
    found += _tools(session, plan, before)
    found += _caps(session, plan, config)
    found += _stubs(session, plan)
    return found


def _instruction(
    session: Session, plan: Compact, before: Sequence[int], kept: frozenset[int]
) -> list[Broken]:
    """CL501: the user's last words are kept, or the summary quotes how they begin."""
    prompt = next((item for item in reversed(before) if session.messages[item].kind == "prompt"), None)
    if prompt is None or prompt in kept or not plan.head:
        return []
    summary = session.messages[plan.head[-1]]
    text = summary.blocks[0].raw.get("text", "") if summary.blocks else ""
    words = _first_words(session, prompt)
    if not words or text.startswith("[summary") or words in text:
        return []
    return [Broken("CL501", "prompt", prompt, "the user's last message is neither kept nor in the summary")]


def _first_words(session: Session, item: int) -> str:
    for block in session.messages[item].blocks:
        text = block.raw.get("text")
        if isinstance(text, str) and text.strip():
            return " ".join(text[:200].split())[:40]
    return ""


def _plan(session: Session, plan: Compact, before: Sequence[int], kept: frozenset[int]) -> list[Broken]:
    """CL502: a plan that was made or attached is kept or attached again."""
    for item in reversed(before):
        message = session.messages[item]
        made = message.kind == "plan_file_reference" or any(
            block.kind == "tool_use" and block.name == "ExitPlanMode" for block in message.blocks
        )
        if made:
            if item in kept or _has(session, plan, "plan_file_reference"):
                return []
            return [Broken("CL502", "plan", item, "the plan is neither kept nor attached")]
    return []


def _has(session: Session, plan: Compact, kind: str) -> bool:
    return any(session.messages[item].kind == kind for item in plan.tail)


def _attachments(
    session: Session, plan: Compact, before: Sequence[int], kept: frozenset[int]
) -> list[Broken]:
    """CL503 and CL504: invoked skills and running agents."""
    seen: dict[str, int] = {}
    for item in before:
        message = session.messages[item]
        if message.kind == "task_status":
            seen["CL504"] = item if message.meta.get("status", "running") == "running" else -1
        elif message.kind == "invoked_skills" or any(
            block.kind == "tool_use" and block.name == "Skill" for block in message.blocks
        ):
            seen["CL503"] = item
    words = {"CL503": "skills that were invoked", "CL504": "running agents"}
    return [
        Broken(code, code, item, f"{words[code]} are neither kept nor attached")
        for code, item in sorted(seen.items())
        if item >= 0 and item not in kept and not _has(session, plan, _ATTACHED[code])
    ]


def _tools(session: Session, plan: Compact, before: Sequence[int]) -> list[Broken]:
    """CL505: tools that tool search discovered are named on the boundary."""
    for item in before:
        for block in session.messages[item].blocks:
            content = block.raw.get("content") if block.kind == "tool_result" else None
            for part in content if isinstance(content, list) else ():
                name = part.get("tool_name") if isinstance(part, dict) else None
                if isinstance(name, str) and name not in plan.cut.discovered_tools:
                    return [Broken("CL505", name, item, f"the discovered tool {name} is not on the boundary")]
    return []


def _caps(session: Session, plan: Compact, config: Config) -> list[Broken]:
    """CL506: restored files and skills within their caps, by the estimate in tokens."""
    settings = config.auto.full
    limits = {
        "file": (settings.max_files, settings.file_tokens, settings.files_budget),
        "invoked_skills": (len(plan.tail), settings.skill_tokens, settings.skills_budget),
    }
    found = []
    for kind, (most, each, budget) in limits.items():
        items = [item for item in plan.tail if session.messages[item].kind == kind]
        sizes = [session.estimate[item] for item in items]
        if sizes and (len(sizes) > most or max(sizes) > each or sum(sizes) > budget):
            text = f"{len(sizes)} restored ({kind}) of {sum(sizes)} tokens in all"
            found.append(Broken("CL506", kind, items[0], text))
    return found


def _stubs(session: Session, plan: Compact) -> list[Broken]:
    """CL507: a kept "unchanged since last read" whose full reading is not kept before it."""
    read: set[str] = set()
    found = []
    for item in plan.kept:
        for block in session.messages[item].blocks:
            if block.kind != "tool_result" or session.tool_names.get(block.tool_id) != "Read":
                continue
            path = str(session.tool_inputs[block.tool_id].get("file_path", ""))
            content = block.raw.get("content")
            if not (isinstance(content, str) and content.startswith(UNCHANGED)):
                read.add(path)
            elif path not in read:
                found.append(
                    Broken("CL507", block.tool_id, item, "the file's text is gone that this result refers to")
                )
    return found
