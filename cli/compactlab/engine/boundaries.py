"""The rows that compactions give: simulated ones, and recorded ones that an as-recorded replay honours."""

from __future__ import annotations

from collections.abc import Collection

from compactlab.layers.results_log import ResultsLog
from compactlab.model.plan import Compact, Replace
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
    found = [i for i in range(boundary.index) if transcript.messages[i].uuid in wanted]
    if boundary.ends_only and len(found) == 2:
        return list(range(found[0], found[1] + 1))
    return found


def recorded_clearing(session: Session, view: View, tool_ids: Collection[str]) -> Replace:
    """What a recorded micro-compaction cleared, as a plan on the view."""
    log = ResultsLog(already=view.replaced)
    log.feed(session, view.items, session.tools)
    chosen = [entry for entry in log.oldest() if entry.tool_id in tool_ids]
    return Replace("micro", log.clear(session, chosen, view.replaced))


def honour(
    session: Session, transcript: Transcript, view: View, boundary: Boundary, call: int
) -> BoundaryResult:
    """The row of a recorded compaction, from the view as it was before it. Sizes in tokens."""
    kept = kept_ids(transcript, boundary.summary) if boundary.summary >= 0 else []
    products = [i for i in boundary.products if i != boundary.index]
    before = session.messages[view.items[-1]].uuid if view.items else ""
    kept_tokens = sum(session.sent_tokens(view, item) for item in kept)
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
        last_summarized_index=None,
        kept_messages=len(kept),
        kept_tokens=kept_tokens,
        summary_tokens=session.tokens[boundary.summary] if boundary.summary >= 0 else 0,
        fallback_reason=None,
        restored_tokens=made - (session.tokens[boundary.summary] if boundary.summary >= 0 else 0),
    )


def boundary_result(
    session: Session, view: View, plan: Compact, before: list[int], call: int, request_tokens: int
) -> BoundaryResult:
    """The row of a simulated compaction; `before` are the ids that it worked on."""
    cut = plan.cut
    uuid = {item: session.messages[item].uuid for item in (before[-1], *plan.kept[:1])} if before else {}
    return BoundaryResult(
        call=call,
        before_uuid=uuid.get(before[-1], "") if before else "",
        layer=plan.layer,
        path=cut.path if cut.trigger == "auto" else "manual",
        trigger=cut.trigger,
        pre_tokens=cut.pre_tokens,
        post_tokens=cut.post_tokens,
        threshold=cut.threshold,
        summarized_uuid=None if cut.summarized is None else session.messages[cut.summarized].uuid,
        start_index=cut.start_index,
        start_uuid=uuid[plan.kept[0]] if plan.kept else None,
        wanted_index=cut.wanted_index,
        floor_index=cut.floor_index,
        last_summarized_index=cut.last_summarized_index,
        kept_messages=len(plan.kept),
        kept_tokens=sum(session.sent_tokens(view, item) for item in plan.kept),
        summary_tokens=session.tokens[plan.head[-1]],
        fallback_reason=cut.fallback_reason,
        discovered_tools=cut.discovered_tools,
        restored_tokens=sum(session.tokens[item] for item in plan.tail),
        request_tokens=request_tokens,
    )
