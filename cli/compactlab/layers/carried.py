"""What a session carries besides its messages, as the transcript shows it, and what comes back after a compaction.

Read files, invoked skills, the plan, running agents, listings of tools, agents and MCP servers. Restored
content is reconstructed: a file as it was last read, the rest as it was last attached.
"""

from __future__ import annotations

from collections.abc import Mapping

from compactlab.config.schema import Full
from compactlab.ingest.text import utf16
from compactlab.model.transcript import Block, Message
from compactlab.tokens.session import Session

#: Attachments that list what is there; a full compaction announces them anew.
LISTINGS = ("deferred_tools_delta", "agent_listing_delta", "mcp_instructions_delta")

PLAN = "plan_file_reference"
SKILLS = "invoked_skills"
AGENTS = "task_status"
FILE = "file"


class Carried:
    """State by the newest mention: path, skill or agent -> message id; `plan` its id and estimate (tokens)."""

    def __init__(self) -> None:
        self.reads: dict[str, int] = {}
        self.skills: dict[str, int] = {}
        self.agents: dict[str, int] = {}
        self.listings: dict[str, list[int]] = {}
        self.plan: tuple[int, int] | None = None
        self._skill = ""

    def compacted(self) -> None:
        """The read-file state is void; skills, plan, agents and listings are still there."""
        self.reads = {}

    def feed(self, session: Session, fresh: list[int]) -> None:
        """Take in the messages since the last call."""
        for item in fresh:
            message = session.messages[item]
            if message.role == "assistant":
                for block in message.blocks:
                    if block.kind == "tool_use" and block.name == "ExitPlanMode":
                        self._plan(session, item, block)
            elif message.kind == "result":
                for block in message.blocks:
                    self._result(session, item, block)
            elif message.kind == "meta" and self._skill:
                # The skill's text follows the result of the call that invoked it.
                self.skills.pop(self._skill, None)
                self.skills[self._skill] = item
                self._skill = ""
            elif message.role == "attachment":
                self._attachment(session, item, message)

    def _plan(self, session: Session, item: int, block: Block) -> None:
        value = block.raw.get("input")
        plan = value.get("plan") if isinstance(value, Mapping) else None
        if isinstance(plan, str) and plan:
            self.plan = (item, session.table.text_estimate(utf16(plan)))

    def _result(self, session: Session, item: int, block: Block) -> None:
        name = session.tool_names.get(block.tool_id)
        given = session.tool_inputs.get(block.tool_id, {})
        if name == "Read":
            path = given.get("file_path")
            if isinstance(path, str) and block.chars and not is_memory(path):
                self.reads.pop(path, None)
                self.reads[path] = item
        elif name == "Skill":
            skill = given.get("skill") or given.get("command")
            self._skill = skill if isinstance(skill, str) else ""

    def _attachment(self, session: Session, item: int, message: Message) -> None:
        if message.kind in LISTINGS:
            self.listings.setdefault(message.kind, []).append(item)
        elif message.kind == PLAN:
            self.plan = (item, session.estimate[item])
        elif message.kind == AGENTS:
            agent = str(message.meta.get("taskId", ""))
            if message.meta.get("status") == "running":
                self.agents[agent] = item
            else:
                self.agents.pop(agent, None)


def is_memory(path: str) -> bool:
    """Plans and memory files come back by other ways than as read files."""
    parts = path.replace("\\", "/").split("/")
    return parts[-1] in ("CLAUDE.md", "CLAUDE.local.md", "summary.md") or "plans" in parts[:-1]


def restore_plan(session: Session, carried: Carried, now: str, kept: frozenset[int]) -> tuple[int, ...]:
    """The plan as a new attachment, unless it is kept verbatim."""
    if carried.plan is None or carried.plan[0] in kept:
        return ()
    return (session.make("attachment", PLAN, "the plan (reconstructed)", now, carried.plan[1]),)


def restore_all(session: Session, carried: Carried, now: str, settings: Full) -> tuple[int, ...]:
    """All that a full compaction attaches: files and skills within their caps, plan, agents, listings. New ids."""
    made = _capped(session, now, FILE, list(carried.reads.items())[-settings.max_files :] if settings.max_files else [],
                   settings.file_tokens, settings.files_budget)  # fmt: skip
    made += _capped(
        session, now, SKILLS, list(carried.skills.items()), settings.skill_tokens, settings.skills_budget
    )
    made += restore_plan(session, carried, now, frozenset())
    for agent, item in carried.agents.items():
        made.append(session.make("attachment", AGENTS, f"agent {agent}", now, session.estimate[item]))
    for kind, items in carried.listings.items():
        size = sum(session.estimate[item] for item in items)
        made.append(session.make("attachment", kind, "listing (reconstructed)", now, size))
    return tuple(made)


def _capped(
    session: Session, now: str, kind: str, newest_last: list[tuple[str, int]], cap: int, budget: int
) -> list[int]:
    """Newest first, each cut to its cap, until the budget (tokens) is spent."""
    made = []
    for name, item in reversed(newest_last):
        size = min(session.estimate[item], cap, budget)
        if size <= 0:
            continue
        budget -= size
        made.append(session.make("attachment", kind, f"{name} (reconstructed)", now, size))
    return made
