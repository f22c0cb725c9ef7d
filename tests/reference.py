"""A slow and obvious reference of what the product computes, written from the specification, not from the code.

It reads parsed messages (`compactlab.model.transcript`) and nothing else of the product. Quadratic on purpose:
every size is added up anew each time it is needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from compactlab.model.transcript import Block, Message, Transcript

IMAGE = 2000
FIXED_TEXTS = (
    "No response requested.",
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
    "(no content)",
)
#: The reminder that Read appends is left out of the tail's estimate up to 2.1.1 (section 2).
REMINDER = 183


# --- (a) estimates


def units(text: Any) -> int:
    """UTF-16 code units; lone surrogates are one."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(text, str) else 0


def quarter(length: int) -> int:
    """length / 4, half up."""
    return math.floor(Fraction(length, 4) + Fraction(1, 2))


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def block_estimate(raw: Mapping[str, Any]) -> int:
    """Section 2, "Estimate of a block"."""
    kind = raw.get("type")
    if kind == "text":
        return quarter(units(raw.get("text")))
    if kind == "thinking":
        return quarter(units(raw.get("thinking")))
    if kind == "redacted_thinking":
        return quarter(units(raw.get("data")))
    if kind in ("image", "document"):
        return IMAGE
    if kind == "tool_use":
        return quarter(units(raw.get("name")) + units(compact_json(raw.get("input", {}))))
    if kind == "tool_result":
        content = raw.get("content")
        if isinstance(content, list):
            return sum(block_estimate(part) for part in content)
        return quarter(units(content))
    return quarter(units(compact_json(raw)))


def estimate(message: Message) -> int:
    """A message is the sum of its blocks; system records count nothing."""
    if message.role == "system":
        return 0
    if message.role == "attachment":
        # What an attachment renders to is a matter of reading; the text's length is taken from the parsed value.
        return sum(quarter(length) for block in message.blocks for length in block.lengths)
    return sum(block_estimate(block.raw) for block in message.blocks)


def padded(tokens: int) -> int:
    """ceil(tokens × 4/3), per message."""
    return math.ceil(Fraction(tokens * 4, 3))


# --- (b) running size and thresholds


def version_of(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split("."))
    except ValueError:
        return (999,)


def reserve_cap(version: str) -> int:
    """32,000 up to 2.1.20, 20,000 after."""
    return 32_000 if version_of(version) <= (2, 1, 20) else 20_000


def takes_last_line(version: str) -> bool:
    """Up to 2.1.1 and from 2.1.12 to 2.1.29 the last line's figure, stub or not."""
    number = version_of(version)
    return number <= (2, 1, 1) or (2, 1, 12) <= number <= (2, 1, 29)


@dataclass(frozen=True)
class Limits:
    """All in tokens."""

    window: int
    effective: int
    auto: int
    warning: int
    blocking: int


def limits(window: int, reserve: int, auto_buffer: int = 13_000, pct: float = 0.0) -> Limits:
    """`reserve` is already the smaller of the model's output limit and the cap."""
    effective = window - reserve
    auto = effective - auto_buffer
    if 0 < pct <= 100:
        auto = min(math.floor(effective * pct / 100), auto)
    return Limits(window, effective, auto, auto - 20_000, effective - 3_000)


def is_real(message: Message) -> bool:
    """A line of a response that an API call gave."""
    if message.role != "assistant" or message.usage is None or message.model == "<synthetic>":
        return False
    texts = [block.raw.get("text") for block in message.blocks]
    return not (len(texts) == 1 and texts[0] in FIXED_TEXTS)


def lines_of(messages: Sequence[Message], response: str) -> list[int]:
    return [i for i, m in enumerate(messages) if is_real(m) and m.response_id == response]


def calls_of(messages: Sequence[Message]) -> list[int]:
    """First lines of the real responses, in order."""
    seen: set[str] = set()
    found = []
    for index, message in enumerate(messages):
        if is_real(message) and message.response_id not in seen:
            seen.add(message.response_id)
            found.append(index)
    return found


def output_tokens(messages: Sequence[Message], response: str) -> int:
    """The figure that the running program had. Later versions: the greatest, which the sessions here keep true."""
    figures = [messages[i].usage.output for i in lines_of(messages, response)]
    version = messages[lines_of(messages, response)[0]].version
    return figures[-1] if takes_last_line(version) else max(figures)


def tail_estimate(messages: Sequence[Message], item: int) -> int:
    """The estimate as it counts behind a response: up to 2.1.1 without the reminder of Read."""
    message = messages[item]
    tokens = estimate(message)
    if version_of(message.version) <= (2, 1, 1):
        for block in message.blocks:
            content = block.raw.get("content")
            reminded = isinstance(content, str) and content.rstrip().endswith("</system-reminder>")
            if block.kind == "tool_result" and reminded and _tool_name(messages, block.tool_id) == "Read":
                tokens -= min(REMINDER, block_estimate(block.raw))
    return tokens


def _tool_name(messages: Sequence[Message], tool_id: str) -> str:
    uses = [b for m in messages if m.role == "assistant" for b in m.blocks if b.kind == "tool_use"]
    return next((str(b.raw.get("name")) for b in uses if b.raw.get("id") == tool_id), "")


