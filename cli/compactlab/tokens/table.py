"""The token table of one session: per message, by the estimate and by the chosen counter.

Counters: `recorded` (growth of the recorded context, shared out inside a round), `heuristic` (the
estimate), `o200k_base` and `cl100k_base` (tiktoken). All figures are tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compactlab.config.schema import Config
from compactlab.ingest.text import compact_json, utf16
from compactlab.model.transcript import Block, Message, Transcript
from compactlab.tokens.estimate import block_tokens, message_tokens, text_tokens
from compactlab.tokens.shares import share

#: `recorded` is the default where at least this share of the responses has usage.
RECORDED_SHARE = 0.8

#: Overhead assumed where the session's start is not in the file and no later start shows it: the median
#: of recorded sessions, in tokens.
TYPICAL_OVERHEAD = 42_000


@dataclass(slots=True)
class TokenTable:
    """Tokens of each message of a transcript.

    `estimate` and `tokens` have one entry a message; `overhead` is what every request carries besides its
    messages (system prompt, tools), `lost` what stood before the file's first message. `ratio` is
    (recorded growth, estimate) over the measured rounds.
    """

    counter: str
    estimate: list[int]
    tokens: list[int]
    overhead: int
    lost: int
    ratio: tuple[int, int]
    measured_rounds: int
    chars_per_token: float
    image_tokens: int
    text_counter: Callable[[str], int] | None

    def of_text(self, text: str) -> int:
        """Tokens of a text that the lab makes (a summary, a preview), by this counter."""
        if self.text_counter is not None:
            return self.text_counter(text)
        return self.scaled(text_tokens(utf16(text), self.chars_per_token))

    def text_estimate(self, units: int) -> int:
        """The length estimate of a text of so many UTF-16 units."""
        return text_tokens(units, self.chars_per_token)

    def scaled(self, estimate: int) -> int:
        """An estimate times the session's own ratio, half up; as it is for a counter by length."""
        if self.counter != "recorded":
            return estimate
        grown, estimated = self.ratio
        return (2 * estimate * grown + estimated) // (2 * estimated)

    def estimate_of(self, block: Block) -> int:
        """The estimate of one block."""
        return block_tokens(block, self.chars_per_token, self.image_tokens)

    def of_block(self, message: Message, block_index: int, message_total: int) -> int:
        """Tokens of one block of a message whose blocks have `message_total` together, by this counter."""
        if self.counter == "heuristic":
            return self.estimate_of(message.blocks[block_index])
        if self.text_counter is not None:
            return _count_block(message.blocks[block_index], self.text_counter, self.image_tokens)
        weights = [self.estimate_of(block) for block in message.blocks]
        return share(message_total, weights)[block_index]


def choose_counter(transcript: Transcript) -> str:
    """`recorded` where at least 80 % of the responses carry usage, else `heuristic`."""
    responses = {
        message.response_id
        for message in transcript.messages
        if message.role == "assistant" and message.model != "<synthetic>"
    }
    enough = transcript.calls and len(transcript.calls) >= RECORDED_SHARE * len(responses)
    return "recorded" if enough else "heuristic"


def build_table(
    transcript: Transcript, counter: str, chars_per_token: float, image_tokens: int
) -> TokenTable:
    """Count every message once. Raises VocabularyError where a tiktoken vocabulary is missing."""
    messages = transcript.messages
    estimate = [message_tokens(message, chars_per_token, image_tokens) for message in messages]
    if counter == "recorded":
        tokens, ratio, rounds = _recorded(transcript, estimate)
        count = None
    else:
        count = _tokenizer(counter)
        tokens = (
            estimate[:]
            if count is None
            else [sum(_count_block(b, count, image_tokens) for b in m.blocks) for m in messages]
        )
        ratio, rounds = (1, 1), 0
    overhead, lost = _overhead(transcript, tokens)
    return TokenTable(
        counter, estimate, tokens, overhead, lost, ratio, rounds, chars_per_token, image_tokens, count
    )


def _tokenizer(counter: str) -> Callable[[str], int] | None:
    if counter == "heuristic":
        return None
    from compactlab.tokens import bpe

    return bpe.counter(counter)


