"""The request as the API gets it: lines of a response joined, user records between responses merged.

Built from a view in one pass. Silent records (system records, attachments that render to nothing, error
texts that the program wrote in a response's place) are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from compactlab.ingest.session import FIXED_TEXTS
from compactlab.model.transcript import Block, Message

#: One block with the id of the message that it came from.
WireBlock = tuple[Block, int]


class WireMessage(NamedTuple):
    """A message of the request: role user or assistant, its blocks in order, the response it is ("" for users)."""

    role: str
    blocks: list[WireBlock]
    response_id: str


def project(
    messages: list[Message], items: Iterable[int], replaced: Mapping[tuple[int, int], str | None]
) -> list[WireMessage]:
    """The wire messages of a selection of messages. A block replaced by None is left out."""
    removed = {place for place, text in replaced.items() if text is None} if replaced else None
    wire: list[WireMessage] = []
    assistant: WireMessage | None = None
    user: WireMessage | None = None
    for item in items:
        message = messages[item]
        role = message.role
        if role == "system" or not message.blocks or (role != "user" and is_silent(message)):
            continue
        blocks = [(block, item) for block in message.blocks]
        if removed:
            blocks = [pair for index, pair in enumerate(blocks) if (item, index) not in removed]
        if role == "assistant":
            if assistant is not None and assistant.response_id == message.response_id:
                assistant.blocks.extend(blocks)
                continue
            assistant, user = WireMessage("assistant", blocks, message.response_id), None
            wire.append(assistant)
        elif user is not None:
            _merge(user.blocks, blocks, message.kind == "result")
        else:
            user = WireMessage("user", blocks, "")
            wire.append(user)
    return wire


def _merge(into: list[WireBlock], blocks: list[WireBlock], has_results: bool) -> None:
    """Tool results stand first in their message: those that come later move up to the others."""
    if not has_results:
        into.extend(blocks)
        return
    at = 0
    while at < len(into) and into[at][0].kind == "tool_result":
        at += 1
    into[at:at] = [pair for pair in blocks if pair[0].kind == "tool_result"]
    into.extend(pair for pair in blocks if pair[0].kind != "tool_result")


def is_silent(message: Message) -> bool:
    """Records that stand in the list but not in the request."""
    if message.role == "attachment":
        return not message.blocks[0].lengths
    if message.role == "assistant" and message.model == "<synthetic>":
        return message.blocks[0].raw.get("text") not in FIXED_TEXTS
    return False