def running_size(messages: Sequence[Message], end: int) -> int:
    """Before a call that would come at position `end`, as recorded: only what follows the last boundary counts."""
    start = max([i + 1 for i in range(end) if messages[i].kind == "boundary"], default=0)
    real = [i for i in range(start, end) if is_real(messages[i])]
    if not real:
        return sum(tail_estimate(messages, i) for i in range(start, end))
    newest = messages[real[-1]]
    lines = [i for i in lines_of(messages, newest.response_id) if i >= start]
    total = newest.usage.context + output_tokens(messages, newest.response_id)
    after = [i for i in range(lines[0] + 1, end) if i not in lines]
    return total + sum(tail_estimate(messages, i) for i in after)


# --- (c) validation of recorded boundaries


@dataclass(frozen=True)
class Verdict:
    index: int
    predicted: int
    verdict: str
    calls_off: int


def validate(transcript: Transcript, auto_at: Callable[[str], int]) -> tuple[list[Verdict], int]:
    """Each recorded automatic boundary, and the number of false alarms (CONTRACT, `validate`).

    `auto_at`: the automatic threshold of a recorded version.
    """
    messages = transcript.messages
    missing = {b.index: b.tail_missing for b in transcript.boundaries}
    trigger = {b.index: b.trigger for b in transcript.boundaries}
    places = [i for i, m in enumerate(messages) if m.kind == "boundary"]
    calls = calls_of(messages)
    verdicts = []
    alarms = 0
    start = 0
    for end in [*places, len(messages)]:
        over = [
            c for c in calls if start <= c < end and running_size(messages, c) >= auto_at(messages[c].version)
        ]
        automatic = end in trigger and trigger[end] == "auto"
        if not automatic:
            alarms += len(over)
        else:
            size = running_size(messages, end)
            if over:
                off = len([c for c in calls if over[0] <= c < end])
                verdicts.append(Verdict(end, size, "early", off))
            elif size >= auto_at(messages[end].version):
                verdicts.append(Verdict(end, size, "hit", 0))
            else:
                verdicts.append(Verdict(end, size, "unknowable" if missing[end] else "late", 0))
        start = end + 1
    return verdicts, alarms


# --- (d) the keep index of session-memory compaction


@dataclass(frozen=True)
class Keep:
    """Settings of the kept part, in padded tokens and messages."""

    min_tokens: int = 10_000
    min_texts: int = 5
    max_tokens: int = 40_000


def has_text(message: Message) -> bool:
    """User or assistant with text that is not empty; a message of results only has none."""
    return message.role in ("user", "assistant") and any(
        block.kind == "text" and block.raw.get("text") for block in message.blocks
    )


def floor_index(messages: Sequence[Message]) -> int:
    """The message after the last boundary, else 0."""
    return max([i + 1 for i, m in enumerate(messages) if m.kind == "boundary"], default=0)


def wanted_index(messages: Sequence[Message], sizes: Sequence[int], start: int, keep: Keep) -> int:
    """Where the kept part would begin before it is moved. `sizes`: padded tokens of each message."""

    def enough(first: int) -> bool:
        tokens = sum(sizes[first:])
        texts = sum(has_text(m) for m in messages[first:])
        return tokens >= keep.max_tokens or (tokens >= keep.min_tokens and texts >= keep.min_texts)

    while start > floor_index(messages) and not enough(start):
        start -= 1
    return start


def start_index(messages: Sequence[Message], start: int) -> int:
    """Moved back until no result is without its tool_use and no response is cut; repeated until nothing moves."""
    while True:
        moved = _with_responses(messages, _with_uses(messages, start))
        if moved == start:
            return start
        start = moved


def _with_uses(messages: Sequence[Message], start: int) -> int:
    needed = {b.tool_id for m in messages[start:] for b in m.blocks if b.kind == "tool_result"}
    inside = {b.tool_id for m in messages[start:] for b in m.blocks if b.kind == "tool_use"}
    for index in range(start):
        if any(b.kind == "tool_use" and b.tool_id in needed - inside for b in messages[index].blocks):
            return index
    return start


def _with_responses(messages: Sequence[Message], start: int) -> int:
    kept = {m.response_id for m in messages[start:] if m.role == "assistant"}
    for index in range(start):
        if messages[index].role == "assistant" and messages[index].response_id in kept:
            return index
    return start


# --- (e) the counterfactual replay


@dataclass(frozen=True)
class Setup:
    """What a replay runs with. `reserve` as in `limits`; the other layers are off."""

    window: int = 40_000
    reserve: int = 2_000
    auto_buffer: int = 13_000
    keep: Keep = field(default=Keep())
    init_tokens: int = 10_000
    update_tokens: int = 5_000
    tool_calls: int = 3
    summary: int = 500
    preserve: bool = True


@dataclass(frozen=True)
class Cut:
    """`path` is session_memory or full; positions are those of the list that the compaction worked on."""

    call: int
    path: str
    pre_tokens: int
    wanted: int
    start: int
    floor: int
    kept: int


