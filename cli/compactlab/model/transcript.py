"""A recorded session as values: blocks, messages, calls, transcript.

Nothing here reads files, counts tokens of a chosen counter or knows a layer. `ingest` builds these
values; everything above only looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Block(NamedTuple):
    """One content block of a message.

    `lengths` are the UTF-16 code units of each text that is counted (a list-shaped tool_result has one
    a part); `images` counts images and documents, also those inside a tool_result. `raw` is the parsed
    JSON and must not be changed.
    """

    kind: str
    lengths: tuple[int, ...]
    images: int
    tool_id: str
    name: str
    raw: Mapping[str, Any]

    @property
    def chars(self) -> int:
        """Counted text in UTF-16 code units."""
        return sum(self.lengths)


class Usage(NamedTuple):
    """What the API reported for one response, in tokens. `output` is the figure of one line."""

    input: int
    cache_creation: int
    cache_read: int
    output: int

    @property
    def context(self) -> int:
        """Tokens of the request: input and both cache figures, without output."""
        return self.input + self.cache_creation + self.cache_read


class Message(NamedTuple):
    """One chain record of the transcript.

    `role` is user, assistant, attachment or system. `kind` says more: prompt, result, response,
    summary, boundary, micro_boundary, or the attachment's or system record's own type.
    `response_id` is set on lines of an API response, real or not.
    """

    uuid: str
    parent: str
    role: str
    kind: str
    line: int
    timestamp: str
    blocks: tuple[Block, ...]
    response_id: str
    usage: Usage | None
    model: str
    version: str
    meta: Mapping[str, Any]


class Call(NamedTuple):
    """One recorded API call: the response's first line and all its lines, as message indices.

    `usage` holds the context figures and the output figure of the last line, `output_max` the greatest
    output figure of its lines (tokens).
    """

    first: int
    lines: tuple[int, ...]
    response_id: str
    usage: Usage
    output_max: int
    model: str
    version: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """A recorded compaction. `index` is its message, `summary` the summary's (-1: none found).

    `products` are the indices of everything that the compaction itself wrote: boundary, summary,
    restored attachments, hook results. `preserved` are the uuids that it kept; `ends_only`: the file names
    only the first and the last of them. `tail_missing` says why its size cannot be known, or "".
    """

    index: int
    summary: int
    products: tuple[int, ...]
    trigger: str
    pre_tokens: int | None
    preserved: tuple[str, ...]
    ends_only: bool
    tail_missing: str


@dataclass(frozen=True, slots=True)
class MicroBoundary:
    """A recorded clearing of old tool results (2.1.12 to 2.1.22)."""

    index: int
    trigger: str
    pre_tokens: int
    tokens_saved: int
    tool_ids: tuple[str, ...]


class Fault(NamedTuple):
    """Something wrong with the recording itself: code CL9xx, line (0: none), uuid, what."""

    code: str
    line: int
    uuid: str
    message: str


class Malformed(NamedTuple):
    """A line that could not be read, with the reason."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session: the main chain in the order in which the model saw it, and what was found around it.

    `head_missing`: the first record's parent is not in the file, so the session began before the file does.
    """

    source: str
    digest: str
    session_id: str
    sidechain: bool
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    boundaries: tuple[Boundary, ...]
    micro_boundaries: tuple[MicroBoundary, ...]
    malformed: tuple[Malformed, ...]
    faults: tuple[Fault, ...]
    records: int
    bytes: int
    types: Mapping[str, int]
    versions: tuple[str, ...]
    models: tuple[str, ...]
    abandoned: int
    branches: tuple[int, ...]
    head_missing: bool
