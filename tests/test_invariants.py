"""Every invariant of the catalogue: a layer or a request that breaks it is caught and named, its clean twin is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.api import check, replay
from compactlab.config.load import resolve
from compactlab.engine.checks import Checks
from compactlab.engine.replay import Replay
from compactlab.invariants.catalog import CATALOG, severity
from compactlab.invariants.invariant import Broken
from compactlab.invariants.request import check_request, is_sound
from compactlab.invariants.wire import WireMessage, project
from compactlab.layers.layer import Step
from compactlab.model.plan import Compact, Cut, Drop, Outcome, Plan, Replace, Replacement
from compactlab.model.results import Violation
from compactlab.model.transcript import Block, Transcript
from compactlab.model.view import View
from compactlab.tokens.session import Session
from compactlab.tokens.table import token_table
from sessions import Book, Tool, books

Decide = Callable[[Session, View, Step], Iterable[Plan]]
Found = Sequence[Violation | Broken]
QUIET = ("tokens.counter=heuristic", "window.tokens=1000000")


@dataclass
class Fake:
    """A layer that acts once, before call `at`."""

    decide: Decide
    at: int = 4
    name: str = "snip"

    @staticmethod
    def runs(_: object) -> bool:
        return True

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        if step.call != self.at:
            return Outcome(reason="not now")
        return Outcome(tuple(self.decide(session, view, step)))

    def reset(self, session: Session, view: View) -> None:
        """Nothing is remembered."""


def session_book() -> Book:
    """0 prompt; 1 thinking, 2 use, 3 use, 4 both results; 5 text, 6 prompt; 7 thinking, 8 use, 9 result;
    10 thinking, 11 use of Task, 12 result; 13 text. Calls begin at 1, 5, 7, 10 and 13."""
    book = Book("2.1.217", 1_000)
    book.prompt(200, "please mend the tide tables of both harbours " * 5)
    book.work(Tool(300), Tool(300), shape="together", thinking=20)
    book.say(20)
    book.prompt(20, "and now look at the gauge of saint-orrin, please")
    book.work(Tool(300), thinking=20)
    book.work(Tool(300, "Task"), thinking=20)
    book.say(20)
    return book


def played(decide: Decide, transcript: Transcript | None = None, *, name: str = "snip", at: int = 4) -> Found:
    """The violations of a replay in which only this layer runs."""
    run = Replay(transcript or session_book().transcript(), resolve(start=None, sets=QUIET))
    run.layers = (Fake(decide, at, name),)
    return run.run().checks.violations


def dropping(*messages: int, marker: bool = False) -> Decide:
    def decide(session: Session, view: View, step: Step) -> list[Plan]:
        made = session.make("user", "snip_marker", "[left out]", step.now) if marker else -1
        return [Drop("snip", messages, made)]

    return decide


def replacing(*places: tuple[int, int], text: str | None, layer: str = "snip") -> Decide:
    return lambda *_: [Replace(layer, tuple(Replacement(m, b, text, 1, 1) for m, b in places))]


def compacting(
    kept: Sequence[int],
    *,
    summary: str = "and now look at the gauge of saint-orrin, please",
    head: Sequence[str] = ("boundary", "summary"),
    files: Sequence[int] = (),
    start: int = 0,
    wanted: int = 0,
    floor: int = 0,
) -> Decide:
    """A compaction to some ids. Negative ids count from the first message that an earlier compaction made."""

    def decide(session: Session, view: View, step: Step) -> list[Plan]:
        roles = {"boundary": ("system", ""), "summary": ("user", summary)}
        ids = [i if i >= 0 else session.recorded - i - 1 for i in kept]
        made = tuple(session.make(roles[kind][0], kind, roles[kind][1], step.now) for kind in head)
        tail = tuple(session.make("attachment", "file", "a.py", step.now, size) for size in files)
        cut = Cut(
            "session_memory",
            "auto",
            step.running,
            0,
            step.limits.auto,
            None,
            None,
            floor,
            wanted,
            start,
            None,
        )
        return [Compact("snip", made, tuple(ids), tail, cut)]

    return decide


def twice(first: Decide, second: Decide) -> Decide:
    """Two compactions before one call: the second one works on the result of the first."""

    def decide(session: Session, view: View, step: Step) -> Iterable[Plan]:
        yield from first(session, view, step)
        yield from second(session, view, step)

    return decide


def requested(*messages: tuple[str, list[tuple[str, str]]]) -> list[Broken]:
    """A request written out: (role, [(kind, id or text)])."""
    wire = []
    for number, (role, blocks) in enumerate(messages):
        made = [
            (Block(kind, (len(value),), 0, value if kind.startswith("tool") else "", "Bash", {}), number)
            for kind, value in blocks
        ]
        wire.append(WireMessage(role, made, f"r{number}" if role == "assistant" else ""))
    return check_request(wire)


def images(count: int) -> Found:
    book = session_book()
    transcript = book.transcript()
    image = Block("image", (), 1, "", "", {"type": "image"})
    messages = list(transcript.messages)
    messages[0] = messages[0]._replace(blocks=(*messages[0].blocks, *[image] * count))
    changed = {name: getattr(transcript, name) for name in transcript.__slots__} | {
        "messages": tuple(messages)
    }
    return played(dropping(1, 2, 3, 4, marker=True), Transcript(**changed))


def sized(window: int, prompt: int) -> Found:
    """A first message that alone is large: there is no older round to peel."""
    book = Book("2.1.217", 1_000)
    book.prompt(prompt)
    book.say(10)
    sets = [
        "tokens.counter=heuristic",
        f"window.tokens={window}",
        "window.reserve_cap=1000",
        "auto.enabled=false",
    ]
    return replay(book.transcript(), resolve(start=None, sets=sets)).violations


def thrashing(result: int) -> Found:
    book = Book("2.1.217", 2_000)
    book.prompt(20)
    for _ in range(24):
        book.work(Tool(result))
    sets = ["window.tokens=20000", "window.reserve_cap=1000", "window.auto_buffer=4000", "summary.size=300"]
    sets += [
        "memory.init_tokens=3000",
        "auto.session_memory.min_tokens=1000",
        "auto.session_memory.max_tokens=3000",
    ]
    return replay(book.transcript(), resolve(start=None, sets=sets)).violations


def tight(
    prompt: int, kept: Sequence[int], summary: str = "and now look at the gauge of saint-orrin, please"
) -> Found:
    """A compaction in a window of which the first prompt takes a given part: the threshold is 6,000 with overhead."""
    book = Book("2.1.217", 1_000)
    book.prompt(prompt)
    book.say(10)
    book.prompt(10)
    book.say(10)
    run = Replay(
        book.transcript(),
        resolve(
            start=None,
            sets=["window.tokens=8000", "window.reserve_cap=1000", "window.auto_buffer=1000", *QUIET[:1]],
        ),
    )
    run.layers = (Fake(compacting(kept, summary=summary, start=kept[0], wanted=kept[0]), 1, "auto"),)
    return run.run().checks.violations


ALL = tuple(range(13))
OPEN = (10, 11, 12)
PROMPT = 6

#: code -> (broken, clean), each played when its test runs.
CASES: dict[str, tuple[Callable[[], Found], Callable[[], Found]]] = {
    # Half a pair: the results stay, their tool_uses go.
    "CL101": (lambda: played(dropping(1, 2, 3)), lambda: played(dropping(1, 2, 3, 4, marker=True))),
    # The other half.
    "CL102": (lambda: played(dropping(4, marker=True)), lambda: played(dropping(1, 2, 3, 4, marker=True))),
    "CL103": (
        lambda: played(compacting((6, 7, 8, 9, 8, 9, *OPEN))),
        lambda: played(compacting((6, 7, 8, 9, *OPEN))),
    ),
    "CL104": (
        lambda: played(compacting((6, 7, 8, 9, 9, *OPEN))),
        lambda: played(compacting((6, 7, 8, 9, *OPEN))),
    ),
    "CL105": (
        lambda: requested(
            ("user", [("text", "a")]),
            ("assistant", [("tool_use", "t")]),
            ("user", [("text", "b"), ("tool_result", "t")]),
        ),
        lambda: requested(
            ("user", [("text", "a")]),
            ("assistant", [("tool_use", "t")]),
            ("user", [("tool_result", "t"), ("text", "b")]),
        ),
    ),
    # The first user message goes and nothing takes its place.
    "CL106": (lambda: played(dropping(0)), lambda: played(dropping(0, marker=True))),
    # A prompt between two responses goes.
    "CL107": (lambda: played(dropping(PROMPT)), lambda: played(dropping(PROMPT, marker=True))),
    # The only block of a response is removed.
    "CL108": (lambda: played(replacing((5, 0), text=None)), lambda: played(replacing((4, 0), text="[gone]"))),
    # One line of a response goes.
    "CL201": (lambda: played(dropping(7)), lambda: played(dropping(7, 8, 9, marker=True))),
    # Thinking of the open loop's last response is removed; that of an older one may be.
    "CL202": (lambda: played(replacing((10, 0), text=None)), lambda: played(replacing((7, 0), text=None))),
    "CL203": (lambda: played(compacting((11, 12))), lambda: played(compacting(OPEN))),
    "CL301": (lambda: sized(8_000, 8_000), lambda: sized(8_000, 2_000)),
    # 1,000 of overhead and 5,500 kept, the threshold is 6,000; without the large prompt it is far away.
    "CL302": (lambda: tight(5_500, (0, 1, 2)), lambda: tight(5_500, (2,))),
    # A summary longer than what it replaces.
    "CL303": (
        lambda: tight(50, (1, 2), summary="far too long " * 100),
        lambda: tight(5_000, (1, 2)),
    ),
    "CL304": (lambda: thrashing(4_500), lambda: thrashing(900)),
    # The list is boundary, summary, 6, 7 ...: what is kept from before the second boundary's floor.
    "CL401": (
        lambda: played(compacting((5, PROMPT, *OPEN), start=1, wanted=1, floor=2)),
        lambda: played(compacting((PROMPT, *OPEN), start=2, wanted=2, floor=2)),
    ),
    "CL402": (
        lambda: played(twice(compacting((PROMPT, *OPEN)), compacting((-1, -2, PROMPT, *OPEN)))),
        lambda: played(twice(compacting((PROMPT, 7, 8, 9, *OPEN)), compacting((-2, PROMPT, *OPEN)))),
    ),
    "CL403": (lambda: played(compacting((*OPEN, PROMPT))), lambda: played(compacting((PROMPT, *OPEN)))),
    "CL404": (
        lambda: played(compacting((PROMPT, *OPEN), head=("boundary",))),
        lambda: played(compacting((PROMPT, *OPEN))),
    ),
    # The user's last words are neither kept nor quoted.
    "CL501": (
        lambda: played(compacting(OPEN, summary="all is well")),
        lambda: played(compacting(OPEN)),
    ),
    "CL506": (
        lambda: played(compacting(OPEN, files=(6_000,))),
        lambda: played(compacting(OPEN, files=(5_000, 5_000))),
    ),
    # Message 12 is the result of Task, message 9 that of Bash.
    "CL508": (
        lambda: played(replacing((12, 0), text="[cleared]", layer="micro"), name="micro"),
        lambda: played(replacing((9, 0), text="[cleared]", layer="micro"), name="micro"),
    ),
    "CL601": (lambda: images(101), lambda: images(100)),
}


#: Broken here by a replaced block.
UNNAMED = ("CL108", "CL202")


def codes(found: Found) -> set[str]:
    return {one.code for one in found}


def test_every_invariant_has_a_case() -> None:
    elsewhere = {"CL502", "CL503", "CL504", "CL505", "CL507"}  # tests/test_carried.py
    assert set(CASES) | elsewhere == {invariant.code for invariant in CATALOG if invariant.code < "CL900"}


@pytest.mark.parametrize("code", CASES)
def test_broken_is_caught(code: str) -> None:
    found = [one for one in CASES[code][0]() if one.code == code]
    assert found
    for one in found:
        if isinstance(one, Violation):
            assert one.severity == severity(code)
            assert one.layer in ("snip", "micro", "auto", "window") or code in UNNAMED


@pytest.mark.parametrize("code", CASES)
def test_clean_is_not(code: str) -> None:
    assert code not in codes(CASES[code][1]())


@pytest.mark.parametrize(
    "code", ["CL101", "CL102", "CL103", "CL104", "CL107", "CL202", "CL402", "CL501", "CL508"]
)
def test_the_clean_twin_breaks_nothing_at_all(code: str) -> None:
    assert codes(CASES[code][1]()) == set()


# --- variations


def test_more_ways_to_break_a_summary() -> None:
    for head in (("summary",), ("boundary", "summary", "summary")):
        assert "CL404" in codes(played(compacting((PROMPT, *OPEN), head=head)))


def test_kept_messages_that_were_not_in_the_list() -> None:
    """After the first compaction 7 is gone; the second one brings it back."""
    assert "CL403" in codes(played(twice(compacting((PROMPT, *OPEN)), compacting((PROMPT, 7, 8, 9, *OPEN)))))


def test_crossing_a_boundary_for_a_pair_is_a_warning() -> None:
    found = played(compacting((5, PROMPT, *OPEN), start=1, wanted=2, floor=2))
    assert [(one.code, one.severity) for one in found if isinstance(one, Violation)] == [("CL401", "warning")]


def test_over_the_blocking_limit_is_a_warning() -> None:
    """Window 8,000, reserve 1,000: blocking at 4,000."""
    found = [one for one in sized(8_000, 3_500) if isinstance(one, Violation)]
    assert [(one.code, one.severity) for one in found] == [("CL301", "warning")]


@pytest.mark.parametrize("files", [(5_001,), (1,) * 6, (5_000,) * 11])
def test_caps_of_restored_files(files: tuple[int, ...]) -> None:
    assert "CL506" in codes(played(compacting(OPEN, files=files)))


def test_a_dropped_response_is_whole() -> None:
    """A compaction that drops everything breaks nothing: the request is the summary."""
    assert codes(played(compacting(()))) == set()


def test_the_shape_of_a_written_request() -> None:
    ask, answer = ("assistant", [("tool_use", "t")]), ("user", [("tool_result", "t")])
    hello = ("user", [("text", "hello")])
    assert requested(hello, ask, answer) == []
    assert requested(hello, ask) == []  # the newest response may be open
    assert {b.code for b in requested(ask, answer)} == {"CL106"}
    assert {b.code for b in requested(hello, ask, hello)} == {"CL102"}
    assert {b.code for b in requested(hello, answer)} == {"CL101", "CL107"}
    assert {b.code for b in requested(hello, ("assistant", [("text", "")]))} == {"CL108"}
    assert {b.code for b in requested(hello, ("assistant", []))} == {"CL108"}
    again = [("tool_result", "t"), ("tool_result", "t")]
    assert {b.code for b in requested(hello, ask, ("user", again))} == {"CL104"}
    assert {b.code for b in requested(hello, ask, answer, ask, answer)} == {"CL103", "CL104"}


def test_a_fault_of_the_recording_is_no_layers_violation() -> None:
    """A tool_use without result stands in the recording: told once, as CL904, whatever a layer then does elsewhere."""
    book = Book("2.1.217", 1_000)
    book.prompt(20)
    book.work(Tool(20), Tool(20), answered=1)
    book.prompt(20)
    book.say(20)
    book.prompt(20)
    book.work(Tool(20))
    book.say(5)
    transcript = book.transcript()
    assert codes(played(dropping(5, marker=True), transcript, at=2)) == set()
    found = check(transcript, resolve(start=None, sets=QUIET))
    assert [(v.code, v.severity, v.layer) for v in found] == [("CL904", "info", "recording")]


def test_a_violation_is_told_once_and_names_its_place() -> None:
    found = played(dropping(4, marker=True))
    lost = [one for one in found if isinstance(one, Violation) and one.code == "CL102"]
    assert len(lost) == 2  # one a tool_use, though the request is checked again at the end
    messages = session_book().transcript().messages
    assert {one.uuid for one in lost} == {messages[2].uuid, messages[3].uuid}
    assert {one.call for one in lost} == {4}


def test_checks_on_a_view_made_by_hand() -> None:
    """The same through `Checks` alone: a view without message 1 of a response of three lines."""
    transcript = session_book().transcript()
    config = resolve(start=None, sets=QUIET).base()
    session = Session(transcript, token_table(transcript, config))
    checks = Checks(session, list(ALL))
    assert checks.baseline == []
    checks.appended(list(ALL))
    checks.layer = "snip"
    checks.request(View(items=list(ALL)), 0, (10, 11))
    assert checks.violations == []
    checks.request(View(items=[0, *range(2, 13)]), 1, (10, 11))
    assert [(v.code, v.layer, v.call) for v in checks.violations] == [("CL201", "snip", 1)]


def test_the_wire_form_puts_results_first() -> None:
    """A prompt that was typed before the last result came: the results move up, so nothing is broken."""
    book = Book("2.1.217", 1_000)
    book.prompt(20)
    book.work(Tool(20), Tool(20), answered=1)
    book.prompt(20)
    book.user([{"type": "tool_result", "tool_use_id": "toolu_0_1", "content": "late"}])
    book.say(5)
    messages = list(book.transcript().messages)
    wire = project(messages, range(len(messages)), {})
    assert [block.kind for block, _ in wire[2].blocks] == ["tool_result", "tool_result", "text"]
    assert check_request(wire) == []


@settings(max_examples=80, deadline=None, derandomize=True)
@given(book=books(max_turns=10, compactions=True), data=st.data())
def test_the_quick_test_never_passes_a_broken_request(book: Book, data: st.DataObject) -> None:
    """Any selection of messages: a naive cut, a hole, a message twice, two exchanged."""
    messages = list(book.transcript().messages)
    end = len(messages)
    for _ in range(8):
        items = list(range(data.draw(st.integers(0, end)), end))
        if items and data.draw(st.booleans()):
            del items[data.draw(st.integers(0, len(items) - 1))]
        if items and data.draw(st.booleans()):
            items.insert(data.draw(st.integers(0, len(items))), data.draw(st.sampled_from(items)))
        if len(items) > 1 and data.draw(st.booleans()):
            at = data.draw(st.integers(1, len(items) - 1))
            items[at - 1], items[at] = items[at], items[at - 1]
        if is_sound(messages, items):
            assert check_request(project(messages, items, {})) == []


def test_the_quick_test_passes_whole_sessions() -> None:
    messages = list(session_book().transcript().messages)
    assert is_sound(messages, range(len(messages)))
    assert not is_sound(messages, range(4, len(messages)))


# --- found while breaking things


@pytest.mark.parametrize("code", UNNAMED)
def test_the_layer_that_replaced_a_block_is_named(code: str) -> None:
    found = [one for one in CASES[code][0]() if one.code == code]
    assert [one.layer for one in found if isinstance(one, Violation)] == ["snip"]


def test_a_result_after_text_in_one_recorded_message() -> None:
    book = Book("2.1.217", 1_000)
    book.prompt(20)
    book.work(Tool(20), answered=0)
    book.user(
        [{"type": "text", "text": "so:"}, {"type": "tool_result", "tool_use_id": "toolu_0_0", "content": "x"}]
    )
    book.say(5)
    messages = list(book.transcript().messages)
    assert {broken.code for broken in check_request(project(messages, range(len(messages)), {}))} == {"CL105"}
    assert not is_sound(messages, range(len(messages)))


def test_thinking_changed_in_the_middle_of_a_session() -> None:
    """Before call 3 the last response is 7 and 8, its loop is open; later it no longer is the last one."""
    assert "CL202" in codes(played(replacing((7, 0), text=None), at=3))


def test_a_text_replaced_by_nothing() -> None:
    assert "CL108" in codes(played(replacing((5, 0), text="")))


def test_too_many_images_without_any_layer() -> None:
    book = Book("2.1.217", 1_000)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    book.user([{"type": "text", "text": "look"}, *[picture] * 101])
    book.say(5)
    found = replay(book.transcript(), resolve(start=None, sets=["window.tokens=1000000"])).violations
    assert "CL601" in codes(found)
