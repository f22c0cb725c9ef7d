"""Each layer on small sessions worked out by hand. The counter is the length estimate: a token is four letters."""

from __future__ import annotations

import pytest

from compactlab.api import replay
from compactlab.config.load import resolve
from compactlab.layers.micro import token_threshold_cut
from compactlab.layers.placeholders import CLEARED, preview
from compactlab.layers.results_log import Entry
from compactlab.memory.schedule import MemorySchedule
from compactlab.memory.template import SECTIONS, is_empty, truncate_sections
from compactlab.model.results import SessionReplay
from sessions import Book, Tool, text_of

#: "[Old tool result content cleared]" has 33 letters: 8 tokens.
PLACEHOLDER = 8

#: A window whose threshold is 20,000 tokens: 24,000 - 1,000 - 3,000.
SMALL = (
    "window.tokens=24000",
    "window.reserve_cap=1000",
    "window.auto_buffer=3000",
    "window.blocking_buffer=500",
)
NO_MEMORY = "auto.session_memory.force_disable=true"


def play(book: Book, *sets: str, as_recorded: bool = False) -> SessionReplay:
    settings = resolve(start=None, sets=['tokens.counter="heuristic"', *sets])
    return replay(book.transcript(), settings, as_recorded=as_recorded)


def saved(result: SessionReplay, layer: str) -> list[int]:
    """What a layer saves at each call, in tokens."""
    names = ["raw", "budget", "snip", "micro", "collapse", "auto"]
    before = names[names.index(layer) - 1]
    return [row[before] - row[layer] for row in result.timeline]


def events(result: SessionReplay) -> list[tuple[int, str]]:
    return [
        (row["call"], event) for row in result.timeline for event in row["events"] if "memory" not in event
    ]


def new(version: str = "2.1.38") -> Book:
    book = Book(version=version, overhead=1_000)
    book.prompt(20)
    return book


# --- budget


def test_a_result_over_its_limit_becomes_a_preview() -> None:
    book = new()
    book.work(Tool(15_000, "Grep"))  # 60,000 letters, Grep may send 20,000
    book.say()
    result = play(book)
    text = text_of(15_000, 15_000)
    kept = (len(preview(text, 60_000, "tool-results/toolu_0_0.txt", 2_000)) + 2) // 4
    assert saved(result, "budget") == [0, 15_000 - kept]
    assert events(result) == [(1, "budget: 1 results to disk")]


def test_what_the_read_tool_returns_is_never_replaced_and_small_results_stay() -> None:
    book = new()
    book.work(Tool(15_000, "Read"), Tool(4_900, "Grep"))
    book.say()
    assert saved(play(book), "budget") == [0, 0]


def test_of_one_message_the_largest_results_go_first() -> None:
    """Seven of 28,000 letters and one of 29,000 are 225,000: without the largest they are 198,000."""
    book = new()
    book.work(*[Tool(7_000)] * 4, Tool(7_250), *[Tool(7_000)] * 3, shape="between")
    book.say()
    result = play(book)
    assert events(result) == [(1, "budget: 1 results to disk")]
    assert 7_250 - 700 < saved(result, "budget")[1] < 7_250


def test_a_preview_is_cut_back_to_a_line_end_in_its_second_half() -> None:
    text = "a" * 30 + "\n" + "b" * 60
    assert preview(text, 91, "p", 40).splitlines()[4:] == ["a" * 30, "...", "</persisted-output>"]
    assert preview("a" * 5 + "\n" + "b" * 60, 66, "p", 40).splitlines()[4:7] == ["a" * 5, "b" * 34, "..."]


# --- snip


def test_acknowledgements_and_trivial_rounds_are_left_out_with_one_marker() -> None:
    book = new()
    book.say(200)
    book.user("继续")
    book.work(Tool(40), thinking=200)  # nothing of substance, a short result
    book.user("ok!")
    for _ in range(4):
        book.say(200)
        book.prompt(30)
    book.say()
    result = play(book, "snip.enabled=true")
    assert next(layer for layer in result.layers if layer.layer == "snip").fired == 1
    # thinking 200, the call 8 (Bash{"command":"make tide"} is 27 letters: 7), its result 40, the words 1 + 1;
    # the marker "[5 messages of little value left out]" is 37 letters: 9
    assert max(saved(result, "snip")) == 200 + 7 + 40 + 1 + 1 - 9
    assert result.violations == ()


