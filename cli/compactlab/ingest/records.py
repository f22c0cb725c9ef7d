"""One parsed line to one `Message`. Any field may be missing or of the wrong type: it then counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compactlab.ingest.attachments import rendered
from compactlab.ingest.text import json_length, utf16
from compactlab.model.transcript import Block, Message, Usage

#: Types of record that stand in the parent chain.
CHAIN_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})

#: Responses that the program wrote itself: no call was made (or it failed), so their usage means nothing.
SYNTHETIC_MODEL = "<synthetic>"

_NOTHING: Mapping[str, Any] = {}


def parse_record(record: Mapping[str, Any], line: int) -> Message | None:
    """The chain record as a message, None for any other record.

    Progress records, and records of unknown type that have a parent, come as role "progress": links only.

    Raises RecursionError where a block is nested too deeply to measure.
    """
    get = record.get
    role = get("type")
    uuid = get("uuid")
    if type(uuid) is not str or type(role) is not str:
        return None
    if role not in CHAIN_TYPES:
        if "parentUuid" not in record:
            return None
        role = "progress"  # an unknown record in the chain is no message, but others may hang on it
    parent = get("parentUuid")
    if type(parent) is not str:
        parent = ""
    if role == "progress":
        return Message(uuid, parent, role, "", line, "", (), "", None, "", "", _NOTHING)
    kind = response_id = model = ""
    blocks: tuple[Block, ...] = ()
    usage: Usage | None = None
    meta: Mapping[str, Any] = _NOTHING
    if role == "assistant":
        kind = "response"
        message = _mapping(get("message"))
        blocks = content_blocks(message.get("content"))
        response_id = _string(message.get("id")) or _string(get("requestId")) or uuid
        model = _string(message.get("model"))
        if model != SYNTHETIC_MODEL and not get("isApiErrorMessage"):
            usage = _usage(message.get("usage"))
    elif role == "user":
        blocks = content_blocks(_mapping(get("message")).get("content"))
        kind = _user_kind(record, blocks)
    elif role == "attachment":
        meta = _mapping(get("attachment"))
        kind = _string(meta.get("type")) or "attachment"
        blocks = (_attachment_block(meta),)
    elif role == "system":
        meta = record
        subtype = _string(get("subtype")) or "system"
        kind = {"compact_boundary": "boundary", "microcompact_boundary": "micro_boundary"}.get(
            subtype, subtype
        )
    return Message(
        uuid,
        parent,
        role,
        kind,
        line,
        _string(get("timestamp")),
        blocks,
        response_id,
        usage,
        model,
        _string(get("version")),
        meta,
    )


def _user_kind(record: Mapping[str, Any], blocks: tuple[Block, ...]) -> str:
    if record.get("isCompactSummary") is True:
        return "summary"
    for block in blocks:
        if block.kind == "tool_result":
            return "result"
    return "meta" if record.get("isMeta") is True else "prompt"


def _mapping(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def content_blocks(content: Any) -> tuple[Block, ...]:
    """The blocks of a message's content; a plain string is one text block."""
    if type(content) is str:
        return (Block("text", (utf16(content),), 0, "", "", {"type": "text", "text": content}),)
    if type(content) is not list:
        return ()
    return tuple([_block(item) for item in content if type(item) is dict])


def _block(item: dict[str, Any]) -> Block:
    kind = item.get("type")
    if kind == "text":
        return Block("text", (_length(item.get("text")),), 0, "", "", item)
    if kind == "tool_result":
        return _result_block(item)
    if kind == "tool_use":
        name = _string(item.get("name"))
        size = utf16(name) + json_length(item.get("input", {}))
        return Block("tool_use", (size,), 0, _string(item.get("id")), name, item)
    if kind == "thinking":
        return Block("thinking", (_length(item.get("thinking")),), 0, "", "", item)
    if kind == "image" or kind == "document":
        return Block(kind, (), 1, "", "", item)
    if kind == "redacted_thinking":
        return Block("redacted_thinking", (_length(item.get("data")),), 0, "", "", item)
    return Block(_string(kind) or "unknown", (json_length(item),), 0, _string(item.get("id")), "", item)


def _result_block(item: dict[str, Any]) -> Block:
    content = item.get("content")
    tool_id = _string(item.get("tool_use_id"))
    if type(content) is str:
        return Block("tool_result", (utf16(content),), 0, tool_id, "", item)
    lengths: list[int] = []
    images = 0
    if type(content) is list:
        for part in content:
            if type(part) is not dict:
                continue
            inner = _block(part)
            lengths.extend(inner.lengths)
            images += inner.images
    return Block("tool_result", tuple(lengths), images, tool_id, "", item)


def _attachment_block(attachment: Mapping[str, Any]) -> Block:
    texts = rendered(attachment)
    if texts is None:
        return Block("attachment", (json_length(attachment),), 0, "", "", attachment)
    return Block("attachment", (sum(map(utf16, texts)),) if texts else (), 0, "", "", attachment)


def _length(value: Any) -> int:
    return utf16(value) if type(value) is str else 0


def _string(value: Any) -> str:
    return value if type(value) is str else ""


def _usage(value: Any) -> Usage | None:
    """The usage of a real response; None where it is missing, zero or not made of counts."""
    if type(value) is not dict:
        return None
    get = value.get
    usage = Usage(
        _count(get("input_tokens")),
        _count(get("cache_creation_input_tokens")),
        _count(get("cache_read_input_tokens")),
        _count(get("output_tokens")),
    )
    return usage if any(usage) else None


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0
