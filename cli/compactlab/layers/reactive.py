"""Reactive compaction: a call that would not fit loses its oldest rounds, once a turn."""

from __future__ import annotations

from compactlab.layers.compaction import discovered_tools, last_boundary, make_head, padded_sizes
from compactlab.layers.keep import adjusted_start, links
from compactlab.layers.layer import Step
from compactlab.layers.rounds import round_starts
from compactlab.model.plan import Compact, Cut
from compactlab.model.view import View
from compactlab.tokens.session import Session


def compact(session: Session, view: View, step: Step) -> Compact | None:
    """Peel whole rounds from the oldest on until the request fits the effective window; None where it never does."""
    items = view.items
    floor = last_boundary(session, items) + 1
    starts = [floor + start for start in round_starts(session, items[floor:])] if items[floor:] else []
    sizes = [session.sent_tokens(view, item) for item in items]
    reserve = session.table.scaled(step.config.summary.size)
    room = step.limits.effective - step.overhead - reserve
    found = links(session, items)
    kept_size = sum(sizes[floor:])
    previous = floor
    for wanted in starts[1:]:
        kept_size -= sum(sizes[previous:wanted])
        previous = wanted
        if kept_size > room:
            continue
        start = max(adjusted_start(session, items, wanted, found), 0)
        if start < wanted and sum(sizes[start:]) > room:
            continue
        return _plan(session, view, step, floor, wanted, start)
    return None


def _plan(session: Session, view: View, step: Step, floor: int, wanted: int, start: int) -> Compact:
    items = view.items
    kept = tuple(item for item in items[start:] if session.messages[item].kind != "boundary")
    head = make_head(
        session, view, step, covers=items[floor:start], memory=False, automatic=True, verbatim=bool(kept)
    )
    pad = step.config.tokens.pad_ratio
    cut = Cut(
        path="reactive",
        trigger="auto",
        pre_tokens=step.running,
        post_tokens=sum(padded_sizes(session, view, (*head, *kept), pad)),
        threshold=step.limits.effective,
        summarized=None,
        last_summarized_index=None,
        floor_index=floor,
        wanted_index=wanted,
        start_index=start,
        fallback_reason=None,
        discovered_tools=discovered_tools(session, items),
    )
    return Compact("reactive", head, kept, (), cut)
