"""The API's own context management: clear_tool_uses_20250919 and clear_thinking_20251015.

The vendor documents both; they run on the server, invalidate the cache from the first cleared block, and
leave the client's history as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from compactlab.ingest.text import json_length, utf16
from compactlab.layers.layer import Step
from compactlab.layers.placeholders import CLEARED
from compactlab.layers.results_log import Entry, ResultsLog
from compactlab.model.plan import Replacement
from compactlab.model.view import View
from compactlab.tokens.session import Session


class ApiPath:
    """Keeps its own log: every tool counts here, not only the compactable ones, except those excluded."""

    def __init__(
        self, already: Mapping[tuple[int, int], str | None] | None = None, pending: list[int] | None = None
    ) -> None:
        self._log = ResultsLog(already)
        self._pending = list(pending or ())
        self._turns: list[tuple[str, list[tuple[int, int]]]] = []
        self._spoken: set[str] = set()
        self._response = ""
        self._cleared_turns = 0

    def decide(self, session: Session, view: View, step: Step) -> tuple[tuple[Replacement, ...], str, str]:
        """(replacements, event, reason why not)."""
        settings = step.config.micro.api
        if not settings.enabled:
            return (), "", "disabled"
        fresh = [*self._pending, *step.fresh]
        self._pending = []
        self._log.feed(session, fresh, session.tools - frozenset(settings.exclude_tools))
        self._feed_thinking(session, fresh)
        items: list[Replacement] = []
        events = []
        reason = "under the threshold"
        if step.overhead + view.size > settings.trigger_tokens:
            cleared = self._tool_uses(session, view, step)
            reason = "too little to clear"
            if cleared:
                items += cleared
                events.append("clear_tool_uses_20250919")
        thinking = self._thinking(session, settings.keep_thinking_turns)
        if thinking:
            items += thinking
            events.append("clear_thinking_20251015")
        return tuple(items), " ".join(events), reason

    def _tool_uses(self, session: Session, view: View, step: Step) -> list[Replacement]:
        settings = step.config.micro.api
        entries = self._log.oldest()
        entries = entries[: max(0, len(entries) - settings.keep)]
        if not entries or sum(entry.estimate for entry in entries) < settings.clear_at_least:
            return []
        items = list(self._log.clear(session, entries, view.replaced))
        if settings.clear_tool_inputs:
            items += [item for entry in entries if (item := _without_input(session, entry)).saved > 0]
        return [item for item in items if item.saved > 0]

    def _feed_thinking(self, session: Session, fresh: list[int]) -> None:
        for message in fresh:
            record = session.messages[message]
            if record.role != "assistant":
                continue
            for index, block in enumerate(record.blocks):
                if block.kind not in ("thinking", "redacted_thinking"):
                    self._spoken.add(record.response_id)
                    continue
                if record.response_id != self._response:
                    self._turns.append((record.response_id, []))
                    self._response = record.response_id
                self._turns[-1][1].append((message, index))

    def _thinking(self, session: Session, keep: int) -> list[Replacement]:
        if keep <= 0:
            return []
        items = []
        while self._cleared_turns < len(self._turns) - keep:
            response, places = self._turns[self._cleared_turns]
            # A response of nothing but thinking would be an empty message without it.
            for message, index in places if response in self._spoken else ():
                record = session.messages[message]
                saved = session.table.of_block(record, index, session.tokens[message])
                items.append(
                    Replacement(message, index, None, saved, session.table.estimate_of(record.blocks[index]))
                )
            self._cleared_turns += 1
        return [item for item in items if item.saved > 0]


def _without_input(session: Session, entry: Entry) -> Replacement:
    """The tool_use with an empty input."""
    table = session.table
    record = session.messages[entry.use_message]
    block = record.blocks[entry.use_block]
    before = table.of_block(record, entry.use_block, session.tokens[entry.use_message])
    units = utf16(block.name) + json_length({})
    left = table.scaled(table.text_estimate(units))
    estimate = table.estimate_of(block) - table.text_estimate(units)
    return Replacement(entry.use_message, entry.use_block, CLEARED, before - left, estimate)
