"""One parsed line to one `Message`. Any field may be missing or of the wrong type: it then counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compactlab.ingest.attachments import rendered
from compactlab.ingest.text import json_length, utf16
from compactlab.model.transcript import Block, Message, Usage

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
    parent = get("parentUuid")
    if type(parent) is not str:
        parent = ""
    build = _BUILDERS.get(role)
    if build is not None:
        return build(record, line, uuid, parent)
    if role != "progress" and "parentUuid" not in record:
        return None
    # An unknown record in the chain is no message, but others may hang on it.
    return Message(uuid, parent, "progress", "", line, "", (), "", None, "", "", _NOTHING)


def _assistant(record: Mapping[str, Any], line: int, uuid: str, parent: str) -> Message:
    get = record.get
    timestamp, version = get("timestamp"), get("version")
    message = get("message")
    if type(message) is not dict:
        message = _NOTHING
    model = message.get("model")
    usage: Usage | None = None
    if model != SYNTHETIC_MODEL and not get("isApiErrorMessage"):
        usage = _usage(message.get("usage"))
    return Message(
        uuid,
        parent,
        "assistant",
        "response",
        line,
        timestamp if type(timestamp) is str else "",
        content_blocks(message.get("content")),
        _string(message.get("id")) or _string(get("requestId")) or uuid,
        usage,
        model if type(model) is str else "",
        version if type(version) is str else "",
        _NOTHING,
    )


def _user(record: Mapping[str, Any], line: int, uuid: str, parent: str) -> Message:
    get = record.get
    timestamp, version = get("timestamp"), get("version")
    message = get("message")
    blocks = content_blocks(message.get("content")) if type(message) is dict else ()
    return Message(
        uuid,
        parent,
        "user",
        _user_kind(record, blocks),
        line,
        timestamp if type(timestamp) is str else "",
        blocks,
        "",
        None,
        "",
        version if type(version) is str else "",
        _NOTHING,
    )


def _other(
    role: str, kind: str, blocks: tuple[Block, ...], meta: Mapping[str, Any], record: Mapping[str, Any],
    line: int, uuid: str, parent: str,
) -> Message:  # fmt: skip
    timestamp, version = _string(record.get("timestamp")), _string(record.get("version"))
    return Message(uuid, parent, role, kind, line, timestamp, blocks, "", None, "", version, meta)


def _attachment(record: Mapping[str, Any], line: int, uuid: str, parent: str) -> Message:
    meta = _mapping(record.get("attachment"))
    kind = _string(meta.get("type")) or "attachment"
    return _other("attachment", kind, (_attachment_block(meta),), meta, record, line, uuid, parent)


def _system(record: Mapping[str, Any], line: int, uuid: str, parent: str) -> Message:
    subtype = _string(record.get("subtype")) or "system"
    kind = _BOUNDARY_KINDS.get(subtype, subtype)
    return _other("system", kind, (), record, record, line, uuid, parent)


_BOUNDARY_KINDS = {"compact_boundary": "boundary", "microcompact_boundary": "micro_boundary"}

#: Types of record that are messages; the other links of the chain are `progress` and unknown types.
_BUILDERS = {"assistant": _assistant, "user": _user, "attachment": _attachment, "system": _system}


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
    figures = (
        get("input_tokens"),
        get("cache_creation_input_tokens"),
        get("cache_read_input_tokens"),
        get("output_tokens"),
    )
    for figure in figures:
        if type(figure) is not int or not 0 <= figure < 1 << 53:
            figures = tuple(map(_count, figures))  # type: ignore[assignment]
            break
    return Usage._make(figures) if any(figures) else None


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0
