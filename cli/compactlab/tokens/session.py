"""The workspace of one replay: the recorded messages, the made ones, their tokens, and lookups by tool id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compactlab.ingest.records import content_blocks
from compactlab.model.transcript import Message, Transcript
from compactlab.model.view import View
from compactlab.tokens.table import TokenTable


class Session:
    """Messages by id. Ids below `recorded` are the transcript's own; `make` adds messages that the replay writes.

    `tokens` and `estimate` have one entry an id: tokens by the run's counter and by the length estimate.
    """

    def __init__(self, transcript: Transcript, table: TokenTable) -> None:
        self.transcript = transcript
        self.table = table
        self.messages: list[Message] = list(transcript.messages)
        self.recorded = len(self.messages)
        self.tokens: list[int] = list(table.tokens)
        self.estimate: list[int] = list(table.estimate)
        self.tool_names: dict[str, str] = {}
        self.tool_inputs: dict[str, Mapping[str, Any]] = {}
        for message in self.messages:
            if message.role == "assistant":
                for block in message.blocks:
                    if block.kind == "tool_use":
                        self.tool_names[block.tool_id] = block.name
                        value = block.raw.get("input")
                        self.tool_inputs[block.tool_id] = value if isinstance(value, dict) else {}

        self.tools = frozenset(self.tool_names.values())

    def make(self, role: str, kind: str, text: str, timestamp: str, estimate: int | None = None) -> int:
        """Add a message of one text and return its id; its uuid is made from the id, the same in every run.

        `estimate` (tokens) stands for a text that is not written out: its size then follows from it.
        """
        blocks = content_blocks(text) if text else ()
        uuid = f"{kind}-{len(self.messages) - self.recorded}"
        self.messages.append(Message(uuid, "", role, kind, 0, timestamp, blocks, "", None, "", "", {}))
        counted = self.table.of_text(text) if estimate is None else self.table.scaled(estimate)
        if estimate is None:
            estimate = sum(map(self.table.estimate_of, blocks))
        self.tokens.append(counted)
        self.estimate.append(estimate)
        return len(self.messages) - 1

    def sent_tokens(self, view: View, message: int) -> int:
        """Tokens of a message as it stands in the view, by the run's counter."""
        saved = 0
        for by_message in view.saved.values():
            saved += by_message.get(message, 0)
        return self.tokens[message] - saved
