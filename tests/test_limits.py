"""Windows, thresholds and output figures; the numbers in the comments are worked out by hand."""

from __future__ import annotations

import pytest

from compactlab.config.load import resolve
from compactlab.tokens.limits import find_window, limit_warnings, thresholds
from compactlab.tokens.output import (
    HIDDEN_THINKING,
    WRITTEN_THINKING,
    expected_output,
    output_figure,
    preset_for,
)
from compactlab.tokens.shares import share
from compactlab.tokens.table import build_table, choose_counter
from sessions import Book, Tool

OPUS = "claude-opus-4-5-20251101"


@pytest.mark.parametrize(
    ("version", "window", "auto", "warning", "blocking"),
    [
        ("2.1.20", 200_000, 155_000, 135_000, 165_000),  # 200,000 - 32,000 = 168,000 - 13,000
        ("2.1.25", 200_000, 167_000, 147_000, 177_000),  # 200,000 - 20,000 = 180,000 - 13,000
        ("2.1.217", 1_000_000, 967_000, 947_000, 977_000),
    ],
)
def test_thresholds_by_version(version: str, window: int, auto: int, warning: int, blocking: int) -> None:
    found = thresholds(resolve(start=None).for_version(version), window, OPUS)
    assert (found.auto, found.warning, found.blocking) == (auto, warning, blocking)


def test_overrides_only_lower_the_threshold() -> None:
    def auto(*sets: str) -> int:
        return thresholds(resolve(start=None, sets=sets).for_version("2.1.25"), 200_000, OPUS).auto

    assert auto("window.pct_override=50") == 90_000  # half of 180,000
    assert auto("window.pct_override=33.5") == 60_300
    assert auto("window.pct_override=99") == 167_000
    assert auto("window.auto_compact_window=150000") == 117_000  # 150,000 - 20,000 - 13,000
    assert auto("window.auto_compact_window=300000") == 167_000
    capped = thresholds(resolve(start=None, sets=["window.auto_compact_window=150000"]).base(), 200_000, OPUS)
    assert capped.window == 200_000  # a call must fit the true window


def test_an_override_that_does_nothing_is_told() -> None:
    def told(value: str) -> tuple[str, ...]:
        return limit_warnings(
            resolve(start=None, sets=[f"window.pct_override={value}"]).base(), 200_000, OPUS
        )

    assert told("50") == ()
    assert "no effect" in told("99")[0]
    assert "percentage" in told("0.8")[0]


def test_the_window_is_given_proved_by_size_or_the_models() -> None:
    config = resolve(start=None).base()
    book = Book(model="claude-opus-4-5", overhead=5_000)
    book.prompt()
    book.say()
    assert find_window(book.transcript(), config) == (200_000, True)
    given = resolve(start=None, sets=["window.tokens=123456"]).base()
    assert find_window(book.transcript(), given) == (123_456, False)
    book = Book(model="claude-opus-4-5", overhead=200_001)
    book.prompt()
    book.say()
    assert find_window(book.transcript(), config) == (1_000_000, True)
    book = Book(model="claude-opus-5", overhead=5_000)
    book.prompt()
    book.say()
    assert find_window(book.transcript(), config) == (1_000_000, True)


@pytest.mark.parametrize(
    ("model", "preset"),
    [
        (OPUS, WRITTEN_THINKING),
        ("claude-opus-4-6", WRITTEN_THINKING),
        ("claude-3-5-sonnet-20241022", WRITTEN_THINKING),
        ("claude-opus-4-20250514", WRITTEN_THINKING),
        ("claude-opus-4-8", HIDDEN_THINKING),
        ("claude-sonnet-5", HIDDEN_THINKING),
        ("claude-fable-5", HIDDEN_THINKING),
        ("some-other-model", HIDDEN_THINKING),
    ],
)
def test_presets_by_model(model: str, preset: object) -> None:
    assert preset_for(model) == preset


def test_a_stub_is_replaced_only_where_the_program_knew_better() -> None:
    book = Book(stubs=True, raised=False)
    book.prompt()
    book.work(Tool(10), text=100)
    transcript = book.transcript()
    (call,) = transcript.calls
    table = build_table(transcript, "heuristic", 4, 2000)
    # text 100, Bash{"command":"make tide"} is 27 letters: 7; 1.14 x 107 + 82 = 203.98
    assert expected_output(transcript, call, table) == 204
    assert output_figure(transcript, call, table, "last_line") == (2, False)
    assert output_figure(transcript, call, table, "program") == (204, True)
    assert output_figure(transcript, call._replace(output_max=102), table, "program") == (102, False)
    assert output_figure(transcript, call._replace(output_max=101), table, "program") == (204, True)


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (10, [1, 1, 1], [4, 3, 3]),
        (10, [3, 0, 7], [3, 0, 7]),
        (7, [2, 2], [4, 3]),
        (5, [0, 0], [5, 0]),
        (0, [4, 5], [0, 0]),
        (5, [], []),
    ],
)
def test_shares_add_up(total: int, weights: list[int], parts: list[int]) -> None:
    assert share(total, weights) == parts


def test_the_recorded_counter_is_taken_where_four_fifths_have_usage() -> None:
    book = Book()
    book.prompt()
    for _ in range(5):
        book.say()
    assert choose_counter(book.transcript()) == "recorded"
    del book.records[-1]["message"]["usage"]
    assert choose_counter(book.transcript()) == "recorded"
    del book.records[-2]["message"]["usage"]
    assert choose_counter(book.transcript()) == "heuristic"


def test_recorded_rounds_add_up_to_the_growth_of_the_context() -> None:
    book = Book(overhead=3_000)
    book.prompt(20)
    for size in (100, 400, 30):
        book.work(Tool(size), Tool(size + 7), shape="between")
    transcript = book.transcript()
    table = build_table(transcript, "recorded", 4, 2000)
    assert table.overhead == 3_000
    for call, following in zip(transcript.calls, transcript.calls[1:], strict=False):
        grown = following.usage.context - call.usage.context
        assert sum(table.tokens[call.first : following.first]) == grown
    assert table.measured_rounds == 2
