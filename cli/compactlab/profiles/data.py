"""Reads the TOML files of this package. Nothing else opens them."""

from __future__ import annotations

from typing import Any


def read(*path: str) -> dict[str, Any]:
    """The content of one data file of the package, by its path below it."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files(__package__).joinpath(*path).read_text(encoding="utf-8"))


def names(directory: str) -> list[str]:
    """The names of the TOML files in a directory of the package, sorted."""
    from importlib.resources import files

    return sorted(
        one.name for one in files(__package__).joinpath(directory).iterdir() if one.name.endswith(".toml")
    )