def test_rounds_of_substance_and_errors_are_never_left_out() -> None:
    book = new()
    book.work(Tool(40), text=60)
    book.work(Tool(400))
    book.work(Tool(10, "Read"))
    for _ in range(5):
        book.say(10)
        book.prompt(30)
    book.say()
    assert max(saved(play(book, "snip.enabled=true"), "snip")) == 0


# --- micro-compact


def test_after_a_pause_all_but_the_newest_results_are_cleared() -> None:
    book = new()
    for _ in range(7):
        book.work(Tool(100))
    book.clock += 3_700
    book.prompt()
    book.say()
    result = play(book, "micro.time.enabled=true")
    assert saved(result, "micro") == [0] * 7 + [2 * (100 - PLACEHOLDER)]
    assert events(result) == [(7, "tengu_time_based_microcompact")]
    book.clock -= 200
    assert max(saved(play(book, "micro.time.enabled=true", "micro.time.gap_minutes=90"), "micro")) == 0


def test_the_cached_path_deletes_all_but_three_when_there_are_twelve() -> None:
    book = new()
    for _ in range(13):
        book.work(Tool(100))
    result = play(book, "micro.cached.enabled=true", 'micro.cached.models=["claude"]')
    assert saved(result, "micro")[11:] == [0, 9 * (100 - PLACEHOLDER)]
    unable = play(book, "micro.cached.enabled=true", 'micro.cached.models=["other"]')
    assert max(saved(unable, "micro")) == 0


@pytest.mark.parametrize(
    ("sizes", "cleared", "tokens"),
    [
        ([30, 20, 10, 10, 10], 2, 50),  # 80 - 30 = 50 is over 40, 80 - 50 = 30 is not
        ([30, 10, 10, 10, 10], 1, 30),  # 70 - 30 = 40 is enough
        ([10, 10, 30, 30, 30], 2, 20),  # the last three are never cleared
        ([10, 10], 0, 0),
        ([10, 10, 10], 0, 0),
    ],
)
def test_the_token_threshold_clears_from_the_oldest(sizes: list[int], cleared: int, tokens: int) -> None:
    entries = [Entry(str(n), "Bash", n, 0, n, 0, size) for n, size in enumerate(sizes)]
    chosen, saving = token_threshold_cut(entries, sum(sizes), 40, 3)
    assert [entry.tool_id for entry in chosen] == [str(n) for n in range(cleared)]
    assert saving == tokens


def test_the_token_threshold_path_belongs_to_its_versions() -> None:
    sizes = ("micro.tokens.target_tokens=2000", "micro.tokens.min_saving=1000", "auto.enabled=false")
    for version, fires in (("2.1.17", True), ("2.1.22", True), ("2.1.38", False)):
        book = new(version)
        for _ in range(8):
            book.work(Tool(1_000, "Bash"), Tool(1_000, "mcp__tide__gauge"))
        book.say()
        result = play(book, *SMALL, *sizes, "window.warning_buffer=8000")
        assert (max(saved(result, "micro")) > 0) is fires
        assert "CL508" not in {violation.code for violation in result.violations}


def test_the_api_clears_tool_uses_and_old_thinking() -> None:
    book = new()
    for _ in range(6):
        book.work(Tool(1_000), thinking=50)
    book.say()
    api = ("micro.api.enabled=true", "micro.api.trigger_tokens=5000")
    # call 4: 1,000 + 20 + 4 x (1,000 + 57) = 5,248 is over: all but the newest three are cleared
    assert saved(play(book, *api), "micro")[3:6] == [0, 992, 2 * 992]
    assert saved(play(book, *api, "micro.api.clear_at_least=2001"), "micro")[3:7] == [0, 0, 0, 3 * 992]
    assert max(saved(play(book, *api, 'micro.api.exclude_tools=["Bash"]'), "micro")) == 0
    assert saved(play(book, *api, "micro.api.keep_thinking_turns=2"), "micro")[3:5] == [50, 992 + 100]
    both = saved(play(book, *api, "micro.api.clear_tool_inputs=true"), "micro")
    assert both[4] == 992 + (7 - 2)  # Bash{"command":"make tide"} is 7 tokens, Bash{} is 6 letters: 2


