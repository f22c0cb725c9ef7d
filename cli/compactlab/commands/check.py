"""`compactlab check`: the invariants, on the recording and on what a replay would send."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._fail import FailOn, check_names, failures
from compactlab.commands._help import Command
from compactlab.commands._options import OUTPUT, READING, SETTINGS, Common, Paths, finish, stdin, with_common
from compactlab.commands._streams import say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("check", cls=Command)
@with_common(SETTINGS, OUTPUT, READING)
def check(
    common: Common,
    paths: Paths = None,
    recording_only: Annotated[
        bool, typer.Option("--recording-only", help="Only the faults of the recordings themselves.")
    ] = False,
    fail_on: FailOn = None,
) -> int:
    """Check the invariants on recordings and on what a replay with these settings would send."""
    from compactlab import api
    from compactlab.errors import CHECK_FAILED

    paths = common.inputs(paths, "check")
    wanted = check_names(fail_on)
    result, problems = api.check_paths(
        paths,
        common.settings(),
        recording_only=recording_only,
        stdin=stdin(),
        progress=common.progress(),
    )
    sessions = result.document["sessions"]
    if sessions or not problems:
        common.show(result)
    rows = [row for session in sessions for row in session["violations"]]
    malformed = [
        (s["source"], row["line"], row["message"])
        for s in sessions
        for row in s["violations"]
        if row["code"] == "CL906"
    ]
    code = finish(common, problems, malformed)
    failed = failures(rows, wanted)
    if failed:
        say(f"--fail-on: {', '.join(failed)}")
    return code or (CHECK_FAILED if failed else 0)
