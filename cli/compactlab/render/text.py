"""Text that is safe to show, and numbers as people read them. No layout: that is `table` and `markdown`.

Everything that comes from a transcript passes `safe` before it reaches a terminal or a page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

#: Characters that a terminal obeys or hides: C0 and C1 controls, bidi controls, zero-width and other
#: ignorable characters, line separators, lone surrogates, noncharacters. A fixed list, so that the output
#: does not depend on the Unicode version of the interpreter.
_HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ELLIPSIS = "…"

#: Columns whose numbers name a place and are looked up elsewhere: no thousands separators.
_PLACES = frozenset({"call", "line", "index", "segment"})


def safe(text: str, limit: int | None = None) -> str:
    """`text` on one line, with everything hostile as visible escapes (`\\x1b`, `\\u202e`, `\\n`).

    With `limit` it is cut to that many columns, an ellipsis included; an escape is never cut in half.
    """
    if limit is None:
        return _HOSTILE.sub(_escape, text)
    head = text[: 4 * max(limit, 0) + 16]
    shown = _HOSTILE.sub(_escape, head)
    if len(head) == len(text) and width(shown) <= limit:
        return shown
    return _cut(head, limit)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def _cut(text: str, limit: int) -> str:
    if limit <= 0:
        return ""
    pieces: list[str] = []
    used = 0
    for character in text:
        piece = _HOSTILE.sub(_escape, character)
        used += width(piece)
        if used > limit - 1:
            break
        pieces.append(piece)
    return "".join(pieces).rstrip(" ") + _ELLIPSIS


def width(text: str) -> int:
    """Columns that `text` takes on a terminal; wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def thousands(number: int) -> str:
    """155049 as `155,049`."""
    return f"{number:,}"


def percent(part: float, whole: float) -> str:
    """`part` of `whole` with one decimal, `-` where there is no whole."""
    if not whole:
        return "-"
    share = f"{100 * part / whole:.1f}%"
    return "0.0%" if share == "-0.0%" else share


def compact(number: int) -> str:
    """At most three digits and a unit: 999, 1.5k, 155k, 1.24M."""
    if number < 0:
        return f"-{compact(-number)}"
    if number < 1000:
        return str(number)
    unit = 1000
    for name in ("k", "M", "G"):
        for decimals in (2, 1, 0):
            step = unit // 10**decimals
            digits = (number + step // 2) // step
            if digits < 1000:
                return _trim(digits, decimals) + name
        unit *= 1000
    return f"{number // 10**9:,}G"


def _trim(digits: int, decimals: int) -> str:
    text = f"{digits / 10**decimals:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def plural(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, with thousands separators."""
    return f"{thousands(number)} {noun}{'' if number == 1 else 's'}"


def shown(value: object, column: str = "") -> str:
    """A cell's value as people read it, not yet made safe: numbers with thousands, `-` for nothing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if column in _PLACES else thousands(value)
    if isinstance(value, float):
        return _of_float(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return ", ".join(shown(item) for item in items)
    return str(value)


def _of_float(value: float) -> str:
    if math.isnan(value):
        return "-"
    if value == 0 or abs(value) >= 1:
        return f"{value:,.2f}"
    return f"{value:.3g}"
