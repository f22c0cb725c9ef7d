"""`compactlab replay`: the main job."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._fail import FailOn, check_names, failures
from compactlab.commands._help import Command
from compactlab.commands._options import OUTPUT, READING, SETTINGS, Common, Paths, finish, stdin, with_common
from compactlab.commands._streams import say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("replay", cls=Command)
@with_common(SETTINGS, OUTPUT, READING)
def replay(
    common: Common,
    paths: Paths = None,
    as_recorded: Annotated[
        bool,
        typer.Option("--as-recorded", help="Honour the recorded compactions instead of leaving them out."),
    ] = False,
    snip: Annotated[bool, typer.Option("--snip", help="Turn the snip layer on.")] = False,
    manual_at: Annotated[
        list[int] | None,
        typer.Option(
            "--manual-at", metavar="CALL", help="Give /compact before this call, from 0 (repeatable)."
        ),
    ] = None,
    fail_on: FailOn = None,
) -> int:
    """Replay sessions through the layers; report savings, boundaries and violations.

    Nothing is sent anywhere: summaries are stand-ins, sizes come from the recording.
    """
    from compactlab import api
    from compactlab.errors import CHECK_FAILED, UsageError

    paths = common.inputs(paths, "replay")
    wanted = check_names(fail_on)
    if faults := [name for name in wanted if name.startswith("CL9")]:
        raise UsageError(f"--fail-on: {faults[0]} is a fault of a recording; use compactlab check")
    settings = common.settings(
        **{"snip.enabled": True if snip else None, "auto.manual_at": manual_at or None}
    )
    if settings.base().summary.kind in ("recorded", "cache"):
        raise UsageError(
            "summary.source: recorded and cache need the summary store, which this version has not; use stub"
        )
    result, problems = api.replay_paths(
        paths,
        settings,
        as_recorded=as_recorded,
        stdin=stdin(),
        progress=common.progress(),
    )
    if result.sessions or not problems:
        common.show(result)
    malformed = [(s.source, bad["line"], bad["reason"]) for s in result.sessions for bad in s.malformed]
    code = finish(common, problems, malformed)
    failed = failures((v.to_dict() for s in result.sessions for v in s.violations), wanted)
    if failed:
        say(f"--fail-on: {', '.join(failed)}")
    return code or (CHECK_FAILED if failed else 0)
