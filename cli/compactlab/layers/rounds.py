"""API rounds: a response with what follows it up to the next response."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.tokens.session import Session


def round_starts(session: Session, items: Sequence[int]) -> list[int]:
    """Positions at which a round begins; what comes before the first response belongs to the first round."""
    starts: list[int] = []
    seen: set[str] = set()
    for position, item in enumerate(items):
        message = session.messages[item]
        if message.role == "assistant" and message.response_id not in seen:
            seen.add(message.response_id)
            starts.append(position)
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    if len(starts) > 1 and starts[0] == 0 and session.messages[items[0]].role != "assistant":
        del starts[1]
    return starts
