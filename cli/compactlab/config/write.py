"""Writes settings as TOML: what `tune` recommends, and the reference file with every key and its comment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from compactlab.config.schema import Config, Key, keys, to_dict

_WIDTH = 100
_HEADER = """\
# Every setting with its default. Copy what you change into `compactlab.toml`, or into `pyproject.toml`
# under [tool.compactlab]. What is left out keeps its default, or what the profile of the recorded version
# says; a key that is set here wins over every profile.
"""


def to_toml(values: Mapping[str, Any]) -> str:
    """Nested tables (as from `to_dict` or `Settings.overrides`) as TOML text that reads back as the same."""
    return "\n".join(_tables(values, "", None))


def reference_text() -> str:
    """The text of `reference.toml`: all defaults in the order of the schema, each under its comment."""
    return _HEADER + "\n" + "\n".join(_tables(_in_order(), "", keys()))


def _in_order() -> dict[str, Any]:
    values = to_dict(Config())
    ordered: dict[str, Any] = {}
    for name in keys():
        *path, last = name.split(".")
        table, source = ordered, values
        for part in path:
            table, source = table.setdefault(part, {}), source[part]
        table[last] = source[last]
    return ordered


def _tables(values: Mapping[str, Any], prefix: str, comments: Mapping[str, Key] | None) -> list[str]:
    """The blocks of a table and the tables in it: its own keys first. A table of numbers stands inline."""
    own = {name: value for name, value in values.items() if not _is_table(prefix + name, value)}
    blocks: list[str] = []
    if own:
        lines = [f"[{prefix[:-1]}]"] if prefix else []
        for name, value in own.items():
            if comments is not None:
                lines.append(_comment(comments[prefix + name]))
            lines.append(f"{_key(name)} = {_value(value)}")
        blocks.append("\n".join(lines) + "\n")
    for name, value in values.items():
        if name not in own:
            blocks.extend(_tables(value, f"{prefix}{_key(name)}.", comments))
    return blocks


def _is_table(name: str, value: Any) -> bool:
    return isinstance(value, Mapping) and name not in keys()


def _comment(key: Key) -> str:
    spec = key.spec
    unit = f" ({spec.unit})" if spec.unit else ""
    choices = f" One of: {', '.join(spec.choices)}." if spec.choices else ""
    return f"# {spec.doc}{unit}.{choices}"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    """A basic string: the escapes of JSON are good in TOML, and only the delete character is missing."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items()) + " }"
            if value
            else "{}"
        )
    if isinstance(value, (list, tuple)):
        return _list([_value(one) for one in value])
    return repr(value)


def _list(items: list[str]) -> str:
    """On one line where it fits, else filled over several."""
    line = "[" + ", ".join(items) + "]"
    if len(line) <= _WIDTH:
        return line
    lines, current = ["["], "   "
    for item in items:
        if len(current) + len(item) + 2 > _WIDTH:
            lines.append(current)
            current = "   "
        current += f" {item},"
    return "\n".join([*lines, current, "]"])
