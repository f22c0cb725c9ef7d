"""The engine against the slow reference: estimates, running sizes, verdicts, and the counterfactual replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from compactlab.api import load, replay
from compactlab.config.load import Settings, resolve
from compactlab.engine.validate import Validation
from compactlab.model.transcript import Transcript
from compactlab.tokens.estimate import message_tokens, padded
from compactlab.tokens.limits import thresholds
from compactlab.tokens.output import output_figure
from compactlab.tokens.table import token_table
from sessions import Book, Tool, books, parse

FOLDER = Path(__file__).parent.parent / "fixtures"
FIXTURES = sorted(path.name for path in FOLDER.glob("*.jsonl*"))
OFF = (
    "tokens.counter=heuristic",
    "budget.enabled=false",
    "micro.tokens.enabled=false",
    "auto.full.max_files=0",
    "auto.thrash_guard=false",
)


def settings_of(setup: reference.Setup) -> Settings:
    """The product's settings for a reference setup."""
    keep = setup.keep
    return resolve(
        start=None,
        sets=[
            *OFF,
            f"window.tokens={setup.window}",
            f"window.reserve_cap={setup.reserve}",
            f"window.auto_buffer={setup.auto_buffer}",
            f"memory.init_tokens={setup.init_tokens}",
            f"memory.update_tokens={setup.update_tokens}",
            f"memory.tool_calls_between={setup.tool_calls}",
            f"summary.source=fixed:{setup.summary}",
            f"auto.session_memory.min_tokens={keep.min_tokens}",
            f"auto.session_memory.min_text_block_messages={keep.min_texts}",
            f"auto.session_memory.max_tokens={keep.max_tokens}",
            f"auto.session_memory.preserve_invariants={str(setup.preserve).lower()}",
        ],
    )


def guessed(transcript: Transcript) -> dict[str, int]:
    """What the product takes for responses whose recorded output is a stub; the reference has no such figure."""
    settings = resolve(start=None, sets=["tokens.counter=heuristic"])
    table = token_table(transcript, settings.base())
    figures = {}
    for call in transcript.calls:
        mode = settings.for_version(call.version).tokens.output_figure
        figure = output_figure(transcript, call, table, mode)
        if figure.estimated:
            assert figure.tokens > call.output_max
            figures[call.response_id] = figure.tokens
    return figures


def assert_same_replay(transcript: Transcript, setup: reference.Setup) -> reference.Replayed:
    got = replay(transcript, settings_of(setup))
    expected = reference.Simulation(transcript, setup, guessed(transcript)).run()
    assert got.overhead_tokens == expected.overhead
    assert [row["raw"] for row in got.timeline] == expected.raw
    cuts = [
        reference.Cut(
            b.call, b.path, b.pre_tokens, b.wanted_index, b.start_index, b.floor_index, b.kept_messages
        )
        for b in got.boundaries
        if b.path != "reactive"
    ]
    assert cuts == expected.cuts
    assert [row["sent"] for row in got.timeline] == expected.sent
    return expected


def assert_same_verdicts(transcript: Transcript, sets: list[str], auto: dict[str, int] | int) -> list[str]:
    found = Validation(transcript, resolve(start=None, sets=sets)).run()
    expected, alarms = reference.validate(
        transcript, auto.__getitem__ if isinstance(auto, dict) else lambda _: auto
    )
    rows = [row for row in found.rows if row.verdict != "manual"]
    assert [(r.predicted_tokens, r.verdict, r.calls_off) for r in rows] == [
        (v.predicted, v.verdict, v.calls_off) for v in expected
    ]
    assert found.false_alarms == alarms
    return [row.verdict for row in rows]


# --- fixtures


@pytest.mark.parametrize("name", FIXTURES)
def test_estimates_of_the_fixtures(name: str) -> None:
    for message in load(FOLDER / name).messages:
        assert message_tokens(message) == reference.estimate(message), message.line


@pytest.mark.parametrize("name", FIXTURES)
def test_verdicts_of_the_fixtures(name: str) -> None:
    transcript = load(FOLDER / name)
    window = 1_000_000 if name.startswith("window-1m") else 200_000
    auto = {v: window - reference.reserve_cap(v) - 13_000 for v in (*transcript.versions, "")}
    assert_same_verdicts(transcript, [], auto)


