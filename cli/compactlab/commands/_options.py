"""The options that commands share, declared once, and what becomes of them.

`with_common` gives a command's function these options besides its own; it then gets a `Common` first.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from compactlab.config.load import Settings

_SETTINGS = "Settings"
_OUTPUT = "Output"


@dataclass(frozen=True, slots=True)
class Common:
    """The shared options as given."""

    config: Annotated[
        list[Path] | None,
        typer.Option("--config", "-c", metavar="FILE", help="Settings from a TOML file (repeatable)."),
    ] = None
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="One setting, as auto.enabled=false (repeatable)."),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Profile for all calls, instead of that of each call's version."),
    ] = None
    window: Annotated[
        int | None, typer.Option(metavar="N", help="Context window in tokens; inferred where not given.")
    ] = None
    counter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="recorded, heuristic, o200k_base or cl100k_base; auto where not given."
        ),
    ] = None
    summary: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="stub, fixed:N (tokens) or ratio:R (share).")
    ] = None
    format: Annotated[str, typer.Option("--format", metavar="NAME", help="table, json, csv or markdown.")] = (
        "table"
    )
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file, whole or not at all."),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="A line that cannot be read is an error (exit 3).")
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no warnings.")] = False
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours on a terminal.")] = False

    def settings(self, **options: Any) -> Settings:
        """The resolved settings; `options` are further values by dotted key (None: not given).

        Raises ConfigError for a wrong key or value.
        """
        from compactlab.config.load import resolve

        named = {"window.tokens": self.window, "tokens.counter": self.counter, "summary.source": self.summary}
        named |= options
        settings = resolve(
            start=Path.cwd(),
            config_files=self.config or (),
            env={key: value for key, value in os.environ.items() if key.startswith("COMPACTLAB_")},
            sets=self.sets or (),
            options={key: value for key, value in named.items() if value is not None},
            profile=self.profile,
        )
        if not self.quiet:
            for warning in settings.warnings:
                say(f"warning: {warning}")
        return settings

    def check_format(self) -> None:
        """Raises UsageError for a format that does not exist, before any work is done."""
        from compactlab.errors import UsageError
        from compactlab.render import FORMATS

        if self.format not in FORMATS:
            raise UsageError(f"no format {self.format!r}: choose {', '.join(FORMATS)}")

    def show(self, result: Any) -> None:
        """Render a result and write it where it was asked for."""
        from compactlab.render import render
        from compactlab.render.sinks import write

        terminal = self.output is None and sys.stdout.isatty()
        width = terminal_width() if terminal else 80
        color = terminal and not self.no_color and "NO_COLOR" not in os.environ
        write(render(result, format=self.format, width=width, color=color), self.output)

    def progress(self) -> Callable[[str, int, int], None] | None:
        """A line on stderr that follows the files, only on a terminal."""
        if self.quiet or not sys.stderr.isatty():
            return None

        def show(name: str, done: int, total: int) -> None:
            from compactlab.render.text import safe

            text = f"{done}/{total} {safe(name, 60)}" if done < total else ""
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

        return show


def terminal_width() -> int:
    """Columns of the terminal, at least 40."""
    import shutil

    return max(40, shutil.get_terminal_size((80, 24)).columns)


def say(line: str) -> None:
    """One line for a person, on stderr."""
    sys.stderr.write(f"compactlab: {line}\n")


def with_common(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add the shared options to a command's signature."""
    import typing

    hints = typing.get_type_hints(Common, include_extras=True)
    names = [item.name for item in fields(Common)]
    own = inspect.signature(function, eval_str=True)
    parameters = list(own.parameters.values())[1:]
    parameters += [
        inspect.Parameter(
            item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default, annotation=hints[item.name]
        )
        for item in fields(Common)
    ]

    @wraps(function)
    def command(**given: Any) -> int | None:
        common = Common(**{name: given.pop(name) for name in names})
        return function(common, **given)

    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    del command.__wrapped__
    return command


Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH...", help="Transcripts (.jsonl, .jsonl.gz), directories, or - for stdin."),
]


def need_paths(paths: list[str] | None, command: str) -> list[str]:
    """Raises UsageError, with an example, where no path was given."""
    from compactlab.errors import UsageError

    if not paths:
        raise UsageError(f"no input: give a transcript, as in: compactlab {command} session.jsonl")
    return paths


def stdin() -> IO[bytes]:
    """Standard input as bytes."""
    return sys.stdin.buffer


def finish(common: Common, problems: tuple[Any, ...], malformed: list[tuple[str, int, str]]) -> int:
    """Say what could not be read, one line each; the exit code: 3 if there was anything, else 0.

    `malformed`: (source, line, reason), an error only with --strict.
    """
    from compactlab.errors import INPUT
    from compactlab.render.text import safe

    for problem in problems:
        say(f"{safe(problem.source)}: {safe(problem.message)}")
    if common.strict and malformed:
        source, line, reason = malformed[0]
        say(f"{safe(source)}:{line}: {safe(reason)} ({len(malformed)} such lines; --strict)")
    return INPUT if problems or (common.strict and malformed) else 0
