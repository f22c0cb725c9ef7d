"""The running size before a call, as the recorded program counts it, and how sure it is. All in tokens.

Usage of the newest real response plus the estimate of every message after its first line that is not a
line of it. Nothing recorded before a compaction counts after it. Measured on recorded boundaries: exact
wherever the file holds the figure that the program had.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from compactlab.config.schema import Config
from compactlab.model.clock import seconds
from compactlab.model.transcript import Call, Transcript
from compactlab.tokens.estimate import REMINDER_TOKENS, has_reminder
from compactlab.tokens.output import output_figure
from compactlab.tokens.session import Session


class Running(NamedTuple):
    """`size` of the context; `uncertainty` is exact, output (the output figure is estimated) or tail."""

    size: int
    uncertainty: str


def tail_estimate(session: Session, items: Iterable[int], call: Call | None, config: Config) -> int:
    """Estimate of the messages after a response's first line that are not lines of it."""
    response = call.response_id if call is not None else None
    estimate, messages = session.estimate, session.messages
    total = 0
    for item in items:
        if messages[item].response_id != response or not response:
            total += estimate[item]
            if not config.tokens.read_reminder and messages[item].kind == "result":
                total -= _reminder(session, item)
    return total


def _reminder(session: Session, item: int) -> int:
    """What early versions left out of a Read result that ends with a reminder."""
    left_out = 0
    for block in session.messages[item].blocks:
        if (
            block.kind == "tool_result"
            and session.tool_names.get(block.tool_id) == "Read"
            and has_reminder(block)
        ):
            left_out += min(REMINDER_TOKENS, session.table.estimate_of(block))
    return left_out


def recorded_size(
    session: Session, transcript: Transcript, call: Call | None, tail: Iterable[int], config: Config
) -> Running:
    """The size from recorded usage. `call`: the newest real response since the last boundary, None for none."""
    estimate = tail_estimate(session, tail, call, config)
    if call is None:
        return Running(estimate, "exact")
    figure = output_figure(transcript, call, session.table, config.tokens.output_figure)
    return Running(call.usage.context + figure.tokens + estimate, "output" if figure.estimated else "exact")


def idle_minutes(transcript: Transcript, call: int) -> float:
    """Recorded minutes between the last response and the newest record before a call; 0.0 before the first."""
    if not call:
        return 0.0
    last = transcript.messages[transcript.calls[call - 1].lines[-1]].timestamp
    now = transcript.messages[transcript.calls[call].first - 1].timestamp
    return max(0.0, (seconds(now) - seconds(last)) / 60)