@pytest.mark.parametrize("name", [n for n in FIXTURES if n.startswith(("two-compactions", "stub-output"))])
def test_recorded_sizes_are_predicted_exactly(name: str) -> None:
    transcript = load(FOLDER / name)
    assert transcript.boundaries
    for boundary in transcript.boundaries:
        assert reference.running_size(transcript.messages, boundary.index) == boundary.pre_tokens


#: One message of this fixture is larger than the windows used for the others: no summary request would fit.
LARGE = "persisted-outputs"
ROOMS = [(n, room) for n in FIXTURES for room in ((90_000,) if n.startswith(LARGE) else (9_000, 25_000))]


@pytest.mark.parametrize(("name", "room"), ROOMS)
def test_counterfactual_replay_of_the_fixtures(name: str, room: int) -> None:
    """The window leaves `room` between overhead and threshold, so that every fixture is compacted a few times."""
    transcript = load(FOLDER / name)
    overhead = reference.Simulation(transcript, reference.Setup()).run().overhead
    window = overhead + room + 15_000
    keep = reference.Keep(2_000, 3, 5_000)
    assert_same_replay(transcript, reference.Setup(window=window, keep=keep, init_tokens=overhead + 3_000))


# --- random sessions

keeps = st.builds(
    reference.Keep,
    min_tokens=st.sampled_from((1, 500, 2_000, 6_000)),
    min_texts=st.integers(1, 8),
    max_tokens=st.sampled_from((1_000, 6_000, 12_000, 20_000)),
).filter(lambda keep: keep.min_tokens <= keep.max_tokens)
setups = st.builds(
    reference.Setup,
    window=st.sampled_from((12_000, 20_000, 40_000)),
    reserve=st.sampled_from((500, 2_000)),
    auto_buffer=st.sampled_from((1_500, 3_000, 4_000)),
    keep=keeps,
    init_tokens=st.sampled_from((0, 3_000, 8_000, 15_000)),
    update_tokens=st.sampled_from((0, 1_000, 5_000)),
    tool_calls=st.sampled_from((0, 1, 3, 6)),
    summary=st.sampled_from((1, 300, 2_000)),
    preserve=st.sampled_from((True, True, True, False)),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(book=books(compactions=True))
def test_estimates_of_random_sessions(book: Book) -> None:
    transcript = book.transcript()
    for message in transcript.messages:
        expected = reference.estimate(message)
        assert message_tokens(message) == expected
        if message.uuid in book.sizes:
            assert expected == book.sizes[message.uuid]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tokens=st.integers(0, 10_000_000))
def test_the_padded_estimate_is_four_thirds_rounded_up(tokens: int) -> None:
    ratio = resolve(start=None).base().tokens.pad_ratio
    assert padded(tokens, ratio) == reference.padded(tokens)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    window=st.integers(60_000, 2_000_000),
    cap=st.integers(0, 40_000),
    buffer=st.integers(0, 20_000),
    pct=st.integers(0, 100),
)
def test_thresholds(window: int, cap: int, buffer: int, pct: int) -> None:
    sets = [f"window.reserve_cap={cap}", f"window.auto_buffer={buffer}", f"window.pct_override={pct}"]
    config = resolve(start=None, sets=sets).base()
    # sonnet-4-5 writes up to 64,000 tokens, so the cap is what is held back
    got = thresholds(config, window, "claude-sonnet-4-5-20250929")
    expected = reference.limits(window, cap, buffer, pct)
    assert (got.effective, got.auto, got.blocking) == (expected.effective, expected.auto, expected.blocking)
    assert got.warning == expected.warning


@settings(max_examples=60, deadline=None, derandomize=True)
@given(book=books(max_turns=25, compactions=True), room=st.sampled_from((3_000, 6_000, 12_000)))
def test_verdicts_of_random_sessions(book: Book, room: int) -> None:
    auto = book.overhead + room
    sets = [f"window.tokens={auto + 2_000}", "window.reserve_cap=1000", "window.auto_buffer=1000"]
    assert_same_verdicts(book.transcript(), sets, auto)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(book=books(min_turns=8, max_turns=35, compactions=True), setup=setups)
