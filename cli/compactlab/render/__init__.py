"""Results in, bytes out: the one printer. Who writes them is `sinks`; nothing here reads the environment.

`render` is the entry for the commands. The formats are imported only when they are asked for.
"""

from __future__ import annotations

from typing import Any

FORMATS = ("table", "json", "csv", "markdown")


def render(result: Any, *, format: str, width: int = 80, color: bool = False) -> bytes:
    """`result` in `format`, as UTF-8 with one newline at the end.

    JSON takes every result that has `to_dict`; the other formats take a ReplayResult or a TableResult.
    `width` and `color` concern the table only, and are given, never looked up.
    """
    if format == "json":
        from compactlab.render.json import dumps

        return dumps(result.to_dict())
    if format == "csv":
        from compactlab.render.csv import csv_bytes

        return csv_bytes(result)
    if format == "markdown":
        from compactlab.render.markdown import markdown_bytes

        return markdown_bytes(result)
    if format == "table":
        from compactlab.render.table import table_bytes

        return table_bytes(result, width=width, color=color)
    from compactlab.errors import UsageError

    raise UsageError(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}")
