"""What a session holds: tokens by role, tool and kind of block, calls, recorded compactions, faults."""

from __future__ import annotations

from collections import Counter
from typing import Any

from compactlab.config.load import Settings
from compactlab.engine.checks import baseline, recording_faults
from compactlab.engine.tables import names_of
from compactlab.errors import UsageError
from compactlab.model.results import TableResult
from compactlab.model.transcript import Transcript
from compactlab.tokens.limits import find_window
from compactlab.tokens.session import Session
from compactlab.tokens.table import token_table

#: Types of record that recordings are known to hold; any other is named, never an error.
KNOWN_TYPES = frozenset(
    {
        "user", "assistant", "system", "attachment", "progress", "summary", "file-history-snapshot",
        "queue-operation", "mode", "permission-mode", "last-prompt", "ai-title", "custom-title", "pr-link",
        "bridge-session", "agent-name", "tag",
    }
)  # fmt: skip

#: Rows shown of a ranking; the JSON holds all of them.
SHOWN = 12


class Inspection:
    """One session's contents. `segment`: only what stands between two recorded boundaries (−1: after the last)."""

    def __init__(self, transcript: Transcript, settings: Settings, segment: int | None) -> None:
        config = settings.for_version(transcript.versions[-1] if transcript.versions else None)
        self.transcript = transcript
        self.session = Session(transcript, token_table(transcript, config))
        self.window = find_window(transcript, config)
        self.start, self.end = segment_range(transcript, segment)

    def document(self) -> dict[str, Any]:
        """The JSON of the session; tokens by the run's counter."""
        transcript, session = self.transcript, self.session
        products = {i for b in transcript.boundaries for i in b.products}
        history = [i for i in range(session.recorded) if i not in products]
        faults = recording_faults(session, baseline(session, history))
        calls = [call for call in transcript.calls if self.start <= call.first < self.end]
        return {
            "source": transcript.source,
            "digest": transcript.digest,
            "session_id": transcript.session_id,
            "sidechain": transcript.sidechain,
            "versions": list(transcript.versions),
            "models": list(transcript.models),
            "window": self.window.tokens,
            "window_inferred": self.window.inferred,
            "counter": session.table.counter,
            "overhead_tokens": session.table.overhead,
            "lost_tokens": session.table.lost,
            "records": transcript.records,
            "record_types": dict(transcript.types),
            "messages": self.end - self.start,
            "message_range": [self.start, self.end],
            "calls": len(calls),
            "peak_context": max((call.usage.context for call in calls), default=0),
            "abandoned_messages": transcript.abandoned,
            "abandoned_branches": list(transcript.branches),
            "tokens": self._tokens(),
            "largest_results": self._largest(),
            "compactions": [self._compaction(i) for i in range(len(transcript.boundaries))],
            "micro_compactions": [
                {
                    "line": transcript.messages[m.index].line,
                    "trigger": m.trigger,
                    "pre_tokens": m.pre_tokens,
                    "tokens_saved": m.tokens_saved,
                    "results": len(m.tool_ids),
                }
                for m in transcript.micro_boundaries
            ],
            "malformed": [{"line": bad.line, "reason": bad.reason} for bad in transcript.malformed],
            "faults": [fault.to_dict() for fault in faults],
        }

    def _tokens(self) -> dict[str, Any]:
        roles: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        tools: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        session = self.session
        for item in range(self.start, self.end):
            message = session.messages[item]
            total = session.tokens[item]
            roles[message.role] += total
            for index, block in enumerate(message.blocks):
                tokens = total if len(message.blocks) == 1 else session.table.of_block(message, index, total)
                kinds[block.kind] += tokens
                if block.kind in ("tool_use", "tool_result"):
                    name = session.tool_names.get(block.tool_id) or block.name or "(unknown tool)"
                    tools[name] += tokens
                    counts[name] += block.kind == "tool_use"
        return {
            "total": sum(roles.values()),
            "by_role": _ranked(roles),
            "by_block": _ranked(kinds),
            "by_tool": {name: {"tokens": n, "calls": counts[name]} for name, n in _ranked(tools).items()},
        }

    def _largest(self) -> list[dict[str, Any]]:
        session = self.session
        found = []
        for item in range(self.start, self.end):
            message = session.messages[item]
            if message.kind != "result":
                continue
            for index, block in enumerate(message.blocks):
                if block.kind == "tool_result":
                    tokens = session.table.of_block(message, index, session.tokens[item])
                    name = session.tool_names.get(block.tool_id, "(unknown tool)")
                    target = _target(session.tool_inputs.get(block.tool_id, {}))
                    found.append((-tokens, message.line, name, target, block.chars))
        found.sort()
        return [
            {"line": line, "tool": name, "target": target, "tokens": -tokens, "chars": chars}
            for tokens, line, name, target, chars in found[:SHOWN]
        ]

    def _compaction(self, index: int) -> dict[str, Any]:
        transcript = self.transcript
        boundary = transcript.boundaries[index]
        following = next((call for call in transcript.calls if call.first > boundary.index), None)
        return {
            "line": transcript.messages[boundary.index].line,
            "index": boundary.index,
            "trigger": boundary.trigger,
            "pre_tokens": boundary.pre_tokens,
            "next_context": following.usage.context if following else None,
            "summary_tokens": self.session.tokens[boundary.summary] if boundary.summary >= 0 else None,
            "preserved": len(boundary.preserved),
            "tail_missing": boundary.tail_missing or None,
        }


