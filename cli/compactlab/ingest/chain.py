"""The main chain: which records reached the model, and in which order.

A walk by parent from the newest leaf finds one path. It loses parallel tool results and lines of a split
response, which are recovered as siblings; where a link is missing the walk goes on in file order.
Every step is linear in the number of records.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from compactlab.model.transcript import Fault, Message


@dataclass(frozen=True, slots=True)
class Chain:
    """`order`: record indices of the main chain, progress included. `faults`: what the walk met.

    `abandoned` counts user and assistant records off the chain; `branches` are the lines where each
    abandoned branch (a rewind, a lost start) begins.
    """

    order: tuple[int, ...]
    faults: tuple[Fault, ...]
    abandoned: int
    branches: tuple[int, ...]


def main_chain(records: list[Message]) -> Chain:
    """The chain of one thread's records, given in file order with unique uuids."""
    position = {record.uuid: index for index, record in enumerate(records)}
    leaf = next((i for i in range(len(records) - 1, -1, -1) if records[i].role != "progress"), -1)
    path, faults = _walk(records, position, leaf)
    included = bytearray(len(records))
    for index in path:
        included[index] = 1
    _recover(records, position, included)
    order = _ordered(path, included)
    abandoned = sum(
        1 for i, record in enumerate(records) if not included[i] and record.role in ("user", "assistant")
    )
    branches = tuple(
        record.line
        for i, record in enumerate(records)
        if not included[i]
        and record.role in ("user", "assistant")
        and _starts_branch(record, position, included)
    )
    return Chain(order, tuple(faults), abandoned, branches)


def _starts_branch(record: Message, position: dict[str, int], included: bytearray) -> bool:
    parent = position.get(record.parent, -1)
    return parent < 0 or bool(included[parent])


def compact_metadata(record: Message) -> dict[str, Any]:
    """`compactMetadata` of a boundary, {} where it is missing or no object."""
    value = record.meta.get("compactMetadata")
    return value if isinstance(value, dict) else {}


def preserved_uuids(record: Message) -> tuple[str, ...]:
    """Uuids that a recorded boundary says were kept verbatim, in their order; () where it says nothing."""
    metadata = compact_metadata(record)
    listed = metadata.get("preservedMessages")
    if isinstance(listed, dict) and isinstance(listed.get("uuids"), list):
        return tuple(uuid for uuid in listed["uuids"] if isinstance(uuid, str))
    segment = metadata.get("preservedSegment")
    if isinstance(segment, dict):
        ends = (segment.get("headUuid"), segment.get("tailUuid"))
        return tuple(dict.fromkeys(uuid for uuid in ends if isinstance(uuid, str)))
    return ()


def _walk(records: list[Message], position: dict[str, int], leaf: int) -> tuple[list[int], list[Fault]]:
    """Indices from leaf to root. A preserved message's child continues at the boundary's summary."""
    redirect = _redirects(records, position)
    plain = not redirect
    faults: list[Fault] = []
    path: list[int] = []
    seen: set[int] = set()
    low = current = leaf
    while current >= 0:
        path.append(current)
        seen.add(current)
        if current < low:
            low = current
        record = records[current]
        following: int | None = position.get(record.parent, -1) if plain else -1
        if following is not None and following < 0:
            following = _parent_of(record, current, position, redirect)
        if following is None:
            break
        if following < 0 or following in seen:
            if following in seen:
                faults.append(Fault("CL902", record.line, record.uuid, "the parent links run in a circle"))
            elif record.kind != "boundary" and record.parent:
                faults.append(Fault("CL901", record.line, record.uuid, "the parent is not in the file"))
            following = low - 1
        current = following
    path.reverse()
    return path, faults


def _parent_of(
    record: Message, index: int, position: dict[str, int], redirect: dict[str, list[tuple[int, int]]]
) -> int | None:
    """Index of the parent; -1 where the link is missing, None at the session's true start."""
    if record.kind == "boundary" and not record.parent:
        logical = record.meta.get("logicalParentUuid")
        return position.get(logical, -1) if isinstance(logical, str) else -1
    if record.parent:
        parent = position.get(record.parent, -1)
        for boundary, summary in redirect.get(record.parent, ()):
            if parent < boundary < summary < index:
                return summary
        return parent
    starts = (
        index == 0 or record.kind in ("prompt", "meta", "summary") or record.role in ("attachment", "system")
    )
    return None if starts else -1


def _redirects(records: list[Message], position: dict[str, int]) -> dict[str, list[tuple[int, int]]]:
    """Preserved uuid -> (boundary index, summary index): what follows a kept message follows the summary."""
    redirect: dict[str, list[tuple[int, int]]] = {}
    for index, record in enumerate(records):
        if record.kind != "boundary":
            continue
        kept = preserved_uuids(record)
        if not kept:
            continue
        segment = compact_metadata(record).get("preservedSegment")
        anchor = segment.get("anchorUuid") if isinstance(segment, dict) else None
        summary = position.get(anchor, index + 1) if isinstance(anchor, str) else index + 1
        for uuid in kept:
            redirect.setdefault(uuid, []).append((index, summary))
    return redirect


def _recover(records: list[Message], position: dict[str, int], included: bytearray) -> None:
    """Adds the siblings that a single-parent walk loses, in file order."""
    responses = {
        records[i].response_id for i in range(len(records)) if included[i] and records[i].response_id
    }
    uses = {
        block.tool_id
        for i, record in enumerate(records)
        if included[i] and record.role == "assistant"
        for block in record.blocks
        if block.kind == "tool_use"
    }
    for index, record in enumerate(records):
        if included[index]:
            continue
        if record.role == "assistant":
            if record.response_id in responses:
                included[index] = 1
                uses.update(block.tool_id for block in record.blocks if block.kind == "tool_use")
        elif record.kind == "result":
            if any(block.tool_id in uses for block in record.blocks if block.kind == "tool_result"):
                included[index] = 1
        elif record.role != "user" and record.kind != "boundary":
            parent = position.get(record.parent, -1)
            included[index] = parent >= 0 and included[parent]


def _ordered(path: list[int], included: bytearray) -> tuple[int, ...]:
    """File order, except that a child never comes before its parent on the path."""
    monotone = all(a < b for a, b in itertools.pairwise(path))
    indices = [i for i in range(len(included)) if included[i]]
    if monotone:
        return tuple(indices)
    key: dict[int, tuple[int, int]] = {}
    latest = -1
    for rank, index in enumerate(path):
        latest = max(latest, index)
        key[index] = (latest, rank)
    return tuple(sorted(indices, key=lambda i: key.get(i, (i, -1))))
