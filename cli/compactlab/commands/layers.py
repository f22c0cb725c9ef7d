"""`compactlab layers`: the layers in their order."""

from __future__ import annotations

import typer

from compactlab.commands._options import Common
from compactlab.commands._output import Format, Output

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("layers")
def layers(format: Format = "table", output: Output = None) -> None:
    """List the compaction layers in their order, with their settings' tables."""
    from compactlab import api

    common = Common(format=format, output=output)
    common.check_format()
    common.show(api.layers())
