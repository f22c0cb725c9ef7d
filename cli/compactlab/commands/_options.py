"""The options that commands share, declared once, and what becomes of them.

`with_common` gives a command's function some of these options besides its own; it then gets a `Common` first.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from compactlab.commands._streams import emit, progress, say

if TYPE_CHECKING:
    from compactlab.config.load import Settings

#: Groups of the shared options, by field of `Common`.
SETTINGS = ("config", "sets", "profile", "window", "counter", "summary")
OUTPUT = ("format", "output", "no_color")
READING = ("strict", "quiet")


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
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="table (default), json, csv or markdown.")
    ] = "table"
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
        from compactlab.config.errors import shown
        from compactlab.errors import UsageError
        from compactlab.render import FORMATS

        if self.format not in FORMATS:
            raise UsageError(f"no format {shown(self.format)}: choose {', '.join(FORMATS)}")

    def inputs(self, paths: list[str] | None, command: str) -> list[str]:
        """The paths as given. Raises UsageError where there is none, or where the output would replace one."""
        from compactlab.errors import UsageError

        if not paths:
            raise UsageError(f"no input: give a transcript, as in: compactlab {command} session.jsonl")
        for path in paths:
            if not path:
                raise UsageError("the name of an input is empty: give a transcript, or . for this directory")
            if self.output is not None and _same_file(path, self.output):
                raise UsageError(f"--output: {path} is an input; write to another file")
        return paths

    def show(self, result: Any) -> None:
        """Render a result and write it where it was asked for."""
        from compactlab.render import render

        terminal = self.output is None and sys.stdout is not None and sys.stdout.isatty()
        width = terminal_width() if terminal else 80
        color = terminal and not self.no_color and "NO_COLOR" not in os.environ
        emit(render(result, format=self.format, width=width, color=color), self.output)

    def progress(self) -> Callable[[str, int, int], None] | None:
        """A line on stderr that follows the files, only on a terminal."""
        silent = self.quiet or sys.stderr is None or not sys.stderr.isatty()
        return None if silent else progress


def _same_file(path: str, output: Path) -> bool:
    try:
        return os.path.isfile(path) and os.path.samefile(path, output)
    except OSError:
        return False


def terminal_width() -> int:
    """Columns of the terminal, at least 40."""
    import shutil

    return max(40, shutil.get_terminal_size((80, 24)).columns)


def with_common(*groups: Sequence[str]) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Add these groups of the shared options to a command's signature, in the order of `Common`."""
    import typing

    hints = typing.get_type_hints(Common, include_extras=True)
    wanted = {name for group in groups for name in group}
    added = [
        inspect.Parameter(
            item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default, annotation=hints[item.name]
        )
        for item in fields(Common)
        if item.name in wanted
    ]

    def decorate(function: Callable[..., int | None]) -> Callable[..., int | None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *added]

        @wraps(function)
        def command(**given: Any) -> int | None:
            common = Common(**{p.name: given.pop(p.name) for p in added})
            common.check_format()
            return function(common, **given)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        del command.__wrapped__
        return command

    return decorate


Paths = Annotated[list[str] | None, typer.Argument(metavar="PATH...")]


def stdin() -> IO[bytes]:
    """Standard input as bytes; nothing where it is closed."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def finish(common: Common, problems: tuple[Any, ...], malformed: Sequence[tuple[str, int, str]]) -> int:
    """Say what could not be read, one line each; the exit code: 3 if there was anything, else 0.

    `malformed`: (source, line, reason); one line names the first, and it is an error only with --strict.
    """
    from compactlab import api
    from compactlab.errors import INPUT, INTERRUPTED, OK
    from compactlab.render.text import safe

    for problem in problems:
        place = "" if problem.source == api.INTERRUPTED else f"{safe(problem.source)}: "
        say(place + safe(problem.message))
    if malformed and (common.strict or not common.quiet):
        source, line, reason = malformed[0]
        more = f" ({len(malformed)} such lines)" if len(malformed) > 1 else ""
        say(f"{safe(source)}:{line}: {safe(reason)}{more}")
    if any(problem.source == api.INTERRUPTED for problem in problems):
        return INTERRUPTED
    return INPUT if problems or (common.strict and malformed) else OK
