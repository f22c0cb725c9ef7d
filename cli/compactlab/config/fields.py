"""What a setting is made of: its default, unit, limits and one line of explanation.

Here: the metadata that the tables of the schema attach to their fields, and the read-only table type.
Not here: the settings themselves (`tables_run`, `tables_layers`), nor any reading of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, NamedTuple

#: No size, count or list entry may be larger: it keeps every sum within 64 bits.
MAX_INTEGER = 10**12


class Spec(NamedTuple):
    """What is known about one key. `low` and `high` are inclusive, `above` is exclusive; None is no limit.

    `only_positive`: a number of 0 or less is no error, but left out, so that the value in force stays.
    """

    doc: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    above: float | None = None
    high: int | None = None
    only_positive: bool = False


def key(
    default: object,
    doc: str,
    unit: str = "",
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    above: float | None = None,
    high: int | None = None,
    only_positive: bool = False,
) -> Any:
    """A dataclass field that carries its `Spec`; numbers are at least 0 unless limits are given."""
    if low is None and above is None and not choices:
        low = 0
    return field(
        default=default, metadata={"spec": Spec(doc, unit, choices, low, above, high, only_positive)}
    )


class IntTable(Mapping[str, int]):
    """A read-only, hashable, picklable table from names to whole numbers, in the order of the names."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, int] | None = None, /, **more: int) -> None:
        self._values = dict(sorted({**(values or {}), **more}.items()))

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"IntTable({self._values!r})"
