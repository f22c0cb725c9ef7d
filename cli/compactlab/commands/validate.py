"""`compactlab validate`: predicted against recorded compactions."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from compactlab.commands._help import Command
from compactlab.commands._options import OUTPUT, READING, SETTINGS, Common, Paths, finish, stdin, with_common
from compactlab.commands._streams import say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("validate", cls=Command)
@with_common(SETTINGS, OUTPUT, READING)
def validate(
    common: Common,
    paths: Paths = None,
    min_hits: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="Exit 1 if fewer of the knowable compactions are hit."),
    ] = None,
    max_false_alarms: Annotated[
        float | None, typer.Option(metavar="N", help="Exit 1 if there are more in 1,000 calls.")
    ] = None,
) -> int:
    """Compare predicted with recorded compactions: hit, early, late, unknowable, false alarms, size error."""
    from compactlab import api
    from compactlab.errors import CHECK_FAILED

    paths = common.inputs(paths, "validate")
    _check_limit("--min-hits", min_hits, 100)
    _check_limit("--max-false-alarms", max_false_alarms, 1000)
    settings = common.settings()
    # With --strict the inputs are read twice, for their lines too: the result does not hold those.
    result, problems = api.validate_paths(paths, settings, stdin=stdin(), progress=common.progress())
    if result.document["sessions"] or not problems:
        common.show(result)
    malformed = [
        (session["source"], bad["line"], bad["reason"])
        for session in result.document["sessions"]
        for bad in session["malformed"]
    ]
    code = finish(common, problems, malformed)
    failed = _failures(result.document["totals"], min_hits, max_false_alarms)
    for line in failed:
        say(line)
    return code or (CHECK_FAILED if failed else 0)


def _check_limit(option: str, value: float | None, most: int) -> None:
    from compactlab.errors import UsageError

    if value is not None and not (math.isfinite(value) and 0 <= value <= most):
        raise UsageError(f"{option}: give a number from 0 to {most:,}, not {value:g}")


def _failures(totals: dict[str, Any], min_hits: float | None, max_false_alarms: float | None) -> list[str]:
    """One line for each limit that does not hold."""
    failed = []
    share = totals["hit_share_of_knowable"]
    if min_hits is not None and (share is None or 100 * share < min_hits):
        found = "no knowable compaction" if share is None else f"{100 * share:.1f} % hit"
        failed.append(f"--min-hits: {found}, {min_hits:g} % wanted")
    rate = 1000 * totals["false_alarms"] / totals["calls"] if totals["calls"] else 0.0
    if max_false_alarms is not None and rate > max_false_alarms:
        failed.append(f"--max-false-alarms: {rate:.2f} in 1,000 calls, {max_false_alarms:g} allowed")
    return failed
