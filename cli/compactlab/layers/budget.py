"""Budget: tool results that are too large go to disk, a preview stays.

Per result by the tool's own limit, per wire-level user message by the sum of its results. A result that
was once sent raw is never replaced later; a replaced one keeps its exact replacement.
"""

from __future__ import annotations

from compactlab.config.schema import Budget as BudgetSettings
from compactlab.config.schema import Config
from compactlab.ingest.text import utf16
from compactlab.layers.layer import DISABLED, Step
from compactlab.layers.placeholders import PERSISTED_START, preview
from compactlab.model.plan import Outcome, Replace, Replacement
from compactlab.model.transcript import Block
from compactlab.model.view import View
from compactlab.tokens.session import Session
from compactlab.tokens.table import result_texts

_NOTHING = Outcome(reason="no result that may be replaced")
_UNDER = Outcome(reason="not over budget")


class Budget:
    """The results since the last response are one wire message: each is judged once, when it is first sent."""

    name = "budget"

    def __init__(self) -> None:
        self._replaced: dict[str, str] = {}

    @staticmethod
    def runs(config: Config) -> bool:
        """Whether any of it is switched on."""
        return config.budget.enabled

    def reset(self, session: Session, view: View) -> None:
        """Replacements outlive a compaction: a replaced id stays replaced."""

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        """Replace what is over the limits among the fresh results."""
        settings = step.config.budget
        if not settings.enabled:
            return DISABLED
        messages = session.messages
        sizes: dict[tuple[int, int], int] = {}
        for message in step.fresh:
            if messages[message].kind == "result":
                for index, block in enumerate(messages[message].blocks):
                    if block.kind == "tool_result" and _eligible(session, settings, block):
                        sizes[message, index] = block.chars
        if not sizes:
            return _NOTHING
        chosen = self._over_limit(session, settings, sizes)
        if sum(sizes.values()) > settings.per_message_chars:
            over = set(chosen)
            rest = {place: size for place, size in sizes.items() if place not in over}
            chosen += _over_message(settings, rest, settings.preview_bytes * len(chosen))
        if not chosen:
            return _UNDER
        items = tuple(self._replacement(session, settings, place) for place in sorted(chosen))
        items = tuple(item for item in items if item.saved > 0)
        if not items:
            return Outcome(reason="a preview would not be smaller")
        return Outcome((Replace(self.name, items),), events=(f"budget: {len(items)} results to disk",))

    def _over_limit(
        self, session: Session, settings: BudgetSettings, sizes: dict[tuple[int, int], int]
    ) -> list[tuple[int, int]]:
        chosen = []
        for place, size in sizes.items():
            block = session.messages[place[0]].blocks[place[1]]
            name = session.tool_names.get(block.tool_id, "")
            limit = min(settings.tool_limits.get(name, settings.per_result_chars), settings.per_result_chars)
            if size > limit or block.tool_id in self._replaced:
                chosen.append(place)
        return chosen

    def _replacement(self, session: Session, settings: BudgetSettings, place: tuple[int, int]) -> Replacement:
        message, index = place
        block = session.messages[message].blocks[index]
        text = self._replaced.get(block.tool_id)
        if text is None:
            content = "\n".join(result_texts(block.raw.get("content")))
            path = f"tool-results/{block.tool_id}.txt"
            text = preview(content, block.chars, path, settings.preview_bytes)
            self._replaced[block.tool_id] = text
        table = session.table
        before = table.of_block(session.messages[message], index, session.tokens[message])
        estimate = table.estimate_of(block) - table.text_estimate(utf16(text))
        return Replacement(message, index, text, before - table.of_text(text), estimate)


def _eligible(session: Session, settings: BudgetSettings, block: Block) -> bool:
    """Not Read, no images, not empty, not a preview already."""
    if block.images or not block.chars or session.tool_names.get(block.tool_id) in settings.exempt_tools:
        return False
    content = block.raw.get("content")
    return type(content) is not str or not content.startswith(PERSISTED_START)


def _over_message(
    settings: BudgetSettings, sizes: dict[tuple[int, int], int], previews: int
) -> list[tuple[int, int]]:
    """The largest results (ties: document order) until what remains of the message fits."""
    total = sum(sizes.values()) + previews
    chosen = []
    for place in sorted(sizes, key=lambda p: (-sizes[p], p)):
        if total <= settings.per_message_chars:
            break
        total -= sizes[place] - min(sizes[place], settings.preview_bytes)
        chosen.append(place)
    return chosen
