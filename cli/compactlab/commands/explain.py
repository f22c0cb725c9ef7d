"""`compactlab explain`: one invariant in words."""

from __future__ import annotations

from typing import Annotated

import typer

from compactlab.commands._options import Common
from compactlab.commands._output import Format, Output

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("explain")
def explain(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="A code such as CL101, or a name such as role-run.")
    ],
    format: Format = "table",
    output: Output = None,
) -> None:
    """Say what an invariant's code means, what the API says when it is broken, and what to do."""
    from compactlab import api

    common = Common(format=format, output=output)
    common.check_format()
    common.show(api.explain(code))
