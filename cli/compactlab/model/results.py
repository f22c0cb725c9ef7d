"""What the commands return: plain values that `render` turns into tables, JSON, CSV or Markdown.

Field names are those of the JSON; `to_dict` adds nothing but the schema's name. All token figures are
integers in tokens, `call` counts from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold. `layer` is the layer that broke it, "recording" for a CL9xx."""

    code: str
    severity: str
    call: int
    layer: str
    line: int
    uuid: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class BoundaryResult:
    """One simulated (or honoured) compaction; the fields are those of the replay JSON.

    `post_tokens` is the program's own figure for the new list: padded estimates, without the overhead.
    `request_tokens` is the request that then goes out, by the run's counter and with the overhead.
    """

    call: int
    before_uuid: str
    layer: str
    path: str
    trigger: str
    pre_tokens: int
    post_tokens: int
    threshold: int
    summarized_uuid: str | None
    start_index: int | None
    start_uuid: str | None
    wanted_index: int | None
    floor_index: int | None
    kept_messages: int
    kept_tokens: int
    summary_tokens: int
    fallback_reason: str | None
    discovered_tools: tuple[str, ...] = ()
    restored_tokens: int = 0
    request_tokens: int = 0
    last_summarized_index: int | None = None

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        row["discovered_tools"] = list(self.discovered_tools)
        return row


@dataclass(frozen=True, slots=True)
class LayerResult:
    """A layer's part in the savings. `tokens_saved` is summed over calls; `reasons` counts why it did not fire."""

    layer: str
    fired: int
    tokens_saved: int
    reasons: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "fired": self.fired,
            "tokens_saved": self.tokens_saved,
            "reasons": dict(self.reasons),
        }


#: One row of the timeline: call, uuid, timestamp, raw, budget, snip, micro, collapse, auto, sent, events.
TimelineRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionReplay:
    """The replay of one session: everything that the JSON holds for it."""

    source: str
    digest: str
    session_id: str
    sidechain: bool
    versions: tuple[str, ...]
    models: tuple[str, ...]
    profile: str
    window: int
    window_inferred: bool
    counter: str
    overhead_tokens: int
    records: int
    messages: int
    calls: int
    malformed: tuple[Mapping[str, Any], ...]
    totals: Mapping[str, Any]
    layers: tuple[LayerResult, ...]
    boundaries: tuple[BoundaryResult, ...]
    violations: tuple[Violation, ...]
    timeline: tuple[TimelineRow, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        for name in ("versions", "models", "malformed", "timeline", "notes"):
            row[name] = list(row[name])
        for name in ("layers", "boundaries", "violations"):
            row[name] = [item.to_dict() for item in row[name]]
        return row


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """`compactlab replay`: sessions sorted by source and digest, with totals over them."""

    config: Mapping[str, Any]
    config_digest: str
    sessions: tuple[SessionReplay, ...]
    totals: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": "compactlab.replay/1",
            "config": self.config,
            "config_digest": self.config_digest,
            "sessions": [session.to_dict() for session in self.sessions],
            "totals": dict(self.totals),
        }


@dataclass(frozen=True, slots=True)
class TableResult:
    """A generic result for commands whose table is their data (inspect, check, layers, config ...).

    `document` is the JSON; `tables` are (title, columns, rows) for people; `lines` is prose shown after them.
    """

    document: Mapping[str, Any]
    tables: tuple[tuple[str, tuple[str, ...], tuple[tuple[Any, ...], ...]], ...]
    lines: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return dict(self.document)
