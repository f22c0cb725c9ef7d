"""The protocol of a layer, and what it is told at a call."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from compactlab.config.schema import Config
from compactlab.model.plan import Outcome
from compactlab.model.view import View
from compactlab.tokens.limits import Thresholds
from compactlab.tokens.session import Session


class Step(NamedTuple):
    """One call as the layers see it.

    `running` is the program's own size before the call (tokens): the newest response's usage plus the
    estimate of what came after it. `fresh` are the ids appended since the call before. `now` is the newest
    record's timestamp; `idle_minutes` the time since the last response, 0.0 where unknown.
    """

    call: int
    config: Config
    limits: Thresholds
    running: int
    fresh: list[int]
    now: str
    idle_minutes: float
    model: str
    overhead: int
    manual: bool


#: The answer of a layer that is switched off.
DISABLED = Outcome(reason="disabled")


class Layer(Protocol):
    """A layer of one session's replay. Its state is its own, small, and lives as long as the replay."""

    name: str

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        """Decide for one call. Looks at the fresh messages and its own state, not at the whole view."""
        ...

    @staticmethod
    def runs(config: Config) -> bool:
        """Whether any of it is switched on; a layer that never runs in a session is not asked at all."""
        ...

    def reset(self, session: Session, view: View) -> None:
        """A compaction happened: the view is the new, shorter list."""
        ...
