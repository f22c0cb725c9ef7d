"""Path A of auto-compact: the session memory stands in for what is dropped, the newest messages stay verbatim."""

from __future__ import annotations

from compactlab.config.schema import SessionMemory
from compactlab.layers.carried import Carried, restore_plan
from compactlab.layers.compaction import discovered_tools, last_boundary, make_head, padded_sizes
from compactlab.layers.keep import adjusted_start, has_text, links, wanted_start
from compactlab.layers.layer import Step
from compactlab.memory.schedule import MemoryState
from compactlab.model.plan import Compact, Cut
from compactlab.model.view import View
from compactlab.tokens.session import Session

#: Why path A returns nothing, by code, in words for people.
REASONS = {
    "disabled": "session-memory compact is switched off",
    "no_session_memory": "no session memory was extracted yet",
    "empty_template": "the session memory is the empty template",
    "summarized_id_not_found": "the last summarised message is not in the list",
    "threshold_exceeded": "the result would still be over the threshold",
    "error": "an error in the attempt",
}

#: The program's own event names for these reasons.
EVENTS = {
    "no_session_memory": "tengu_sm_compact_no_session_memory",
    "empty_template": "tengu_sm_compact_empty_template",
    "threshold_exceeded": "tengu_sm_compact_threshold_exceeded",
    "error": "tengu_sm_compact_error",
}


def is_enabled(settings: SessionMemory) -> bool:
    """force_enable wins, then force_disable, then both flags are needed."""
    if settings.force_enable:
        return True
    return not settings.force_disable and settings.flag_session_memory and settings.flag_sm_compact


def compact(session: Session, view: View, step: Step, memory: MemoryState, carried: Carried) -> Compact | str:
    """The plan, or the code of the reason why there is none. The list is the view as it stands."""
    settings = step.config.auto.session_memory
    if not is_enabled(settings):
        return "disabled"
    if memory.reach is None:
        return "no_session_memory"
    items = view.items
    summarized = _position(items, memory.summarized)
    if memory.summarized is not None and summarized is None:
        return "summarized_id_not_found"
    start = len(items) if summarized is None else summarized + 1
    floor = last_boundary(session, items) + 1
    pad = step.config.tokens.pad_ratio
    sizes = padded_sizes(session, view, items, pad)
    counted = [session.sent_tokens(view, item) for item in items] if settings.count == "counter" else sizes
    texts = [has_text(session, item) for item in items]
    wanted = wanted_start(counted, texts, start, floor, settings)
    start = wanted
    if settings.preserve_invariants:
        start = adjusted_start(session, items, wanted, links(session, items))
    kept = tuple(item for item in items[start:] if session.messages[item].kind != "boundary")
    automatic = not step.manual
    covers = items[: max(memory.reach, start)]
    head = make_head(
        session, view, step, covers=covers, memory=True, automatic=automatic, verbatim=bool(kept)
    )
    tail = restore_plan(session, carried, step.now, frozenset(kept))
    post = sum(sizes[start:]) + sum(padded_sizes(session, view, (*head, *tail), pad))
    if automatic and post >= step.limits.auto:
        return "threshold_exceeded"
    return Compact(
        "auto",
        head,
        kept,
        tail,
        Cut(
            path="session_memory",
            trigger="auto" if automatic else "manual",
            pre_tokens=step.running,
            post_tokens=post,
            threshold=step.limits.auto,
            summarized=memory.summarized,
            last_summarized_index=summarized,
            floor_index=floor,
            wanted_index=wanted,
            start_index=start,
            fallback_reason=None,
            discovered_tools=discovered_tools(session, items),
        ),
    )


def _position(items: list[int], wanted: int | None) -> int | None:
    if wanted is None:
        return None
    for position in range(len(items) - 1, -1, -1):
        if items[position] == wanted:
            return position
    return None
