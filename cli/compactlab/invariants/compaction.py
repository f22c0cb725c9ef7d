"""CL302, CL303, CL4xx and CL508: what must hold of one compaction or clearing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from compactlab.invariants.invariant import Broken
from compactlab.model.plan import Compact, Replace
from compactlab.tokens.session import Session


def check_compaction(
    session: Session, plan: Compact, before: Sequence[int], *, size_before: int, size_after: int, auto: int
) -> list[Broken]:
    """One applied compaction. `before`: the list it worked on; sizes in tokens, overhead included."""
    cut = plan.cut
    found = []
    summary = plan.head[-1] if plan.head else -1
    if cut.trigger == "auto" and cut.path != "reactive" and size_after >= auto:
        found.append(
            Broken(
                "CL302", "size", summary, f"{size_after} tokens after the compaction, the threshold is {auto}"
            )
        )
    if size_after >= size_before:
        found.append(Broken("CL303", "size", summary, f"{size_before} tokens before, {size_after} after"))
    return found + _structure(session, plan, before)


def _structure(session: Session, plan: Compact, before: Sequence[int]) -> list[Broken]:
    found = []
    cut = plan.cut
    if plan.kept and cut.start_index < cut.floor_index:
        needed = cut.wanted_index >= cut.floor_index
        why = "as far as tool pairs and responses need it" if needed else "without need"
        text = (
            f"kept from position {cut.start_index}, the last boundary stands at {cut.floor_index - 1}: {why}"
        )
        found.append(Broken("CL401", "floor", plan.kept[0], text, "warning" if needed else ""))
    found += [
        Broken("CL402", str(item), item, "an old boundary record is kept")
        for item in plan.kept
        if session.messages[item].kind == "boundary"
    ]
    position = {item: index for index, item in enumerate(before)}
    order = [position.get(item, -1) for item in plan.kept]
    if any(index < 0 for index in order) or any(a >= b for a, b in itertools.pairwise(order)):
        found.append(
            Broken(
                "CL403", "order", plan.kept[0], "the kept messages are not a part of the list in its order"
            )
        )
    kinds = [session.messages[item].kind for item in plan.head]
    if kinds.count("summary") != 1 or kinds[:1] != ["boundary"]:
        found.append(
            Broken(
                "CL404", "head", plan.head[0] if plan.head else -1, f"the boundary is followed by {kinds[1:]}"
            )
        )
    return found


def check_cleared(session: Session, plan: Replace, tools: frozenset[str]) -> list[Broken]:
    """CL508: micro-compact touched only results of compactable tools."""
    found = []
    for item in plan.items:
        block = session.messages[item.message].blocks[item.block]
        name = session.tool_names.get(block.tool_id, "")
        if block.kind == "tool_result" and name not in tools:
            found.append(
                Broken(
                    "CL508",
                    block.tool_id,
                    item.message,
                    f"a result of {name or 'an unknown tool'} was cleared",
                )
            )
    return found
