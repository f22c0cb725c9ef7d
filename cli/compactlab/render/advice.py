"""What to look at next: one to four suggestions, computed from a replay's result.

Each is a reason and, where there is one, a command that can be pasted into a shell.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compactlab.model.results import ReplayResult, SessionReplay
from compactlab.render.document import Step
from compactlab.render.text import percent, plural, safe, thousands

MOST = 4

_RECORDED = re.compile(r"\brecorded (compaction|boundar)", re.IGNORECASE)


def next_steps(result: ReplayResult) -> tuple[Step, ...]:
    """The suggestions, the most pressing first."""
    rules: tuple[Callable[[ReplayResult], Iterator[Step]], ...] = (
        _broken,
        _compacted,
        _recorded,
        _quiet,
        _malformed,
        _budget,
    )
    steps = [step for rule in rules for step in rule(result)]
    if not steps:
        steps = [
            Step("Nothing stands out; see what fills the context.", _command("inspect", result.sessions[0]))
        ]
    return tuple(steps[:MOST])


def _broken(result: ReplayResult) -> Iterator[Step]:
    """Violations of a layer: the most frequent code of the worst severity."""
    found = [
        v for session in result.sessions for v in session.violations if v.severity in ("error", "warning")
    ]
    if not found:
        return
    errors = [violation for violation in found if violation.severity == "error"]
    counts = Counter(violation.code for violation in errors or found)
    code, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    words = plural(count, "error" if errors else "warning")
    yield Step(
        f"{words} of {code}: the rule, the API's own error and a remedy.",
        f"compactlab explain {shlex.quote(code)}",
    )


def _compacted(result: ReplayResult) -> Iterator[Step]:
    """Session memory served: what would a full summary have done in its place?"""
    for session in result.sessions:
        count = sum(boundary.path == "session_memory" for boundary in session.boundaries)
        if count:
            text = f"{plural(count, 'compaction')} by session memory; the same with full summaries:"
            option = "--set auto.session_memory.force_disable=true"
            yield Step(text, f"{_command('replay', session)} {option}")
            return


def _recorded(result: ReplayResult) -> Iterator[Step]:
    """The recording holds compactions of its own: they can be predicted and compared."""
    for session in result.sessions:
        if session.totals.get("recorded_boundaries") or any(_RECORDED.search(note) for note in session.notes):
            text = "The recording holds compactions of its own: how well are they predicted?"
            yield Step(text, _command("validate", session))
            return


def _quiet(result: ReplayResult) -> Iterator[Step]:
    """No compaction anywhere: how near the fullest session came to the threshold."""
    if not result.sessions or any(session.boundaries for session in result.sessions):
        return
    session = max(result.sessions, key=_peak)
    peak, threshold = _peak(session), _threshold(session, result.config)
    if not _on(result.config, "auto"):
        text = "Auto-compact is switched off; see what it would do."
        yield Step(text, f"{_command('replay', session)} --set auto.enabled=true")
    elif peak and threshold:
        near = f"the peak, {thousands(peak)} tokens, is {percent(peak, threshold)} of the threshold of about "
        if peak >= threshold:
            yield Step(
                f"No compaction, although {near}{thousands(threshold)}: see `why not` of the layer auto."
            )
            return
        window = (session.window - threshold + peak * 4 // 5) // 1000 * 1000
        text = f"No compaction: {near}{thousands(threshold)}. A smaller window shows one."
        yield Step(text, f"{_command('replay', session)} --window {window}")


def _malformed(result: ReplayResult) -> Iterator[Step]:
    """Lines that could not be read: what is known may have gaps."""
    damaged = [session for session in result.sessions if session.malformed]
    if damaged:
        count = sum(len(session.malformed) for session in damaged)
        text = f"{plural(count, 'line')} could not be read; see what the recording lacks."
        yield Step(text, _command("inspect", damaged[0]))


def _budget(result: ReplayResult) -> Iterator[Step]:
    """Large tool results dominate: try a tighter limit for each."""
    raw = sum(int(session.totals.get("raw_tokens") or 0) for session in result.sessions)
    saved = sum(
        la.tokens_saved for session in result.sessions for la in session.layers if la.layer == "budget"
    )
    if raw and saved * 10 >= raw:
        limit = _number(result.config, "budget", "per_result_chars") or 50_000
        text = f"Large tool results: the budget layer alone saves {percent(saved, raw)}. Try half its limit."
        command = _command("replay", result.sessions[0])
        yield Step(text, f"{command} --set budget.per_result_chars={limit // 2}")


def _command(name: str, session: SessionReplay) -> str:
    """`compactlab NAME SOURCE`, the source quoted; FILE where it cannot be typed (stdin, controls)."""
    source = session.source
    if source in ("", "-") or safe(source) != source:
        source = "FILE"
    elif source.startswith("-"):
        source = f"./{source}"
    return f"compactlab {name} {shlex.quote(source)}"


def _peak(session: SessionReplay) -> int:
    return int(session.totals.get("peak_sent") or 0)


def _threshold(session: SessionReplay, config: Mapping[str, Any]) -> int | None:
    """Where auto-compact would start: as the totals have it, else from the settings."""
    known = session.totals.get("threshold")
    if isinstance(known, int) and known > 0:
        return known
    reserve = _number(config, "window", "reserve_cap") or 20_000
    buffer = _number(config, "window", "auto_buffer") or 13_000
    threshold = session.window - reserve - buffer
    return threshold if threshold > 0 else None


def _number(config: Mapping[str, Any], table: str, key: str) -> int | None:
    values = config.get(table)
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _on(config: Mapping[str, Any], table: str) -> bool:
    values = config.get(table)
    return not isinstance(values, Mapping) or values.get("enabled") is not False
