"""When session memory is extracted during a session, and up to which message it then reaches.

Reported by users, not measured: first at `init_tokens` of context, then when the context grew by
`update_tokens` and there were `tool_calls_between` tool calls since, or the last response has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.config.schema import Memory

#: A compaction waits this long (seconds) for an extraction that runs; one older than the other figure counts as dead.
WAIT_SECONDS = 15.0
DEAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Memory as a compaction finds it.

    `reach`: number of view messages that the content covers (None: there is no memory). `summarized`: id
    of the last summarised message, None in a resumed session or after a compaction.
    """

    reach: int | None
    summarized: int | None


@dataclass(slots=True)
class _Extraction:
    started: float
    reach: int
    summarized: int | None


class MemorySchedule:
    """Fed once a response; asked at a compaction. Context sizes in tokens, times in seconds."""

    def __init__(self) -> None:
        self._done: _Extraction | None = None
        self._running: _Extraction | None = None
        self._at_tokens = 0
        self._tool_calls = 0

    def response(
        self, settings: Memory, *, context: int, tool_calls: int, last_message: int, reach: int, now: float
    ) -> bool:
        """A response came in: extract if it is time. `reach` counts the view's messages up to it. True if extracted."""
        self._settle(now, settings.duration_seconds, wait=0.0)
        self._tool_calls += tool_calls
        if self._done is None and self._running is None:
            due = context >= settings.init_tokens
        else:
            grown = context - self._at_tokens >= settings.update_tokens
            due = grown and (self._tool_calls >= settings.tool_calls_between or tool_calls == 0)
        if not due or self._running is not None:
            return False
        before = self._done.summarized if self._done else None
        # An open tool pair must not be cut: the id moves on only where the response asked for no tool.
        self._running = _Extraction(now, reach, last_message if tool_calls == 0 else before)
        self._at_tokens = context
        self._tool_calls = 0
        self._settle(now, settings.duration_seconds, wait=0.0)
        return True

    def state(self, settings: Memory, now: float) -> MemoryState:
        """What a compaction at this time uses: it waits for a running extraction, not for a dead one."""
        self._settle(now, settings.duration_seconds, wait=WAIT_SECONDS)
        return MemoryState(self._done.reach, self._done.summarized) if self._done else MemoryState(None, None)

    def compacted(self, context: int, head: int) -> None:
        """A compaction succeeded: the id is void, the content stays and covers the new view's first `head` messages."""
        self._at_tokens = min(self._at_tokens, context)
        self._running = None
        if self._done is not None:
            self._done = _Extraction(self._done.started, head, None)

    def _settle(self, now: float, duration: float, wait: float) -> None:
        running = self._running
        if running is None:
            return
        if now - running.started > DEAD_SECONDS and duration > DEAD_SECONDS:
            self._running = None
        elif running.started + duration <= now + wait:
            self._done, self._running = running, None
