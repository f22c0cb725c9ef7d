"""Records to a `Transcript`: threads are parted, calls and recorded boundaries found, faults noted."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from compactlab.ingest.attachments import RESTORED
from compactlab.ingest.chain import compact_metadata, main_chain, preserved_uuids
from compactlab.model.transcript import (
    Boundary,
    Call,
    Fault,
    Malformed,
    Message,
    MicroBoundary,
    Transcript,
)

#: Texts that the program writes in place of a response: no usage of theirs is real.
FIXED_TEXTS = frozenset(
    {
        "No response requested.",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "(no content)",
    }
)

_LONGEST_FIXED = max(map(len, FIXED_TEXTS))


def build(
    records: list[Message],
    *,
    source: str,
    digest: str,
    session_id: str,
    sidechain: bool,
    malformed: tuple[Malformed, ...],
    faults: Iterable[Fault],
    types: Counter[str],
    size: int,
) -> Transcript:
    """The transcript of one thread's records (file order, unique uuids)."""
    chain = main_chain(records)
    messages = tuple([records[i] for i in chain.order if records[i].role != "progress"])
    known = {record.uuid for record in records}
    calls = find_calls(messages)
    boundaries = _boundaries(messages, known)
    all_faults = [*faults, *chain.faults, *_message_faults(messages, known)]
    all_faults += [Fault("CL906", bad.line, "", bad.reason) for bad in malformed]
    return Transcript(
        source=source,
        digest=digest,
        session_id=session_id,
        sidechain=sidechain,
        messages=messages,
        calls=calls,
        boundaries=boundaries,
        micro_boundaries=_micro_boundaries(messages),
        malformed=malformed,
        faults=tuple(sorted(all_faults)),
        records=sum(types.values()),
        bytes=size,
        types=dict(sorted(types.items())),
        versions=tuple(dict.fromkeys(m.version for m in messages if m.version)),
        models=tuple(dict.fromkeys(call.model for call in calls if call.model)),
        abandoned=chain.abandoned,
        branches=chain.branches,
        head_missing=bool(chain.order) and records[chain.order[0]].parent not in known | {""},
    )


def find_calls(messages: tuple[Message, ...]) -> tuple[Call, ...]:
    """The API calls whose response is real, each with all its lines, in the order of their first lines."""
    lines: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if message.usage is not None and not _is_fixed_text(message):
            lines.setdefault(message.response_id, []).append(index)
    calls = []
    for response_id, indices in lines.items():
        first = messages[indices[0]]
        last = messages[indices[-1]].usage
        assert last is not None  # only lines with usage are listed
        greatest = last.output
        for i in indices[:-1]:
            usage = messages[i].usage
            if usage is not None and usage.output > greatest:
                greatest = usage.output
        calls.append(
            Call(
                indices[0],
                tuple(indices),
                response_id,
                last,
                greatest,
                first.model,
                first.version,
                first.timestamp,
            )
        )
    return tuple(calls)


def _is_fixed_text(message: Message) -> bool:
    blocks = message.blocks
    return (
        len(blocks) == 1
        and blocks[0].kind == "text"
        and blocks[0].lengths[0] <= _LONGEST_FIXED
        and blocks[0].raw.get("text") in FIXED_TEXTS
    )


def _boundaries(messages: tuple[Message, ...], known: set[str]) -> tuple[Boundary, ...]:
    places = [index for index, message in enumerate(messages) if message.kind == "boundary"]
    if not places:
        return ()
    answered = {
        b.tool_id for m in messages if m.kind == "result" for b in m.blocks if b.kind == "tool_result"
    }
    found = []
    for index in places:
        message = messages[index]
        metadata = compact_metadata(message)
        pre_tokens = metadata.get("preTokens")
        trigger = metadata.get("trigger")
        summary, products = _products(messages, index)
        found.append(
            Boundary(
                index,
                summary,
                products,
                trigger if isinstance(trigger, str) else "auto",
                pre_tokens if type(pre_tokens) is int else None,
                preserved_uuids(message),
                not isinstance(metadata.get("preservedMessages"), dict),
                _tail_missing(messages, index, known, answered),
            )
        )
    return tuple(found)


def _products(messages: tuple[Message, ...], index: int) -> tuple[int, tuple[int, ...]]:
    """The summary's index (-1: none) and all that this compaction wrote, up to the next prompt or response."""
    summary = -1
    products = [index]
    for i in range(index + 1, len(messages)):
        message = messages[i]
        if message.role == "assistant" or message.kind in ("boundary", "result"):
            break
        if message.kind == "summary" and summary < 0:
            summary = i
            products.append(i)
        elif message.kind == "prompt" and not _is_local_command(message):
            break
        elif message.role == "attachment" and message.kind in RESTORED:
            products.append(i)
    return summary, tuple(products)


def _is_local_command(message: Message) -> bool:
    text = message.blocks[0].raw.get("text") if message.blocks else None
    return isinstance(text, str) and text.lstrip().startswith("<")


def _tail_missing(messages: tuple[Message, ...], index: int, known: set[str], answered: set[str]) -> str:
    """Why the recording lacks what came directly before this boundary, or ""."""
    logical = messages[index].meta.get("logicalParentUuid")
    if isinstance(logical, str) and logical not in known:
        return "the message before it is not in the file"
    response = ""
    for i in range(index - 1, -1, -1):
        message = messages[i]
        if message.kind == "boundary":
            break
        if message.role != "assistant":
            continue
        if response and message.response_id != response:
            break
        response = message.response_id
        if any(b.kind == "tool_use" and b.tool_id not in answered for b in message.blocks):
            return "its last tool_use has no result in the file"
    return ""


def _micro_boundaries(messages: tuple[Message, ...]) -> tuple[MicroBoundary, ...]:
    found = []
    for index, message in enumerate(messages):
        metadata = message.meta.get("microcompactMetadata") if message.kind == "micro_boundary" else None
        if not isinstance(metadata, dict):
            continue
        ids = metadata.get("compactedToolIds")
        pre, saved, trigger = (metadata.get(key) for key in ("preTokens", "tokensSaved", "trigger"))
        found.append(
            MicroBoundary(
                index,
                trigger if isinstance(trigger, str) else "auto",
                pre if type(pre) is int else 0,
                saved if type(saved) is int else 0,
                tuple(i for i in ids if isinstance(i, str)) if isinstance(ids, list) else (),
            )
        )
    return tuple(found)


def _message_faults(messages: tuple[Message, ...], known: set[str]) -> list[Fault]:
    faults = []
    back = [(a, b) for a, b in itertools.pairwise(messages) if a.timestamp > b.timestamp > ""]
    if back:
        first = back[0][1]
        faults.append(
            Fault(
                "CL905",
                first.line,
                first.uuid,
                f"time runs backwards here ({len(back)} such places in the file)",
            )
        )
    for message in messages:
        logical = message.meta.get("logicalParentUuid") if message.kind == "boundary" else None
        if isinstance(logical, str) and logical not in known:
            faults.append(
                Fault(
                    "CL907",
                    message.line,
                    message.uuid,
                    "the message before this compaction is not in the file",
                )
            )
    return faults
