"""How help pages look: plain text, the same with every version of typer.

A command's page is made of the texts and names that it declares, and of nothing else.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

#: What the arguments are, by their name on the page. They stand here and not at their declaration, since
#: typer before it had its own click loses the text with click 8.5.
ARGUMENTS = {
    "PATH...": "Transcripts (.jsonl, .jsonl.gz), directories, or - for stdin.",
    "FILE...": "TOML files with settings.",
    "CODE": "A code such as CL101, or a name such as role-run.",
}


class Command(TyperCommand):
    """A command with our help page."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The first line: options, then the arguments as they are named."""
        names = [str(param.metavar) for param in _params(self, ctx, "argument")]
        formatter.write_usage(ctx.command_path, " ".join(["[OPTIONS]", *names]))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options."""
        _write_params(self, ctx, formatter)


class Group(TyperGroup):
    """A group with our help page."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The first line."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] COMMAND [ARGS]...")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options, then commands."""
        _write_params(self, ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx).items()))

    def summaries(self, ctx: Any) -> dict[str, str]:
        """Each command with the first paragraph of its help, in their order."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        return {
            name: " ".join((command.help or "").split("\n\n")[0].split())
            for name, command in commands.items()
            if command is not None
        }


def _params(command: Any, ctx: Any, kind: str) -> list[Any]:
    return [param for param in command.get_params(ctx) if param.param_type_name == kind]


def _write_params(command: Any, ctx: Any, formatter: Any) -> None:
    arguments = [(param.metavar, ARGUMENTS[param.metavar]) for param in _params(command, ctx, "argument")]
    options = [(_names(param), param.help or "") for param in _params(command, ctx, "option")]
    for title, rows in (("Arguments", arguments), ("Options", options)):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _names(param: Any) -> str:
    """The short name first, then the long one with what it takes."""
    names = ", ".join(sorted(param.opts, key=len))
    return f"{names} {param.metavar}" if param.metavar else names
