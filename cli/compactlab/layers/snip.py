"""Snip: messages of little value are left out, a marker stands in their place.

Off by default. Candidates: short acknowledgements by the user, trivially successful tool rounds, repeated
system messages. Never the newest messages, errors, half of a tool pair, or a round with text of substance.
"""

from __future__ import annotations

from compactlab.config.schema import Config
from compactlab.config.schema import Snip as SnipSettings
from compactlab.layers.layer import DISABLED, Step
from compactlab.model.plan import Drop, Outcome, Plan
from compactlab.model.transcript import Message
from compactlab.model.view import View
from compactlab.tokens.session import Session

#: Tools whose success says nothing that the model needs again.
TRIVIAL_TOOLS = frozenset({"Bash", "PowerShell", "Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite"})

#: A response's text over this many characters has substance.
SUBSTANCE_CHARS = 80

_TRIM = " \t\r\n.!?,;:。！？，；："


class Snip:
    """Groups are judged once, when they have left the protected tail; a run of candidates gets one marker."""

    name = "snip"

    def __init__(self) -> None:
        self._pending: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self._groups: list[list[int]] = []
        self._key = ""
        self._judged = 0
        self._newer = 0
        self._run: list[int] = []
        self._system: set[str] = set()

    @staticmethod
    def runs(config: Config) -> bool:
        """Whether any of it is switched on."""
        return config.snip.enabled

    def reset(self, session: Session, view: View) -> None:
        """After a compaction the list is a new one; a half-built run is given up."""
        self._clear()
        self._pending = list(view.items)

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        """Judge the groups that are now old enough; drop finished runs that save more than their marker costs."""
        settings = step.config.snip
        if not settings.enabled:
            return DISABLED
        self._feed(session, [*self._pending, *step.fresh])
        self._pending = []
        plans: list[Plan] = []
        while self._judged < len(self._groups) - 1 and (
            self._newer - len(self._groups[self._judged]) >= settings.protect_last
        ):
            group = self._groups[self._judged]
            self._judged += 1
            self._newer -= len(group)
            if self._is_candidate(session, group, settings):
                self._run += group
            elif self._run:
                plans += self._finish(session, view, step)
        if plans:
            count = sum(len(plan.messages) for plan in plans if isinstance(plan, Drop))
            return Outcome(tuple(plans), events=(f"snip: {count} messages left out",))
        return Outcome(reason="nothing of little value")

    def _feed(self, session: Session, fresh: list[int]) -> None:
        """A response and its results are one group, any other message one of its own."""
        for item in fresh:
            message = session.messages[item]
            if message.role == "assistant":
                if message.response_id != self._key:
                    self._key = message.response_id
                    self._groups.append([])
                self._groups[-1].append(item)
            elif message.kind == "result" and self._groups:
                self._groups[-1].append(item)
            else:
                self._key = ""
                self._groups.append([item])
            self._newer += 1

    def _is_candidate(self, session: Session, group: list[int], settings: SnipSettings) -> bool:
        first = session.messages[group[0]]
        if first.kind == "prompt":
            return _is_acknowledgement(first, settings)
        if first.role == "system":
            return self._is_repeated(first)
        return first.role == "assistant" and _is_trivial_round(session, group, settings)

    def _is_repeated(self, message: Message) -> bool:
        content = message.meta.get("content")
        if message.kind in ("boundary", "micro_boundary") or not isinstance(content, str) or not content:
            return False
        known = content in self._system
        self._system.add(content)
        return known

    def _finish(self, session: Session, view: View, step: Step) -> list[Plan]:
        run, self._run = self._run, []
        text = f"[{len(run)} messages of little value left out]"
        tokens = sum(session.sent_tokens(view, item) for item in run)
        if tokens <= session.table.of_text(text):
            return []
        return [Drop(self.name, tuple(run), session.make("user", "snip_marker", text, step.now))]


def _is_acknowledgement(message: Message, settings: SnipSettings) -> bool:
    texts = [block.raw.get("text") for block in message.blocks if block.kind == "text"]
    if len(texts) != len(message.blocks) or len(texts) != 1 or not isinstance(texts[0], str):
        return False
    return texts[0].strip(_TRIM).casefold() in {word.casefold() for word in settings.acknowledgements}


def _is_trivial_round(session: Session, group: list[int], settings: SnipSettings) -> bool:
    uses: set[str] = set()
    results: set[str] = set()
    for item in group:
        message = session.messages[item]
        for block in message.blocks:
            if block.kind == "tool_use":
                if block.name not in TRIVIAL_TOOLS:
                    return False
                uses.add(block.tool_id)
            elif block.kind == "tool_result":
                if (
                    block.raw.get("is_error") is True
                    or block.images
                    or block.chars > settings.max_trivial_chars
                ):
                    return False
                results.add(block.tool_id)
            elif block.kind == "text" and (message.role == "user" or block.chars > SUBSTANCE_CHARS):
                return False
    return bool(uses) and uses == results
