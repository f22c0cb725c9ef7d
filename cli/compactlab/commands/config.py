"""`compactlab config`: the settings shown, checked and described."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compactlab.commands._help import Command, Group
from compactlab.commands._options import OUTPUT, SETTINGS, Common, with_common
from compactlab.commands._streams import emit, say

app = typer.Typer(
    cls=Group, rich_markup_mode=None, add_completion=False, help="Show, check and describe the settings."
)


@app.command("show", cls=Command)
@with_common(SETTINGS, OUTPUT, ["quiet"])
def show(
    common: Common,
    version: Annotated[
        str | None,
        typer.Option(metavar="V", help="Recorded version whose profile counts; the newest if not given."),
    ] = None,
) -> None:
    """Show every setting as it is resolved, with where each value came from."""
    from compactlab.config.errors import shown
    from compactlab.engine.configured import show_table
    from compactlab.errors import UsageError
    from compactlab.profiles.catalog import parse_version

    if version is not None and parse_version(version) is None:
        raise UsageError(f"--version: {shown(version)} is no version; give one as in: --version 2.1.20")
    common.show(show_table(common.settings(), version))


@app.command("check", cls=Command)
def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...")] = None,
) -> int:
    """Check files with settings: exit 0 if all hold, else 2.

    Prints "ok" for each file that holds, and one line for the first fault of each that does not.
    """
    from compactlab.config.errors import ConfigError
    from compactlab.config.load import resolve
    from compactlab.errors import OK, USAGE, UsageError
    from compactlab.render.text import safe

    if not files:
        raise UsageError("no file: give one, as in: compactlab config check compactlab.toml")
    good, faults = [], []
    for path in files:
        try:
            settings = resolve(start=None, config_files=[path])
        except ConfigError as error:
            faults.append(str(error))
            continue
        good.append(f"{safe(str(path))}: ok\n")
        faults += [f"warning: {warning}" for warning in settings.warnings]
    emit("".join(good).encode())
    for line in faults:
        say(line)
    return OK if len(good) == len(files) else USAGE


@app.command("schema", cls=Command)
@with_common(OUTPUT)
def schema(common: Common) -> None:
    """Describe every setting: type, default, unit, meaning."""
    from compactlab.engine.configured import schema_table

    common.show(schema_table())


@app.command("profiles", cls=Command)
@with_common(OUTPUT)
def profiles(common: Common) -> None:
    """List the profiles: ranges of recorded versions and the numbers measured for them."""
    from compactlab.engine.configured import profiles_table

    common.show(profiles_table())
