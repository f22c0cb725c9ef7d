"""The whole configuration as one frozen value, and the list of its keys.

`Config` is what every other part takes; `schema_rows` and `to_dict` describe and show it. Values are checked
where they come in (`check`, `load`), so a `Config` built by hand is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from compactlab.config.fields import IntTable, Spec
from compactlab.config.tables_layers import (
    Auto,
    Budget,
    Collapse,
    Full,
    Micro,
    MicroApi,
    MicroCached,
    MicroTime,
    MicroTokens,
    SessionMemory,
    Snip,
)
from compactlab.config.tables_run import COUNTERS, Cost, Faults, Memory, Summary, Tokens, Window

__all__ = [
    "COUNTERS", "Auto", "Budget", "Collapse", "Config", "Cost", "Faults", "Full", "Key", "Memory", "Micro",
    "MicroApi", "MicroCached", "MicroTime", "MicroTokens", "SessionMemory", "Snip", "Summary", "Tokens",
    "Window", "build", "digest", "flatten", "keys", "nest", "schema_rows", "tables", "to_dict",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, one attribute a TOML table. Hashable and picklable; equal when all settings are."""

    tokens: Tokens = field(default=Tokens())
    window: Window = field(default=Window())
    budget: Budget = field(default=Budget())
    snip: Snip = field(default=Snip())
    micro: Micro = field(default=Micro())
    collapse: Collapse = field(default=Collapse())
    auto: Auto = field(default=Auto())
    memory: Memory = field(default=Memory())
    summary: Summary = field(default=Summary())
    cost: Cost = field(default=Cost())
    faults: Faults = field(default=Faults())


#: The kinds of values by the annotation of the field.
_KINDS = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "tuple[str, ...]": "list of str",
    "tuple[int, ...]": "list of int",
    "Mapping[str, int]": "table of int",
}


class Key(NamedTuple):
    """One setting: dotted name, kind of value (bool, int, float, str, list of …, table of int), default."""

    name: str
    kind: str
    default: Any
    spec: Spec


@lru_cache(maxsize=1)
def keys() -> Mapping[str, Key]:
    """Every setting by its dotted name, in the order of the tables."""
    found: dict[str, Key] = {}

    def walk(table: Any, prefix: str) -> None:
        for item in fields(table):
            value = getattr(table, item.name)
            if is_dataclass(value):
                walk(value, f"{prefix}{item.name}.")
            else:
                name = prefix + item.name
                found[name] = Key(name, _KINDS[str(item.type)], value, item.metadata["spec"])

    walk(Config(), "")
    return found


@lru_cache(maxsize=1)
def tables() -> frozenset[str]:
    """The dotted names of the tables: "auto", "auto.full", …; `budget.tool_limits` is a key, not a table."""
    return frozenset(
        ".".join(parts[:count])
        for parts in (name.split(".") for name in keys())
        for count in range(1, len(parts))
    )


def build(values: Mapping[str, Any]) -> Config:
    """A `Config` of the given values by dotted key; what is missing has its default. Values are trusted."""

    def make(table: Any, prefix: str) -> Any:
        arguments: dict[str, Any] = {}
        for item in fields(table):
            name = prefix + item.name
            value = getattr(table, item.name)
            arguments[item.name] = make(value, name + ".") if is_dataclass(value) else values.get(name, value)
        return type(table)(**arguments)

    config: Config = make(Config(), "")
    return config


def flatten(config: Config) -> dict[str, Any]:
    """The values of a configuration by dotted key, in the order of the tables."""
    found: dict[str, Any] = {}
    for name in keys():
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part)
        found[name] = value
    return found


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted key as nested plain tables with sorted keys, fit for JSON and TOML."""
    root: dict[str, Any] = {}
    for name in sorted(values):
        *path, last = name.split(".")
        table = root
        for part in path:
            table = table.setdefault(part, {})
        table[last] = _plain(values[name])
    return root


def to_dict(config: Config) -> dict[str, Any]:
    """A configuration as nested plain tables with sorted keys; lists for tuples."""
    return nest(flatten(config))


def digest(mapping: Mapping[str, Any]) -> str:
    """ "sha256:…" of the canonical JSON of a mapping: keys sorted, no white space, ASCII."""
    import json
    from hashlib import sha256

    text = json.dumps(mapping, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + sha256(text.encode("ascii")).hexdigest()


def schema_rows() -> list[dict[str, Any]]:
    """One row a setting: key, type, default, unit, doc. The type of a choice lists what may stand there."""
    return [
        {
            "key": one.name,
            "type": " | ".join(one.spec.choices) if one.spec.choices else one.kind,
            "default": _plain(one.default),
            "unit": one.spec.unit,
            "doc": one.spec.doc,
        }
        for one in keys().values()
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, IntTable) else value
