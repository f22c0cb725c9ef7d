"""`compactlab layers`: the layers in their order."""

from __future__ import annotations

import typer

from compactlab.commands._help import Command
from compactlab.commands._options import OUTPUT, Common, with_common

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("layers", cls=Command)
@with_common(OUTPUT)
def layers(common: Common) -> None:
    """List the compaction layers in their order, with their settings' tables."""
    from compactlab import api

    common.show(api.layers())
