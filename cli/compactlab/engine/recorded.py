"""Recorded compactions in an as-recorded replay: what they kept, and the row that they give."""

from __future__ import annotations

from compactlab.engine.apply import effective_tokens
from compactlab.model.results import BoundaryResult
from compactlab.model.transcript import Boundary, Transcript
from compactlab.model.view import View
from compactlab.tokens.session import Session


def kept_ids(transcript: Transcript, summary: int) -> list[int]:
    """Message ids that a recorded compaction kept verbatim, by the uuids that its boundary lists."""
    boundary = next((b for b in transcript.boundaries if b.summary == summary), None)
    if boundary is None or not boundary.preserved:
        return []
    wanted = set(boundary.preserved)
    return [i for i in range(boundary.index) if transcript.messages[i].uuid in wanted]


def honour(session: Session, transcript: Transcript, view: View, boundary: Boundary, call: int) -> BoundaryResult:
    """The row of a recorded compaction, from the view as it was before it. Sizes in tokens."""
    kept = kept_ids(transcript, boundary.summary) if boundary.summary >= 0 else []
    products = [i for i in boundary.products if i != boundary.index]
    before = session.messages[view.items[-1]].uuid if view.items else ""
    kept_tokens = sum(effective_tokens(session, view, item) for item in kept)
    made = sum(session.tokens[i] for i in products)
    return BoundaryResult(
        call=call,
        before_uuid=before,
        layer="recorded",
        path="manual" if boundary.trigger == "manual" else "full",
        trigger=boundary.trigger,
        pre_tokens=boundary.pre_tokens or 0,
        post_tokens=kept_tokens + made,
        threshold=0,
        summarized_uuid=None,
        start_index=kept[0] if kept else boundary.index,
        start_uuid=session.messages[kept[0]].uuid if kept else None,
        wanted_index=kept[0] if kept else boundary.index,
        floor_index=0,
        kept_messages=len(kept),
        kept_tokens=kept_tokens,
        summary_tokens=session.tokens[boundary.summary] if boundary.summary >= 0 else 0,
        fallback_reason=None,
        restored_tokens=made - (session.tokens[boundary.summary] if boundary.summary >= 0 else 0),
    )