@dataclass
class Replayed:
    raw: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    overhead: int = 0


class Simulation:
    """One counterfactual replay with the heuristic counter, session memory and fixed summaries."""

    def __init__(
        self, transcript: Transcript, setup: Setup, guessed: Mapping[str, int] | None = None
    ) -> None:
        """`guessed`: output figures by response where the file holds a stub only."""
        self.guessed = guessed or {}
        self.messages = list(transcript.messages)
        products = {i for b in transcript.boundaries for i in b.products}
        self.history = [i for i in range(len(self.messages)) if i not in products]
        self.calls = calls_of(transcript.messages)
        self.setup = setup
        self.limit = limits(setup.window, setup.reserve, setup.auto_buffer)
        self.made: dict[int, tuple[str, int]] = {}
        self.out = Replayed()
        self.sent_at: dict[str, int] = {}
        self.extracted = False
        self.summarized: int | None = None
        self.baseline = 0
        self.tools_since = 0

    def _is_made(self, item: int) -> bool:
        return item >= len(self.messages)

    def size(self, ids: Sequence[int]) -> int:
        return sum(self.made[i][1] if self._is_made(i) else estimate(self.messages[i]) for i in ids)

    def padded_sizes(self, ids: Sequence[int]) -> list[int]:
        return [padded(self.size([i])) for i in ids]

    def run(self) -> Replayed:
        if not self.calls:
            return self.out
        first = self.calls[0]
        context = self.messages[first].usage.context
        self.out.overhead = overhead = max(0, context - self.size([i for i in self.history if i < first]))
        view: list[int] = []
        fed = 0
        for number, at in enumerate(self.calls):
            view += [i for i in self.history if fed <= i < at]
            fed = at
            self._extract(number)
            self.out.raw.append(overhead + self.size([i for i in self.history if i < at]))
            running = self._running(view, number)
            self.out.running.append(running)
            if running >= self.limit.auto:
                view = self._compact(view, number, running)
            sent = overhead + self.size(view)
            self.out.sent.append(sent)
            self.sent_at[self.messages[at].response_id] = sent
        return self.out

    def _running(self, view: Sequence[int], number: int) -> int:
        """Size sent at the newest response's call, its output, and what came after its first line."""
        if number == 0:
            return self.size(view)
        first = self.calls[number - 1]
        response = self.messages[first].response_id
        after = [i for i in range(first, self.calls[number]) if i in self.history]
        after = [i for i in after if self.messages[i].response_id != response]
        return self.sent_at[response] + self._output(response) + self.size(after)

    def _output(self, response: str) -> int:
        if response in self.guessed:
            return self.guessed[response]
        return output_tokens(self.messages, response)

    def _extract(self, number: int) -> None:
        """After the response of the call before this one: is it time for an extraction?"""
        if number == 0:
            return
        response = self.messages[self.calls[number - 1]].response_id
        lines = lines_of(self.messages, response)
        tools = sum(b.kind == "tool_use" for i in lines for b in self.messages[i].blocks)
        context = self.sent_at[response] + self._output(response)
        self.tools_since += tools
        if self.extracted:
            grown = context - self.baseline >= self.setup.update_tokens
            due = grown and (self.tools_since >= self.setup.tool_calls or tools == 0)
        else:
            due = context >= self.setup.init_tokens
        if due:
            self.extracted = True
            self.baseline = context
            self.tools_since = 0
            if tools == 0:
                self.summarized = lines[-1]

    def _make(self, kind: str, tokens: int) -> int:
        item = len(self.messages) + len(self.made)
        self.made[item] = (kind, tokens)
        return item

    def _message(self, item: int) -> Message:
        """A message of the list; what the replay made stands as a boundary, or a user's text."""
        if not self._is_made(item):
            return self.messages[item]
        kind, _ = self.made[item]
        blocks = (
            () if kind == "boundary" else (Block("text", (1,), 0, "", "", {"type": "text", "text": "s"}),)
        )
        role = "system" if kind == "boundary" else "user"
        return Message(f"made{item}", "", role, kind, 0, "", blocks, "", None, "", "", {})

    def _compact(self, view: list[int], number: int, running: int) -> list[int]:
        messages = [self._message(i) for i in view]
        floor = floor_index(messages)
        wanted = start = len(view)
        path = "full"
        if self.extracted:
            first = len(view) if self.summarized is None else view.index(self.summarized) + 1
            wanted = wanted_index(messages, self.padded_sizes(view), first, self.setup.keep)
            start = start_index(messages, wanted) if self.setup.preserve else wanted
            after = sum(self.padded_sizes(view[start:])) + padded(self.setup.summary)
            path = "session_memory" if after < self.limit.auto else "full"
        if path == "full":
            wanted = start = len(view)
        kept = [i for i, message in zip(view, messages, strict=True) if message.kind != "boundary"]
        kept = [i for i in kept if i in view[start:]]
        new = [self._make("boundary", 0), self._make("summary", self.setup.summary), *kept]
        self.out.cuts.append(Cut(number, path, running, wanted, start, floor, len(kept)))
        self.summarized = None
        self.baseline = min(self.baseline, self.out.overhead + self.size(new))
        return new
