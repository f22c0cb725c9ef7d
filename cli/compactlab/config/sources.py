"""Settings as somebody made them: in nested tables, variables, `key=value` pairs, named options.

Each reader gives `Entry` values: checked, with the name of where they stood. Nothing here knows which
source wins (`load`), opens a file (`files`) or looks at the environment: variables come in as a mapping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from compactlab.config.check import checked, checked_entry
from compactlab.config.errors import ConfigError, did_you_mean, nearest, shown
from compactlab.config.locate import line_of
from compactlab.config.schema import Key, keys, tables

PREFIX = "COMPACTLAB_"
#: Options of the command line that have a name of their own, for messages and origins.
OPTION_NAMES = {
    "window.tokens": "--window",
    "tokens.counter": "--counter",
    "summary.source": "--summary",
    "snip.enabled": "--snip",
    "auto.manual_at": "--manual-at",
}
_TABLE_KEYS = ("budget.tool_limits",)


class Entry(NamedTuple):
    """One setting that somebody made: dotted key (with the tool in `budget.tool_limits.Bash`), value, origin.

    `where` is for messages, `origin` for reports: it holds no absolute path. The value is None where it is
    0 or less and may not replace the one in force.
    """

    key: str
    value: Any
    where: str
    origin: str


class Place(NamedTuple):
    """A place that settings stand in, as messages and as reports call it; a file has lines by key."""

    where: str
    origin: str
    prefix: str = ""
    lines: Mapping[str, int] | None = None

    def of(self, key: str) -> tuple[str, str]:
        """`where` and `origin` of one key, with its line where it is known."""
        line = line_of(self.prefix + key, self.lines) if self.lines else None
        return (f"{self.where}:{line}", f"{self.origin}:{line}") if line else (self.where, self.origin)


def resolve_key(name: str, where: str) -> tuple[Key, str | None]:
    """The key of that dotted name, and the row where it names one of a table; a `ConfigError` if unknown."""
    found = keys().get(name)
    if found is not None:
        return found, None
    for table in _TABLE_KEYS:
        if name.startswith(table + ".") and len(name) > len(table) + 1:
            return keys()[table], name[len(table) + 1 :]
    if name in tables():
        inside = [one for one in keys() if one.startswith(name + ".")]
        raise ConfigError(where, name, f"is a table; set one of its keys, such as {inside[0]}")
    raise ConfigError(where, name if len(name) <= 80 else name[:79] + "…", "unknown key" + _hint(name))


def _hint(name: str) -> str:
    return (
        did_you_mean(nearest(name, (*keys(), *sorted(tables()))))
        or "; `compactlab config schema` lists all keys"
    )


def entry(name: str, value: object, place: Place) -> list[Entry]:
    """The checked entries of one setting: one, or one a row where the value is a whole table of numbers."""
    where, origin = place.of(name)
    key, row = resolve_key(name, where)
    if row is not None:
        return [Entry(name, checked_entry(key, name, value, where), where, origin)]
    if key.spec.only_positive and isinstance(value, int) and not isinstance(value, bool) and value <= 0:
        return [Entry(name, None, where, origin)]
    result = checked(key, value, where)
    if key.kind != "table of int":
        return [Entry(name, result, where, origin)]
    return [Entry(f"{name}.{one}", number, where, origin) for one, number in result.items()]


def from_tables(data: Mapping[str, Any], place: Place) -> Iterator[Entry]:
    """The entries of nested tables, as a TOML file or a profile holds them."""

    def walk(table: Mapping[str, Any], prefix: str) -> Iterator[Entry]:
        for part, value in table.items():
            name = prefix + str(part)
            if name in tables() and isinstance(value, Mapping):
                yield from walk(value, name + ".")
            else:
                yield from entry(name, value, place)

    yield from walk(data, "")


def from_env(env: Mapping[str, str]) -> Iterator[Entry]:
    """The entries of COMPACTLAB_* variables; two underscores stand for a dot, the case is free."""
    for variable in sorted(env):
        if variable.startswith(PREFIX):
            place = Place(variable, f"env {variable}")
            name = _env_key(variable)
            yield from entry(name, parse_value(name, env[variable], variable), place)


def _env_key(variable: str) -> str:
    name = variable[len(PREFIX) :].replace("__", ".")
    for table in _TABLE_KEYS:
        if name.lower().startswith(table + "."):
            return table + "." + _tool_name(name[len(table) + 1 :])
    lowered = name.lower()
    if lowered in keys() or lowered in tables():
        return lowered
    near = nearest(lowered, keys()) or _near_flat(lowered)
    hint = did_you_mean([PREFIX + one.upper().replace(".", "__") for one in near])
    raise ConfigError(
        variable, "", f"unknown setting{hint or '; two underscores stand for the dot of a key'}"
    )


def _near_flat(name: str) -> list[str]:
    """The key that is meant where single underscores stand for dots."""
    flat = {one.replace(".", "_"): one for one in keys()}
    return [flat[one] for one in nearest(name.replace(".", "_"), flat, 1)]


def _tool_name(name: str) -> str:
    """The spelling of a tool in capitals, where it is one of those that the settings know by default."""
    defaults = keys()
    known = (*defaults["budget.tool_limits"].default, *defaults["micro.compactable_tools"].default)
    return next((one for one in known if one.upper() == name), name)


def from_pairs(pairs: Iterable[str]) -> Iterator[Entry]:
    """The entries of `--set key=value` pairs, in their order."""
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError("--set", "", f"{shown(pair)} is not key=value; write --set auto.enabled=false")
        yield from entry(name, parse_value(name, text, "--set"), Place("--set", "--set"))


def from_options(options: Mapping[str, Any]) -> Iterator[Entry]:
    """The entries of named options, by dotted key; None means that the option was not given."""
    for name in sorted(options):
        value = options[name]
        if value is not None:
            label = OPTION_NAMES.get(name, f"option {name}")
            yield from entry(name, value, Place(label, label))


def parse_value(name: str, text: str, where: str) -> Any:
    """A value written on the command line or in a variable, by the type of its key.

    A TOML value, else for a string key the bare text, for a list key words between commas. What fits
    neither is handed on as text, so that the check of the type names what is wrong.
    """
    key, row = resolve_key(name, where)
    kind = "int" if row is not None else key.kind
    value = _toml_value(text)
    if kind == "str":
        return value if isinstance(value, str) else text.strip()
    if kind.startswith("list") and not isinstance(value, list):
        words = [word.strip() for word in text.split(",")] if text.strip() else []
        if isinstance(value, str):
            words = [value]
        return [_toml_value(word, word) for word in words] if kind == "list of int" else words
    return text.strip() if value is None else value


def _toml_value(text: str, default: Any = None) -> Any:
    import tomllib

    try:
        data = tomllib.loads(f"value = {text.strip()}")
    except (ValueError, RecursionError):
        return default
    return data["value"] if data.keys() == {"value"} else default
