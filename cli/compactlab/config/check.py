"""Whether a value may stand where it stands: type, limits, and settings that exclude each other.

Every value passes `checked` before it reaches a `Config`, whatever it came from; `contradictions` and
`remarks` look at the whole. Not here: where values come from (`sources`, `load`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactlab.config.errors import ConfigError, did_you_mean, nearest, shown
from compactlab.config.fields import MAX_INTEGER, IntTable, Spec
from compactlab.config.schema import Config, Key

SOURCES = ("stub", "recorded", "cache", "fixed:N", "ratio:R")
_EXPECTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "list of str": "a list of strings",
    "list of int": "a list of whole numbers",
    "table of int": "a table of whole numbers",
}


def checked(key: Key, value: object, where: str) -> Any:
    """The value in the form in which a `Config` holds it; a `ConfigError` where it is wrong or impossible."""
    result = _typed(key, value, where)
    if key.name == "summary.source":
        _check_source(key.name, result, where)
    elif key.spec.choices and result not in key.spec.choices:
        near = did_you_mean(nearest(result, key.spec.choices, 1)) or f"; choose {_either(key.spec.choices)}"
        raise ConfigError(where, key.name, f"unknown value {shown(result)}{near}")
    return result


def checked_entry(key: Key, name: str, value: object, where: str) -> int:
    """The same for one entry of a table of numbers; `name` is its full dotted name."""
    row = name.removeprefix(key.name + ".")
    _text(key.name, row, where, may_be_empty=False)
    return _whole(name, key.spec, value, where)


def _typed(key: Key, value: object, where: str) -> Any:
    kind = key.kind
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int":
        return _whole(key.name, key.spec, value, where)
    if kind == "float":
        return _real(key.name, key.spec, value, where)
    if kind == "str" and isinstance(value, str):
        return _text(key.name, value, where, may_be_empty=True)
    if (
        kind == "list of str"
        and isinstance(value, (list, tuple))
        and all(isinstance(one, str) for one in value)
    ):
        return tuple(dict.fromkeys(_text(key.name, one, where, may_be_empty=False) for one in value))
    if kind == "list of int" and isinstance(value, (list, tuple)):
        return tuple(sorted({_whole(key.name, key.spec, one, where) for one in value}))
    if kind == "table of int" and isinstance(value, (dict, IntTable)):
        return IntTable(
            {name: checked_entry(key, f"{key.name}.{name}", one, where) for name, one in value.items()}
        )
    raise _wrong_type(key.name, kind, value, where)


def _wrong_type(name: str, kind: str, value: object, where: str) -> ConfigError:
    return ConfigError(where, name, f"expected {_EXPECTED[kind]}, got {shown(value)}")


def _text(name: str, value: str, where: str, *, may_be_empty: bool) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(where, name, f"{shown(value)} is not valid Unicode; write it in UTF-8") from None
    if not value.strip() and not may_be_empty:
        raise ConfigError(where, name, "an entry is empty; remove it or name something")
    return value


def _whole(name: str, spec: Spec, value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(name, "int", value, where)
    _check_limits(name, spec, value, where)
    return value


def _real(name: str, spec: Spec, value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(name, "float", value, where)
    _check_limits(name, spec, value, where)
    return float(value)


def _check_limits(name: str, spec: Spec, number: float, where: str) -> None:
    if number != number:
        raise ConfigError(where, name, "nan is no number; give a finite one")
    most = MAX_INTEGER if spec.high is None else spec.high
    if spec.low is not None and number < spec.low:
        raise ConfigError(where, name, f"must be at least {spec.low:g}, got {shown(number)}")
    if spec.above is not None and number <= spec.above:
        raise ConfigError(where, name, f"must be above {spec.above:g}, got {shown(number)}")
    if number > most:
        raise ConfigError(where, name, f"must be at most {most:,}, got {shown(number)}")


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _check_source(name: str, value: str, where: str) -> None:
    kind, colon, number = value.partition(":")
    if not colon and kind in {"stub", "recorded", "cache"}:
        return
    if kind == "fixed":
        if number.isascii() and number.isdigit() and len(number) <= 12 and int(number) > 0:
            return
        raise ConfigError(where, name, f"{shown(value)} needs a whole number of tokens, as in fixed:4000")
    if kind == "ratio":
        if _is_share(number):
            return
        raise ConfigError(where, name, f"{shown(value)} needs a share above 0 and up to 1, as in ratio:0.1")
    near = did_you_mean(nearest(value, SOURCES, 1)) or f"; choose {_either(SOURCES)}"
    raise ConfigError(where, name, f"unknown value {shown(value)}{near}")


def _is_share(text: str) -> bool:
    if not (text.isascii() and len(text) <= 40 and text[:1].isdigit() | (text[:1] == ".")):
        return False
    try:
        return "_" not in text and 0 < float(text) <= 1
    except ValueError:
        return False


def contradictions(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """What cannot hold together: the keys concerned and what to do about it."""
    collapse = config.collapse
    if not collapse.stage_at <= collapse.commit_at <= collapse.block_at:
        levels = f"{collapse.stage_at:g}, {collapse.commit_at:g}, {collapse.block_at:g}"
        yield (
            ("collapse.stage_at", "collapse.commit_at", "collapse.block_at"),
            f"stage_at, commit_at and block_at must not fall, got {levels}; raise or lower one of them",
        )


def remarks(config: Config) -> Iterator[str]:
    """What can hold but is hardly meant; each is one line and names the key."""
    window = config.window
    room = window.tokens - window.reserve_cap - window.auto_buffer
    if window.tokens and room <= 0:
        yield (
            f"window.tokens: {window.tokens} leaves no room beside window.reserve_cap and window.auto_buffer "
            "(unless the model writes less): auto-compact would fire at every call"
        )
    memory = config.auto.session_memory
    if memory.force_enable and memory.force_disable:
        yield "auto.session_memory.force_disable: has no effect, since force_enable wins"
