"""Engine results as tables for people and documents for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compactlab.engine.micro_validate import MicroRow
from compactlab.engine.validate import BoundaryRow, Validation, totals
from compactlab.model.results import TableResult

#: Title, columns, rows.
Table = tuple[str, tuple[str, ...], tuple[tuple[Any, ...], ...]]

_UNCERTAINTY = {
    "exact": "exact: the file holds every figure",
    "output": "output: the last output figure is a stub in the file and is estimated",
    "tail": "tail: the file lacks messages before the compaction",
}


def validation_table(found: list[Validation]) -> TableResult:
    """`compactlab validate`: every recorded boundary with predicted and recorded size, and the totals."""
    found = sorted(found, key=lambda v: (v.transcript.source, v.transcript.digest))
    summed = totals(found)
    names = names_of(v.transcript.source for v in found)
    sessions = [
        {
            "source": v.transcript.source,
            "digest": v.transcript.digest,
            "recorded": [row._asdict() for row in v.rows],
            "micro": [row._asdict() for row in v.micro],
            "malformed": [bad._asdict() for bad in v.transcript.malformed],
            "false_alarms": v.false_alarms,
            "calls": len(v.transcript.calls),
            "window": v.window.tokens,
            "window_inferred": v.window.inferred,
        }
        for v in found
    ]
    tables: list[Table] = [
        (
            "Recorded compactions",
            ("session", "line", "version", "recorded", "predicted", "error", "verdict", "size is"),
            tuple(_boundary_cells(names[v.transcript.source], row) for v in found for row in v.rows),
        )
    ]
    micro = tuple(_micro_cells(names[v.transcript.source], row) for v in found for row in v.micro)
    if micro:
        tables.append(
            (
                "Recorded micro-compactions",
                ("session", "line", "ids", "saved", "predicted", "pre", "predicted pre", "verdict"),
                micro,
            )
        )
    document = {"schema": "compactlab.validate/1", "sessions": sessions, "totals": summed}
    return TableResult(document, tuple(tables), _lines(found, summed))


def _boundary_cells(name: str, row: BoundaryRow) -> tuple[Any, ...]:
    error = "" if row.pre_tokens is None else row.predicted_tokens - row.pre_tokens
    verdict = f"early by {row.calls_off}" if row.verdict == "early" else row.verdict
    return (
        name,
        row.line,
        row.version,
        row.pre_tokens,
        row.predicted_tokens,
        error,
        verdict,
        row.uncertainty,
    )


def _micro_cells(name: str, row: MicroRow) -> tuple[Any, ...]:
    return (
        name,
        row.line,
        f"{row.results} {'same' if row.same_ids else 'differ'}",
        row.tokens_saved,
        row.predicted_saved,
        row.pre_tokens,
        row.predicted_pre,
        row.verdict,
    )


def names_of(sources: Iterable[str]) -> dict[str, str]:
    """A name for each source: short where that tells it from the others, else the source as given."""
    shorts: dict[str, set[str]] = {}
    for source in sources:
        shorts.setdefault(short_name(source), set()).add(source)
    return {source: short if len(same) == 1 else source for short, same in shorts.items() for source in same}


def short_name(source: str) -> str:
    """The file's name without folders and endings."""
    name = source.replace("\\", "/").rsplit("/", 1)[-1]
    return name.removesuffix(".gz").removesuffix(".jsonl") or source


def _lines(found: list[Validation], summed: dict[str, Any]) -> tuple[str, ...]:
    if not summed["boundaries"] and not any(v.rows for v in found):
        return (
            "No recorded compaction in these sessions.",
            f"{summed['calls']} calls, {summed['false_alarms']} false alarms.",
        )
    knowable = summed["boundaries"] - summed["unknowable"]
    lines = [
        f"{summed['hit']} of {knowable} knowable automatic compactions found at the same call; "
        f"{summed['early']} early, {summed['late']} late, {summed['unknowable']} unknowable.",
        f"{summed['false_alarms']:,} false alarms in {summed['calls']:,} calls.",
    ]
    if summed["median_abs_error"] is not None:
        share = summed["median_abs_error_share"] * 100
        lines.append(
            f"Size error: median {summed['median_abs_error']:,.0f} tokens ({share:.3f} %); "
            f"{summed['exact']} of {summed['boundaries']} exact to the token."
        )
    used = dict.fromkeys(row.uncertainty for v in found for row in v.rows)
    lines += [_UNCERTAINTY[name] for name in _UNCERTAINTY if name in used]
    windows = sorted({row.implied_window for v in found for row in v.rows if row.implied_window})
    if windows:
        lines.append(f"Window implied by the recorded sizes: at most {min(windows):,} tokens.")
    return tuple(lines)
