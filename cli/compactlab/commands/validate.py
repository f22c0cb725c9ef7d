"""`compactlab validate`: predicted against recorded compactions."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._options import Common, Paths, finish, need_paths, say, stdin, with_common

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("validate")
@with_common
def validate(
    common: Common,
    paths: Paths = None,
    min_hits: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", min=0, max=100, help="Exit 1 if fewer knowable compactions are hit."),
    ] = None,
    max_false_alarms: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="Exit 1 if there are more in 1,000 calls.")
    ] = None,
) -> int:
    """Compare predicted with recorded compactions: hit, early, late, unknowable, false alarms, size error."""
    from compactlab import api
    from compactlab.errors import CHECK_FAILED

    common.check_format()
    result, problems = api.validate_paths(
        need_paths(paths, "validate"), common.settings(), stdin=stdin(), progress=common.progress()
    )
    if result.document["sessions"] or not problems:
        common.show(result)
    totals = result.document["totals"]
    code = finish(common, problems, [])
    failed = []
    share = totals["hit_share_of_knowable"]
    if min_hits is not None and (share is None or 100 * share < min_hits):
        failed.append(
            "no knowable compaction" if share is None else f"{100 * share:.1f} % hit, {min_hits:g} % wanted"
        )
    rate = 1000 * totals["false_alarms"] / totals["calls"] if totals["calls"] else 0.0
    if max_false_alarms is not None and rate > max_false_alarms:
        failed.append(f"{rate:.2f} false alarms in 1,000 calls, {max_false_alarms:g} allowed")
    for line in failed:
        say(line)
    return code or (CHECK_FAILED if failed else 0)
