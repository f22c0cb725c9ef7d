"""`--fail-on`: which violations make a command exit with 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on", metavar="WHAT", help="error, warning or a code: exit 1 if there is one (repeatable)."
    ),
]

_RANK = {"info": 0, "warning": 1, "error": 2}


def check_names(names: list[str] | None) -> list[str]:
    """The names in their usual form. Raises UsageError for one that is no severity and no code."""
    from compactlab.api import explain
    from compactlab.errors import UsageError

    wanted = []
    for name in names or ():
        if name.lower() in ("error", "warning"):
            wanted.append(name.lower())
            continue
        try:
            wanted.append(explain(name).document["code"])
        except UsageError as error:
            raise UsageError(f"--fail-on: {error}; or give error or warning") from None
    return list(dict.fromkeys(wanted))


def failures(violations: Iterable[Any], wanted: list[str]) -> list[str]:
    """Which of the wanted names occur. A severity means it or a worse one, of a layer's making."""
    rows = list(violations)
    found = []
    for name in wanted:
        rank = _RANK.get(name)
        if rank is None:
            count = sum(row["code"] == name for row in rows)
        else:
            count = sum(_RANK[row["severity"]] >= rank and row["layer"] != "recording" for row in rows)
        if count:
            found.append(f"{count} x {name}")
    return found
