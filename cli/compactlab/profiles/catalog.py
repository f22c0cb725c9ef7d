"""Which numbers a release of the program ran with: one profile a range of versions.

Versions compare by their dotted whole numbers; what follows a "-" or "+" is ignored. An empty or unreadable
version has the newest profile. Not here: what the settings mean, which `config` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from compactlab.profiles.data import names, read


class ProfileError(ValueError):
    """A profile of that name does not exist; the text is one line and names the nearest one."""


class Profile(NamedTuple):
    """A range of versions with its settings as nested tables, and a note on what was measured.

    Both ends are included; "" is open.
    """

    name: str
    first: str
    last: str
    settings: Mapping[str, Any]
    note: str


def parse_version(version: str | None) -> tuple[int, ...] | None:
    """The whole numbers of "2.1.20", without zeros at the end; None where it is no version."""
    text = (version or "").strip().removeprefix("v")
    parts = text.partition("-")[0].partition("+")[0].split(".")
    if len(parts) > 10 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        return None
    numbers = [int(part) for part in parts]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


@lru_cache(maxsize=1)
def all_profiles() -> tuple[Profile, ...]:
    """Every profile, oldest first."""
    found = [
        Profile(data["name"], data["first"], data["last"], data["settings"], data["note"])
        for data in (read("ranges", name) for name in names("ranges"))
    ]
    return tuple(sorted(found, key=lambda one: parse_version(one.first) or ()))


@lru_cache(maxsize=512)
def find(version: str | None) -> Profile:
    """The profile of a version: the newest that begins at or before it, and the newest of all for none."""
    parsed = parse_version(version)
    *older, found = all_profiles()
    while parsed is not None and older and parsed < (parse_version(found.first) or ()):
        found = older.pop()
    return found


def get(name: str) -> Profile:
    """The profile of that name, or the one that holds that version; else a `ProfileError`."""
    profiles = all_profiles()
    for one in profiles:
        if one.name == name:
            return one
    if parse_version(name) is not None:
        return find(name)
    raise ProfileError(_unknown(name, [one.name for one in profiles]))


def _unknown(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name[:100], known, 1, 0.5)
    hint = f"; did you mean {near[0]}?" if near else f"; choose one of {', '.join(known)}, or a version"
    quoted = repr(name if len(name) <= 60 else name[:59] + "…")
    return f"unknown profile {quoted}{hint}"
