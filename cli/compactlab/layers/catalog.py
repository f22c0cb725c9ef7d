"""The layers in their order, with what a person should know of each."""

from __future__ import annotations

from typing import NamedTuple


class LayerInfo(NamedTuple):
    """A layer's name, its settings' table, whether it runs by default, and what it does."""

    name: str
    table: str
    default: str
    does: str


LAYERS = (
    LayerInfo(
        "budget",
        "budget",
        "on",
        "tool results over the limits go to disk; a preview of the first bytes stays in the request",
    ),
    LayerInfo("snip", "snip", "off", "acknowledgements and trivially successful tool rounds are left out"),
    LayerInfo(
        "micro",
        "micro",
        "by profile",
        "contents of old tool results are cleared: after a pause, by cache edit, near the threshold, or by the API",
    ),
    LayerInfo(
        "collapse", "collapse", "off", "the oldest closed rounds become short spans; suppresses auto-compact"
    ),
    LayerInfo(
        "auto",
        "auto",
        "on",
        "at the threshold history is replaced: by session memory and the newest messages, else by a full summary",
    ),
    LayerInfo(
        "reactive",
        "window",
        "on",
        "a call that would not fit the window loses its oldest rounds, once a turn",
    ),
)

#: The names that the timeline has a column for; reactive savings count as those of auto.
COLUMNS = ("budget", "snip", "micro", "collapse", "auto")
