"""`compactlab inspect`: what a session holds."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._help import Command
from compactlab.commands._options import OUTPUT, READING, SETTINGS, Common, Paths, finish, stdin, with_common

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("inspect", cls=Command)
@with_common(SETTINGS, OUTPUT, READING)
def inspect(
    common: Common,
    paths: Paths = None,
    segment: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Only what stands between two boundaries: 0 is the first, -1 the last."
        ),
    ] = None,
) -> int:
    """Show what sessions hold: tokens by role, tool and block, calls, recorded compactions, faults."""
    from compactlab import api

    result, problems = api.inspect_paths(
        common.inputs(paths, "inspect"),
        common.settings(),
        segment=segment,
        stdin=stdin(),
        progress=common.progress(),
    )
    sessions = result.document["sessions"]
    if sessions or not problems:
        common.show(result)
    malformed = [(s["source"], bad["line"], bad["reason"]) for s in sessions for bad in s["malformed"]]
    return finish(common, problems, malformed)
