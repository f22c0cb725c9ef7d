"""Reading: lines, records, the main chain, calls, recorded compactions. Sessions are built in the tests."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.ingest.lines import MAX_LINE_BYTES, progress_record
from compactlab.ingest.load import Loaded, find_files, load_path, load_stream
from compactlab.ingest.records import parse_record
from compactlab.ingest.text import json_length, utf16
from compactlab.model.transcript import Transcript


def user(uuid: str, parent: str | None, text: Any = "hello", **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {
        "type": "user",
        "uuid": uuid,
        "parentUuid": parent,
        "message": message,
        "isSidechain": False,
        **more,
    }


def answer(
    uuid: str, parent: str | None, mid: str, block: dict[str, Any], context: int = 100, **more: Any
) -> dict[str, Any]:
    message = {
        "id": mid,
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [block],
        "usage": {"input_tokens": context, "output_tokens": 3},
    }
    return {
        "type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, "version": "2.1.20", **more
    }  # fmt: skip


def use(tool_id: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": {"command": "ls"}}


def result(uuid: str, parent: str, tool_id: str, text: Any = "done") -> dict[str, Any]:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": tool_id, "content": text}])


def text(words: str = "fine") -> dict[str, Any]:
    return {"type": "text", "text": words}


def load(*records: dict[str, Any] | bytes) -> Loaded:
    lines = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    return load_stream(io.BytesIO(b"\n".join(lines) + b"\n"), "s")


def session(*records: dict[str, Any] | bytes) -> Transcript:
    return load(*records).sessions[0]


def uuids(transcript: Transcript) -> list[str]:
    return [message.uuid for message in transcript.messages]


def test_lengths_count_utf16_units() -> None:
    assert utf16("abc") == 3
    assert utf16("héé") == 3
    assert utf16("😀") == 2
    assert utf16("\ud83d") == 1
    assert json_length({"a": 1}) == 7
    assert json_length({"a": "é😀"}) == 11  # {"a":"é😀"}: 8 + 1 + 2
    assert json_length({"a": "\ud83d"}) == 9  # a lone surrogate is one unit


def test_interleaved_results_of_a_split_response_are_recovered() -> None:
    """Each line hangs on the result before it, or a result hangs beside the chain: both stay, in file order."""
    transcript = session(
        user("u1", None),
        answer("a1", "u1", "m1", use("t1")),
        answer("a2", "a1", "m1", use("t2")),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        answer("a3", "r2", "m2", text()),
    )
    assert uuids(transcript) == ["u1", "a1", "a2", "r1", "r2", "a3"]
    assert [call.lines for call in transcript.calls] == [(1, 2), (5,)]
    assert transcript.abandoned == 0


def test_a_rewind_is_left_out_and_reported() -> None:
    transcript = session(
        user("u1", None),
        answer("a1", "u1", "m1", text()),
        user("u2", "a1", "wrong way"),
        answer("a2", "u2", "m2", text()),
        user("u3", "a1", "other way"),
        answer("a3", "u3", "m3", text()),
    )
    assert uuids(transcript) == ["u1", "a1", "u3", "a3"]
    assert (transcript.abandoned, transcript.branches) == (2, (3,))


def test_a_missing_parent_falls_back_to_file_order() -> None:
    transcript = session(user("u1", None), answer("a1", "u1", "m1", text()), user("u2", "gone"))
    assert uuids(transcript) == ["u1", "a1", "u2"]
    assert [(fault.code, fault.line) for fault in transcript.faults] == [("CL901", 3)]


def test_a_circle_of_parents_ends() -> None:
    transcript = session(user("u1", "u2"), answer("a1", "u1", "m1", text()), user("u2", "a1"))
    assert uuids(transcript) == ["u1", "a1", "u2"]
    assert "CL902" in [fault.code for fault in transcript.faults]


def test_repeated_uuids_count_once() -> None:
    transcript = session(user("u1", None), user("u1", None), answer("a1", "u1", "m1", text()))
    assert uuids(transcript) == ["u1", "a1"]
    assert [(f.code, f.line) for f in transcript.faults] == [("CL903", 2)]


def test_a_boundary_continues_at_its_logical_parent() -> None:
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1",
        "compactMetadata": {"trigger": "auto", "preTokens": 155000}, "version": "2.1.20",
    }  # fmt: skip
    transcript = session(
        user("u1", None),
        answer("a1", "u1", "m1", text()),
        boundary,
        user("s", "b", "summary", isCompactSummary=True),
        answer("a2", "s", "m2", text()),
    )
    assert uuids(transcript) == ["u1", "a1", "b", "s", "a2"]
    (found,) = transcript.boundaries
    assert (found.index, found.summary, found.products, found.pre_tokens) == (2, 3, (2, 3), 155000)
    assert found.tail_missing == ""


def test_a_boundary_without_its_tail_says_so() -> None:
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "gone",
        "compactMetadata": {"trigger": "auto", "preTokens": 1},
    }  # fmt: skip
    transcript = session(user("u1", None), answer("a1", "u1", "m1", use("t1")), boundary)
    assert transcript.boundaries[0].tail_missing == "the message before it is not in the file"
    boundary["logicalParentUuid"] = "a1"
    transcript = session(user("u1", None), answer("a1", "u1", "m1", use("t1")), boundary)
    assert transcript.boundaries[0].tail_missing == "its last tool_use has no result in the file"


def test_what_follows_a_kept_message_follows_the_summary() -> None:
    """The file hangs the next prompt on the kept tail, which stands before the boundary."""
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1",
        "compactMetadata": {
            "trigger": "manual", "preTokens": 9,
            "preservedSegment": {"headUuid": "a1", "anchorUuid": "s", "tailUuid": "a1"},
            "preservedMessages": {"anchorUuid": "s", "uuids": ["a1"]},
        },
    }  # fmt: skip
    transcript = session(
        user("u1", None),
        answer("a1", "u1", "m1", text()),
        boundary,
        user("s", "b", "summary", isCompactSummary=True),
        user("u2", "a1"),
        answer("a2", "u2", "m2", text()),
    )
    assert uuids(transcript) == ["u1", "a1", "b", "s", "u2", "a2"]
    assert transcript.boundaries[0].preserved == ("a1",)


def test_responses_that_were_never_made_are_no_calls() -> None:
    synthetic = answer("a1", "u1", "m1", text("API Error"))
    synthetic["message"]["model"] = "<synthetic>"
    nothing = answer("a2", "a1", "m2", text(), context=0)
    nothing["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    fixed = answer("a3", "a2", "m3", text("No response requested."))
    failed = answer("a4", "a3", "m4", text("boom"), isApiErrorMessage=True)
    real = answer("a5", "a4", "m5", text())
    assert [
        call.response_id for call in session(user("u1", None), synthetic, nothing, fixed, failed, real).calls
    ] == ["m5"]


def test_the_last_line_gives_the_output_figure_and_the_greatest_is_kept() -> None:
    first, second = answer("a1", "u1", "m1", use("t1")), answer("a2", "a1", "m1", use("t2"))
    first["message"]["usage"]["output_tokens"] = 40
    second["message"]["usage"]["output_tokens"] = 2
    (call,) = session(user("u1", None), first, second).calls
    assert (call.usage.output, call.output_max, call.usage.context) == (2, 40, 100)


def test_sidechains_are_sessions_of_their_own() -> None:
    side = [
        {**user("s1", None, "task"), "isSidechain": True, "agentId": "x1"},
        {**answer("s2", "s1", "n1", text()), "isSidechain": True, "agentId": "x1"},
    ]
    loaded = load(user("u1", None), *side, answer("a1", "u1", "m1", text()))
    assert [(t.source, t.sidechain, uuids(t)) for t in loaded.sessions] == [
        ("s", False, ["u1", "a1"]),
        ("s#x1", True, ["s1", "s2"]),
    ]
    (alone,) = load(*side).sessions
    assert (alone.source, alone.sidechain) == ("s", True)


@pytest.mark.parametrize(
    ("line", "count", "reason"),
    [
        (json.dumps(user("x", "u1")).encode() + json.dumps(user("y", "x")).encode(), 2, "2 objects on one line"),
        (json.dumps(user("x", "u1", "a@b")).encode().replace(b"@", b"\\x"), 1, "invalid escape"),
        (json.dumps(user("x", "u1", "a@b")).encode().replace(b"@", b"\\ud83d"), 1, "a lone surrogate"),
        (json.dumps(user("x", "u1")).encode() + b"\r", 1, ""),
        (b"\xef\xbb\xbf" + json.dumps(user("x", "u1")).encode(), 1, ""),
        (json.dumps({**user("x", "u1"), "n": float("nan")}).encode(), 1, "NaN is no JSON: read as null"),
        (json.dumps({**user("x", "u1"), "n": 10**40}).encode(), 1, ""),
        (json.dumps(user("x", "u1"))[:-20].encode(), 0, "the line is cut"),
        (b"\x00\x01\x02\xff", 0, "not JSON"),
        (b"42", 0, "not a JSON object: skipped"),
        (b"[" * 100_000, 0, "nested too deeply: skipped"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 0, "nested too deeply: skipped"),
        (b"", 0, ""),
        (b'{"uuid":"x","parentUuid":"u1","parentUuid":"u1","type":"user","message":{}}', 1, "repeated key parentUuid"),
    ],
)  # fmt: skip
def test_odd_lines_are_read_or_named(line: bytes, count: int, reason: str) -> None:
    loaded = load(user("u1", None), line)
    transcript = loaded.sessions[0]
    assert len(transcript.messages) == 1 + count
    assert [bad.line for bad in transcript.malformed] == ([2] if reason else [])
    if reason:
        assert reason in transcript.malformed[0].reason
        assert "\n" not in transcript.malformed[0].reason


def test_a_line_over_the_limit_is_skipped_and_the_rest_is_read() -> None:
    long = b'{"type":"user","uuid":"x","message":{"content":"' + b"a" * (MAX_LINE_BYTES + 10) + b'"}}'
    transcript = session(user("u1", None), long, answer("a1", "u1", "m1", text()))
    assert uuids(transcript) == ["u1", "a1"]
    assert [(bad.line, bad.reason) for bad in transcript.malformed] == [(2, "longer than 64 MiB: skipped")]
    assert [message.line for message in transcript.messages] == [1, 3]


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, True])
@pytest.mark.parametrize("key", ["message", "parentUuid", "timestamp", "version", "isSidechain", "requestId"])
def test_a_field_of_the_wrong_type_counts_as_absent(key: str, value: object) -> None:
    transcript = session(user("u1", None), {**answer("a1", "u1", "m1", text()), key: value})
    assert "u1" in uuids(transcript) or transcript.messages


@pytest.mark.parametrize("content", [None, 3, {}, [None, 1, "x"], [{"type": 7}],
                                     [{"type": ["x"]}], [{"type": {}}], [{"type": "tool_use", "input": None}],
                                     [{"type": "tool_result", "content": [[], {"type": "image"}]}]])  # fmt: skip
def test_strange_content_is_measured(content: object) -> None:
    assert session(user("u1", None, content)).messages[0].uuid == "u1"


def test_progress_lines_give_only_their_links() -> None:
    uuid, parent = "0" * 8 + "-0000-0000-0000-" + "0" * 12, "1" * 8 + "-0000-0000-0000-" + "1" * 12
    line = (
        f'{{"parentUuid":"{parent}","isSidechain":false,"cwd":"/x","type":"progress","data":{{"a":{{"uuid":"z"}}}},'
        f'"timestamp":"t","uuid":"{uuid}"}}'
    ).encode()
    assert progress_record(line) == {"type": "progress", "uuid": uuid, "parentUuid": parent}
    parsed = parse_record(json.loads(line), 1)
    short = parse_record(progress_record(line) or {}, 1)
    assert parsed == short
    assert progress_record(line.replace(b'"isSidechain":false', b'"isSidechain":true')) is None
    assert progress_record(line[:-1]) is None
    other = line.replace(b',"timestamp":"t"', b"")[:-1] + b',"timestamp":"2026-01-28T22:42:13.414Z"}'
    assert progress_record(other) == progress_record(line)
    assert progress_record(b'{"toolUseResult":{"x":1},' + line[1:]) is None


def test_unknown_records_are_links_but_no_messages() -> None:
    strange = {"type": "holo-deck", "uuid": "h", "parentUuid": "u1"}
    transcript = session(user("u1", None), strange, answer("a1", "h", "m1", text()))
    assert uuids(transcript) == ["u1", "a1"]
    assert transcript.types["holo-deck"] == 1
    assert transcript.faults == ()


def test_gzip_is_recognised_by_its_bytes_and_a_cut_one_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = [json.dumps(user("u0", None)).encode()]
    lines += [json.dumps(user(f"u{i}", f"u{i - 1}", f"text {i * 7919}")).encode() for i in range(1, 2000)]
    packed = gzip.compress(b"\n".join(lines) + b"\n")
    path = tmp_path / "s.jsonl"  # not named .gz
    path.write_bytes(packed)
    assert len(load_path(path).sessions[0].messages) == 2000
    path.write_bytes(packed[: len(packed) // 2])
    loaded = load_path(path, "s.jsonl")
    assert loaded.problem is not None
    assert "the gzip data is cut" in loaded.problem.message
    assert loaded.problem.source.startswith("s.jsonl:")
    assert 100 < len(loaded.sessions[0].messages) < 2000
    path.write_bytes(packed[:12] + b"\xff\xff\xff" + packed[15:])
    damaged = load_path(path).problem
    assert damaged is not None
    assert "damaged" in damaged.message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "not a transcript"),
        (b"\x7fELF\x00\x01" * 50, "no line is a JSON object"),
        (b'{"event":"x"}\n{"event":"y"}\n', "no user or assistant record"),
    ],
)
def test_files_that_are_no_transcripts(data: bytes, words: str) -> None:
    loaded = load_stream(io.BytesIO(data), "f")
    assert loaded.problem is not None
    assert words in loaded.problem.message


def test_directories_are_walked_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.jsonl.gz", "a/notes.md", "c.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [p.relative_to(tmp_path).as_posix() for p in find_files(tmp_path)] == ["a/z.jsonl.gz", "b.jsonl"]


def test_the_digest_is_that_of_the_unpacked_bytes() -> None:
    data = json.dumps(user("u1", None)).encode() + b"\n"
    plain, packed = load_stream(io.BytesIO(data), "a"), load_stream(io.BytesIO(gzip.compress(data)), "b")
    assert plain.sessions[0].digest == packed.sessions[0].digest
