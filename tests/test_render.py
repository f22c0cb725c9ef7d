"""Results as text, JSON, CSV and Markdown, and the sinks that write them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
import types
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from compactlab.errors import ResourceError, UsageError
from compactlab.model.results import (
    BoundaryResult,
    LayerResult,
    ReplayResult,
    SessionReplay,
    TableResult,
    Violation,
)
from compactlab.render import FORMATS, render, sinks
from compactlab.render.json import dumps
from compactlab.render.markdown import escape
from compactlab.render.text import compact, percent, safe, shown, thousands, width

CONFIG = {"window": {"reserve_cap": 20_000, "auto_buffer": 13_000}, "auto": {"enabled": True}}
HOSTILE = "\x1b[2Jevil\u202e [red]x[/red] | <script> `tick` \x9b31m\r\nnext \ud800 \u200b"
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def boundary(**changes: Any) -> BoundaryResult:
    values: dict[str, Any] = {
        "call": 60, "before_uuid": "aaaa-60", "layer": "auto", "path": "session_memory", "trigger": "auto",
        "pre_tokens": 167_100, "post_tokens": 31_000, "threshold": 167_000, "summarized_uuid": "u",
        "start_index": 450, "start_uuid": "u2", "wanted_index": 455, "floor_index": 3, "kept_messages": 37,
        "kept_tokens": 12_000, "summary_tokens": 4_000, "fallback_reason": None,
    }  # fmt: skip
    return BoundaryResult(**{**values, **changes})


def session(**changes: Any) -> SessionReplay:
    row = {
        "call": 0, "uuid": "u0", "timestamp": "2026-01-01T00:00:00Z", "raw": 100, "budget": 90, "snip": 90,
        "micro": 80, "collapse": 80, "auto": 80, "sent": 80, "events": ["tengu_sm_compact", "blocked"],
    }  # fmt: skip
    values: dict[str, Any] = {
        "source": "traces/a.jsonl", "digest": "sha256:x", "session_id": "0123456789abcdef",
        "sidechain": False,
        "versions": ("2.1.25",), "models": ("claude-opus-4-5",), "profile": "2.1.22", "window": 200_000,
        "window_inferred": True, "counter": "recorded", "overhead_tokens": 18_211, "records": 530,
        "messages": 512, "calls": 120, "malformed": (),
        "totals": {
            "raw_tokens": 12_345_678, "sent_tokens": 9_000_000, "saved_tokens": 3_345_678,
            "peak_raw": 310_222, "peak_sent": 150_300, "cost_usd": 12.3, "cost_raw_usd": 15.01,
        },
        "layers": (
            LayerResult("budget", 3, 14_000, {"not over budget": 117}),
            LayerResult("auto", 2, 2_000_000, {"under the threshold": 1_118, "breaker open": 1}),
        ),
        "boundaries": (), "violations": (), "timeline": (row,),
    }  # fmt: skip
    return SessionReplay(**{**values, **changes})


def replay(*sessions: SessionReplay, **config: Any) -> ReplayResult:
    return ReplayResult({**CONFIG, **config}, "sha256:c", sessions or (session(),), {})


def table(result: Any, **options: Any) -> str:
    return render(result, format="table", **options).decode("utf-8")


# --- text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("plain, ümläut, 你好", "plain, ümläut, 你好"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\u202eabc\u2066\u200e\u061c", "\\u202eabc\\u2066\\u200e\\u061c"),
        ("a\u200bb\ufeff\u2028", "a\\u200bb\\ufeff\\u2028"),
        ("\ud800x", "\\ud800x"),
        ("\U000e0041", "\\U000e0041"),
        ("\ufffd stays", "\ufffd stays"),
    ],
)
def test_safe_shows_what_is_hostile(text: str, shown_as: str) -> None:
    assert safe(text) == shown_as


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("你好吗", 6, "你好吗"),
        ("你好吗", 5, "你好…"),
        ("你好吗", 4, "你…"),
        ("ab\x1bcd", 6, "ab…"),
        ("ab  cd", 5, "ab…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("", 0, ""),
        ("x" * 10_000_000, 3, "xx…"),
    ],
)
def test_safe_cuts_to_columns_and_never_inside_an_escape(text: str, limit: int, cut: str) -> None:
    assert safe(text, limit) == cut


@given(st.text(), st.integers(0, 40))
def test_safe_keeps_the_limit_and_is_always_printable_utf8(text: str, limit: int) -> None:
    for shown_as in (safe(text), safe(text, limit)):
        assert not FORBIDDEN.search(shown_as)
        assert "\n" not in shown_as
        shown_as.encode("utf-8")
    assert width(safe(text, limit)) <= limit


def test_numbers_as_people_read_them() -> None:
    assert thousands(155_049) == "155,049"
    assert [percent(1, 3), percent(0, 5), percent(1, 0), percent(-1, 10_000), percent(-5, 100)] == [
        "33.3%", "0.0%", "-", "0.0%", "-5.0%",
    ]  # fmt: skip
    numbers = [
        0,
        999,
        1_000,
        1_500,
        9_999,
        155_049,
        999_499,
        999_600,
        1_240_000,
        12_345_678,
        2 * 10**12,
        -1_500,
    ]
    assert [compact(number) for number in numbers] == [
        "0", "999", "1k", "1.5k", "10k", "155k", "999k", "1M", "1.24M", "12.3M", "2,000G", "-1.5k",
    ]  # fmt: skip


def test_cells_are_worded_by_their_type() -> None:
    assert [shown(value) for value in (None, True, False, 1_234, 0.25, 12.5, float("nan"), 1e-7)] == [
        "-", "yes", "no", "1,234", "0.25", "12.50", "-", "1e-07",
    ]  # fmt: skip
    assert shown(1_234, "line") == "1234"
    assert shown({"a": 1, "b": [1, 2]}) == "a: 1, b: 1, 2"
    assert shown(frozenset({"b", "a"})) == "a, b"


# --- the terminal -------------------------------------------------------------------------------------


def test_a_session_on_a_terminal() -> None:
    text = table(replay(session(boundaries=(boundary(),), notes=("2 recorded compactions are left out.",))))
    assert text == (
        """\
