"""From a finished replay to its result values: totals, notes, violations."""

from __future__ import annotations

from typing import Any

from compactlab.engine.checks import recording_faults
from compactlab.engine.replay import Replay
from compactlab.layers.catalog import COLUMNS
from compactlab.model.results import LayerResult, SessionReplay, Violation
from compactlab.profiles.prices import as_of
from compactlab.tokens.limits import limit_warnings


def session_result(run: Replay, *, faults: bool = False) -> SessionReplay:
    """The result of one session. `faults`: list the recording's own faults (CL9xx) among the violations too."""
    transcript = run.transcript
    version = transcript.versions[-1] if transcript.versions else None
    violations: list[Violation] = list(run.checks.violations)
    if faults:
        violations = recording_faults(run.session, run.checks.baseline) + violations
    names = dict.fromkeys(run.settings.profile_name(v) for v in transcript.versions or (None,))
    return SessionReplay(
        source=transcript.source,
        digest=transcript.digest,
        session_id=transcript.session_id,
        sidechain=transcript.sidechain,
        versions=transcript.versions,
        models=transcript.models,
        profile=", ".join(names),
        window=run.window.tokens,
        window_inferred=run.window.inferred,
        counter=run.session.table.counter,
        overhead_tokens=run.overhead,
        records=transcript.records,
        messages=len(transcript.messages),
        calls=len(transcript.calls),
        malformed=tuple({"line": bad.line, "reason": bad.reason} for bad in transcript.malformed),
        totals=_totals(run),
        layers=_layers(run),
        boundaries=tuple(run.boundaries),
        violations=tuple(violations),
        timeline=tuple(run.timeline),
        notes=_notes(run, version),
    )


def _layers(run: Replay) -> tuple[LayerResult, ...]:
    """One row a layer, in their order; what the reactive path saves is part of auto's column."""
    return tuple(
        LayerResult(name, run.fired[name], run.saved[name], dict(sorted(run.reasons[name].items())))
        for name in (*COLUMNS, "reactive")
    )


def _totals(run: Replay) -> dict[str, Any]:
    raw = sum(row["raw"] for row in run.timeline)
    sent = sum(row["sent"] for row in run.timeline)
    recorded = run.transcript.boundaries
    return {
        "raw_tokens": raw,
        "sent_tokens": sent,
        "saved_tokens": raw - sent,
        "peak_raw": max((row["raw"] for row in run.timeline), default=0),
        "peak_sent": max((row["sent"] for row in run.timeline), default=0),
        "cost_usd": round(run.bill.sent, 6),
        "cost_raw_usd": round(run.bill.raw, 6),
        "compactions": len(run.boundaries),
        "blocked_calls": run.blocked,
        "failed_calls": run.failed,
        "recorded_boundaries": len(recorded),
        "recording_faults": len(run.transcript.faults) + len(run.checks.baseline),
        "threshold": _threshold(run),
    }


def _threshold(run: Replay) -> int:
    """The auto-compact threshold of the last call, in tokens; 0 where there is no call."""
    calls = run.transcript.calls
    return run.limits.of(calls[-1].version, calls[-1].model)[1].auto if calls else 0


def _notes(run: Replay, version: str | None) -> tuple[str, ...]:
    transcript = run.transcript
    notes = []
    if not transcript.calls:
        notes.append("no API call with usage in this session: there is nothing to replay")
    manual = sum(1 for b in transcript.boundaries if b.trigger == "manual")
    automatic = len(transcript.boundaries) - manual
    if transcript.boundaries and not run.as_recorded:
        notes.append(
            f"recorded compactions left out: {automatic} automatic, {manual} manual; "
            "what the agent did because of them (files read again) stays in the history"
        )
    if run.session.table.lost:
        notes.append(
            f"the session began before this file: {run.session.table.lost} tokens of history are not in it; "
            "they count until the first compaction"
        )
    if transcript.sidechain:
        notes.append("this is a subagent's sidechain, replayed because it is the input")
    if transcript.abandoned:
        lines = ", ".join(map(str, transcript.branches[:3]))
        notes.append(
            f"{transcript.abandoned} messages on abandoned branches are left out (from line {lines})"
        )
    if run.bill.models:
        notes.append(f"cost: list prices as of {as_of()} for {', '.join(sorted(run.bill.models))}")
    config = run.settings.for_version(version)
    asked = {*config.auto.manual_at, *config.faults.summary_fails_at, *config.faults.overflow_at}
    beyond = sorted(call for call in asked if call >= len(transcript.calls))
    if beyond:
        notes.append(f"no such call, so nothing happened there: {', '.join(map(str, beyond[:5]))}")
    if transcript.calls:
        notes += limit_warnings(
            run.settings.for_version(version), run.window.tokens, transcript.calls[-1].model
        )
    return tuple(notes)


def totals_over(sessions: tuple[SessionReplay, ...]) -> dict[str, Any]:
    """Sums over sessions; peaks are the greatest."""
    summed = ("raw_tokens", "sent_tokens", "saved_tokens", "compactions", "blocked_calls", "failed_calls")
    totals: dict[str, Any] = {name: sum(s.totals[name] for s in sessions) for name in summed}
    for name in ("peak_raw", "peak_sent"):
        totals[name] = max((s.totals[name] for s in sessions), default=0)
    for name in ("cost_usd", "cost_raw_usd"):
        totals[name] = round(sum(s.totals[name] for s in sessions), 6)
    totals["sessions"] = len(sessions)
    totals["calls"] = sum(s.calls for s in sessions)
    totals["violations"] = sum(len(s.violations) for s in sessions)
    return totals
