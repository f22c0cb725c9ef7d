"""The output options alone, for commands that read no session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Format = Annotated[str, typer.Option("--format", metavar="NAME", help="table, json, csv or markdown.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, whole or not at all."),
]
