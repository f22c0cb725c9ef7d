"""`compactlab replay`: the main job."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._fail import FailOn, check_names, failures
from compactlab.commands._options import Common, Paths, finish, need_paths, say, stdin, with_common

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("replay")
@with_common
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
        typer.Option("--manual-at", metavar="CALL", help="Give /compact before this call, from 0."),
    ] = None,
    fail_on: FailOn = None,
) -> int:
    """Replay sessions through the layers; report savings, boundaries and violations.

    Nothing is sent anywhere: summaries are stand-ins, sizes come from the recording.
    """
    from compactlab import api
    from compactlab.errors import CHECK_FAILED, UsageError

    common.check_format()
    wanted = check_names(fail_on)
    settings = common.settings(
        **{"snip.enabled": True if snip else None, "auto.manual_at": manual_at or None}
    )
    if settings.base().summary.kind in ("recorded", "cache"):
        raise UsageError(
            "summary.source: recorded and cache need the summary store, which this version has not; use stub"
        )
    result, problems = api.replay_paths(
        need_paths(paths, "replay"),
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