def test_counterfactual_replay_of_random_sessions(book: Book, setup: reference.Setup) -> None:
    assert_same_replay(book.transcript(), setup)


def test_a_long_session_is_compacted_both_ways() -> None:
    """Guards the comparison itself: the sessions do reach compactions, by memory and by summary."""
    book = Book("2.1.25", 3_000)
    book.prompt(100)
    for number in range(40):
        book.work(
            Tool(900), Tool(400, "Read"), shape=("after", "together", "between")[number % 3], thinking=60
        )
        if number % 4 == 1:
            book.say(50)
            book.prompt(30)
    transcript = book.transcript()
    memory = assert_same_replay(transcript, reference.Setup(keep=reference.Keep(2_000, 5, 6_000)))
    late = assert_same_replay(transcript, reference.Setup(init_tokens=100_000))
    assert [cut.path for cut in memory.cuts] == ["session_memory"] * len(memory.cuts) != []
    assert {cut.path for cut in late.cuts} == {"full"}


def looping(overhead: int, results: list[int]) -> Transcript:
    """The memory gets its id at the second call; then a tool loop without a pause."""
    book = Book("2.1.25", overhead)
    book.prompt(100)
    book.work(Tool(900))
    book.say(50)
    book.prompt(30)
    for tokens in results:
        book.work(Tool(tokens))
    book.say(10)
    return book.transcript()


def at_threshold(auto: int, **more: Any) -> reference.Setup:
    """A setup with that threshold."""
    return reference.Setup(window=auto + 15_000, **more)


def test_the_threshold_itself_triggers() -> None:
    transcript = looping(3_000, [700] * 20)
    probe = reference.Simulation(transcript, at_threshold(12_000)).run()
    call, size = probe.cuts[0].call, probe.cuts[0].pre_tokens
    for auto, first in ((size, call), (size + 1, call + 1), (size - 1, call)):
        assert assert_same_replay(transcript, at_threshold(auto)).cuts[0].call == first


def test_a_result_as_large_as_the_threshold_is_refused() -> None:
    """Overhead 10,000; a result of 8,000 takes the size from about 12,000 to about 20,000 at one call.

    Kept is what follows the id, plus a summary of 500: padded, that is between the two, so the threshold can be set
    to it exactly.
    """
    transcript = looping(10_000, [300, 300, 8_000, 300])
    keep = reference.Keep(1, 1, 20_000)
    sets = {"keep": keep, "init_tokens": 11_000}
    post = replay(transcript, settings_of(at_threshold(15_000, **sets))).boundaries[0].post_tokens
    assert 12_000 < post < 20_000
    for auto, path in ((post, "full"), (post + 1, "session_memory")):
        assert assert_same_replay(transcript, at_threshold(auto, **sets)).cuts[0].path == path


def test_growth_after_a_compaction_counts_from_the_smaller_size() -> None:
    """Extraction at a pause only: at about 13,000, kept since then about 12,000, so about 16,000 after a compaction.

    The next pause at about 19,000 is 6,000 above the old baseline and 3,000 above the size after: it extracts.
    """
    book = Book("2.1.25", 3_000)
    book.prompt(100)
    for rounds in (14, 22, 12):
        for _ in range(rounds):
            book.work(Tool(700))
        book.say(50)
        book.prompt(30)
    setup = reference.Setup(keep=reference.Keep(1, 1, 40_000), init_tokens=12_900, tool_calls=1_000)
    cuts = assert_same_replay(book.transcript(), setup).cuts
    assert [cut.kept > 10 for cut in cuts] == [True, True]


def test_nothing_to_replay_in_a_session_without_calls() -> None:
    book = Book()
    book.prompt(10)
    transcript = parse(book.data())
    assert replay(transcript, settings_of(reference.Setup())).timeline == ()
    assert reference.Simulation(transcript, reference.Setup()).run().raw == []
