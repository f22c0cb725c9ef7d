"""The one map from an error to an exit code and a message of one line.

Commands raise a `LabError` for what a user can mend; `describe` turns that, and everything else that can
come up to the top, into what `app` prints on stderr and exits with. Nothing is printed here. The standard
library only: errors of heavier modules are matched by their name, so that nothing has to be imported.
"""

from __future__ import annotations

import os
from types import TracebackType

OK = 0
CHECK_FAILED = 1
USAGE = 2
INPUT = 3
RESOURCE = 4
BUG = 70
INTERRUPTED = 130

#: Errors of modules that are not imported here, by their full name.
_BY_NAME = {
    "compactlab.config.errors.ConfigError": USAGE,
    "compactlab.config.load.ConfigError": USAGE,
    "compactlab.profiles.catalog.ProfileError": USAGE,
    "compactlab.tokens.bpe.VocabularyError": RESOURCE,
}


class LabError(Exception):
    """An error with an exit code and a message of one line: what, where, what to do.

    Raise a subclass. A bare LabError without a code is reported as a bug.
    """

    exit_code: int = BUG

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code

    @property
    def message(self) -> str:
        """The message on one line, without control characters."""
        return _one_line(str(self.args[0]) if self.args else "")


class CheckFailed(LabError):
    """A check that was asked for (`--fail-on`, `--min-hits`) did not hold."""

    exit_code = CHECK_FAILED


class UsageError(LabError):
    """Wrong usage: options or arguments that cannot be followed."""

    exit_code = USAGE


class InputError(LabError):
    """An input could not be read."""

    exit_code = INPUT


class ResourceError(LabError):
    """Something needed is missing: a cache entry, a vocabulary, room or leave to write the output."""

    exit_code = RESOURCE


class Interrupted(LabError):
    """The user stopped the run; what was finished is written."""

    exit_code = INTERRUPTED

    def __init__(self, message: str = "interrupted", exit_code: int | None = None) -> None:
        super().__init__(message, exit_code)


def describe(error: BaseException) -> tuple[int, str]:
    """The exit code and the message of one line for any error; an empty message means: print nothing."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, BrokenPipeError):
        return OK, ""
    if isinstance(error, SystemExit):
        return _of_system_exit(error)
    if isinstance(error, MemoryError):
        return RESOURCE, "not enough memory; try fewer inputs at once"
    code = _known_code(error)
    if code is not None and code != BUG:
        return code, _own_message(error)
    if isinstance(error, OSError):
        return INPUT, _of_os_error(error)
    return BUG, _of_bug(error)


def _known_code(error: BaseException) -> int | None:
    """The code that the error's class names here or carries itself (as click's exceptions do)."""
    for kind in type(error).__mro__:
        code = _BY_NAME.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    carried = getattr(error, "exit_code", None)
    return carried if isinstance(carried, int) and not isinstance(carried, bool) else None


def _own_message(error: BaseException) -> str:
    formatted = getattr(error, "format_message", None)
    text = formatted() if callable(formatted) else str(error)
    return _one_line(str(text))


def _of_system_exit(error: SystemExit) -> tuple[int, str]:
    if error.code is None:
        return OK, ""
    if isinstance(error.code, int):
        return error.code, ""
    return CHECK_FAILED, _one_line(str(error.code))


def _of_os_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    paths = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    return _one_line(": ".join([" -> ".join(paths), reason] if paths else [reason]))


def _of_bug(error: BaseException) -> str:
    text = _one_line(str(error))
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return (
        f"this is a bug in compactlab: {what}{_place(error.__traceback__)}; "
        "please report it with the command and `compactlab --version`"
    )


def _place(traceback: TracebackType | None) -> str:
    """Where the error arose, as ` (file.py:12)`: the file's name only, no private path."""
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return f" ({os.path.basename(traceback.tb_frame.f_code.co_filename)}:{traceback.tb_lineno})"


def _one_line(text: str) -> str:
    """White space folded to single blanks, and what a terminal must not get shown as escapes."""
    folded = " ".join(text.split())
    if folded.isprintable():
        return folded
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in folded)
