"""At which line of a TOML file a key stands. `tomllib` does not tell, and a message should.

A light scan of headers and assignments, good for settings files; where it is not sure it names the line of
the table. It never fails: a wrong file is refused by `tomllib`, not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
# Patterns are compiled at the first use, not at import.
_HEADER = rf"\s*\[{{1,2}}\s*({_DOTTED})\s*\]"
_ASSIGN = rf"\s*({_DOTTED})\s*="
_FENCE = r'"""|' + r"'''"


def lines_of(text: str) -> dict[str, int]:
    """The line, counted from 1, of every dotted key and table in a TOML text."""
    found: dict[str, int] = {}
    prefix, fence = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if line.count(fence) % 2 else fence
            continue
        header = re.match(_HEADER, line)
        assign = None if header else re.match(_ASSIGN, line)
        if header:
            prefix = _name(header[1]) + "."
            found.setdefault(prefix[:-1], number)
        elif assign:
            name = prefix + _name(assign[1])
            parts = name.split(".")
            for count in range(1, len(parts) + 1):
                found.setdefault(".".join(parts[:count]), number)
            fence = _opened(line[assign.end() :])
    return found


def line_of(name: str, lines: Mapping[str, int]) -> int | None:
    """The line of a key, or of the nearest table above it that is known."""
    while name:
        if name in lines:
            return lines[name]
        name = name.rpartition(".")[0]
    return None


def _name(dotted: str) -> str:
    return ".".join(part.strip("\"'") if part[0] in "\"'" else part for part in re.findall(_PART, dotted))


def _opened(value: str) -> str:
    fences = re.findall(_FENCE, value)
    return fences[0] if fences and fences.count(fences[0]) % 2 else ""
