"""CL1xx and CL201: the rules of a request's shape, checked on its wire form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from compactlab.invariants.invariant import Broken
from compactlab.invariants.wire import WireMessage, is_silent
from compactlab.model.transcript import Message


def is_sound(messages: list[Message], items: Iterable[int]) -> bool:
    """A cheap sufficient test: True means that `check_request` on the projection finds nothing.

    One pass without building the request. False says nothing: the full check then decides.
    """
    used: set[str] = set()
    open_ids: set[str] = set()
    response = ""
    user_between = False
    started = False
    for item in items:
        message = messages[item]
        role = message.role
        if role == "system" or not message.blocks or (role != "user" and is_silent(message)):
            continue
        if role == "assistant":
            if message.response_id != response:
                if open_ids or not user_between:
                    return False
                response, user_between = message.response_id, False
            for block in message.blocks:
                if block.kind == "tool_use":
                    if block.tool_id in used:
                        return False
                    used.add(block.tool_id)
                    open_ids.add(block.tool_id)
                elif block.kind == "text" and not block.lengths[0]:
                    return False
            started = True
            continue
        user_between = True
        other = False
        for block in message.blocks:
            if block.kind == "tool_result":
                if other or block.tool_id not in open_ids:
                    return False
                open_ids.remove(block.tool_id)
                continue
            other = True
            if block.kind == "text" and not block.lengths[0]:
                return False
    return started and not open_ids


def check_request(wire: list[WireMessage]) -> list[Broken]:
    """Every rule of the shape, in one pass over the request."""
    found: list[Broken] = []
    if wire and wire[0].role != "user":
        found.append(
            Broken("CL106", "first", _source(wire[0]), "the request begins with an assistant message")
        )
    uses: set[str] = set()
    results: set[str] = set()
    before: WireMessage | None = None
    for position, message in enumerate(wire):
        if before is not None and before.role == message.role:
            key = message.response_id or str(_source(message))
            found.append(Broken("CL107", key, _source(message), f"two {message.role} messages in a row"))
        found += _content(message)
        if message.role == "assistant":
            found += _uses(message, uses, None if position + 1 == len(wire) else wire[position + 1])
        else:
            found += _results(message, results, before)
        before = message
    return found


def _source(message: WireMessage) -> int:
    return message.blocks[0][1] if message.blocks else -1


def _content(message: WireMessage) -> list[Broken]:
    if not message.blocks:
        return [Broken("CL108", message.response_id, -1, "a message without content")]
    return [
        Broken("CL108", str(item), item, "an empty text block")
        for block, item in message.blocks
        if block.kind == "text" and not block.chars
    ]


def _uses(message: WireMessage, seen: set[str], following: WireMessage | None) -> list[Broken]:
    """A response's tool_use ids are new, and the next message answers each (the newest response may be open)."""
    found = []
    answered: set[str] | None = None
    for block, item in message.blocks:
        if block.kind != "tool_use":
            continue
        if answered is None:
            answered = {block.tool_id for block, _ in following.blocks} if following is not None else set()
        if block.tool_id in seen:
            found.append(Broken("CL103", block.tool_id, item, f"tool_use {block.tool_id} comes twice"))
        seen.add(block.tool_id)
        if following is not None and block.tool_id not in answered:
            found.append(Broken("CL102", block.tool_id, item, f"tool_use {block.tool_id} has no result"))
    return found


def _results(message: WireMessage, seen: set[str], before: WireMessage | None) -> list[Broken]:
    """Results answer the message directly before, once each, and stand before anything else."""
    found = []
    asked: set[str] | None = None
    other = False
    for block, item in message.blocks:
        if block.kind != "tool_result":
            other = True
            continue
        if asked is None:
            asked = {b.tool_id for b, _ in before.blocks if b.kind == "tool_use"} if before else set()
        if block.tool_id not in asked:
            text = f"the result of {block.tool_id} has no tool_use in the message before"
            found.append(Broken("CL101", block.tool_id, item, text))
        if block.tool_id in seen:
            found.append(Broken("CL104", block.tool_id, item, f"a second result of {block.tool_id}"))
        seen.add(block.tool_id)
        if other:
            found.append(Broken("CL105", block.tool_id, item, "a tool_result after other content"))
    return found


def response_lines(messages: list[Message], items: Iterable[int]) -> Counter[str]:
    """How many lines of each response a selection holds."""
    return Counter([messages[i].response_id for i in items if messages[i].role == "assistant"])


def check_split(here: Mapping[str, int], whole: Mapping[str, int], first: Mapping[str, int]) -> list[Broken]:
    """CL201: `here` counts lines in the request, `whole` lines recorded so far; `first` names a message id."""
    return [
        Broken(
            "CL201",
            response,
            first.get(response, -1),
            f"{count} of {whole[response]} lines of a response are sent",
        )
        for response, count in here.items()
        if count != whole.get(response, count)
    ]
