"""Path B of auto-compact: everything after the last boundary becomes a nine-section summary.

No model is asked: the request's size is checked, its retries are played through, the summary's text comes
from the summary source. Restored files are reconstructed from what the transcript shows.
"""

from __future__ import annotations

from typing import NamedTuple

from compactlab.layers.carried import Carried, restore_all
from compactlab.layers.compaction import (
    discovered_tools,
    last_boundary,
    make_head,
    padded_sizes,
)
from compactlab.layers.layer import Step
from compactlab.layers.rounds import round_starts
from compactlab.model.plan import Compact, Cut
from compactlab.model.view import View
from compactlab.tokens.session import Session

#: Tokens of an image or document's placeholder in the summary request: "[image]" by length / 4.
PLACEHOLDER_TOKENS = 2


class Attempt(NamedTuple):
    """The plan, or None where the summary request failed; `events` in the order in which they happened."""

    plan: Compact | None
    events: tuple[str, ...]


def compact(session: Session, view: View, step: Step, carried: Carried, reason: str | None) -> Attempt:
    """Summarise the live segment. `carried` is what comes back after it; `reason`: why path A did not serve."""
    items = view.items
    floor = last_boundary(session, items) + 1
    events = []
    if step.call in step.config.faults.summary_fails_at:
        return Attempt(None, ("tengu_compact_failed",))
    dropped, retries = _fit_request(session, view, step, items[floor:])
    events += ["tengu_compact_ptl_retry"] * retries
    if dropped is None:
        return Attempt(None, (*events, "tengu_compact_failed"))
    covers = items[floor:][dropped:]
    automatic = not step.manual
    head = make_head(session, view, step, covers=covers, memory=False, automatic=automatic, verbatim=False)
    tail = restore_all(session, carried, step.now, step.config.auto.full)
    post = sum(padded_sizes(session, view, (*head, *tail), step.config.tokens.pad_ratio))
    cut = Cut(
        path="full",
        trigger="manual" if step.manual else "auto",
        pre_tokens=step.running,
        post_tokens=post,
        threshold=step.limits.auto,
        summarized=None,
        last_summarized_index=None,
        floor_index=floor,
        wanted_index=len(items),
        start_index=len(items),
        fallback_reason=reason,
        discovered_tools=discovered_tools(session, items),
    )
    return Attempt(Compact("auto", head, (), tail, cut), (*events, "tengu_compact"))


def _fit_request(session: Session, view: View, step: Step, items: list[int]) -> tuple[int | None, int]:
    """How many of the oldest messages the request leaves out (None: it never fits), and the retries it took.

    Each try drops whole API rounds: those that cover the known gap, else a fifth, at least one, never all.
    """
    sizes = [_request_tokens(session, view, item) for item in items]
    total = step.overhead + sum(sizes)
    dropped = 0
    for retries in range(step.config.auto.full.max_ptl_retries + 1):
        if total <= step.limits.window:
            return dropped, retries
        if retries == step.config.auto.full.max_ptl_retries:
            break
        starts = round_starts(session, items[dropped:])
        if len(starts) < 2:
            break
        gap, gone, rounds = total - step.limits.window, 0, 0
        while gone < gap and rounds < len(starts) - 1:
            rounds += 1
            gone = sum(sizes[dropped : dropped + starts[rounds]])
        dropped += starts[rounds]
        total -= gone
    return None, step.config.auto.full.max_ptl_retries


def _request_tokens(session: Session, view: View, item: int) -> int:
    """Tokens of a message in the summary request: images and documents are replaced by a word."""
    images = sum(block.images for block in session.messages[item].blocks)
    stripped = images * (session.table.image_tokens - PLACEHOLDER_TOKENS)
    return max(0, session.sent_tokens(view, item) - session.table.scaled(stripped))