traces/a.jsonl
══════════════
session 01234567; version 2.1.25; model claude-opus-4-5
profile 2.1.22; window 200,000 (inferred); counter recorded; overhead 18,211
120 calls, 512 messages, 530 records
· 2 recorded compactions are left out.

Totals
                          raw       sent      saved  share
──────────────────────────────────────────────────────────
tokens, all calls  12,345,678  9,000,000  3,345,678  27.1%
peak of a call        310,222    150,300    159,922  51.6%
cost, USD               15.01      12.30       2.71  18.1%

Layers
layer   fired      saved  share  why not
─────────────────────────────────────────────────────────────
budget      3     14,000   0.1%  not over budget (117×)
auto        2  2,000,000  16.2%  under the threshold (1,118×)

Compactions
call  path            trigger   before   after  kept  kept tokens  start
────────────────────────────────────────────────────────────────────────────
  60  session memory  auto     167,100  31,000    37       12,000  455 → 450
· before, after: the whole request in tokens, overhead included
· start: where the cut was wanted → where the invariants let it be

Violations
None.

What to look at next
1. 1 compaction by session memory; the same with full summaries:
     compactlab replay traces/a.jsonl --set \\
       auto.session_memory.force_disable=true
2. The recording holds compactions of its own: how well are they predicted?
     compactlab validate traces/a.jsonl
