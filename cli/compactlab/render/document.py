"""What a page for people is made of: sections, which `table` prints and `markdown` writes. No text is escaped yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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