def segment_range(transcript: Transcript, segment: int | None) -> tuple[int, int]:
    """Message indices of a segment: 0 is before the first recorded boundary, −1 after the last; None is everything.

    Raises UsageError for a segment that the session does not have.
    """
    if segment is None:
        return 0, len(transcript.messages)
    cuts = [0, *[boundary.index for boundary in transcript.boundaries], len(transcript.messages)]
    count = len(cuts) - 1
    if not -count <= segment < count:
        raise UsageError(
            f"{transcript.source}: no segment {segment}; it has {count} (0 to {count - 1}, or -1 for the last)"
        )
    number = segment % count
    return cuts[number], cuts[number + 1]


def cut(text: str, width: int) -> str:
    """At most `width` characters, with an ellipsis where some are left out."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _ranked(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))


def _target(value: Any) -> str:
    """What a tool was pointed at, for a person to recognise the call."""
    for key in ("file_path", "path", "pattern", "command", "url", "query"):
        text = value.get(key)
        if isinstance(text, str):
            return text[:200]
    return ""


def inspection_table(found: list[Inspection]) -> TableResult:
    """`compactlab inspect`: one group of tables a session."""
    documents = sorted((one.document() for one in found), key=lambda d: (d["source"], d["digest"]))
    names = names_of(document["source"] for document in documents)
    tables: list[Any] = []
    lines: list[str] = []
    if len(documents) > 1:
        tables.append(_overview(documents, names))
    if len(documents) <= 3:
        for document in documents:
            tables += _session_tables(document, names[document["source"]])
            lines += _session_lines(document)
    else:
        lines.append("Give one file for its tokens by role, tool and block.")
    return TableResult({"schema": "compactlab.inspect/1", "sessions": documents}, tuple(tables), tuple(lines))


def _overview(documents: list[dict[str, Any]], names: dict[str, str]) -> Any:
    columns = ("session", "calls", "messages", "tokens", "peak", "compactions", "faults", "malformed")
    rows = tuple(
        (
            names[d["source"]],
            d["calls"],
            d["messages"],
            d["tokens"]["total"],
            d["peak_context"],
            len(d["compactions"]),
            len(d["faults"]),
            len(d["malformed"]),
        )
        for d in documents
    )
    return ("Sessions", columns, rows)


def _session_tables(d: dict[str, Any], name: str) -> list[Any]:
    total = d["tokens"]["total"] or 1
    facts = (
        ("session id", d["session_id"]),
        ("versions", ", ".join(d["versions"])),
        ("models", ", ".join(d["models"])),
        ("window", f"{d['window']:,}" + (" (inferred)" if d["window_inferred"] else "")),
        ("counter", d["counter"]),
        ("overhead tokens", d["overhead_tokens"]),
        ("records", d["records"]),
        ("messages", d["messages"]),
        ("calls", d["calls"]),
        ("peak context", d["peak_context"]),
    )
    tables: list[Any] = [(f"{name}", ("what", "value"), facts)]
    for title, key in (("Tokens by role", "by_role"), ("Tokens by block", "by_block")):
        rows = tuple((label, n, f"{100 * n / total:.1f} %") for label, n in d["tokens"][key].items() if n)
        tables.append((title, (title.rsplit(" ", 1)[-1], "tokens", "share"), rows))
    tools = tuple(
        (label, row["calls"], row["tokens"], f"{100 * row['tokens'] / total:.1f} %")
        for label, row in list(d["tokens"]["by_tool"].items())[:SHOWN]
    )
    tables.append(("Tokens by tool", ("tool", "calls", "tokens", "share"), tools))
    largest = tuple(
        (r["line"], r["tool"], r["tokens"], cut(r["target"], 40)) for r in d["largest_results"][:5]
    )
    tables.append(("Largest results", ("line", "tool", "tokens", "target"), largest))
    compactions = tuple(
        (
            c["line"],
            c["trigger"],
            c["pre_tokens"],
            c["next_context"],
            c["preserved"],
            c["tail_missing"] or "whole",
        )
        for c in d["compactions"]
    )
    columns = ("line", "trigger", "before", "next call", "kept", "tail")
    tables.append(("Recorded compactions", columns, compactions))
    faults = Counter((fault["code"], cut(fault["message"].split(" (")[0], 44)) for fault in d["faults"])
    rows = tuple((code, n, text) for (code, text), n in sorted(faults.items())[:SHOWN])
    tables.append(("Faults of the recording", ("code", "places", "what"), rows))
    return [table for table in tables if table[2]]


def _session_lines(d: dict[str, Any]) -> list[str]:
    lines = [f"{d['source']}:{bad['line']}: {bad['reason']}" for bad in d["malformed"][:5]]
    unknown = {name: n for name, n in d["record_types"].items() if name not in KNOWN_TYPES}
    if unknown:
        names = ", ".join(f"{name} ({n})" for name, n in unknown.items())
        lines.append(f"Record types of no known kind, left out: {names}")
    if d["abandoned_messages"]:
        lines.append(
            f"{d['abandoned_messages']} messages on abandoned branches are left out "
            f"(from line {d['abandoned_branches'][0]})."
        )
    if d["lost_tokens"]:
        lines.append(
            f"{d['source']}: the session began before this file: {d['lost_tokens']:,} tokens are not in it."
        )
    return lines
