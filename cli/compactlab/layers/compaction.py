"""What the compaction paths share: padded sizes, the boundary and summary messages, discovered tools."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from compactlab.layers.layer import Step
from compactlab.model.view import View
from compactlab.summaries.source import make_summary
from compactlab.tokens.estimate import padded
from compactlab.tokens.session import Session


def estimate_in_view(session: Session, view: View, item: int) -> int:
    """The length estimate of a message as it stands in the view, in tokens."""
    return session.estimate[item] - view.saved_estimate.get(item, 0)


def padded_sizes(session: Session, view: View, items: Iterable[int], pad: Fraction) -> list[int]:
    """The padded estimate of each message, in tokens."""
    return [padded(estimate_in_view(session, view, item), pad) for item in items]


def make_head(
    session: Session,
    view: View,
    step: Step,
    *,
    covers: list[int],
    memory: bool,
    automatic: bool,
    verbatim: bool,
) -> tuple[int, int]:
    """The boundary and the summary as new messages; returns their ids."""
    boundary = session.make("system", "boundary", "", step.now)
    text = make_summary(
        session,
        step.config.summary,
        covers=covers,
        replaced_estimate=sum(estimate_in_view(session, view, item) for item in covers),
        memory=memory,
        automatic=automatic,
        verbatim=verbatim,
        max_section_tokens=step.config.auto.session_memory.max_section_tokens,
    )
    summary = session.make("user", "summary", text.text, step.now, text.estimate)
    return boundary, summary


def last_boundary(session: Session, items: list[int]) -> int:
    """Position of the newest boundary record in the list, -1 where there is none."""
    for position in range(len(items) - 1, -1, -1):
        if session.messages[items[position]].kind == "boundary":
            return position
    return -1


def discovered_tools(session: Session, items: Iterable[int]) -> tuple[str, ...]:
    """Sorted names of the tools that tool search brought in (tool_reference parts of results)."""
    names: set[str] = set()
    for item in items:
        message = session.messages[item]
        if message.kind != "result":
            continue
        for block in message.blocks:
            content = block.raw.get("content")
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and part.get("type") == "tool_reference":
                    name = part.get("tool_name")
                    if isinstance(name, str):
                        names.add(name)
    return tuple(sorted(names))
