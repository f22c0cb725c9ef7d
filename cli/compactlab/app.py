"""The root of the command line: finds the command, runs it, maps every error to one line and an exit code.

Commands are imported when they are called, so that the help page stays fast.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from compactlab import __version__
from compactlab.commands import COMMANDS
from compactlab.errors import INTERRUPTED, USAGE, UsageError, describe


class LazyGroup(TyperGroup):
    """Knows its commands by name; imports one when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        return typer.main.get_command(import_module(f"compactlab.commands.{cmd_name}").app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raises UsageError, with the nearest name, for a command that does not exist."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            near = get_close_matches(name, COMMANDS, 1, 0.5)
            hint = f": did you mean {near[0]!r}?" if near else f": choose {', '.join(COMMANDS)}"
            raise UsageError(f"no such command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list on the help page, without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(cls=LazyGroup, rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Replay recorded agent sessions through context compaction, offline.

    Begin with: compactlab replay session.jsonl
    """
    if version:
        sys.stdout.write(f"compactlab {__version__}\n")
        raise typer.Exit(0)
    if ctx.invoked_subcommand is None:
        sys.stdout.write(ctx.get_help() + "\n")
        raise typer.Exit(USAGE)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code and never raises."""
    # Values are built in large numbers and hold no cycles: frequent collections would only cost time.
    gc.set_threshold(200_000, 20, 50)
    line = ""
    try:
        code = typer.main.get_command(app).main(
            list(arguments), prog_name="compactlab", standalone_mode=False
        )
    except BaseException as error:  # noqa: BLE001  the one place where every error becomes a line
        code, line = describe(error)
    if code == INTERRUPTED:
        line = "interrupted"  # typer may turn the interrupt into a bare exit code
    if line:
        sys.stderr.write(f"compactlab: {line}\n")
    return code if isinstance(code, int) else 0


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))
