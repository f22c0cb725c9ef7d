"""Where settings come from: nested tables, TOML files, variables, `key=value` pairs, named options.

Each reader gives `Entry` values: checked, with the name of where they stood. Nothing here knows which
source wins (`load`). Files are read only by `read_file` and `discover`; variables come in as a mapping.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from compactlab.config.check import checked, checked_entry
from compactlab.config.errors import ConfigError, did_you_mean, nearest, shown
from compactlab.config.locate import line_of, lines_of
from compactlab.config.schema import Key, keys, tables

PREFIX = "COMPACTLAB_"
FILE_NAME = "compactlab.toml"
PROJECT_FILE = "pyproject.toml"
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


def read_file(path: Path, name: str | None = None) -> Iterator[Entry]:
    """The entries of a TOML file; of `pyproject.toml` those of its table [tool.compactlab].

    Args: `name` is what messages call the file, by default the path as given.
    """
    where = name or str(path)
    text = _text_of(path, where)
    return _from_text(text, path.name == PROJECT_FILE, where)


def _from_text(text: str, is_project: bool, where: str) -> Iterator[Entry]:
    data: Mapping[str, Any] = _parse(text, where)
    prefix = ""
    if is_project:
        data, prefix = _tool_table(data, where) or {}, "tool.compactlab."
    origin = Path(where).name if Path(where).is_absolute() else where
    return from_tables(data, Place(where, origin, prefix, lines_of(text)))


def discover(start: Path) -> Iterator[Entry]:
    """The entries of the nearest settings file from `start` upward: `compactlab.toml`, else `pyproject.toml`.

    A `pyproject.toml` without [tool.compactlab] is passed over, even where it is not valid.
    """
    directory = Path(os.path.abspath(start))
    for steps, folder in enumerate((directory, *directory.parents)):
        above = "../" * steps
        own, project = folder / FILE_NAME, folder / PROJECT_FILE
        if os.path.isfile(own):
            return read_file(own, above + FILE_NAME)
        if os.path.isfile(project):
            name = above + PROJECT_FILE
            text = _text_of(project, name)
            if _concerns_us(text, name):
                return _from_text(text, True, name)
    return iter(())


def _concerns_us(text: str, where: str) -> bool:
    """Whether a `pyproject.toml` has our table. One that is broken does only if it names the table."""
    if "compactlab" not in text:
        return False
    try:
        return _tool_table(_parse(text, where), where) is not None
    except ConfigError:
        if "tool.compactlab" in text:
            raise
        return False


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


def _text_of(path: Path, where: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ConfigError(where, "", "no such file; give the path of a TOML file") from None
    except IsADirectoryError:
        raise ConfigError(where, "", f"is a directory; give a TOML file, such as {FILE_NAME} in it") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ConfigError(f"{where}:{line}", "", "is not UTF-8; save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise ConfigError(where, "", f"cannot be read ({reason}); give the path of a TOML file") from None


def _parse(text: str, where: str) -> dict[str, Any]:
    import re
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, ValueError) else "nested too deep"
        place = re.search(r" \(at line (\d+), column \d+\)$", said)
        line = int(place[1]) if place else text.count("\n") + 1 if "end of document" in said else None
        reason = re.sub(r" \(at [^()]*\)$", "", said)
        raise ConfigError(
            f"{where}:{line}" if line else where, "", f"not valid TOML: {reason}; correct it"
        ) from None


def _tool_table(data: Mapping[str, Any], where: str) -> Mapping[str, Any] | None:
    tool = data.get("tool")
    table = tool.get("compactlab") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise ConfigError(where, "tool.compactlab", f"expected a table, got {shown(table)}")