# --- context collapse


def test_collapse_stages_and_commits_the_oldest_rounds() -> None:
    """Effective is 23,000: staged from 18,400, committed from 20,700 until under it; auto is suppressed."""
    book = new()
    for _ in range(9):
        book.work(Tool(3_000))
    result = play(book, *SMALL, "collapse.enabled=true", "auto.session_memory.min_tokens=1")
    assert [call for call, event in events(result) if event.endswith("staged")] != []
    committed = [call for call, event in events(result) if event.endswith("committed")]
    # 1,020 + n x 3,007: at call 6 it is 19,062 (staged), at call 7 it is 22,069 (committed)
    assert committed[0] == 7
    assert result.boundaries == ()
    assert all(row["sent"] < 20_700 for row in result.timeline[7:])
    assert [v for v in result.violations if v.severity == "error"] == []


# --- auto-compact


def test_without_session_memory_the_summary_stands_for_everything() -> None:
    book = new()
    for _ in range(8):
        book.work(Tool(3_000, "Read", path=f"src/{book.calls}.py"))
    result = play(book, *SMALL, NO_MEMORY, "summary.source=fixed:500", "auto.full.max_files=2")
    (first, *_) = result.boundaries
    # 1,020 + n x (3,000 + 7..8) reaches 20,000 before call 7
    assert (first.call, first.path, first.fallback_reason) == (7, "full", "disabled")
    assert (first.kept_messages, first.summary_tokens, first.restored_tokens) == (0, 500, 2 * 3_000)
    assert result.timeline[7]["sent"] == 1_000 + 500 + 6_000


def test_three_failures_open_the_circuit_breaker() -> None:
    """Over the threshold from call 10 on: 1,020 + 10 x 2,007. A fourth attempt is never made."""
    book = new()
    for _ in range(16):
        book.work(Tool(2_000))
    wide = ("window.tokens=60000", "window.auto_compact_window=24000", *SMALL[1:])
    failing = play(book, *wide, NO_MEMORY, f"faults.summary_fails_at={list(range(16))}")
    assert [call for call, event in events(failing) if event == "tengu_compact_failed"] == [10, 11, 12]
    assert (12, "circuit breaker opens") in events(failing)
    reasons = next(layer.reasons for layer in failing.layers if layer.layer == "auto")
    assert reasons["circuit breaker open"] == 3
    assert failing.boundaries == ()
    recovering = play(book, *wide, NO_MEMORY, "faults.summary_fails_at=[10, 11]", "summary.source=fixed:50")
    assert [b.call for b in recovering.boundaries] == [12]


def test_a_summary_request_that_does_not_fit_drops_the_oldest_rounds() -> None:
    book = new()
    for _ in range(4):
        book.work(Tool(4_000))
    book.work(Tool(12_000))  # one step from 17,000 to 29,000: over the threshold and over the window
    book.say()
    result = play(book, *SMALL, NO_MEMORY, "summary.source=fixed:100", "budget.enabled=false")
    assert [event for _, event in events(result)][:2] == ["tengu_compact_ptl_retry", "tengu_compact"]
    assert result.boundaries[0].path == "full"


def test_a_manual_compaction_asks_for_no_threshold() -> None:
    book = new()
    for _ in range(4):
        book.work(Tool(500))
    result = play(book, "auto.manual_at=[2]", "auto.session_memory.min_tokens=100",
                  "auto.session_memory.min_text_block_messages=0", "summary.source=fixed:50")  # fmt: skip
    (boundary,) = result.boundaries
    assert (boundary.call, boundary.trigger, boundary.path) == (2, "manual", "manual")


def test_a_call_that_would_not_fit_is_compacted_once_a_turn_else_it_fails() -> None:
    book = new()
    for _ in range(6):
        book.work(Tool(1_000))
    result = play(book, "faults.overflow_at=[3, 4]", "summary.source=fixed:50", *SMALL)
    assert [(b.call, b.path, b.layer) for b in result.boundaries] == [(3, "reactive", "reactive")]
    assert result.totals["failed_calls"] == 1
    assert (4, "call failed: it does not fit") in events(result)


