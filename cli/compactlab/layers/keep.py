"""What a session-memory compaction keeps verbatim: the wanted start, and its adjustment for the API.

Pure functions on sizes and structure, so that a sweep can use them on prefix sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactlab.config.schema import SessionMemory
from compactlab.tokens.session import Session


def wanted_start(
    sizes: Sequence[int], texts: Sequence[bool], start: int, floor: int, settings: SessionMemory
) -> int:
    """Where the kept part should begin.

    `sizes`: tokens of each message of the list, `texts`: whether it holds text. From `start` on everything
    is kept; if that is too little the range grows backwards, message by message, down to `floor`. The
    limit is tested after adding, so the last message may pass it.
    """
    tokens = sum(sizes[start:])
    spoken = sum(texts[start:])
    while start > floor and not _enough(tokens, spoken, settings):
        start -= 1
        tokens += sizes[start]
        spoken += texts[start]
    return start


def _enough(tokens: int, spoken: int, settings: SessionMemory) -> bool:
    return tokens >= settings.max_tokens or (
        tokens >= settings.min_tokens and spoken >= settings.min_text_block_messages
    )


class Links(NamedTuple):
    """Where the tool_use blocks and the responses of a message list begin: id -> first position."""

    uses: dict[str, int]
    responses: dict[str, int]


def links(session: Session, items: Sequence[int]) -> Links:
    """The links of a view's messages, in one pass."""
    uses: dict[str, int] = {}
    responses: dict[str, int] = {}
    for position, item in enumerate(items):
        message = session.messages[item]
        if message.role != "assistant":
            continue
        responses.setdefault(message.response_id, position)
        for block in message.blocks:
            if block.kind == "tool_use":
                uses.setdefault(block.tool_id, position)
    return Links(uses, responses)


def adjusted_start(session: Session, items: Sequence[int], start: int, found: Links) -> int:
    """The nearest earlier start at which every kept tool_result has its tool_use and every response is whole.

    Both rules only ever move the start back, so one walk from the end, which follows the start as it
    moves, reaches the same place as repeating the two until nothing moves.
    """
    position = len(items) - 1
    while position >= start:
        message = session.messages[items[position]]
        if message.role == "assistant":
            start = min(start, found.responses[message.response_id])
        elif message.kind == "result":
            for block in message.blocks:
                if block.kind == "tool_result":
                    start = min(start, found.uses.get(block.tool_id, start))
        position -= 1
    return start


def has_text(session: Session, item: int) -> bool:
    """Whether a message counts as a text message: user or assistant, with a text block that is not empty."""
    message = session.messages[item]
    return message.role in ("user", "assistant") and any(
        block.kind == "text" and block.chars > 0 for block in message.blocks
    )
