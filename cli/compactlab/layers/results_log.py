"""The compactable tool results of the live view, in the order of their tool_use blocks.

Kept up to date by the fresh messages alone, so that no layer walks the whole context at a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compactlab.ingest.text import utf16
from compactlab.layers.placeholders import CLEARED
from compactlab.model.plan import Replacement
from compactlab.tokens.session import Session


@dataclass(slots=True)
class Entry:
    """One result: its place, its estimate (tokens), whether it is cleared. `message` is -1 until the result came."""

    tool_id: str
    name: str
    use_message: int
    use_block: int
    message: int = -1
    block: int = -1
    estimate: int = 0
    cleared: bool = False


class ResultsLog:
    """`entries` in use order; `uncleared` is the sum of their estimates (tokens); `open` counts those uncleared."""

    def __init__(self, already: Mapping[tuple[int, int], str | None] | None = None) -> None:
        self._already = already if already is not None else {}
        self.entries: list[Entry] = []
        self.uncleared = 0
        self.open = 0
        self._head = 0
        self._by_id: dict[str, Entry] = {}

    def feed(self, session: Session, fresh: list[int], tools: frozenset[str]) -> None:
        """Take in the messages since the last call."""
        for message in fresh:
            record = session.messages[message]
            if record.role == "assistant":
                for index, block in enumerate(record.blocks):
                    if block.kind == "tool_use" and block.name in tools and block.tool_id not in self._by_id:
                        entry = Entry(block.tool_id, block.name, message, index)
                        self.entries.append(entry)
                        self._by_id[block.tool_id] = entry
            elif record.kind == "result":
                for index, block in enumerate(record.blocks):
                    found = self._by_id.get(block.tool_id) if block.kind == "tool_result" else None
                    if found is not None and found.message < 0:
                        found.message, found.block = message, index
                        if self._already.get((message, index)) == CLEARED:
                            found.cleared = True
                            continue
                        found.estimate = session.table.estimate_of(block)
                        self.uncleared += found.estimate
                        self.open += 1

    def oldest(self) -> list[Entry]:
        """The uncleared results from the oldest on (a new list; walk it only when a path may fire)."""
        while self._head < len(self.entries) and self.entries[self._head].cleared:
            self._head += 1
        return [entry for entry in self.entries[self._head :] if not entry.cleared and entry.message >= 0]

    def clear(
        self, session: Session, entries: list[Entry], replaced: Mapping[tuple[int, int], str | None]
    ) -> tuple[Replacement, ...]:
        """Mark entries as cleared and return what that replaces. A result that is a preview already is left so."""
        table = session.table
        placeholder, placeholder_estimate = table.of_text(CLEARED), table.text_estimate(utf16(CLEARED))
        items = []
        for entry in entries:
            entry.cleared = True
            self.uncleared -= entry.estimate
            self.open -= 1
            if (entry.message, entry.block) in replaced:
                continue
            before = table.of_block(
                session.messages[entry.message], entry.block, session.tokens[entry.message]
            )
            if before <= placeholder:
                continue  # too small for the placeholder to save anything
            items.append(
                Replacement(
                    entry.message,
                    entry.block,
                    CLEARED,
                    before - placeholder,
                    entry.estimate - placeholder_estimate,
                )
            )
        return tuple(items)
