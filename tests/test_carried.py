"""What a compaction must not lose: restored by the layers, told by CL501 to CL507 where it is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compactlab.config.load import resolve
from compactlab.engine.replay import Replay
from compactlab.invariants.carried import check_carried
from compactlab.layers.carried import Carried, restore_all, restore_plan
from compactlab.model.plan import Compact, Cut
from compactlab.tokens.session import Session
from compactlab.tokens.table import build_table
from sessions import Book, Tool, parse

CONFIG = resolve(start=None).base()
NOW = "2026-03-01T00:00:00Z"


def use(name: str, **value: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{name}_{len(value)}", "name": name, "input": value}


def call(book: Book, name: str, answer: Any, **value: Any) -> None:
    block = use(name, **value)
    book.respond([{"type": "text", "text": "now"}])
    book.records[-1]["message"]["content"] = [block]
    book.user([{"type": "tool_result", "tool_use_id": block["id"], "content": answer}])


def rich() -> Book:
    """A session with a plan, a skill, a running agent, a listing, a discovered tool, and files read."""
    book = Book(version="2.1.217", overhead=1_000)
    book.prompt(text="please mend the gauge, and nothing else")
    call(book, "ExitPlanMode", "approved", plan="p" * 400)
    call(book, "Skill", "Launching", skill="tides")
    book.user("s" * 4_000, isMeta=True)
    book.put("attachment", {"attachment": {"type": "task_status", "taskId": "a1", "status": "running"}})
    book.put("attachment", {"attachment": {"type": "agent_listing_delta", "addedLines": ["x" * 80]}})
    call(book, "ToolSearch", [{"type": "tool_reference", "tool_name": "mcp__tide__gauge"}], query="gauge")
    for number in range(7):
        book.work(Tool(1_000 * number + 500, "Read", path=f"src/{number}.py"))
    book.work(Tool(100, "Read", path="CLAUDE.md"))
    book.say()
    return book


def session_of(book: Book) -> tuple[Session, list[int], Carried]:
    transcript = parse(book.data())
    session = Session(transcript, build_table(transcript, "heuristic", 4, 2000))
    items = list(range(session.recorded))
    carried = Carried()
    carried.feed(session, items)
    return session, items, carried


def plan_of(
    session: Session,
    kept: tuple[int, ...],
    tail: tuple[int, ...],
    tools: tuple[str, ...] = ("mcp__tide__gauge",),
) -> Compact:
    head = (
        session.make("system", "boundary", "", NOW),
        session.make("user", "summary", "it said: please mend the gauge, and nothing else", NOW),
    )
    cut = Cut("full", "auto", 0, 0, 0, None, None, 0, 0, 0, None, tools)
    return Compact("auto", head, kept, tail, cut)


def codes(session: Session, plan: Compact, items: list[int]) -> list[str]:
    return [broken.code for broken in check_carried(session, plan, items, CONFIG)]


def test_everything_comes_back_within_its_caps() -> None:
    session, items, carried = session_of(rich())
    tail = restore_all(session, carried, NOW, CONFIG.auto.full)
    made = [(session.messages[item].kind, session.estimate[item]) for item in tail]
    # the five files read last, newest first, each at most 5,000 tokens; the memory file is none of them
    assert made == [
        ("file", 5_000), ("file", 5_000), ("file", 4_500), ("file", 3_500), ("file", 2_500),
        ("invoked_skills", 1_000),
        ("plan_file_reference", 100),
        ("task_status", session.estimate[carried.agents["a1"]]),
        ("agent_listing_delta", 20),
    ]  # fmt: skip
    assert codes(session, plan_of(session, (), tail), items) == []


def test_the_budget_ends_the_files() -> None:
    session, _, carried = session_of(rich())
    settings = replace(CONFIG.auto.full, files_budget=6_000)
    tail = restore_all(session, carried, NOW, settings)
    assert [session.estimate[i] for i in tail if session.messages[i].kind == "file"] == [5_000, 1_000]


def test_what_is_lost_is_told() -> None:
    session, items, carried = session_of(rich())
    assert codes(session, plan_of(session, (), (), ()), items) == ["CL502", "CL503", "CL504", "CL505"]
    assert codes(session, plan_of(session, tuple(items), ()), items) == []
    plan = restore_plan(session, carried, NOW, frozenset())
    assert codes(session, plan_of(session, (), plan), items) == ["CL503", "CL504"]
    assert restore_plan(session, carried, NOW, frozenset(items)) == ()


def test_the_users_last_words_are_kept_or_quoted() -> None:
    session, items, carried = session_of(rich())
    plan = plan_of(session, (), restore_all(session, carried, NOW, CONFIG.auto.full))
    mute = session.make("user", "summary", "it said nothing of note", NOW)
    assert codes(session, replace(plan, head=(plan.head[0], mute)), items) == ["CL501"]
    assert codes(session, replace(plan, head=(plan.head[0], mute), kept=(0,)), items) == []


def test_restored_files_over_their_caps_are_told() -> None:
    session, items, carried = session_of(rich())
    tail = restore_all(session, carried, NOW, replace(CONFIG.auto.full, file_tokens=9_000))
    assert codes(session, plan_of(session, (), tail), items) == ["CL506"]
    many = restore_all(session, carried, NOW, replace(CONFIG.auto.full, max_files=7))
    assert codes(session, plan_of(session, (), many), items) == ["CL506"]


def test_an_unchanged_file_whose_reading_is_gone_dangles() -> None:
    book = Book(overhead=1_000)
    book.prompt(text="look")
    book.work(Tool(100, "Read", path="src/a.py"))
    call(book, "Read", "File unchanged since last read. See above.", file_path="src/a.py")
    session, items, _ = session_of(book)
    whole = plan_of(session, tuple(items), (), ())
    assert codes(session, whole, items) == []
    assert codes(session, plan_of(session, (0, *items[3:]), (), ()), items) == ["CL507"]


def test_a_replay_restores_the_plan_beside_session_memory() -> None:
    book = rich()
    for _ in range(9):
        book.say(1_000)
    sets = [
        "window.tokens=33000",
        "window.reserve_cap=1000",
        "window.auto_buffer=3000",
        'tokens.counter="heuristic"',
    ]
    sets += ["auto.session_memory.min_tokens=500", "auto.session_memory.min_text_block_messages=1"]
    run = Replay(parse(book.data()), resolve(start=None, sets=sets)).run()
    (boundary, *_) = run.boundaries
    assert (boundary.path, boundary.restored_tokens) == ("session_memory", 100)
    found = {violation.code for violation in run.checks.violations}
    assert "CL502" not in found
    assert "CL503" in found  # session memory does not bring skills back
