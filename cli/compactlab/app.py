"""The entry point: runs one command line and maps every error to one line and an exit code.

Typer is imported inside, so that an interrupt at start-up gets its one line too. What the commands are:
`commands`; how they are found: `commands/_root.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from compactlab.commands._streams import say
from compactlab.errors import INTERRUPTED, describe


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code and never raises."""
    line = ""
    try:
        import gc

        from compactlab.commands._root import call

        # Values are built in large numbers and hold no cycles: frequent collections would only cost time.
        gc.set_threshold(200_000, 20, 50)
        code = call(arguments)
    except BaseException as error:  # noqa: BLE001  the one place where every error becomes a line
        code, line = describe(error)
    if code == INTERRUPTED:
        line = "interrupted"  # typer may turn the interrupt into a bare exit code
    if line:
        say(line)
    return code


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))
