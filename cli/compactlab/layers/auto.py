"""Auto-compact: guards, then session memory (path A), then a full summary (path B)."""

from __future__ import annotations

from compactlab.config.schema import Config
from compactlab.layers import full, session_memory
from compactlab.layers.carried import Carried
from compactlab.layers.layer import Step
from compactlab.memory.schedule import MemorySchedule
from compactlab.model.clock import seconds
from compactlab.model.plan import Compact, Outcome
from compactlab.model.view import View
from compactlab.tokens.session import Session


class Auto:
    """Keeps the circuit breaker, the thrash guard, the extraction schedule and the read-file state."""

    name = "auto"

    def __init__(self, memory: MemorySchedule) -> None:
        self.memory = memory
        self._carried = Carried()
        self._failures = 0
        self._last_call: int | None = None
        self._refills = 0
        self.thrashing = False

    @staticmethod
    def runs(config: Config) -> bool:
        """Whether any of it is switched on."""
        return True  # /compact works where the automatic one is off

    def reset(self, session: Session, view: View) -> None:
        """A compaction by another way (reactive): the read-file state is void."""
        self._carried.compacted()

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        """Compact when the running size reaches the threshold, or when /compact is given."""
        self._carried.feed(session, step.fresh)
        reason = "" if step.manual else self._guard(step)
        if reason:
            return Outcome(reason=reason)
        return self._compact(session, view, step)

    def _guard(self, step: Step) -> str:
        settings = step.config.auto
        if not settings.enabled:
            return "disabled"
        if step.config.collapse.enabled:
            return "context collapse is on"
        if step.running < step.limits.auto:
            return "under the threshold"
        if self._failures >= settings.max_failures:
            return "circuit breaker open"
        if settings.thrash_guard and self._refills >= settings.thrash_times:
            self.thrashing = True
            return "thrash guard: refilled again and again"
        return ""

    def _compact(self, session: Session, view: View, step: Step) -> Outcome:
        state = self.memory.state(step.config.memory, seconds(step.now))
        tried = session_memory.compact(session, view, step, state, self._carried)
        if isinstance(tried, Compact):
            self._succeeded(step, tried)
            events = ["tengu_sm_compact"] + ([] if step.manual else ["tengu_auto_compact_succeeded"])
            return Outcome((tried,), events=tuple(events))
        events = [session_memory.EVENTS[tried]] if tried in session_memory.EVENTS else []
        attempt = full.compact(session, view, step, self._carried, tried)
        events += attempt.events
        if attempt.plan is None:
            self._failures += 1
            if self._failures >= step.config.auto.max_failures:
                events.append("circuit breaker opens")
            return Outcome(reason="the summary request failed", events=tuple(events))
        self._succeeded(step, attempt.plan)
        if not step.manual:
            events.append("tengu_auto_compact_succeeded")
        return Outcome((attempt.plan,), events=tuple(events))

    def _succeeded(self, step: Step, plan: Compact) -> None:
        self._failures = 0
        near = self._last_call is not None and step.call - self._last_call <= step.config.auto.thrash_calls
        self._refills = self._refills + 1 if near and not step.manual else 0
        self._last_call = step.call
        self._carried.compacted()
