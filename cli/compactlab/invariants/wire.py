"""The request as the API gets it: lines of a response joined, user records between responses merged.

Built from a view in one pass. Silent records (system records, attachments that render to nothing, error
texts that the program wrote in a response's place) are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from compactlab.ingest.session import FIXED_TEXTS
from compactlab.model.transcript import Block, Message


class WireBlock(NamedTuple):
    """One block with the id of the message that it came from."""

    block: Block
    message: int


class WireMessage(NamedTuple):
    """A message of the request: role user or assistant, its blocks in order, the response it is ("" for users)."""

    role: str
    blocks: list[WireBlock]
    response_id: str


def project(
    messages: list[Message], items: Iterable[int], replaced: Mapping[tuple[int, int], str | None]
) -> list[WireMessage]:
    """The wire messages of a selection of messages. A block replaced by None is left out."""
    wire: list[WireMessage] = []
    assistant: WireMessage | None = None
    for item in items:
        message = messages[item]
        if message.role == "system" or not message.blocks or is_silent(message):
            continue
        blocks = [
            WireBlock(block, item)
            for index, block in enumerate(message.blocks)
            if not (replaced and replaced.get((item, index), "") is None)
        ]
        if message.role == "assistant":
            if assistant is not None and assistant.response_id == message.response_id:
                assistant.blocks.extend(blocks)
            else:
                assistant = WireMessage("assistant", blocks, message.response_id)
                wire.append(assistant)
        elif wire and wire[-1].role == "user":
            _merge(wire[-1].blocks, blocks)
        else:
            wire.append(WireMessage("user", blocks, ""))
    return wire


def _merge(into: list[WireBlock], blocks: list[WireBlock]) -> None:
    """Tool results stand first in their message: those that come later move up to the others."""
    results = [block for block in blocks if block.block.kind == "tool_result"]
    if not results:
        into.extend(blocks)
        return
    at = 0
    while at < len(into) and into[at].block.kind == "tool_result":
        at += 1
    into[at:at] = results
    into.extend(block for block in blocks if block.block.kind != "tool_result")


def is_silent(message: Message) -> bool:
    """Records that stand in the list but not in the request."""
    if message.role == "attachment":
        return not message.blocks[0].lengths
    if message.role == "assistant" and message.model == "<synthetic>":
        return message.blocks[0].raw.get("text") not in FIXED_TEXTS
    return False