def test_over_the_blocking_limit_a_call_is_refused() -> None:
    """The limit is 22,500, and 1,020 + 7 x 3,107 = 22,769."""
    book = new()
    for _ in range(8):
        book.work(Tool(3_100))
    result = play(book, *SMALL, "auto.enabled=false")
    assert result.totals["blocked_calls"] == 1
    assert events(result) == [(7, "blocked: over the blocking limit")]


def test_compaction_after_compaction_stops() -> None:
    """1,020 + 3 x 7,007 at call 3; 6,100 are left (the newest file is restored), two calls later it is full again."""
    book = new()
    for _ in range(14):
        book.work(Tool(7_000, "Read"))
    sets = (*SMALL, NO_MEMORY, "summary.source=fixed:100", "auto.full.max_files=1")
    result = play(book, *sets)
    assert [b.call for b in result.boundaries if b.path == "full"] == [3, 5, 7, 9]
    reasons = next(layer.reasons for layer in result.layers if layer.layer == "auto")
    assert reasons["thrash guard: refilled again and again"] > 0
    assert ("CL304", "auto") in {(v.code, v.layer) for v in result.violations}
    free = play(book, *sets, "auto.thrash_guard=false")
    assert [b.call for b in free.boundaries] == [3, 5, 7, 9, 11, 13]


def test_recorded_compactions_are_honoured_when_asked() -> None:
    book = new()
    for _ in range(4):
        book.work(Tool(500))
    book.compact(tokens=100, keep=2)
    book.say()
    result = play(book, as_recorded=True)
    (boundary,) = result.boundaries
    assert (boundary.layer, boundary.kept_messages) == ("recorded", 2)
    assert result.timeline[-1]["sent"] < result.timeline[-1]["raw"]
    counterfactual = play(book)
    assert counterfactual.boundaries == ()
    assert counterfactual.timeline[-1]["sent"] == counterfactual.timeline[-1]["raw"]


# --- session memory


def test_memory_is_extracted_by_growth_and_by_calls_or_a_pause() -> None:
    settings = resolve(start=None).base().memory
    schedule = MemorySchedule()

    def response(context: int, tools: int, last: int) -> bool:
        return schedule.response(
            settings, context=context, tool_calls=tools, last_message=last, reach=last, now=0.0
        )

    assert not response(9_999, 0, 1)
    assert schedule.state(settings, 0.0).reach is None
    assert response(10_000, 1, 2)  # the first: from 10,000 tokens on
    assert schedule.state(settings, 0.0).summarized is None  # its tool pair was open
    assert not response(15_000, 1, 3)  # grown enough, one tool call since
    assert not response(14_999, 3, 4)  # not grown enough
    assert response(15_000, 1, 5)
    assert response(20_000, 0, 6)  # a pause
    assert schedule.state(settings, 0.0).summarized == 6
    schedule.compacted(4_000, 2)
    assert schedule.state(settings, 0.0).summarized is None
    assert schedule.state(settings, 0.0).reach == 2


def test_an_extraction_takes_its_time() -> None:
    settings = resolve(start=None, sets=["memory.duration_seconds=30.0"]).base().memory
    schedule = MemorySchedule()
    schedule.response(settings, context=10_000, tool_calls=0, last_message=1, reach=1, now=100.0)
    assert schedule.state(settings, 114.0).reach is None  # 16 seconds are left, a compaction waits for 15
    assert schedule.state(settings, 115.0).reach == 1


def test_the_template_is_empty_until_somebody_fills_it_in() -> None:
    template = "".join(f"# {name}\n_What belongs here_\n\n" for name in SECTIONS)
    assert is_empty(template)
    assert not is_empty(template + "- a fact\n")


def test_long_sections_are_cut_at_a_line_end() -> None:
    memory = "# One\n" + "a line of text\n" * 5 + "# Two\nshort\n"
    text, cut = truncate_sections(memory, 10)  # 40 letters: two lines of 15 fit
    assert cut
    assert (
        text
        == "# One\na line of text\na line of text\n[... section truncated for length ...]\n# Two\nshort\n"
    )
    assert truncate_sections(memory, 100) == (memory, False)


def test_the_placeholder_is_the_programs_own() -> None:
    assert len(CLEARED) == 33
