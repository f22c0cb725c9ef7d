"""Context collapse: the oldest closed rounds become spans with a short summary each, staged, then committed.

Off by default; while it is on, auto-compact is suppressed. Commits are a log: applied as a projection on
every later call, cleared by a compaction.
"""

from __future__ import annotations

from collections import Counter

from compactlab.config.schema import Config
from compactlab.layers.layer import DISABLED, Step
from compactlab.model.plan import Drop, Outcome, Plan
from compactlab.model.view import View
from compactlab.tokens.session import Session


class Collapse:
    """Rounds in order; those before `_committed` are collapsed, those before `_staged` are ready to be."""

    name = "collapse"

    def __init__(self) -> None:
        self._pending: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self._rounds: list[list[int]] = [[]]
        self._response = ""
        self._staged = 0
        self._committed = 0

    @staticmethod
    def runs(config: Config) -> bool:
        """Whether any of it is switched on."""
        return config.collapse.enabled

    def reset(self, session: Session, view: View) -> None:
        """A compaction clears the log; what it kept can be collapsed anew."""
        self._clear()
        self._pending = list(view.items)

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        """Stage from `stage_at`, commit from `commit_at` until under it; at `block_at` commit all that is staged."""
        settings = step.config.collapse
        if not settings.enabled:
            return DISABLED
        self._feed(session, [*self._pending, *step.fresh])
        self._pending = []
        size = step.overhead + view.size
        base = step.limits.effective
        if size < settings.stage_at * base:
            return Outcome(reason="under the stage threshold")
        events = []
        closed = len(self._rounds) - 1 - settings.keep_rounds
        if closed > self._staged:
            events.append(f"collapse: {closed - self._staged} spans staged")
            self._staged = closed
        plans: list[Plan] = []
        everything = size >= settings.block_at * base or step.call in step.config.faults.overflow_at
        while self._committed < self._staged and (everything or size >= settings.commit_at * base):
            plan, saved = self._commit(session, view, step)
            if plan is not None:
                plans.append(plan)
                size -= saved
        if plans:
            events.append(f"collapse: {len(plans)} spans committed")
            return Outcome(tuple(plans), events=tuple(events))
        return Outcome(reason="nothing to commit", events=tuple(events))

    def _feed(self, session: Session, fresh: list[int]) -> None:
        for item in fresh:
            message = session.messages[item]
            if message.role == "assistant" and message.response_id != self._response:
                # Spans are whole rounds: a prompt opens the round of the response that follows it.
                self._response = message.response_id
                carried = self._take_prompts(session)
                self._rounds.append(carried)
            self._rounds[-1].append(item)

    def _take_prompts(self, session: Session) -> list[int]:
        last = self._rounds[-1]
        cut = len(last)
        while (
            cut > 0
            and session.messages[last[cut - 1]].role != "assistant"
            and (session.messages[last[cut - 1]].kind != "result")
        ):
            cut -= 1
        carried = last[cut:]
        del last[cut:]
        return carried

    def _commit(self, session: Session, view: View, step: Step) -> tuple[Drop | None, int]:
        items = self._rounds[self._committed]
        self._committed += 1
        tools = Counter(
            block.name
            for item in items
            for block in session.messages[item].blocks
            if block.kind == "tool_use"
        )
        used = ", ".join(f"{name} {count}x" for name, count in sorted(tools.items())) or "no tools"
        text = f"[collapsed: {len(items)} messages; {used}]"
        tokens = sum(session.sent_tokens(view, item) for item in items)
        if not items or tokens <= session.table.of_text(text):
            return None, 0
        marker = session.make("user", "collapse_marker", text, step.now)
        return Drop(self.name, tuple(items), marker), tokens - session.tokens[marker]
