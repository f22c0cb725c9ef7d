"""CL202 and CL203: the last response's thinking while its tool loop is open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from compactlab.invariants.invariant import Broken
from compactlab.model.transcript import Message

_THINKING = ("thinking", "redacted_thinking")


def check_thinking(
    messages: Sequence[Message],
    lines: Sequence[int],
    present: Collection[int],
    replaced: Mapping[tuple[int, int], str | None],
) -> list[Broken]:
    """`lines`: message ids of the last recorded response; `present`: ids in the request.

    Nothing to say where no line of it is sent (a compaction dropped it whole), or where it asked for no tool.
    """
    sent = [line for line in lines if line in present]
    blocks = [(line, index, block) for line in lines for index, block in enumerate(messages[line].blocks)]
    if not sent or not any(block.kind == "tool_use" for _, _, block in blocks):
        return []
    found = []
    key = messages[lines[0]].response_id
    thinking = [(line, index) for line, index, block in blocks if block.kind in _THINKING]
    if any(place in replaced for place in thinking):
        found.append(
            Broken("CL202", key, thinking[0][0], "thinking of the last response was changed or removed")
        )
    if thinking and blocks[0][2].kind in _THINKING and thinking[0][0] not in present:
        found.append(
            Broken("CL203", key, sent[0], "the tool loop's last response no longer begins with thinking")
        )
    return found
