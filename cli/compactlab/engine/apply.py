"""The one place where a view changes: appending what was recorded, and applying plans."""

from __future__ import annotations

from compactlab.model.plan import Compact, Drop, Plan, Replace
from compactlab.model.view import View
from compactlab.tokens.session import Session


def append(session: Session, view: View, message: int) -> None:
    """Put one more message at the end of the view."""
    view.items.append(message)
    view.size += session.tokens[message]


def apply(session: Session, view: View, plan: Plan) -> None:
    """Change the view as the plan says; totals and savings stay exact."""
    view.version += 1
    if isinstance(plan, Replace):
        _replace(view, plan)
    elif isinstance(plan, Drop):
        _drop(session, view, plan)
    else:
        _compact(session, view, plan)


def _replace(view: View, plan: Replace) -> None:
    saved = view.saved.setdefault(plan.layer, {})
    total = 0
    for item in plan.items:
        view.replaced[item.message, item.block] = item.text
        saved[item.message] = saved.get(item.message, 0) + item.saved
        view.saved_estimate[item.message] = view.saved_estimate.get(item.message, 0) + item.saved_estimate
        total += item.saved
    view.size -= total
    view.totals[plan.layer] = view.totals.get(plan.layer, 0) + total


def _drop(session: Session, view: View, plan: Drop) -> None:
    gone = set(plan.messages)
    saved = sum(session.sent_tokens(view, message) for message in plan.messages)
    items: list[int] = []
    marked = plan.marker < 0
    for message in view.items:
        if message not in gone:
            items.append(message)
        elif not marked:
            items.append(plan.marker)
            marked = True
    if plan.marker >= 0:
        saved -= session.tokens[plan.marker]
    # What a marker stands for is its layer's saving as long as the marker stands.
    view.dropped.setdefault(plan.layer, {})[plan.marker if plan.marker >= 0 else plan.messages[0]] = saved
    view.items = items
    view.size -= saved
    view.totals[plan.layer] = view.totals.get(plan.layer, 0) + saved


def _compact(session: Session, view: View, plan: Compact) -> None:
    """What was decided about kept messages stays decided; decisions about dropped ones end with them."""
    kept = set(plan.kept)
    for decisions in (view.saved, view.dropped):
        for layer, by_message in decisions.items():
            decisions[layer] = {m: tokens for m, tokens in by_message.items() if m in kept}
    for layer in view.totals:
        view.totals[layer] = sum(view.saved.get(layer, {}).values()) + sum(
            view.dropped.get(layer, {}).values()
        )
    view.replaced = {key: text for key, text in view.replaced.items() if key[0] in kept}
    view.saved_estimate = {m: tokens for m, tokens in view.saved_estimate.items() if m in kept}
    view.items = [*plan.head, *plan.kept, *plan.tail]
    view.size = sum(session.sent_tokens(view, message) for message in view.items)
