"""Made-up, well-formed sessions: a plain builder of transcript lines, and hypothesis strategies over it.

A session's usage figures are consistent: each call's context is the context before it, plus the true output,
plus the estimate of what came since. Sizes are in tokens (a quarter of the text's length).
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from compactlab.ingest.load import load_stream
from compactlab.model.transcript import Transcript

Json = dict[str, Any]

VERSIONS = ("2.1.7", "2.1.17", "2.1.25", "2.1.217")
MODEL = "claude-sonnet-4-5-20250929"
TOOLS = ("Read", "Bash", "Grep", "Edit", "mcp__tide__gauge", "Task")
WORDS = "tide gauge datum harbour berth ellery orrin slack spring neap "
SHAPES = ("after", "together", "between", "reversed")
SUMMARY_OPENING = "This session is being continued from a previous conversation that ran out of context. "


def text_of(tokens: int, seed: int = 0) -> str:
    """A text of four letters a token; some hold letters outside the basic plane (two UTF-16 units each)."""
    start = seed % len(WORDS)
    text = ((WORDS[start:] + WORDS) * (tokens * 4 // len(WORDS) + 1))[: tokens * 4]
    return text[:-4] + "🌊🌊" if tokens > 4 and seed % 5 == 3 else text


def quarter(length: int) -> int:
    return math.floor(length / 4 + 0.5)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def size_of(block: Json) -> int:
    """The estimate of one of the block kinds that the builder writes."""
    kind = block["type"]
    if kind == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
        return quarter(units(block["name"]) + units(text))
    if kind == "tool_result":
        content = block["content"]
        return quarter(units(content)) if isinstance(content, str) else sum(size_of(part) for part in content)
    if kind == "image":
        return 2000
    return quarter(units(block.get("text", block.get("thinking", ""))))


@dataclass(frozen=True)
class Tool:
    """One tool call. `tokens`: size of the result; `parts` gives it as a list; `image` adds a picture."""

    tokens: int = 50
    name: str = "Bash"
    parts: bool = False
    image: bool = False
    path: str = "src/tide.py"


@dataclass
class Book:
    """Builds one session line by line and keeps its accounts.

    `overhead`: tokens of system prompt and tools. `stubs`: lines carry stubs as output figures, of which the
    last line's may be true (`raised`).
    """

    version: str = "2.1.25"
    overhead: int = 3_000
    model: str = MODEL
    stubs: bool = False
    raised: bool = True
    records: list[Json] = field(default_factory=list)
    head: str | None = None
    context: int = 0
    tail: int = 0
    calls: int = 0
    clock: int = 0
    last_lines: list[str] = field(default_factory=list)
    segment: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    known: tuple[int, int] | None = None

    # --- records

    def _uuid(self) -> str:
        return f"{len(self.records):08x}-0000-4000-8000-000000000000"

    def put(self, kind: str, body: Json, parent: str | None = "", *, leads: bool = True) -> str:
        """One chain record below the newest one, or below `parent`; it is the new head if it `leads`."""
        uuid = self._uuid()
        self.clock += 7
        hour, minute, second = self.clock // 3600 % 24, self.clock // 60 % 60, self.clock % 60
        record: Json = {
            "parentUuid": self.head if parent == "" else parent,
            "isSidechain": False,
            "sessionId": "made-up",
            "version": self.version,
            "type": kind,
            **body,
            "uuid": uuid,
            "timestamp": f"2026-03-01T{hour:02}:{minute:02}:{second:02}.000Z",
        }
        self.records.append(record)
        if leads:
            self.head = uuid
        return uuid

    def _count(self, uuid: str, tokens: int) -> None:
        self.tail += tokens
        self.sizes[uuid] = tokens
        self.segment.append(uuid)

    def user(self, content: str | list[Json], parent: str | None = "", **extra: Any) -> str:
        """A user record; its size goes into the tail."""
        uuid = self.put("user", {"message": {"role": "user", "content": content}, **extra}, parent)
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        self._count(uuid, sum(map(size_of, blocks)))
        return uuid

    def attachment(self, tokens: int = 20, kind: str = "hook_additional_context") -> str:
        """An attachment that renders to a text of that size."""
        value = {"type": kind, "content": text_of(tokens)}
        uuid = self.put("attachment", {"attachment": value})
        self._count(uuid, tokens)
        return uuid

    def progress(self) -> str:
        """A progress record that stands in the chain."""
        return self.put("progress", {"data": {"type": "hook_progress", "hookEvent": "PreToolUse"}})

    def note(self, content: str = "Stop hooks ran") -> str:
        """A system record: no part of the context."""
        uuid = self.put("system", {"subtype": "informational", "content": content, "isMeta": False})
        self.segment.append(uuid)
        self.sizes[uuid] = 0
        return uuid

    # --- responses

    def respond(
        self, blocks: Sequence[Json], tools: Sequence[Tool] = (), shape: str = "after", *, answered: int = -1
    ) -> list[str]:
        """A response of one line a block, then its results. `shape` says where the results stand.

        after: when all lines are out; together: in one message; between: after their own line;
        reversed: the last one first. `answered`: so many results only (-1: all). Returns the lines' uuids.
        """
        number, self.calls = self.calls, self.calls + 1
        uses = [self._use(number, at, tool) for at, tool in enumerate(tools)]
        lines = [*blocks, *uses]
        estimate = sum(map(size_of, lines))
        output = round(1.4 * estimate) + 100 * len(lines) + 10
        context = self.context + self.tail if self.calls > 1 and self.context else self.overhead + self.tail
        self.context, self.tail = context + output, 0
        left = len(uses) if answered < 0 else answered
        uuids: list[str] = []
        results = []
        for at, block in enumerate(lines):
            figure = self._figure(output, at, len(lines))
            uuids.append(self._line(number, block, context, figure))
            if block["type"] == "tool_use":
                results.append((uuids[-1], self._result(block["id"], tools[at - len(blocks)])))
            if shape == "between" and results and left:
                left -= 1
                parent, result = results.pop()
                self.user([result], parent)
        self.known = (context, self._figure(output, len(lines) - 1, len(lines)))
        results = results[:left] if shape != "between" else []
        if shape == "together" and results:
            self.user([result for _, result in results])
        else:
            for parent, result in reversed(results) if shape == "reversed" else results:
                self.user([result], parent)
        self.last_lines = uuids
        return uuids

    def _line(self, number: int, block: Json, context: int, figure: int) -> str:
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": context // 5,
            "cache_read_input_tokens": context - context // 5 - 3,
            "output_tokens": figure,
        }
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": self.model}
        uuid = self.put("assistant", {"message": {**message, "content": [block], "usage": usage}})
        self.sizes[uuid] = size_of(block)
        self.segment.append(uuid)
        return uuid

    def _figure(self, output: int, at: int, count: int) -> int:
        if self.stubs and not (self.raised and at == count - 1):
            return 1 + at % 3
        return output

    def _use(self, number: int, at: int, tool: Tool) -> Json:
        value = {"file_path": tool.path} if tool.name in ("Read", "Edit") else {"command": "make tide"}
        return {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": tool.name, "input": value}

    def _result(self, tool_id: str, tool: Tool) -> Json:
        text = text_of(tool.tokens, tool.tokens)
        content: Any = text
        if tool.parts or tool.image:
            content = [{"type": "text", "text": text}]
        if tool.image:
            content.append(
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
            )
        return {"type": "tool_result", "tool_use_id": tool_id, "content": content}

    def prompt(self, tokens: int = 20, text: str = "") -> str:
        """What the user typed."""
        return self.user(text or text_of(tokens, 1))

    def say(self, tokens: int = 30, thinking: int = 0) -> list[str]:
        """A response without tools."""
        return self.respond([*thoughts(thinking), {"type": "text", "text": text_of(tokens, 2)}])

    def work(
        self, *tools: Tool, shape: str = "after", thinking: int = 0, text: int = 0, answered: int = -1
    ) -> list[str]:
        """A response that asks for tools, with its results."""
        blocks = thoughts(thinking)
        if text:
            blocks.append({"type": "text", "text": text_of(text, 4)})
        return self.respond(blocks, tools, shape, answered=answered)

    # --- compactions

    def running(self) -> int:
        """The size that the program had by the recorded figures (those of the last line)."""
        if self.known is None:
            return self.tail
        return sum(self.known) + self.tail

    def compact(
        self,
        *,
        tokens: int = 200,
        trigger: str = "auto",
        keep: int = 0,
        lost_tail: bool = False,
        restored: int = 0,
    ) -> None:
        """A recorded compaction. `keep`: so many newest records stay as a preserved segment."""
        kept = self.segment[len(self.segment) - keep :] if keep else []
        metadata: Json = {"trigger": trigger, "preTokens": self.running()}
        logical = "ffffffff-0000-4000-8000-000000000000" if lost_tail else self.head
        anchor = f"{len(self.records) + 1:08x}-0000-4000-8000-000000000000"
        if kept:
            metadata["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[-1]}
            metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": kept}
        body = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        self.put("system", {"logicalParentUuid": logical, **body, "compactMetadata": metadata}, None)
        self.context, self.tail, self.known = 0, sum(self.sizes[uuid] for uuid in kept), None
        self.segment = []
        self.user(SUMMARY_OPENING + text_of(tokens), isCompactSummary=True, isVisibleInTranscriptOnly=True)
        if restored:
            self.attachment(restored, "file")

    # --- as bytes

    def data(self) -> bytes:
        """The transcript."""
        return b"".join(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            for record in self.records
        )

    def transcript(self) -> Transcript:
        """The session as the product reads it."""
        return parse(self.data())


def thoughts(tokens: int) -> list[Json]:
    """A thinking block of that size, none for 0."""
    if not tokens:
        return []
    return [{"type": "thinking", "thinking": text_of(tokens, 6), "signature": "c2lnbmVk"}]


def parse(data: bytes) -> Transcript:
    """The main session of some bytes."""
    return load_stream(io.BytesIO(data), "made-up.jsonl").sessions[0]


# --- strategies

_SIZES = st.sampled_from((1, 5, 30, 120, 400, 900, 1_500, 2_500))


@st.composite
def tool_calls(draw: st.DrawFn, scale: int = 1) -> tuple[Tool, ...]:
    """One to three tools of a response; their results are `scale` times as large as the other texts."""
    return tuple(
        Tool(
            draw(_SIZES) * scale,
            draw(st.sampled_from(TOOLS)),
            parts=draw(st.booleans()),
            image=draw(st.integers(0, 19)) == 0,
            path=draw(st.sampled_from(("a.py", "b.py", "c.py"))),
        )
        for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3))))
    )


def _turn(book: Book, draw: st.DrawFn, compactions: bool, scale: int) -> None:
    kind = draw(st.sampled_from(("work",) * 8 + ("say",) * 3 + ("attachment", "progress", "note", "compact")))
    thinking = draw(st.sampled_from((0, 0, 40, 300)))
    if kind == "work":
        tools = draw(tool_calls(scale))
        text = draw(st.sampled_from((0, 0, 20, 200)))
        book.work(*tools, shape=draw(st.sampled_from(SHAPES)), thinking=thinking, text=text)
    elif kind == "say":
        book.say(draw(_SIZES), thinking)
        book.prompt(draw(_SIZES))
    elif kind == "attachment":
        book.attachment(draw(_SIZES))
    elif kind == "progress":
        book.progress()
    elif kind == "note":
        book.note(draw(st.sampled_from(("Stop hooks ran", "Turn took 4 s"))))
    elif compactions and book.calls:
        whole = _whole_suffix(book) if book.version == "2.1.217" and draw(st.booleans()) else 0
        trigger = draw(st.sampled_from(("auto", "auto", "manual")))
        restored = draw(st.sampled_from((0, 0, 60)))
        lost = not whole and draw(st.integers(0, 4)) == 0
        book.compact(tokens=draw(_SIZES), trigger=trigger, keep=whole, restored=restored, lost_tail=lost)
        book.prompt(draw(_SIZES))


def _whole_suffix(book: Book) -> int:
    """How many of the newest records hold the newest response whole and all that follows it."""
    first = book.segment.index(book.last_lines[0]) if book.last_lines[0] in book.segment else -1
    return len(book.segment) - first if first >= 0 else 0


@st.composite
def books(
    draw: st.DrawFn,
    *,
    min_turns: int = 3,
    max_turns: int = 30,
    compactions: bool = False,
    overhead: int = 0,
    scale: int = 1,
) -> Book:
    """Sessions of up to `max_turns` responses and other records. `compactions`: recorded ones among them."""
    version = draw(st.sampled_from(VERSIONS))
    exact_stubs = version in ("2.1.17", "2.1.25")
    book = Book(
        version,
        overhead or draw(st.sampled_from((0, 1_000, 3_000))),
        stubs=draw(st.booleans()),
        raised=not exact_stubs or draw(st.booleans()),
    )
    book.prompt(draw(_SIZES))
    for _ in range(draw(st.integers(min_turns, max_turns))):
        _turn(book, draw, compactions, scale)
    return book


#: How a line may be spoilt.
_SPOILS = ("flip", "cut", "double key", "surrogate", "nan", "deep", "glue", "huge number", "odd types")


def spoilt(line: bytes, how: str, at: int, value: int) -> bytes:
    """One line with one kind of damage at a place (taken modulo its length)."""
    place = at % max(1, len(line))
    if how == "flip":
        return line[:place] + bytes([line[place] ^ (value % 255 + 1)]) + line[place + 1 :] if line else line
    if how == "cut":
        return line[:place]
    if how == "double key":
        return line[:-1] + b',"uuid":"again","type":"user"}'
    if how == "surrogate":
        return line.replace(b'"content":', b'"odd":"\\ud83c\\udf0a\\ud800","content":', 1)
    if how == "nan":
        return line.replace(b'"isSidechain":false', b'"isSidechain":NaN,"x":-Infinity', 1)
    if how == "deep":
        return line.replace(b'"content":', b'"deep":' + b"[" * 10_000 + b"]" * 10_000 + b',"content":', 1)
    if how == "glue":
        return line + line
    if how == "huge number":
        return line.replace(b'"input_tokens":3', b'"input_tokens":' + b"9" * (1 + value % 400), 1)
    odd = (b"null", b"[]", b"7", b'{"a":1}', b'"x"', b"true", b"[null,1,{}]")
    name = (b'"message":', b'"content":', b'"usage":', b'"type":', b'"id":', b'"uuid":', b'"input":')[at % 7]
    return line.replace(name, name + odd[value % 7] + b',"was":', 1)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A session of which some lines are spoilt."""
    lines = draw(books(max_turns=8, compactions=True)).data().splitlines()
    for _ in range(draw(st.integers(1, 5))):
        number = draw(st.integers(0, len(lines) - 1))
        how, at, value = (
            draw(st.sampled_from(_SPOILS)),
            draw(st.integers(0, 5_000)),
            draw(st.integers(0, 999)),
        )
        lines[number] = spoilt(lines[number], how, at, value)
    return draw(st.sampled_from((b"\n", b"\r\n", b"\n\n"))).join(lines)