def _overhead(transcript: Transcript, tokens: list[int]) -> tuple[int, int]:
    """(overhead, lost history) in tokens: what the first call's context holds besides its messages.

    Where the file begins in the middle of a session, a start after a compaction shows the overhead alone.
    """
    if not transcript.calls:
        return 0, 0
    first = transcript.calls[0]
    besides = max(0, first.usage.context - sum(tokens[: first.first]))
    if not transcript.head_missing:
        return besides, 0
    shown = []
    for boundary in transcript.boundaries:
        call = next((call for call in transcript.calls if call.first > boundary.index), None)
        if call is not None:
            shown.append(max(0, call.usage.context - sum(tokens[boundary.index : call.first])))
    overhead = min(besides, min(shown, default=TYPICAL_OVERHEAD))
    return overhead, besides - overhead


def _recorded(transcript: Transcript, estimate: list[int]) -> tuple[list[int], tuple[int, int], int]:
    """Message tokens by recorded growth; rounds that cannot be measured take the session's own ratio."""
    calls = transcript.calls
    breaks = sorted([b.index for b in transcript.boundaries] + [b.index for b in transcript.micro_boundaries])
    tokens = estimate[:]
    measured: list[tuple[int, int, int]] = []
    unmeasured: list[tuple[int, int]] = []
    at = grown = estimated = 0
    for call, following in itertools.pairwise(calls):
        start, end = call.first, following.first
        while at < len(breaks) and breaks[at] <= start:
            at += 1
        broken = at < len(breaks) and breaks[at] < end
        growth = following.usage.context - call.usage.context
        if broken or growth < 0 or call.model != following.model:
            unmeasured.append((start, end))
            continue
        measured.append((start, end, growth))
        grown += growth
        estimated += sum(estimate[start:end])
    ratio = (grown, estimated) if grown > 0 and estimated > 0 else (1, 1)
    for start, end, growth in measured:
        tokens[start:end] = share(growth, estimate[start:end])
    if calls:
        unmeasured.append((calls[-1].first, len(tokens)))
        _fit_start(tokens, calls[0].first, calls[0].usage.context)
    for start, end in unmeasured:
        for i in range(start, end):
            tokens[i] = (2 * estimate[i] * ratio[0] + ratio[1]) // (2 * ratio[1])
    return tokens, ratio, len(measured)


def _fit_start(tokens: list[int], end: int, context: int) -> None:
    """The messages before the first call cannot be more than its context: scaled down where they are."""
    if sum(tokens[:end]) > context:
        tokens[:end] = share(context, tokens[:end])


def _count_block(block: Block, count: Callable[[str], int], image_tokens: int) -> int:
    return sum(count(text) for text in block_texts(block)) + block.images * image_tokens


def block_texts(block: Block) -> list[str]:
    """The counted texts of a block, as a tokenizer should see them."""
    raw = block.raw
    if block.kind in ("text", "thinking"):
        return [_string(raw.get(block.kind))]
    if block.kind == "tool_use":
        return [block.name, compact_json(raw.get("input", {}))]
    if block.kind == "redacted_thinking":
        return [_string(raw.get("data"))]
    if block.kind == "tool_result":
        return result_texts(raw.get("content"))
    if block.images or not block.lengths:
        return []
    return [compact_json(dict(raw))]


def result_texts(content: Any) -> list[str]:
    """The texts of a tool result: a string, or the parts of a list (images have none)."""
    if isinstance(content, str):
        return [content]
    texts = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "text":
            texts.append(_string(part.get("text")))
        elif isinstance(part, dict) and part.get("type") not in ("image", "document"):
            texts.append(compact_json(part))
    return texts


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def token_table(transcript: Transcript, config: Config) -> TokenTable:
    """The session's table by the configured counter ("auto": recorded where the usage allows it)."""
    counter = config.tokens.counter
    if counter == "auto":
        counter = choose_counter(transcript)
    return build_table(transcript, counter, config.tokens.chars_per_token, config.tokens.image_tokens)
