"""A result as a page for people: sections that `table` prints and `markdown` writes. No text is escaped yet.

The sections of a replay are made in `replay`; those of a TableResult here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from compactlab.model.results import ReplayResult, TableResult
from compactlab.render.text import shown

_NUMBER = re.compile(r"[-+]?[\d,]+(\.\d+)?(e[-+]\d+)?[kMG%]?|-|")


@dataclass(frozen=True, slots=True)
class Step:
    """A suggestion: why, and the command to run (a shell line, quoted already)."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it, in this order: lead, table, lines (one list item each), steps.

    `level` 1 opens a session or the whole, 2 is a part of it. Cells are values; `shown` words them.
    """

    title: str = ""
    level: int = 2
    lead: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    lines: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    def cells(self) -> list[list[str]]:
        """The rows as text, each as long as the header."""
        size = len(self.columns)
        return [
            [shown(row[at], self.columns[at]) if at < len(row) else "" for at in range(size)]
            for row in self.rows
        ]


def numeric(cells: list[list[str]], at: int) -> bool:
    """Whether column `at` holds numbers only, and so is set to the right."""
    texts = [row[at] for row in cells]
    return all(_NUMBER.fullmatch(text) for text in texts) and any(text not in ("", "-") for text in texts)


def sections(result: ReplayResult | TableResult) -> list[Section]:
    """The page of a result."""
    if isinstance(result, ReplayResult):
        from compactlab.render.replay import replay_sections

        return replay_sections(result)
    if isinstance(result, TableResult):
        return table_sections(result)
    raise TypeError(f"no page for {type(result).__name__}")


def table_sections(result: TableResult) -> list[Section]:
    """Each table under its title; the lines, as paragraphs, at the end."""
    page = [Section(title, 2, columns=columns, rows=rows) for title, columns, rows in result.tables]
    return [*page, Section(lead=result.lines)] if result.lines else page
