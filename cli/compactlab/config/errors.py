"""The one exception of the configuration, and the search for the name that was meant.

Who may use it: everything that reads settings. The commands turn a `ConfigError` into exit code 2 and
print its text as it is: one line that says where, which key, what is wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(ValueError):
    """A setting that cannot be used. `where` is a file (with line), "--set", an option or a variable."""

    def __init__(self, where: str, key: str, message: str) -> None:
        super().__init__(where, key, message)
        self.where = where
        self.key = key
        self.message = message

    def __str__(self) -> str:
        parts = [part for part in (self.where, self.key, self.message) if part]
        return printable(": ".join(parts))


def printable(text: str) -> str:
    """The text on one line: whatever a terminal would act on is escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def shown(value: object, limit: int = 60) -> str:
    """A value as it is quoted in a message: its repr, cut to `limit` characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a value nested too deep
        return f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The names that were probably meant by `name`, best first, at most `limit`.

    Looks at whole dotted names and at their last parts. A whole name that is nearly the same stands alone,
    and the same last part beats likeness.
    """
    from difflib import get_close_matches

    candidates = sorted(names)
    lowered = name.lower()[:200]
    last = lowered.rsplit(".", 1)[-1]
    by_lower = {one.lower(): one for one in candidates}
    surely = get_close_matches(lowered, by_lower, 1, 0.9)
    if surely:
        return [by_lower[surely[0]]]
    exact = [one for one in candidates if one.lower().rsplit(".", 1)[-1] == last]
    if exact:
        return exact[:limit]
    whole = [by_lower[one] for one in get_close_matches(lowered, by_lower, limit, 0.75)]
    last_parts: dict[str, list[str]] = {}
    for one in candidates:
        last_parts.setdefault(one.lower().rsplit(".", 1)[-1], []).append(one)
    similar = [one for part in get_close_matches(last, last_parts, limit, 0.75) for one in last_parts[part]]
    return list(dict.fromkeys(whole + similar))[:limit]


def did_you_mean(found: list[str]) -> str:
    """The end of a message: "; did you mean a, b or c?", empty where nothing is near."""
    if not found:
        return ""
    head = ", ".join(found[:-1])
    return f"; did you mean {head} or {found[-1]}?" if head else f"; did you mean {found[-1]}?"