"""
    )


def test_fallbacks_are_told_in_words_once_with_their_calls() -> None:
    full = [
        boundary(call=at, path="full", fallback_reason="no_session_memory", start_index=None)
        for at in range(8)
    ]
    other = boundary(call=70, layer="reactive", path="reactive", fallback_reason="some_new_reason")
    text = table(replay(session(boundaries=(*full, other))))
    assert "· calls 0, 1, 2, 3, 4, 5, … fell back: no session memory was extracted yet" in text
    assert "· call 70 fell back: some new reason" in text
    assert re.search(r"^ +70  reactive +auto", text, re.MULTILINE)


def test_many_boundaries_are_cut_and_the_rest_is_counted() -> None:
    text = table(replay(session(boundaries=tuple(boundary(call=at, wanted_index=450) for at in range(25)))))
    assert "5 more; `--format json` has all of them." in text
    assert "→" not in text


def test_violations_are_grouped_worst_first_with_their_first_place() -> None:
    def found(code: str, severity: str, line: int) -> Violation:
        return Violation(code, severity, 3, "auto", line, "u", f"message of {line}")

    violations = (found("CL901", "info", 5), found("CL501", "warning", 0), found("CL101", "error", 120))
    text = table(replay(session(violations=(*violations, found("CL101", "error", 130)))))
    rows = [line.split() for line in text.splitlines() if line.startswith("CL")]
    assert rows == [
        ["CL101", "error", "auto", "2", "line:120", "message", "of", "120"],
        ["CL501", "warning", "auto", "1", "call:3", "message", "of", "0"],
        ["CL901", "info", "auto", "1", "line:5", "message", "of", "5"],
    ]
    assert "1. 2 errors of CL101" in text
    assert "     compactlab explain CL101\n" in text


def test_malformed_lines_are_counted_and_the_first_quoted() -> None:
    text = table(replay(session(malformed=tuple({"line": at, "reason": "cut"} for at in range(1, 6)))))
    assert (
        "Malformed lines: 5\n· traces/a.jsonl:1: cut\n· traces/a.jsonl:2: cut\n· traces/a.jsonl:3: cut\n· 2 more;"
        in text
    )
    assert "5 lines could not be read" in text
    assert "compactlab inspect traces/a.jsonl" in text


def test_without_a_compaction_the_distance_to_the_threshold_and_a_window_that_shows_one() -> None:
    text = table(replay())
    assert "None.\n" in text
    assert "No compaction: the peak, 150,300 tokens, is 90.0% of the threshold of about\n   167,000." in text
    assert "     compactlab replay traces/a.jsonl --window 153000\n" in text
    known = session(totals={"peak_sent": 150_300, "threshold": 155_000})
    assert "threshold of about\n   155,000" in table(replay(known))
    over = session(totals={"peak_sent": 180_000})
    assert "No compaction, although the peak, 180,000 tokens, is 107.8%" in table(replay(over))
    assert "--set auto.enabled=true" in table(replay(auto={"enabled": False}))


def test_a_budget_that_saves_much_suggests_half_its_limit() -> None:
    large = session(layers=(LayerResult("budget", 9, 6_000_000, {}),))
    text = table(replay(large, budget={"per_result_chars": 30_000}))
    assert "the budget layer alone saves 48.6%" in text
    assert "--set budget.per_result_chars=15000" in text


def test_where_nothing_stands_out_there_is_still_a_next_step() -> None:
    quiet = session(totals={}, layers=(), models=(), versions=tuple("abcde"), sidechain=True, session_id="")
    text = table(replay(quiet))
    assert "sidechain -; version a to e (5); model -" in text
    assert "Nothing stands out" in text
    assert "compactlab inspect traces/a.jsonl" in text
    assert "No session was replayed." in table(ReplayResult({}, "", (), {}))


@pytest.mark.parametrize(
    ("source", "quoted"),
    [
        ("my trace.jsonl", "'my trace.jsonl'"),
        ("$(reboot).jsonl", "'$(reboot).jsonl'"),
        ("-x.jsonl", "./-x.jsonl"),
        ("-", "FILE"),
        ("a\x1b[2J.jsonl", "FILE"),
    ],
)
def test_suggested_commands_are_safe_to_paste(source: str, quoted: str) -> None:
    text = table(replay(session(source=source)))
    assert f"     compactlab replay {quoted} --window 153000\n" in text


def test_several_sessions_have_a_summary_first_and_details_while_they_are_few() -> None:
    three = [session(source=f"dir/{name}.jsonl", boundaries=(boundary(),)) for name in "abc"]
    text = table(replay(*three))
    assert text.startswith("Replay of 3 sessions\n════════════════════\nSources in dir/\n")
    assert re.search(r"^a\.jsonl +120 +12\.3M +9M +27\.1% +1 +0$", text, re.MULTILINE)
    assert "· In all: 360 calls; raw 37,037,034, sent 27,000,000 tokens; saved 10,037,034" in text
    assert text.count("Totals\n") == 3

    four = table(
        replay(
            *three, session(source="other", violations=(Violation("CL1", "error", 0, "auto", 7, "", "m"),))
        )
    )
    assert "Totals\n" not in four
    assert "Sources in" not in four
    assert "Details are shown for up to 3 sessions" in four
    assert re.search(r"^auto +8 +8,000,000 +16\.2% +under the threshold \(4,472×\)$", four, re.MULTILINE)
    assert "other:7" in four


def test_totals_over_sessions_are_taken_as_given() -> None:
    result = ReplayResult(
        {}, "", (session(), session()), {"raw_tokens": 10, "sent_tokens": 4, "saved_tokens": 6}
    )
    assert "raw 10, sent 4 tokens; saved 6 (60.0%)" in table(result)


def test_colour_only_when_asked_for_and_the_same_text_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = replay(session(violations=(Violation("CL101", "error", 0, "auto", 7, "", "m"),)))
    plain = table(result)
    coloured = table(result, color=True)
    assert "\x1b" not in plain
    assert "\x1b[31merror" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    for name, value in {"COLUMNS": "30", "FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    assert (table(result), table(result, color=True)) == (plain, coloured)


def test_a_table_result_has_its_tables_then_its_lines() -> None:
    tables = (
        ("By role", ("role", "tokens", "line"), (("user", 12_345, 1_204), ("assistant", 7, 3))),
        ("Empty", ("a",), ()),
    )
    text = table(TableResult({}, tables, ("A word [bold]of[/bold] advice.", "  key = 1")))
    assert text == (
        """\
