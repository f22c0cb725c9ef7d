"""Finds the command that a command line names, and runs it. Only that command's module is imported.

The command is run by itself, not through its group: so typer reads the options of one command only, which
keeps `compactlab replay --help` as fast as `compactlab --help`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer

from compactlab import __version__
from compactlab.commands import COMMANDS
from compactlab.commands._help import Group
from compactlab.commands._streams import emit
from compactlab.config.errors import shown
from compactlab.errors import OK, USAGE, UsageError

_HELP = ["-h", "--help"]


class LazyGroup(Group):
    """Knows its commands by name; imports one when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        return typer.main.get_command(import_module(f"compactlab.commands.{cmd_name}").app)

    def summaries(self, ctx: Any) -> dict[str, str]:
        """The list on the help page, without importing the commands."""
        return COMMANDS


app = typer.Typer(cls=LazyGroup, rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Replay recorded agent sessions through context compaction, offline.

    Begin with: compactlab replay session.jsonl
    """
    if version:
        emit(f"compactlab {__version__}\n".encode())
        raise typer.Exit(OK)


def call(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit code. Raises UsageError for names that do not exist."""
    command, words, rest = find(arguments)
    bare = isinstance(command, Group) and not rest
    if bare:
        rest = ["--help"]
    try:
        code = command.main(rest, prog_name=" ".join(words), standalone_mode=False, help_option_names=_HELP)
    except Exception as error:
        message = _usage_message(error, " ".join(words))
        if message is None:
            raise
        raise UsageError(message) from error
    if bare:
        return USAGE
    return code if isinstance(code, int) else OK


def find(arguments: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """The command that the first words name, those words, and what is left for it to read."""
    command: Any = typer.main.get_command(app)
    no_context: Any = None
    words, rest = ["compactlab"], list(arguments)
    while isinstance(command, Group) and rest and not rest[0].startswith("-"):
        names = command.list_commands(no_context)
        if rest[0] not in names:
            hint = _nearest(rest[0], names) or f": choose {', '.join(names)}"
            raise UsageError(f"no such command {shown(' '.join([*words[1:], rest[0]]))}{hint}")
        words.append(rest.pop(0))
        command = command.get_command(no_context, words[-1])
    return command, words, rest


def _nearest(name: str, names: Iterable[str]) -> str:
    by_lower = {one.lower(): one for one in names}
    near = get_close_matches(name.lower()[:100], by_lower, 1, 0.5)
    return f": did you mean {by_lower[near[0]]!r}?" if near else ""


def _usage_message(error: Exception, command: str) -> str | None:
    """What the parser found wrong, in our words; None for every other error.

    The parser's exceptions are known by their attributes: their module depends on the version of typer.
    """
    if getattr(error, "exit_code", None) != USAGE or not hasattr(error, "format_message"):
        return None
    option = getattr(error, "option_name", None)
    if option and type(error).__name__ == "NoSuchOption":
        near = _nearest(option, getattr(error, "possibilities", None) or ())
        return f"no such option {shown(option)}{near or f': see {command} --help'}"
    text = str(error.format_message()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}: see {command} --help"
