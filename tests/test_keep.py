"""What session-memory compaction keeps: hand-worked starts, and the pairs and responses that must stay whole."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from compactlab.config.load import resolve
from compactlab.config.schema import SessionMemory
from compactlab.layers.keep import adjusted_start, has_text, links, wanted_start
from compactlab.model.transcript import Transcript
from compactlab.tokens.session import Session
from compactlab.tokens.table import token_table
from sessions import Book, Tool, books


def limits(min_tokens: int = 100, min_texts: int = 2, max_tokens: int = 1_000) -> SessionMemory:
    return SessionMemory(min_tokens=min_tokens, min_text_block_messages=min_texts, max_tokens=max_tokens)


def session_of(transcript: Transcript) -> Session:
    config = resolve(start=None, sets=["tokens.counter=heuristic"]).base()
    return Session(transcript, token_table(transcript, config))


def adjusted(transcript: Transcript, start: int) -> int:
    session = session_of(transcript)
    items = range(len(transcript.messages))
    return adjusted_start(session, items, start, links(session, items))


def assert_whole(transcript: Transcript, start: int) -> None:
    """Every kept result has its tool_use, every kept response all its lines."""
    kept, dropped = transcript.messages[start:], transcript.messages[:start]
    uses = {b.tool_id for m in kept for b in m.blocks if b.kind == "tool_use"}
    assert {b.tool_id for m in kept for b in m.blocks if b.kind == "tool_result"} <= uses
    responses = {m.response_id for m in kept if m.role == "assistant"}
    assert not responses & {m.response_id for m in dropped if m.role == "assistant"}


# --- wanted_start, by hand

T, F = True, False


@pytest.mark.parametrize(
    ("sizes", "texts", "start", "floor", "memory", "expected"),
    [
        # From 5 (the end) down: 40, 90, 590, 1190 >= 1000: the limit is passed by the message at 1, which stays.
        pytest.param([50, 600, 500, 50, 40], [F] * 5, 5, 0, limits(), 1, id="limit first"),
        # 1000 exactly at 2 is enough, whatever the texts.
        pytest.param([50, 600, 500, 460, 40], [F] * 5, 5, 0, limits(), 2, id="limit reached exactly"),
        # Down from 4: 30 (1 text), 90 (2 texts, but 90 < 100), 100 at 1 with 2 texts: both hold.
        pytest.param([70, 10, 60, 30], [T, F, T, T], 4, 0, limits(), 1, id="both minimums, tokens last"),
        # 120 at 3 (1 text), 130 at 2 (1), 190 at 1 (2 texts): tokens held already, the text comes last.
        pytest.param([70, 60, 10, 120], [T, T, F, T], 4, 0, limits(), 1, id="both minimums, texts last"),
        # 20 at 3, 40 at 2; the floor at 2 stops it below both minimums.
        pytest.param([900, 900, 20, 20], [T, T, T, T], 4, 2, limits(), 2, id="floor"),
        # The memory reaches the end of the list (no id: resumed): everything is grown from nothing.
        pytest.param([60, 60, 60], [T, T, T], 3, 0, limits(), 1, id="start at the end: 60, then 120 with 2"),
        pytest.param([60, 60, 60], [T, T, T], 3, 3, limits(), 3, id="start at the end, and at the floor"),
        # [1, 4) holds 110 and 2 texts: enough, nothing is added.
        pytest.param([500, 50, 30, 30], [T, T, F, T], 1, 0, limits(), 1, id="enough from the start"),
        # [1, 4) holds 1,100 >= 1,000 without any text: enough.
        pytest.param(
            [500, 500, 500, 100], [T, F, F, F], 1, 0, limits(), 1, id="limit reached from the start"
        ),
        # [2, 4) holds 60 with 2 texts; 110 at 1: both.
        pytest.param([500, 50, 30, 30], [T, F, T, T], 2, 0, limits(), 1, id="one more"),
        # Never enough: down to 0.
        pytest.param([1, 1, 1], [T, T, T], 3, 0, limits(), 0, id="never enough"),
        pytest.param([], [], 0, 0, limits(), 0, id="empty list"),
        # A start before the floor is not moved forward.
        pytest.param([10, 10, 10], [T, T, T], 1, 2, limits(), 1, id="start before the floor"),
        # Messages of size 0 (system records) are added like others: 100 needs the one at 1, then 2 texts at 0.
        pytest.param([5, 100, 0, 0], [T, T, F, F], 4, 0, limits(), 0, id="system records between"),
    ],
)
def test_wanted_start(
    sizes: list[int], texts: list[bool], start: int, floor: int, memory: SessionMemory, expected: int
) -> None:
    assert wanted_start(sizes, texts, start, floor, memory) == expected


def test_padding_rounds_every_message_up() -> None:
    """Three messages of 5 tokens: ceil(5 x 4/3) = 7 each, 21 in all; padded as one sum it would be 20."""
    assert [reference.padded(5)] * 3 == [7, 7, 7]
    assert reference.padded(15) == 20
    assert wanted_start([7, 7, 7], [T, T, T], 3, 0, limits(21, 1, 1_000)) == 0
    assert wanted_start([7, 7, 7], [T, T, T], 3, 0, limits(14, 1, 1_000)) == 1


def test_messages_with_text() -> None:
    """User or assistant with text that is not empty; results, tools, thinking, attachments alone have none."""
    book = Book()
    book.prompt(5)  # 0: text
    book.work(Tool(), text=4, thinking=4)  # 1 thinking, 2 text, 3 tool_use, 4 result
    book.attachment(5)  # 5
    book.note()  # 6
    book.user([{"type": "text", "text": ""}])  # 7: empty
    transcript = book.transcript()
    session = session_of(transcript)
    got = [has_text(session, i) for i in range(len(transcript.messages))]
    assert got == [True, False, True, False, False, False, False, False]
    assert got == [reference.has_text(m) for m in transcript.messages]


# --- adjusted_start: the three orphan scenarios


def places(transcript: Transcript, kind: str) -> list[int]:
    return [i for i, m in enumerate(transcript.messages) if any(b.kind == kind for b in m.blocks)]


def test_results_of_two_lines_in_one_message() -> None:
    """0 prompt, 1 tool_use A, 2 tool_use B (same response), 3 both results, 4 text.

    Cut at 2: B is kept, A is not, though its result stands in 3. Cut at 3: both are lost.
    """
    book = Book()
    book.prompt()
    book.work(Tool(), Tool(), shape="together")
    book.say()
    transcript = book.transcript()
    assert places(transcript, "tool_use") == [1, 2]
    assert places(transcript, "tool_result") == [3]
    for cut, start in ((0, 0), (1, 1), (2, 1), (3, 1), (4, 4), (5, 5)):
        assert adjusted(transcript, cut) == start
        assert_whole(transcript, start)


def test_the_same_with_a_thinking_line_first() -> None:
    """0 prompt, 1 thinking, 2 tool_use A, 3 tool_use B, 4 both results, 5 text.

    Cut at 4: the results need 2 and 3, and those share their response with the thinking at 1: a second step.
    """
    book = Book()
    book.prompt()
    book.work(Tool(), Tool(), shape="together", thinking=10)
    book.say()
    transcript = book.transcript()
    assert places(transcript, "thinking") == [1]
    for cut, start in ((1, 1), (2, 1), (3, 1), (4, 1), (5, 5)):
        assert adjusted(transcript, cut) == start
        assert_whole(transcript, start)


def test_interleaved_results() -> None:
    """0 prompt, 1 tool_use A, 2 result A, 3 tool_use B, 4 result B, 5 text.

    Cut at 2: the result of A is no first message's business only. Cut at 4: B's use at 3 shares its response with 1.
    """
    book = Book()
    book.prompt()
    book.work(Tool(), Tool(), shape="between")
    book.say()
    transcript = book.transcript()
    assert places(transcript, "tool_use") == [1, 3]
    assert places(transcript, "tool_result") == [2, 4]
    for cut in (1, 2, 3, 4):
        assert adjusted(transcript, cut) == 1
    assert adjusted(transcript, 5) == 5
    assert_whole(transcript, 1)


def test_a_result_late_in_the_kept_part_counts_too() -> None:
    """0 prompt, 1 tool_use A, 2 tool_use B, 3 result A, 4 a prompt, 5 result B: the orphan is not the first message.

    Cut at 4: the first kept message is a prompt; the result of B further on still pulls its response in.
    """
    book = Book()
    book.prompt()
    book.work(Tool(), Tool(), answered=1)
    book.prompt(text="and hurry")
    answer = [{"type": "tool_result", "tool_use_id": "toolu_0_1", "content": "late"}]
    book.user(answer)
    transcript = book.transcript()
    assert [m.kind for m in transcript.messages] == [
        "prompt",
        "response",
        "response",
        "result",
        "prompt",
        "result",
    ]
    assert adjusted(transcript, 4) == 1


def test_one_step_uncovers_the_next() -> None:
    """Two responses that overlap: a pair pulls in response 2's line, that pulls in response 1's result, and so on.

    0 prompt, 1 A1 (tool a), 2 B1 (tool b), 3 result a, 4 A2 of the first response (tool c), 5 result b, 6 result c.
    Cut at 6: c needs 4; 4 shares its response with 1; from 1 on everything is whole.
    """
    book = Book("2.1.25")
    book.prompt()
    lines = [("msg_a", "a"), ("msg_b", "b"), ("", "a"), ("msg_a", "c"), ("", "b"), ("", "c")]
    for response, tool in lines:
        if response:
            block = {"type": "tool_use", "id": tool, "name": "Bash", "input": {}}
            usage = {"input_tokens": 9, "output_tokens": 9}
            message = {
                "id": response,
                "role": "assistant",
                "model": book.model,
                "content": [block],
                "usage": usage,
            }
            book.put("assistant", {"message": message})
        else:
            book.user([{"type": "tool_result", "tool_use_id": tool, "content": "x"}])
    transcript = book.transcript()
    assert adjusted(transcript, 6) == 1
    assert adjusted(transcript, 5) == 1
    assert_whole(transcript, 1)


def test_a_result_without_any_tool_use_moves_nothing() -> None:
    book = Book()
    book.prompt()
    book.say()
    book.user([{"type": "tool_result", "tool_use_id": "nowhere", "content": "x"}])
    assert adjusted(book.transcript(), 2) == 2


# --- against the reference


@settings(max_examples=80, deadline=None, derandomize=True)
@given(book=books(max_turns=15, compactions=True), data=st.data())
def test_adjusted_start_is_the_stable_point_of_both_steps(book: Book, data: st.DataObject) -> None:
    transcript = book.transcript()
    session = session_of(transcript)
    items = range(len(transcript.messages))
    found = links(session, items)
    for start in {data.draw(st.integers(0, len(items))) for _ in range(6)}:
        moved = adjusted_start(session, items, start, found)
        assert moved == reference.start_index(transcript.messages, start)
        assert moved <= start
        assert_whole(transcript, moved)
        assert adjusted_start(session, items, moved, found) == moved


@settings(max_examples=80, deadline=None, derandomize=True)
@given(order=st.permutations([0, 1, 2, 3, 4, 5]), at=st.integers(0, 12))
def test_adjusted_start_on_tangled_lines(order: Sequence[int], at: int) -> None:
    """Lines of three responses and their results in any order in which a result follows its tool_use."""
    book = Book()
    book.prompt()
    for number in order:
        block = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        message = {"id": f"m{number % 3}", "role": "assistant", "model": book.model, "content": [block]}
        book.put("assistant", {"message": {**message, "usage": {"input_tokens": 5, "output_tokens": 5}}})
        if number % 2:
            book.user([{"type": "tool_result", "tool_use_id": f"t{number}", "content": "x"}])
    for number in order:
        if not number % 2:
            book.user([{"type": "tool_result", "tool_use_id": f"t{number}", "content": "x"}])
    transcript = book.transcript()
    start = at % (len(transcript.messages) + 1)
    moved = adjusted(transcript, start)
    assert moved == reference.start_index(transcript.messages, start)
    assert_whole(transcript, moved)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    book=books(max_turns=15, compactions=True),
    memory=st.builds(limits, st.integers(1, 4_000), st.integers(1, 9), st.integers(4_000, 9_000)),
    data=st.data(),
)
def test_wanted_start_is_the_first_that_is_enough(
    book: Book, memory: SessionMemory, data: st.DataObject
) -> None:
    messages = book.transcript().messages
    sizes = [reference.padded(reference.estimate(m)) for m in messages]
    texts = [reference.has_text(m) for m in messages]
    floor = reference.floor_index(messages)
    start = data.draw(st.integers(floor, len(messages)))
    keep = reference.Keep(memory.min_tokens, memory.min_text_block_messages, memory.max_tokens)
    assert wanted_start(sizes, texts, start, floor, memory) == reference.wanted_index(
        messages, sizes, start, keep
    )
