"""What commands write: results to stdout or a file, lines for a person and the progress to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

#: Goes to the start of the terminal's line and clears it.
CLEAR = "\r\x1b[K"


def emit(text: bytes, output: Path | None = None) -> None:
    """Write a result to the file `output`, or to standard output. Raises ResourceError where it cannot."""
    from compactlab.errors import ResourceError
    from compactlab.render.sinks import write

    if sys.stdout is None and (output is None or str(output) == "-"):
        raise ResourceError("standard output is closed; keep it open, or use --output FILE")
    write(text, output)


def say(line: str) -> None:
    """One line on stderr, in the place of a progress line if there is one. Without a stderr it is lost."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{CLEAR if sys.stderr.isatty() else ''}compactlab: {line}\n")
        sys.stderr.flush()


def progress(name: str, done: int, total: int) -> None:
    """Show on the terminal at stderr how many files are done; the line is cleared after the last."""
    from compactlab.render.text import safe

    with contextlib.suppress(OSError, ValueError):
        count = f"{done}/{total} "
        text = count + safe(name, _columns() - len(count) - 1) if done < total else ""
        sys.stderr.write(CLEAR + text)
        sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
