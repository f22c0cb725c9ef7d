"""The page of a ReplayResult: a summary over sessions, the details of a few, and what to look at next.

Only words and order are decided here; the layout is that of `table` and `markdown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compactlab.layers.session_memory import REASONS
from compactlab.model.results import BoundaryResult, LayerResult, ReplayResult, SessionReplay, Violation
from compactlab.render.advice import next_steps
from compactlab.render.document import Section
from compactlab.render.text import compact, percent, plural, thousands

#: With more sessions than this only the summary is shown.
DETAILED = 3
#: Rows of one table; the JSON has them all.
ROWS = 20
#: Faults of the recording that are quoted.
QUOTED = 3

_SEVERITIES = {"error": 0, "warning": 1, "info": 2}


#: Why session memory was not used, by the key that the layer reports; anything else is shown as it is.
def replay_sections(result: ReplayResult) -> list[Section]:
    """The whole page."""
    sessions = result.sessions
    if not sessions:
        return [Section("Replay", 1, lead=("No session was replayed.",))]
    page: list[Section] = []
    if len(sessions) > 1:
        page += [_summary(result), *_parts(sessions)] if len(sessions) > DETAILED else [_summary(result)]
    if len(sessions) <= DETAILED:
        for session in sessions:
            page += _session(session)
    page.append(Section("What to look at next", 2, steps=next_steps(result)))
    return page


def _summary(result: ReplayResult) -> Section:
    columns = ("source", "calls", "raw", "sent", "saved", "compactions", "violations")
    folder = _folder([session.source for session in result.sessions])
    rows = tuple(
        (
            session.source[len(folder) :],
            session.calls,
            compact(_total(session, "raw_tokens")),
            compact(_total(session, "sent_tokens")),
            percent(_total(session, "saved_tokens"), _total(session, "raw_tokens")),
            len(session.boundaries),
            len(session.violations),
        )
        for session in result.sessions
    )
    lines = [_totals_line(result)]
    if len(result.sessions) > DETAILED:
        lines.append(f"Details are shown for up to {DETAILED} sessions; `--format json` has all of them.")
    title = f"Replay of {plural(len(result.sessions), 'session')}"
    lead = (f"Sources in {folder}",) if folder else ()
    return Section(title, 1, lead=lead, columns=columns, rows=rows, lines=tuple(lines))


def _folder(sources: Sequence[str]) -> str:
    """The folder that all sources share, with its slash; empty where there is none."""
    first, last = min(sources), max(sources)
    same = next(
        (at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first)
    )
    return first[: first[:same].rfind("/") + 1]


def _totals_line(result: ReplayResult) -> str:
    def over_all(name: str) -> Any:
        known = result.totals.get(name)
        return sum(_total(s, name) for s in result.sessions) if known is None else known

    raw, sent, saved = (over_all(name) for name in ("raw_tokens", "sent_tokens", "saved_tokens"))
    calls = sum(session.calls for session in result.sessions)
    words = f"In all: {plural(calls, 'call')}; raw {thousands(raw)}, sent {thousands(sent)} tokens; "
    return words + f"saved {thousands(saved)} ({percent(saved, raw)})"


def _session(session: SessionReplay) -> list[Section]:
    head = Section(session.source, 1, lead=_head(session), lines=session.notes)
    return [head, _totals(session), *_parts((session,)), *_malformed(session)]


def _parts(sessions: Sequence[SessionReplay]) -> list[Section]:
    """Layers, boundaries and violations of one session; of several, boundaries are left to the summary."""
    parts = [_layers(sessions)]
    if len(sessions) == 1:
        parts.append(_boundaries(sessions[0]))
    return [*parts, *_violations(sessions)]


def _head(session: SessionReplay) -> tuple[str, ...]:
    kind = "sidechain" if session.sidechain else "session"
    inferred = " (inferred)" if session.window_inferred else ""
    models = ", ".join(session.models) or "-"
    return (
        f"{kind} {session.session_id[:8] or '-'}; version {_span(session.versions)}; model {models}",
        f"profile {session.profile}; window {thousands(session.window)}{inferred}; "
        f"counter {session.counter}; overhead {thousands(session.overhead_tokens)}",
        f"{plural(session.calls, 'call')}, {plural(session.messages, 'message')}, "
        f"{plural(session.records, 'record')}",
    )


def _span(versions: Sequence[str]) -> str:
    if len(versions) > 3:
        return f"{versions[0]} to {versions[-1]} ({len(versions)})"
    return ", ".join(versions) or "-"


def _totals(session: SessionReplay) -> Section:
    totals = session.totals
    rows = [
        _compared("tokens, all calls", totals.get("raw_tokens"), totals.get("sent_tokens")),
        _compared("peak of a call", totals.get("peak_raw"), totals.get("peak_sent")),
    ]
    raw_cost, cost = totals.get("cost_raw_usd"), totals.get("cost_usd")
    if raw_cost is not None and cost is not None:
        rows.append(_compared("cost, USD", float(raw_cost), float(cost)))
    return Section("Totals", 2, columns=("", "raw", "sent", "saved", "share"), rows=tuple(rows))


def _compared(name: str, raw: float | None, sent: float | None) -> tuple[Any, ...]:
    if raw is None or sent is None:
        return (name, raw, sent, None, None)
    if isinstance(raw, float):
        return (name, f"{raw:,.2f}", f"{sent:,.2f}", f"{raw - sent:,.2f}", percent(raw - sent, raw))
    return (name, raw, sent, raw - sent, percent(raw - sent, raw))


def _layers(sessions: Sequence[SessionReplay]) -> Section:
    raw = sum(_total(session, "raw_tokens") for session in sessions)
    by_name: dict[str, list[LayerResult]] = {}
    for session in sessions:
        for layer in session.layers:
            by_name.setdefault(layer.layer, []).append(layer)
    rows = []
    for name, parts in by_name.items():
        saved = sum(part.tokens_saved for part in parts)
        fired = sum(part.fired for part in parts)
        rows.append((name, fired, saved, percent(saved, raw), _main_reason(part.reasons for part in parts)))
    return Section("Layers", 2, columns=("layer", "fired", "saved", "share", "why not"), rows=tuple(rows))


def _main_reason(parts: Iterable[Mapping[str, int]]) -> str:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part)
    if not counts:
        return "-"
    reason, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"{reason} ({thousands(count)}×)"


def _boundaries(session: SessionReplay) -> Section:
    boundaries = session.boundaries
    if not boundaries:
        return Section("Compactions", 2, lead=("None.",))
    columns = ("call", "path", "trigger", "before", "after", "kept", "kept tokens", "start")
    rows = tuple(_boundary(boundary) for boundary in boundaries[:ROWS])
    lines = ["before, after: the whole request in tokens, overhead included", *_fallbacks(boundaries)]
    if any(boundary.wanted_index != boundary.start_index for boundary in boundaries):
        lines.append("start: where the cut was wanted → where the invariants let it be")
    if len(boundaries) > ROWS:
        lines.append(f"{thousands(len(boundaries) - ROWS)} more; `--format json` has all of them.")
    return Section("Compactions", 2, columns=columns, rows=rows, lines=tuple(lines))


def _boundary(boundary: BoundaryResult) -> tuple[Any, ...]:
    path = boundary.path.replace("_", " ")
    return (
        boundary.call,
        path if path and boundary.layer in ("auto", path) else f"{boundary.layer} {path}".strip(),
        boundary.trigger,
        boundary.pre_tokens,
        boundary.request_tokens or boundary.post_tokens,
        boundary.kept_messages,
        boundary.kept_tokens,
        _moved(boundary.wanted_index, boundary.start_index),
    )


def _moved(wanted: int | None, start: int | None) -> str:
    if start is None:
        return "-"
    return str(start) if wanted is None or wanted == start else f"{wanted} → {start}"


def _fallbacks(boundaries: Sequence[BoundaryResult]) -> list[str]:
    """Why another path was taken than session memory, each reason once with its calls."""
    calls: dict[str, list[int]] = {}
    for boundary in boundaries:
        if boundary.fallback_reason:
            calls.setdefault(boundary.fallback_reason, []).append(boundary.call)
    lines = []
    for reason, at in calls.items():
        places = ", ".join(str(call) for call in at[:6]) + (", …" if len(at) > 6 else "")
        words = REASONS.get(reason, reason.replace("_", " "))
        lines.append(f"call{'s' if len(at) > 1 else ''} {places} fell back: {words}")
    return lines


def _violations(sessions: Sequence[SessionReplay]) -> list[Section]:
    groups: dict[tuple[int, str, str, str], list[tuple[SessionReplay, Violation]]] = {}
    for session in sessions:
        for found in session.violations:
            key = (_SEVERITIES.get(found.severity, 3), found.code, found.severity, found.layer)
            groups.setdefault(key, []).append((session, found))
    if not groups:
        return [Section("Violations", 2, lead=("None.",))]
    rows = []
    for (_, code, severity, layer), members in sorted(groups.items(), key=lambda item: item[0]):
        session, first = members[0]
        place = f"line:{first.line}" if first.line else f"call:{first.call}"
        if len(sessions) > 1:
            place = f"{session.source}:{first.line}" if first.line else f"{session.source} {place}"
        rows.append((code, severity, layer, len(members), place, first.message))
    columns = ("code", "severity", "layer", "count", "first at", "first message")
    return [Section("Violations", 2, columns=columns, rows=tuple(rows))]


def _malformed(session: SessionReplay) -> list[Section]:
    if not session.malformed:
        return []
    lines = [
        f"{session.source}:{item.get('line')}: {item.get('reason')}" for item in session.malformed[:QUOTED]
    ]
    if len(session.malformed) > QUOTED:
        lines.append(f"{thousands(len(session.malformed) - QUOTED)} more; `--format json` has all of them.")
    title = f"Malformed lines: {thousands(len(session.malformed))}"
    return [Section(title, 2, lines=tuple(lines))]


def _total(session: SessionReplay, name: str) -> int:
    return int(session.totals.get(name) or 0)
