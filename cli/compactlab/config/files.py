"""Settings in TOML files: those named with --config, and the nearest one upward from a directory.

The only module of the configuration that opens files of the user. What an entry is: `sources`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compactlab.config.errors import ConfigError, shown
from compactlab.config.locate import lines_of
from compactlab.config.sources import Entry, Place, from_tables

FILE_NAME = "compactlab.toml"
PROJECT_FILE = "pyproject.toml"


def read_file(path: Path, name: str | None = None) -> Iterator[Entry]:
    """The entries of a TOML file; of `pyproject.toml` those of its table [tool.compactlab].

    Args: `name` is what messages call the file, by default the path as given.
    """
    where = name or str(path)
    text = _text_of(path, where)
    is_project = path.name == PROJECT_FILE
    if is_project and _tool_table(_parse(text, where), where) is None:
        raise ConfigError(
            where, "tool.compactlab", "no such table; add [tool.compactlab] or name another file"
        )
    return _from_text(text, is_project, where)


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
