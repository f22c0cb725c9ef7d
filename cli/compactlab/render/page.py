"""A result as a page: which sections it has. Those of a replay are made in `replay`, any other here."""

from __future__ import annotations

from compactlab.model.results import ReplayResult, TableResult
from compactlab.render.document import Section
from compactlab.render.replay import replay_sections


def sections(result: ReplayResult | TableResult) -> list[Section]:
    """The page of a result."""
    if isinstance(result, ReplayResult):
        return replay_sections(result)
    if isinstance(result, TableResult):
        return table_sections(result)
    raise TypeError(f"no page for {type(result).__name__}")


def table_sections(result: TableResult) -> list[Section]:
    """Each table under its title; the lines, as paragraphs, at the end."""
    page = [Section(title, 2, columns=columns, rows=rows) for title, columns, rows in result.tables]
    return [*page, Section(lead=result.lines)] if result.lines else page
