"""What a layer decides, as data. One function (`engine.apply`) turns a plan into a changed view.

Message ids are indices into the session's messages; ids at and above the recorded count name messages
that the replay made (summaries, markers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Replacement(NamedTuple):
    """One block's content is replaced in what is sent. `text` is the new content, None where the block is removed.

    `saved` are tokens of the run's counter, `saved_estimate` tokens of the length estimate.
    """

    message: int
    block: int
    text: str | None
    saved: int
    saved_estimate: int


@dataclass(frozen=True, slots=True)
class Replace:
    """Contents replaced in place: no message, block or id disappears."""

    layer: str
    items: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """Messages left out of what is sent; `marker` (a made message) stands at the first one's place, -1 for none."""

    layer: str
    messages: tuple[int, ...]
    marker: int


class Cut(NamedTuple):
    """How a compaction was decided. Sizes in tokens, indices are positions in the message list before it.

    `path`: session_memory, full or reactive. `wanted_index`: the start before it moved for invariants;
    `floor_index`: where expansion had to stop. `fallback_reason`: why session memory did not serve, or None.
    """

    path: str
    trigger: str
    pre_tokens: int
    post_tokens: int
    threshold: int
    summarized: int | None
    last_summarized_index: int | None
    floor_index: int
    wanted_index: int
    start_index: int
    fallback_reason: str | None
    discovered_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compact:
    """The view becomes `head` (boundary, summary), `kept` (verbatim), `tail` (restored attachments): all ids."""

    layer: str
    head: tuple[int, ...]
    kept: tuple[int, ...]
    tail: tuple[int, ...]
    cut: Cut


Plan = Replace | Drop | Compact


@dataclass(frozen=True, slots=True)
class Outcome:
    """A layer's answer at one call: plans to apply in order, else the reason why not; events for the timeline."""

    plans: tuple[Plan, ...] = ()
    reason: str = ""
    events: tuple[str, ...] = ()
