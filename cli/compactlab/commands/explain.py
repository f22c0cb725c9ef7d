"""`compactlab explain`: one invariant in words."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._help import Command
from compactlab.commands._options import OUTPUT, Common, with_common

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("explain", cls=Command)
@with_common(OUTPUT)
def explain(
    common: Common,
    code: Annotated[str | None, typer.Argument(metavar="CODE")] = None,
) -> None:
    """Say what an invariant's code means, what the API says when it is broken, and what to do."""
    from compactlab import api
    from compactlab.errors import UsageError

    if not code:
        raise UsageError("no code: give one, as in: compactlab explain CL101")
    common.show(api.explain(code))
