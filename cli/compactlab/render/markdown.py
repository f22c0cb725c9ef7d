"""A result as Markdown: headings, pipe tables, lists. What is foreign is escaped, so that it stays text."""

from __future__ import annotations

import re

from compactlab.model.results import ReplayResult, TableResult
from compactlab.render.document import Section, Step, numeric
from compactlab.render.page import sections
from compactlab.render.text import safe

#: What Markdown or HTML would act on anywhere; an underscore only where it can open or close emphasis.
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
#: What would open a heading, a list or a rule at the start of a line.
_START = re.compile(r"^(\s*)(\d*)([-+=#.)])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown_bytes(result: ReplayResult | TableResult) -> bytes:
    """The page in UTF-8, one newline at the end."""
    parts = [block for section in sections(result) for block in _section(section)]
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def escape(text: str) -> str:
    """Foreign text as plain text on one line: no markup, no HTML, no end of a table cell."""
    shown = re.sub("[&<>]", lambda match: _ENTITIES[match[0]], safe(text))
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", shown)


def _line(text: str) -> str:
    """Foreign text that stands at the start of a line."""
    return _START.sub(r"\1\2\\\3", escape(text))


def _section(section: Section) -> list[str]:
    blocks = []
    if section.title:
        blocks.append(f"{'#' * section.level} {_line(section.title)}")
    blocks += [_line(line) for line in section.lead]
    if section.columns:
        blocks.append(_table(section))
    if section.lines:
        blocks.append("\n".join(f"- {_line(line)}" for line in section.lines))
    if section.steps:
        blocks.append("\n".join(_step(step) for step in section.steps))
    return blocks


def _table(section: Section) -> str:
    cells = section.cells()
    if not cells:
        return "none"
    rules = ["---:" if numeric(cells, at) else "---" for at in range(len(section.columns))]
    rows = [list(map(escape, section.columns)), rules, *(list(map(escape, row)) for row in cells)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _step(step: Step) -> str:
    if not step.command:
        return f"- {_line(step.text)}"
    command = safe(step.command)
    fence = "`" * (max((len(run) for run in re.findall("`+", command)), default=0) + 1)
    pad = " " if command.startswith("`") or command.endswith("`") else ""
    return f"- {_line(step.text)}\n  {fence}{pad}{command}{pad}{fence}"
