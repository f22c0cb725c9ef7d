"""`compactlab config`: the settings shown, checked and described."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from compactlab.commands._options import Common, with_common
from compactlab.commands._output import Format, Output

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="Show, check and describe the settings.",
)


@app.command("show")
@with_common
def show(
    common: Common,
    version: Annotated[
        str | None,
        typer.Option(metavar="V", help="Recorded version whose profile counts; the newest if not given."),
    ] = None,
) -> None:
    """Show every setting as it is resolved, with where each value came from."""
    from compactlab.engine.configured import show_table

    common.check_format()
    common.show(show_table(common.settings(), version))


@app.command("check")
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="TOML files with settings.")],
) -> int:
    """Check files with settings: exit 0 if all hold, 2 with one line for the first fault of each."""
    from compactlab.commands._options import say
    from compactlab.config.errors import ConfigError
    from compactlab.config.load import resolve
    from compactlab.errors import USAGE

    code = 0
    for path in files:
        try:
            settings = resolve(start=None, config_files=[path])
        except ConfigError as error:
            say(str(error))
            code = USAGE
            continue
        for warning in settings.warnings:
            say(f"warning: {warning}")
        sys.stdout.write(f"{path}: ok\n")
    return code


@app.command("schema")
def schema(format: Format = "table", output: Output = None) -> None:
    """Describe every setting: type, default, unit, meaning."""
    from compactlab.engine.configured import schema_table

    common = Common(format=format, output=output)
    common.check_format()
    common.show(schema_table())


@app.command("profiles")
def profiles(format: Format = "table", output: Output = None) -> None:
    """List the profiles: ranges of recorded versions and the numbers measured for them."""
    from compactlab.engine.configured import profiles_table

    common = Common(format=format, output=output)
    common.check_format()
    common.show(profiles_table())
