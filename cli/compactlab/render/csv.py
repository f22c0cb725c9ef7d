"""CSV for spreadsheets and scripts: the timeline of a replay, or the first table of a TableResult.

Numbers stand bare. Text is made safe to show, and a cell that a spreadsheet would run as a formula gets an
apostrophe in front.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from compactlab.errors import UsageError
from compactlab.model.results import ReplayResult, TableResult
from compactlab.render.text import safe, shown

#: The columns of the timeline, one row a call, over all sessions.
TIMELINE = (
    *("source", "session_id", "call", "uuid", "timestamp"),
    *("raw", "budget", "snip", "micro", "collapse", "auto", "sent"),
    "events",
)

#: What a spreadsheet takes for the start of a formula, full-width forms included.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_bytes(result: ReplayResult | TableResult) -> bytes:
    """The result as CSV in UTF-8: a header row, then rows, each ended by a newline."""
    if isinstance(result, ReplayResult):
        return _rows(TIMELINE, _timeline(result))
    if isinstance(result, TableResult):
        if not result.tables:
            raise UsageError("this result has no table; use `--format json`")
        _, columns, rows = result.tables[0]
        return _rows(columns, rows)
    raise TypeError(f"no CSV for {type(result).__name__}")


def _timeline(result: ReplayResult) -> Iterator[tuple[object, ...]]:
    for session in result.sessions:
        for row in session.timeline:
            events = "|".join(str(event) for event in row.get("events") or ())
            middle = (row.get(name) for name in TIMELINE[2:-1])
            yield (session.source, session.session_id, *middle, events)


def _rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8")


def _cell(value: object) -> object:
    """A number as it is, nothing as an empty cell, text safe and guarded."""
    if value is None or value != value:  # NaN is the one value that is not itself
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    text = safe(shown(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
