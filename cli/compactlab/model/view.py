"""What would be sent at a call: an ordered selection of messages with replaced contents and running totals.

Only `engine.apply` changes a view, and only by a plan; layers and invariants read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class View:
    """The messages of the next request.

    `items`: message ids in order. `size`: their tokens by the run's counter, replacements counted, overhead
    not; history lost before the file began counts until a compaction drops it. `replaced`: (message,
    block) -> new text or None for a removed block. `saved`: layer -> message -> tokens that its replacements
    save; `dropped`: layer -> marker -> tokens that leaving out what it stands for saves; `totals`: their sums
    a layer. `saved_estimate`: message -> tokens of the length estimate saved. `version` rises with every
    change other than appending.
    """

    items: list[int] = field(default_factory=list)
    size: int = 0
    replaced: dict[tuple[int, int], str | None] = field(default_factory=dict)
    saved: dict[str, dict[int, int]] = field(default_factory=dict)
    dropped: dict[str, dict[int, int]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    saved_estimate: dict[int, int] = field(default_factory=dict)
    version: int = 0
