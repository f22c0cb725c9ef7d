"""A page on a terminal: tables laid out by rich, prose wrapped, nothing wider than asked for.

The text of transcripts never reaches rich as markup, and width, colour and encoding are given, not looked
up. Only a command to paste is left whole where one of its words is longer than the line.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from compactlab.model.results import ReplayResult, TableResult
from compactlab.render.document import Section, Step, numeric
from compactlab.render.page import sections
from compactlab.render.text import safe
from compactlab.render.text import width as columns_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Columns of one cell's text at most; the other formats have all of it.
CELL = 240
#: A text column narrower than this is no table any more.
NARROW = 8
#: Columns between two columns of a table.
GAP = 2

_TRAILING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)
_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


def table_bytes(result: ReplayResult | TableResult, *, width: int = 80, color: bool = False) -> bytes:
    """The page in UTF-8: no trailing blanks, one newline at the end, colour only when asked for."""
    console = _console(max(width, 20), color)
    for at, section in enumerate(sections(result)):
        if at:
            console.print()
        _section(console, section)
    file = console.file
    assert isinstance(file, StringIO)
    text = _TRAILING.sub(lambda match: match[0].replace(" ", ""), file.getvalue())
    return (text.rstrip("\n") + "\n").encode("utf-8")


def _console(width: int, color: bool) -> Console:
    from rich.console import Console

    return Console(
        file=StringIO(),
        width=width,
        height=100,
        color_system="standard" if color else None,
        force_terminal=color,
        force_interactive=False,
        force_jupyter=False,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def _section(console: Console, section: Section) -> None:
    """Title, lead, table, lines, steps."""
    if section.title:
        _print(console, section.title, style="bold" if section.level > 1 else "bold cyan")
        if section.level == 1:
            _print(console, "═" * min(columns_of(safe(section.title)), console.width), style="cyan")
    for line in section.lead:
        _print(console, line)
    if section.columns:
        _rows(console, section)
    for line in section.lines:
        _print(console, line, first="· ", rest="  ")
    for number, step in enumerate(section.steps, 1):
        _step(console, step, number)


def _print(console: Console, line: str, *, first: str = "", rest: str = "", style: str = "") -> None:
    """A line of prose, wrapped at words; its own indent is kept on the lines that follow."""
    from rich.text import Text

    text = safe(line)
    body = text.lstrip(" ")
    indent = " " * min(len(text) - len(body), console.width // 2)
    room = max(console.width - len(indent) - max(len(first), len(rest)), 1)
    parts = Text(body).wrap(console, room, overflow="fold") if body else [Text()]
    for at, part in enumerate(parts):
        lead = indent + (rest if at else first)
        console.print(Text.assemble(lead, (part.plain.rstrip(" "), style)), soft_wrap=True)


def _step(console: Console, step: Step, number: int) -> None:
    """A suggestion, and its command broken only at blanks, in a way that a shell joins again."""
    _print(console, step.text, first=f"{number}. ", rest="   ")
    if not step.command:
        return
    lines, current = [], ""
    for word in safe(step.command).split(" "):
        longer = f"{current} {word}" if current else word
        if current and columns_of(longer) > console.width - 9:
            lines.append(current)
            longer = f"  {word}"
        current = longer
    lines.append(current)
    from rich.text import Text

    for at, line in enumerate(lines):
        more = " \\" if at < len(lines) - 1 else ""
        console.print(Text(f"     {line}{more}", style="cyan"), soft_wrap=True)


def _rows(console: Console, section: Section) -> None:
    """The table; where there is no room for its columns, each row as a list of name and value."""
    if not section.rows:
        _print(console, "none")
        return
    cells = [[safe(text, CELL) for text in row] for row in section.cells()]
    names = [safe(name, CELL) for name in section.columns]
    right = [numeric(cells, at) for at in range(len(names))]
    widths = [max(columns_of(row[at]) for row in [names, *cells]) for at in range(len(names))]
    least = sum(wide if number else min(wide, NARROW) for wide, number in zip(widths, right, strict=True))
    if least + GAP * (len(names) - 1) > console.width:
        _records(console, names, cells)
    else:
        console.print(_table(names, cells, right))


def _table(names: list[str], cells: list[list[str]], right: list[bool]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for name, number in zip(names, right, strict=True):
        justify = "right" if number else "left"
        table.add_column(Text(name), justify=justify, no_wrap=number, overflow="fold")  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return table


def _records(console: Console, names: list[str], cells: list[list[str]]) -> None:
    for at, row in enumerate(cells):
        if at:
            console.print()
        for name, cell in zip(names, row, strict=True):
            _print(console, f"{name}: {cell}" if name else cell, rest="  ")