By role
role       tokens  line
───────────────────────
user       12,345  1204
assistant       7     3

Empty
none

A word [bold]of[/bold] advice.
  key = 1
"""
    )


def test_a_table_that_is_too_wide_becomes_a_list() -> None:
    names = tuple(f"column{at}" for at in range(12))
    text = table(TableResult({}, (("Wide", names, ((1_000_000,) * 12, (2,) * 12)),)))
    assert text.startswith("Wide\ncolumn0: 1,000,000\ncolumn1: 1,000,000\n")
    assert "column11: 1,000,000\n\ncolumn0: 2\n" in text


def test_a_long_command_is_broken_so_that_a_shell_joins_it() -> None:
    long = session(source="d/" + "x" * 60 + ".jsonl", boundaries=(boundary(),))
    text = table(replay(long))
    command = text.split("1. ")[1].split("\n", 1)[1].replace(" \\\n", " ")
    assert command.split()[:4] == ["compactlab", "replay", long.source, "--set"]
    assert max(map(len, text.splitlines())) <= 80


def test_paragraphs_are_wrapped_and_keep_their_indent() -> None:
    text = table(TableResult({}, (), ("    " + "word " * 30, "", "x" * 100)), width=40)
    lines = text.splitlines()
    assert lines[1].startswith("    word")
    assert max(map(len, lines)) <= 40
    assert "x" * 40 in lines


@given(
    st.lists(st.tuples(st.text(), st.text(), st.integers()), max_size=4),
    st.lists(st.text(), max_size=3),
    st.sampled_from([40, 80, 200]),
)
def test_no_line_is_wider_than_asked_for(
    rows: list[tuple[str, str, int]], lines: list[str], columns: int
) -> None:
    result = TableResult({}, (("Title " + "".join(lines), ("a", "b", "n"), tuple(rows)),), tuple(lines))
    text = table(result, width=columns)
    assert not FORBIDDEN.search(text)
    assert text.endswith("\n")
    for line in text.split("\n"):
        assert cell_len(line) <= columns
        assert line == line.rstrip(" ")


def test_a_replay_fits_80_columns() -> None:
    busy = session(
        boundaries=tuple(
            boundary(call=1_000 + at, start_index=1_450, wanted_index=1_455) for at in range(30)
        ),
        violations=(Violation("CL101", "error", 3, "micro_tokens", 12_345, "u", "long message " * 20),),
        malformed=({"line": 1, "reason": "x" * 200},),
        notes=("note " * 40,),
        models=("claude-opus-4-5-20251101", "claude-haiku-4-5-20251001", "claude-sonnet-4-5"),
    )
    for line in table(replay(busy, busy)).splitlines():
        assert cell_len(line) <= 80


# --- every format -------------------------------------------------------------------------------------


def hostile_results() -> list[Any]:
    row = {"call": 0, "uuid": HOSTILE, "timestamp": HOSTILE, "raw": 1, "sent": 1, "events": [HOSTILE]}
    one = session(
        source=HOSTILE, session_id=HOSTILE, versions=(HOSTILE,), models=(HOSTILE,), profile=HOSTILE,
        counter=HOSTILE,
        malformed=({"line": 1, "reason": HOSTILE},), layers=(LayerResult(HOSTILE, 0, 0, {HOSTILE: 1}),),
        boundaries=(
            boundary(
                before_uuid=HOSTILE, layer=HOSTILE, path="full", trigger=HOSTILE, fallback_reason=HOSTILE
            ),
        ),
        violations=(Violation(HOSTILE, "error", 0, HOSTILE, 1, HOSTILE, HOSTILE),), timeline=(row,),
        notes=(HOSTILE,),
    )  # fmt: skip
    plain = TableResult({HOSTILE: HOSTILE}, ((HOSTILE, (HOSTILE,), ((HOSTILE,),)),), (HOSTILE,))
    return [replay(one), replay(one, one), replay(*[one] * 4), plain]


@pytest.mark.parametrize("format", FORMATS)
def test_hostile_text_is_harmless_in_every_format(format: str) -> None:
    for result in hostile_results():
        text = render(result, format=format).decode("utf-8")
        assert not FORBIDDEN.search(text)
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        if format == "markdown":
            outside_code = re.sub(r"^  (`+).*\1$", "", text, flags=re.MULTILINE)
            assert "<" not in outside_code
            assert not re.search(r"(?<!\\)`", outside_code)
            assert not re.search(r"(?<!\\)\[", outside_code)
        if format == "table":
            assert "[red]x[/red]" in re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_result_gives_the_same_bytes(format: str) -> None:
    assert render(replay(), format=format) == render(replay(), format=format)


def test_what_cannot_be_rendered_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown format 'yaml'"):
        render(replay(), format="yaml")
    with pytest.raises(UsageError, match="no table"):
        render(TableResult({}, ()), format="csv")
    for format in ("table", "csv", "markdown"):
        with pytest.raises(TypeError):
            render(object(), format=format)


# --- JSON ---------------------------------------------------------------------------------------------


def test_replay_json_is_versioned_and_sorted() -> None:
    text = render(replay(session(boundaries=(boundary(discovered_tools=("B", "A")),))), format="json")
    document = json.loads(text)
    assert document["schema"] == "compactlab.replay/1"
    assert list(document) == sorted(document)
    assert list(document["sessions"][0]) == sorted(document["sessions"][0])
    assert document["sessions"][0]["boundaries"][0]["discovered_tools"] == ["B", "A"]
    assert text.startswith(b'{\n  "config": {')
    assert text.endswith(b"}\n")


def test_json_takes_what_orjson_does_not_know() -> None:
    @dataclass(frozen=True, slots=True)
    class Value:
        b: int
        a: tuple[int, ...]

    pair = namedtuple("pair", "x y")
    document = {
        "frozen": types.MappingProxyType({"z": 1, "a": 2}), "tuple": (1, 2), "set": {"b", "a"},
        "nan": float("nan"), "path": Path("a/b"), "bytes": b"x\xff",
        "value": Value(1, (2,)), "pair": pair(1, 2), "range": range(2),
        "result": TableResult({"k": 1}, ()),
    }  # fmt: skip
    expected = {
        "frozen": {"a": 2, "z": 1}, "tuple": [1, 2], "set": ["a", "b"], "nan": None,
        "path": "a/b", "bytes": "x\ufffd", "value": {"a": [2], "b": 1}, "pair": [1, 2],
        "range": [0, 1], "result": {"k": 1},
    }  # fmt: skip
    assert json.loads(dumps(document)) == expected
    assert json.loads(dumps({**document, "lone": "\ud800"})) == {**expected, "lone": "\ufffd"}


def test_json_mends_what_orjson_refuses() -> None:
    document = {
        1: "a",
        None: "b",
        2.5: "c",
        "half \udc00": "x\ud83d\ude00y\ud800z",
        "big": 2**70,
        "f": 0.5,
        "n": None,
    }
    assert json.loads(dumps(document)) == {
        "1": "a", "null": "b", "2.5": "c", "half \ufffd": "x😀y\ufffdz", "big": 2**70, "f": 0.5, "n": None,
    }  # fmt: skip
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert b"nested too deeply" in dumps(deep)


def test_json_names_keys_as_json_would() -> None:
    assert json.loads(dumps({True: 1, False: 2})) == {"true": 1, "false": 2}
    assert json.loads(dumps(TableResult({"at": object}, ())))["at"].startswith("<class")


def test_json_takes_numbers_and_arrays_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    document = {"i": numpy.int64(3), "f": numpy.float64(0.5), "a": numpy.arange(2)}
    for extra in ({}, {"lone": "\ud800"}):
        assert {"i": 3, "f": 0.5, "a": [0, 1]}.items() <= json.loads(dumps({**document, **extra})).items()


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_loses_nothing_and_cannot_steer_a_terminal(document: Any) -> None:
    text = dumps(document)
    assert json.loads(text) == document
    assert not FORBIDDEN.search(text.decode("utf-8"))


# --- CSV and Markdown ---------------------------------------------------------------------------------


def test_csv_of_a_replay_has_a_row_for_each_call_of_all_sessions() -> None:
    text = render(replay(session(), session(source="b.jsonl")), format="csv").decode()
    assert "\r" not in text
    header, *rows = csv.reader(io.StringIO(text))
    assert ",".join(header) == (
        "source,session_id,call,uuid,timestamp,raw,budget,snip,micro,collapse,auto,sent,events"
    )
    rest = ["0", "u0", "2026-01-01T00:00:00Z", "100", "90", "90", "80", "80", "80", "80"]
    events = "tengu_sm_compact|blocked"
    assert rows == [[source, "0123456789abcdef", *rest, events] for source in ("traces/a.jsonl", "b.jsonl")]


def test_csv_of_a_table_is_its_first_table_guarded_against_formulas() -> None:
    rows = tuple((text, -5) for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\uff1d1", 'a,"b"\nc'))
    odd = ((None, True), (float("nan"), 0.5), (("a", "b"), 1_000))
    text = render(TableResult({}, (("T", ("=a", "n"), rows + odd), ("U", ("x",), ()))), format="csv").decode()
    assert list(csv.reader(io.StringIO(text))) == [
        ["'=a", "n"], ["'=1+1", "-5"], ["'+1", "-5"], ["'-1", "-5"], ["'@SUM(A1)", "-5"], ["\\t=1", "-5"],
        ["'\uff1d1", "-5"], ['a,"b"\\nc', "-5"], ["", "true"], ["", "0.5"], ["a, b", "1000"],
    ]  # fmt: skip


def test_markdown_has_headings_pipe_tables_and_lists() -> None:
    text = render(
        replay(session(boundaries=(boundary(),), notes=("# no heading",))), format="markdown"
    ).decode()
    assert text.startswith("# traces/a.jsonl\n\nsession 01234567; ")
    assert "- \\# no heading\n" in text
    assert (
        "\n## Layers\n\n| layer | fired | saved | share | why not |\n| --- | ---: | ---: | ---: | --- |\n"
        in text
    )
    assert "| 60 | session memory | auto | 167,100 | 31,000 | 37 | 12,000 | 455 → 450 |\n" in text
    assert "\n  `compactlab replay traces/a.jsonl --set auto.session_memory.force_disable=true`\n" in text


def test_markdown_of_a_table_result() -> None:
    text = render(
        TableResult({}, (("T", ("a|b", "n"), (("x\ny", 1_000),)), ("E", ("a",), ())), ("1. said",)),
        format="markdown",
    )
    assert text.decode() == (
        "## T\n\n| a\\|b | n |\n| --- | ---: |\n| x\\\\ny | 1,000 |\n\n## E\n\nnone\n\n1\\. said\n"
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<b> & `c`", "&lt;b&gt; &amp; \\`c\\`"),
        ("![x](http://evil)", "!\\[x\\](http://evil)"),
        ("session_memory __init__ *", "session_memory \\_\\_init\\_\\_ \\*"),
        ("\\|", "\\\\\\|"),
        ("$x$ ~~y~~", "\\$x\\$ \\~\\~y\\~\\~"),
    ],
)
def test_markdown_cells_stay_text(text: str, escaped: str) -> None:
    assert escape(text) == escaped


# --- sinks --------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_with_the_mode_of_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        sinks.write(b"new\n", tmp_path / "out.json")
    finally:
        os.umask(old)
    assert (tmp_path / "out.json").read_bytes() == b"new\n"
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_an_existing_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "private", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    sinks.write(b"new", link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    target = tmp_path / "out"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(ResourceError if isinstance(error, OSError) else KeyboardInterrupt) as caught:
        sinks.write(b"new", target)
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    if isinstance(caught.value, ResourceError):
        assert caught.value.message == f"cannot write {target}: No space left on device"


def test_no_folder_or_a_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="No such file or directory"):
        sinks.write(b"x", tmp_path / "none" / "out")
    with pytest.raises(ResourceError, match="Is a directory"):
        sinks.write(b"x", tmp_path)


def test_devices_and_pipes_are_written_to_not_replaced(tmp_path: Path) -> None:
    sinks.write(b"x", Path(os.devnull))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        sinks.write(b"through", fifo)
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_standard_output_takes_bytes(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sinks.write(b"\xc3\xa4\n", None)
    sinks.write(b"two\n", Path("-"))
    assert capfdbinary.readouterr().out == b"\xc3\xa4\ntwo\n"


def test_a_standard_output_without_bytes_takes_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    sinks.write("ä".encode(), None)
    assert stream.getvalue() == "ä"


class _Parts(io.RawIOBase):
    """An unbuffered stream that takes three bytes at a time, or none."""

    def __init__(self, taken: int | None = 3) -> None:
        self.taken, self.got = taken, b""

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        if self.taken is None:
            return None
        self.got += bytes(data[: self.taken])
        return min(self.taken, len(data))


def test_an_unbuffered_standard_output_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = _Parts()
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(buffer=parts, flush=lambda: None))
    sinks.write(b"12345678", None)
    assert parts.got == b"12345678"
    parts.taken = None
    with pytest.raises(ResourceError, match="cannot write to standard output"):
        sinks.write(b"1", None)


def _child(code: str, **options: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, env=environment, **options)


def test_a_closed_pipe_is_quiet() -> None:
    code = "from compactlab.render.sinks import write; write(b'x' * 1_000_000, None); write(b'y', None)"
    child = _child(code, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read(1)
    child.stdout.close()
    _, complaints = child.communicate()
    assert (child.returncode, complaints) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_device_is_one_line() -> None:
    code = (
        "from compactlab.errors import describe\nfrom compactlab.render.sinks import write\nimport sys\n"
        "try: write(b'x', None)\nexcept Exception as error: code, text = describe(error)\n"
        "print(text, file=sys.stderr); sys.exit(code)"
    )
    with open("/dev/full", "wb") as full:
        child = _child(code, stdout=full)
        _, complaints = child.communicate()
    assert complaints == b"cannot write to standard output: No space left on device\n"
    assert child.returncode == 4
