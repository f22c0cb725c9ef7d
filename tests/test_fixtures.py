"""The fixture sessions: what their generator writes, the shapes that they promise, sizes that add up."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]

FOLDER = Path(__file__).parent.parent / "fixtures"
GENERATOR = FOLDER / "generate.py"
SOUND = (
    "agent-1a2b3c4.jsonl",
    "idle-gap.jsonl",
    "images.jsonl",
    "microcompact.jsonl.gz",
    "orphan-split.jsonl",
    "parallel-tools.jsonl",
    "persisted-outputs.jsonl.gz",
    "resumed.jsonl",
    "snip.jsonl",
    "stub-output.jsonl.gz",
    "two-compactions.jsonl.gz",
    "window-1m.jsonl",
)
WHOLE_LINES = (*SOUND, "tail-missing.jsonl.gz")
COMPACTABLE = ("Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write")


# --- reading


def raw(name: str) -> bytes:
    data = (FOLDER / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


@cache
def load(name: str) -> tuple[Json, ...]:
    """All records of a file whose lines are whole."""
    return tuple(json.loads(line) for line in raw(name).decode("utf-8").split("\n") if line)


def first_copies(records: tuple[Json, ...]) -> list[Json]:
    """Without the later copies of a uuid."""
    seen: set[str] = set()
    kept = []
    for record in records:
        uuid = record.get("uuid")
        if uuid is None or uuid not in seen:
            kept.append(record)
        if uuid is not None:
            seen.add(uuid)
    return kept


def content(record: Json) -> list[Json]:
    """The blocks of a message; a string counts as one text block."""
    inner = record.get("message", {}).get("content", [])
    return [{"type": "text", "text": inner}] if isinstance(inner, str) else inner


def blocks(name: str, kind: str) -> list[Json]:
    return [block for record in load(name) for block in content(record) if block["type"] == kind]


def of_type(name: str, kind: str, subtype: str = "") -> list[Json]:
    return [r for r in load(name) if r["type"] == kind and (not subtype or r.get("subtype") == subtype)]


def is_real(record: Json) -> bool:
    return bool(record["type"] == "assistant" and record["message"]["model"] != "<synthetic>")


def context(record: Json) -> int:
    usage = record["message"]["usage"]
    made = usage["cache_creation_input_tokens"]
    return int(usage["input_tokens"] + made + usage["cache_read_input_tokens"])


def responses(records: list[Json]) -> list[list[Json]]:
    """The lines of each real response, in the order of first lines."""
    lines: dict[str, list[Json]] = {}
    for record in records:
        if is_real(record):
            lines.setdefault(record["message"]["id"], []).append(record)
    return list(lines.values())


def segments(records: list[Json]) -> list[list[Json]]:
    """The records between compactions; a boundary opens a segment."""
    parts: list[list[Json]] = [[]]
    for record in records:
        if record.get("subtype") == "compact_boundary":
            parts.append([])
        parts[-1].append(record)
    return parts


def boundaries(name: str) -> list[Json]:
    return of_type(name, "system", "compact_boundary")


# --- sizes, computed anew


def quarter(text: str) -> int:
    units = sum(2 if ord(letter) > 0xFFFF else 1 for letter in text)
    return int(units / 4 + 0.5)


def tokens(part: Any) -> int:
    """The estimate of a message's content or of one block of it."""
    if isinstance(part, str):
        return quarter(part)
    if isinstance(part, list):
        return sum(tokens(block) for block in part)
    kind = part["type"]
    if kind == "tool_result":
        return tokens(part["content"])
    if kind in ("image", "document"):
        return 2000
    if kind == "tool_use":
        return quarter(part["name"] + json.dumps(part["input"], ensure_ascii=False, separators=(",", ":")))
    return quarter(part.get("text") or part.get("thinking") or "")


def running_size(segment: list[Json], end: int) -> int:
    """The size before the call that would come at `end` of this segment, by the recorded figures."""
    lines = [at for at in range(end) if is_real(segment[at])]
    first, size = 0, 0
    if lines:
        newest = segment[lines[-1]]["message"]
        first = next(at for at in lines if segment[at]["message"]["id"] == newest["id"])
        size = context(segment[lines[-1]]) + newest["usage"]["output_tokens"]
    for record in segment[first:end]:
        if record["type"] == "user":
            size += tokens(record["message"]["content"])
    return size


def call_places(segment: list[Json]) -> list[int]:
    """Where the calls of a segment are: at the first line of each response."""
    seen: set[str] = set()
    places = []
    for at, record in enumerate(segment):
        if is_real(record) and record["message"]["id"] not in seen:
            seen.add(record["message"]["id"])
            places.append(at)
    return places


def compactable_sizes(records: list[Json]) -> dict[str, int]:
    """The estimates of compactable results, in the order of their tool_use blocks."""
    sizes = {
        b["id"]: 0
        for r in records
        for b in content(r)
        if b["type"] == "tool_use" and b["name"] in COMPACTABLE
    }
    for record in records:
        for block in content(record):
            if block["type"] == "tool_result" and block["tool_use_id"] in sizes:
                sizes[block["tool_use_id"]] = tokens(block["content"])
    return sizes


# --- the generator


def generate(*options: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, str(GENERATOR), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_files_on_disk_are_what_the_generator_writes() -> None:
    done = generate("--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "15 fixtures are up to date\n", "")


def test_check_names_each_file_that_differs(tmp_path: Path) -> None:
    generate("--out", str(tmp_path))
    (tmp_path / "snip.jsonl").write_bytes(b"{}\n")
    (tmp_path / "microcompact.jsonl.gz").write_bytes(b"no gzip at all")
    (tmp_path / "images.jsonl").unlink()
    done = generate("--check", "--out", str(tmp_path))
    assert done.returncode == 1
    assert [Path(line.split(" ")[0]).name for line in done.stdout.splitlines()] == [
        "images.jsonl",
        "microcompact.jsonl.gz",
        "snip.jsonl",
    ]


def test_a_file_packed_by_another_build_is_no_difference(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "copy", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    packed = tmp_path / "copy" / "microcompact.jsonl.gz"
    packed.write_bytes(gzip.compress(raw("microcompact.jsonl.gz"), 1, mtime=0))
    assert generate("--check", "--out", str(tmp_path / "copy")).returncode == 0


def test_the_hash_seed_changes_nothing(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert generate("--out", str(tmp_path / seed), seed=seed).returncode == 0
    assert tree(tmp_path / "1") == tree(tmp_path / "2")


def test_a_large_session_is_repeatable_and_of_the_size_asked_for(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert generate("--size", "3", str(tmp_path / seed), seed=seed).returncode == 0
    large = (tmp_path / "1").read_bytes()
    assert large == (tmp_path / "2").read_bytes()
    assert 3_000_000 <= len(large) < 3_100_000
    records = [json.loads(line) for line in large.splitlines()]
    assert sum(record.get("subtype") == "compact_boundary" for record in records) >= 2
    assert_pairs_are_whole(records)


@pytest.mark.parametrize("options", [("--size", "1"), ("file-without-size",)])
def test_a_size_needs_a_file_and_a_file_a_size(options: tuple[str, ...]) -> None:
    done = generate(*options)
    assert done.returncode == 2
    assert "--size and FILE belong together" in done.stderr


def test_the_files_are_small() -> None:
    sizes = {name: (FOLDER / name).stat().st_size for name in (*WHOLE_LINES, "malformed.jsonl")}
    assert max(sizes.values()) < 250_000
    assert sum(sizes.values()) < 1_000_000


def test_packed_files_carry_no_time() -> None:
    for path in FOLDER.glob("*.gz"):
        assert path.read_bytes()[4:8] == bytes(4)


def test_the_readme_lists_every_file() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([^`]+)`", readme, re.MULTILINE))
    on_disk = {path.name for path in FOLDER.glob("*.jsonl*")} | {"two-compactions/session-memory/summary.md"}
    assert listed == on_disk


# --- what holds in every sound file


def assert_pairs_are_whole(records: list[Json]) -> None:
    """Every call is answered once, after it and before the next response."""
    waiting: set[str] = set()
    used: set[str] = set()
    response = ""
    for record in records:
        if is_real(record) and record["message"]["id"] != response:
            assert not waiting, f"a new response at {record['uuid']} while {waiting} wait"
            response = record["message"]["id"]
        for block in content(record):
            if block["type"] == "tool_use":
                assert block["id"] not in used
                used.add(block["id"])
                waiting.add(block["id"])
            elif block["type"] == "tool_result":
                assert block["tool_use_id"] in waiting
                waiting.remove(block["tool_use_id"])
    assert not waiting


@pytest.mark.parametrize("name", SOUND)
def test_every_call_has_its_result(name: str) -> None:
    assert_pairs_are_whole(first_copies(load(name)))


@pytest.mark.parametrize("name", SOUND)
def test_messages_alternate_and_are_not_empty(name: str) -> None:
    for segment in segments(first_copies(load(name))):
        roles: list[str] = []
        group = ""
        for record in segment:
            if record["type"] == "user" or record["type"] == "assistant":
                assert content(record)
                assert all(block["text"] for block in content(record) if block["type"] == "text")
            if record["type"] == "user":
                if group == "" and (not roles or roles[-1] == "assistant"):
                    roles.append("user")
            elif record["type"] == "assistant" and record["message"]["id"] != group:
                roles.append("assistant")
            group = record["message"]["id"] if record["type"] == "assistant" else ""
        assert not roles or roles[0] == "user"
        assert not any(first == second == "user" for first, second in pairwise(roles))


@pytest.mark.parametrize("name", SOUND)
def test_results_come_first_in_their_message(name: str) -> None:
    for record in load(name):
        kinds = [block["type"] == "tool_result" for block in content(record)]
        assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize("name", SOUND)
def test_where_there_is_thinking_it_leads_each_response(name: str) -> None:
    if blocks(name, "thinking"):
        for lines in responses(first_copies(load(name))):
            assert content(lines[0])[0]["type"] == "thinking"


@pytest.mark.parametrize("name", WHOLE_LINES)
def test_lines_of_a_response_carry_one_block_and_the_same_context(name: str) -> None:
    for lines in responses(first_copies(load(name))):
        assert all(len(content(line)) == 1 for line in lines)
        assert len({context(line) for line in lines}) == 1
        assert len({line["requestId"] for line in lines}) == 1


@pytest.mark.parametrize("name", WHOLE_LINES)
def test_links_lead_to_earlier_records(name: str) -> None:
    known: set[str] = set()
    for record in first_copies(load(name)):
        if "uuid" in record:
            assert record["parentUuid"] is None or record["parentUuid"] in known
            known.add(record["uuid"])
    for boundary in boundaries(name):
        assert (boundary["logicalParentUuid"] in known) == (name != "tail-missing.jsonl.gz")


@pytest.mark.parametrize("name", WHOLE_LINES)
def test_time_runs_forward(name: str) -> None:
    times = [record["timestamp"] for record in first_copies(load(name)) if "uuid" in record]
    back = [at for at in range(1, len(times)) if times[at] < times[at - 1]]
    # a manual compaction is followed by the records of the command that asked for it, as it is in real files
    assert len(back) == (1 if name == "window-1m.jsonl" else 0)


@pytest.mark.parametrize("name", WHOLE_LINES)
def test_usage_adds_up(name: str) -> None:
    """A call's context holds the context and the output of the call before it; what was cached is read."""
    for segment in segments(first_copies(load(name))):
        lines = responses(segment)
        cleared = any(record.get("subtype") == "microcompact_boundary" for record in segment)
        drops = 0
        for before, after in pairwise(lines):
            if context(after[0]) <= context(before[0]) + before[-1]["message"]["usage"]["output_tokens"]:
                drops += 1
            usage, previous = after[0]["message"]["usage"], before[0]["message"]["usage"]
            cached = previous["cache_read_input_tokens"] + previous["cache_creation_input_tokens"]
            assert usage["cache_read_input_tokens"] in (cached, 0) or cleared or name == "resumed.jsonl"
        assert drops == (1 if cleared or name == "resumed.jsonl" else 0)


@pytest.mark.parametrize(
    "name", ["idle-gap.jsonl", "window-1m.jsonl", "parallel-tools.jsonl", "images.jsonl"]
)
def test_growth_follows_the_messages(name: str) -> None:
    """Between two calls the context grows by the output and by something like the messages' estimate."""
    density = {"window-1m.jsonl": 140}.get(name, 115)
    segment = first_copies(load(name))
    places = call_places(segments(segment)[0])
    for here, there in pairwise(places):
        between = [r for r in segment[here:there] if r["type"] == "user"]
        odd = any(r["type"] == "attachment" for r in segment[here:there])
        if odd or any(block["type"] == "document" for r in between for block in content(r)):
            continue
        lines = [r for r in segment[here:there] if is_real(r)]
        output = lines[-1]["message"]["usage"]["output_tokens"]
        grown = context(segment[there]) - context(segment[here]) - output
        assert grown == sum(tokens(r["message"]["content"]) * density // 100 + 12 for r in between)


# --- compactions


@pytest.mark.parametrize(
    ("name", "threshold", "count"),
    [("two-compactions.jsonl.gz", 155_000, 2), ("stub-output.jsonl.gz", 155_000, 1)],
)
def test_a_compaction_is_recorded_where_the_threshold_is_reached_and_not_before(
    name: str, threshold: int, count: int
) -> None:
    parts = segments(first_copies(load(name)))
    assert len(parts) == count + 1
    for segment, following in pairwise(parts):
        metadata = following[0]["compactMetadata"]
        assert metadata == {"trigger": "auto", "preTokens": running_size(segment, len(segment))}
        assert threshold <= metadata["preTokens"] < threshold + 1_500
        assert all(running_size(segment, place) < threshold for place in call_places(segment))
        assert following[1]["isCompactSummary"] is True
        assert following[1]["isVisibleInTranscriptOnly"] is True
    last = parts[-1]
    assert all(running_size(last, place) < threshold for place in call_places(last))


@pytest.mark.parametrize(
    "name", ["two-compactions.jsonl.gz", "stub-output.jsonl.gz", "tail-missing.jsonl.gz"]
)
def test_sessions_that_compact_have_a_small_overhead_and_text_for_what_they_cost(name: str) -> None:
    """Else a replay with session memory could not get under its threshold: overhead and kept messages fill it."""
    for segment in segments(first_copies(load(name))):
        places = call_places(segment)
        assert 20_000 < context(segment[places[0]]) < 45_000
        messages = [r for r in segment[places[0] : places[-1]] if r["type"] in ("user", "assistant")]
        grown = context(segment[places[-1]]) - context(segment[places[0]])
        assert 1.1 < grown / sum(tokens(content(record)) for record in messages) < 1.6


def test_the_outputs_of_two_compactions_are_stubs() -> None:
    for record in load("two-compactions.jsonl.gz"):
        if is_real(record):
            assert 1 <= record["message"]["usage"]["output_tokens"] <= 8


def test_the_outputs_of_stub_output_are_raised_on_the_last_line_only() -> None:
    lines = [line for line in responses(list(load("stub-output.jsonl.gz"))) if len(line) > 1]
    assert len(lines) > 10
    for response in lines:
        figures = [record["message"]["usage"]["output_tokens"] for record in response]
        assert all(figure <= 8 for figure in figures[:-1])
        assert figures[-1] > 20


def test_nothing_in_two_compactions_would_be_cleared_before_the_threshold() -> None:
    """2.1.17 also knew micro-compaction, which wants more than these results hold."""
    for segment in segments(first_copies(load("two-compactions.jsonl.gz"))):
        assert sum(compactable_sizes(segment).values()) < 40_000


def test_the_microcompaction_is_what_the_rule_says() -> None:
    records = list(load("microcompact.jsonl.gz"))
    at = next(n for n, record in enumerate(records) if record.get("subtype") == "microcompact_boundary")
    metadata = records[at]["microcompactMetadata"]
    assert running_size(records, at) >= 135_000
    assert all(running_size(records, place) < 135_000 for place in call_places(records) if place < at)
    sizes = compactable_sizes(records[:at])
    cleared: list[str] = []
    left = sum(sizes.values())
    for tool_id in list(sizes)[:-3]:
        if left > 40_000:
            cleared.append(tool_id)
            left -= sizes[tool_id]
    saved = sum(sizes[tool_id] for tool_id in cleared)
    assert saved >= 20_000
    assert metadata == {
        "trigger": "auto",
        "preTokens": sum(sizes.values()),
        "tokensSaved": saved,
        "compactedToolIds": cleared,
        "clearedAttachmentUUIDs": [],
    }


def test_the_microcompaction_shows_in_the_recorded_context() -> None:
    records = list(load("microcompact.jsonl.gz"))
    at = next(n for n, record in enumerate(records) if record.get("subtype") == "microcompact_boundary")
    before = [context(record) for record in records[:at] if is_real(record)]
    after = [context(record) for record in records[at:] if is_real(record)]
    assert records[at + 1]["parentUuid"] == records[at]["uuid"]
    assert after[0] < before[-1] - 25_000
    assert all(running_size(records, place) < 135_000 for place in call_places(records) if place > at + 1)


def test_results_of_one_response_are_recorded_in_the_other_order_before_the_microcompaction() -> None:
    records = list(load("microcompact.jsonl.gz"))
    uses = [b["id"] for r in records for b in content(r) if b["type"] == "tool_use"]
    answers = [b["tool_use_id"] for r in records for b in content(r) if b["type"] == "tool_result"]
    assert uses != answers
    assert sorted(uses) == sorted(answers)


def test_the_tail_before_the_boundary_is_missing() -> None:
    records = list(load("tail-missing.jsonl.gz"))
    before, after = segments(records)
    metadata = after[0]["compactMetadata"]
    assert running_size(before, len(before)) < 167_000 <= metadata["preTokens"]
    assert all(running_size(before, place) < 167_000 for place in call_places(before))
    assert {record["version"] for record in records if "version" in record} == {"2.1.25"}
    last = [record for record in before if is_real(record)][-1]
    (use,) = content(last)
    assert use["type"] == "tool_use"
    assert use["id"] not in {
        b["tool_use_id"] for r in records for b in content(r) if b["type"] == "tool_result"
    }
    assert before[-1]["type"] == "progress"
    assert_pairs_are_whole(after)


def test_the_context_of_window_1m_passes_200k() -> None:
    before, after = segments(list(load("window-1m.jsonl")))
    sizes = [context(record) for record in before if is_real(record)]
    assert sizes == sorted(sizes)
    assert 290_000 < sizes[-1] < 310_000
    assert sum(150_000 < size < 250_000 for size in sizes) > 3
    assert max(context(record) for record in after if is_real(record)) < 60_000


def test_the_manual_compaction_preserves_a_segment() -> None:
    before, after = segments(list(load("window-1m.jsonl")))
    boundary, summary = after[0], after[1]
    metadata = boundary["compactMetadata"]
    head = [record for record in before if is_real(record)][-1]
    tail = next(r for r in before if r["uuid" if "uuid" in r else "type"] == boundary["logicalParentUuid"])
    assert metadata["trigger"] == "manual"
    assert metadata["preTokens"] == context(head) + head["message"]["usage"]["output_tokens"]
    assert metadata["preservedSegment"] == {
        "headUuid": head["uuid"],
        "anchorUuid": summary["uuid"],
        "tailUuid": tail["uuid"],
    }
    assert (tail["subtype"], tail["parentUuid"]) == ("stop_hook_summary", head["uuid"])
    preserved = metadata["preservedMessages"]
    assert preserved["uuids"] == [head["uuid"], tail["uuid"]]
    assert preserved["anchorUuid"] == summary["uuid"]
    assert set(preserved["uuids"]) < set(preserved["allUuids"])
    assert metadata["cumulativeDroppedTokens"] == metadata["preTokens"] - metadata["postTokens"]
    assert metadata["durationMs"] > 0
    assert summary["parentUuid"] == boundary["uuid"]
    assert after[2]["parentUuid"] == tail["uuid"]
    assert "<command-name>/compact</command-name>" in after[3]["message"]["content"]


# --- shapes


def shape_of_response(name: str) -> Iterator[str]:
    """One letter for each line from the first to the last of a response and its results: t thinking, s text,
    u call, r result, p progress."""
    letters = {"thinking": "t", "redacted_thinking": "t", "text": "s", "tool_use": "u", "tool_result": "r"}
    for response in responses(first_copies(load(name))):
        ids = {b["id"] for line in response for b in content(line) if b["type"] == "tool_use"}
        shape = ""
        for record in load(name):
            kinds = content(record)
            if record in response:
                shape += letters.get(kinds[0]["type"], "?")
            elif any(b.get("tool_use_id") in ids for b in kinds):
                shape += "r" * sum(b["type"] == "tool_result" for b in kinds) + "+"
        yield shape


def result_of(name: str, tool_id: str) -> Json:
    return next(r for r in load(name) for b in content(r) if b.get("tool_use_id") == tool_id)


def test_results_stand_between_the_lines_of_a_response_and_after_them() -> None:
    shapes = list(shape_of_response("parallel-tools.jsonl"))
    assert "tsuuur+r+r+" in shapes
    assert "tur+ur+" in shapes
    assert "tuur+ur+r+" in shapes


def test_a_result_hangs_off_the_line_of_its_own_call() -> None:
    for name in ("parallel-tools.jsonl", "two-compactions.jsonl.gz", "window-1m.jsonl"):
        for record in load(name):
            if "toolUseResult" in record:
                assert record["parentUuid"] == record["sourceToolAssistantUUID"]


def test_a_walk_along_single_parents_loses_siblings() -> None:
    records = load("parallel-tools.jsonl")
    by_uuid = {record["uuid"]: record for record in records if "uuid" in record}
    walked: set[str] = set()
    at: str | None = list(by_uuid)[-1]
    while at is not None:
        walked.add(at)
        at = by_uuid[at]["parentUuid"]
    lost = [by_uuid[uuid] for uuid in by_uuid if uuid not in walked]
    assert sum(record["type"] == "user" for record in lost) >= 5
    assert sum(record["type"] == "assistant" for record in lost) >= 1


def test_split_responses_have_their_results_together_and_apart() -> None:
    shapes = list(shape_of_response("orphan-split.jsonl"))
    assert "tuurr+" in shapes
    assert "tur+ur+" in shapes


def test_previews_and_large_results() -> None:
    name = "persisted-outputs.jsonl.gz"
    results = blocks(name, "tool_result")
    lengths = [len(b["content"]) for b in results if isinstance(b["content"], str)]
    tools = {b["id"]: b["name"] for b in blocks(name, "tool_use")}
    over = {
        tools[b["tool_use_id"]]
        for b in results
        if isinstance(b["content"], str) and len(b["content"]) > 50_000
    }
    assert over == {"Grep", "Read"}
    assert any(30_000 < len(b["content"]) < 32_000 for b in results if tools[b["tool_use_id"]] == "Bash")
    assert sum(str(b["content"]).startswith("<persisted-output>") for b in results) == 1
    assert 0 in lengths
    assert any(isinstance(b["content"], list) for b in results)


def test_one_wire_message_holds_more_than_200_000_characters() -> None:
    name = "persisted-outputs.jsonl.gz"
    sums: list[int] = []
    largest: list[int] = []
    for response in responses(list(load(name))):
        ids = [b["id"] for line in response for b in content(line) if b["type"] == "tool_use"]
        texts = [content(result_of(name, tool_id))[0]["content"] for tool_id in ids]
        sizes = [len(t) if isinstance(t, str) else sum(len(b["text"]) for b in t) for t in texts]
        sums.append(sum(sizes))
        largest.append(max(sizes, default=0))
    assert max(sums) > 200_000
    assert largest[sums.index(max(sums))] < 50_000


def test_images_and_documents_in_messages_and_in_results() -> None:
    in_messages = Counter(b["type"] for r in load("images.jsonl") for b in content(r))
    in_results = Counter(
        inner["type"]
        for block in blocks("images.jsonl", "tool_result")
        if isinstance(block["content"], list)
        for inner in block["content"]
    )
    assert in_messages["image"] >= 3
    assert in_messages["document"] == 2
    assert in_results["image"] >= 4
    assert in_results["text"] >= 1


def test_a_resumed_session_repeats_records() -> None:
    records = load("resumed.jsonl")
    copies = Counter(record["uuid"] for record in records if "uuid" in record)
    assert sum(count == 2 for count in copies.values()) > 15
    assert max(copies.values()) == 2
    assert len({record["sessionId"] for record in records if "sessionId" in record}) == 2
    assert {record["version"] for record in records if "version" in record} == {"2.1.29", "2.1.36"}
    by_uuid: dict[str, Json] = {}
    for record in records:
        if "uuid" in record:
            first = by_uuid.setdefault(record["uuid"], record)
            assert {**record, "sessionId": ""} == {**first, "sessionId": ""}


def test_summary_records_have_no_uuid() -> None:
    summaries = of_type("resumed.jsonl", "summary")
    assert len(summaries) == 3
    assert all("uuid" not in record and "leafUuid" in record for record in summaries)


def test_a_rewind_leaves_a_branch() -> None:
    records = first_copies(load("resumed.jsonl"))
    prompts = [r for r in records if r["type"] == "user" and isinstance(r["message"]["content"], str)]
    parents = Counter(record["parentUuid"] for record in prompts)
    assert [count for count in parents.values() if count > 1] == [2]


def test_synthetic_messages_and_interruptions() -> None:
    records = first_copies(load("resumed.jsonl"))
    synthetic = [r for r in records if r["type"] == "assistant" and not is_real(r)]
    texts = [content(record)[0]["text"] for record in synthetic]
    assert texts[0] == "No response requested."
    assert texts[1].startswith("API Error: 529")
    assert all(context(r) == r["message"]["usage"]["output_tokens"] == 0 for r in synthetic)
    assert [record["isApiErrorMessage"] for record in synthetic] == [False, True]
    said = {b["text"] for r in records if r["type"] == "user" for b in content(r) if b["type"] == "text"}
    assert {"[Request interrupted by user]", "[Request interrupted by user for tool use]"} <= said


def test_every_line_of_the_agent_is_a_sidechain() -> None:
    records = load("agent-1a2b3c4.jsonl")
    assert all(record["isSidechain"] is True and record["agentId"] == "1a2b3c4" for record in records)
    assert not any("toolUseResult" in record for record in records)
    assert records[0]["parentUuid"] is None
    for name in set(WHOLE_LINES) - {"agent-1a2b3c4.jsonl"}:
        assert not any(record.get("isSidechain") for record in load(name))


def test_an_hour_passes_after_more_than_eight_compactable_results() -> None:
    records = load("idle-gap.jsonl")
    prompt = next(
        n for n, r in enumerate(records) if r.get("message", {}).get("content") == "I am back. Where were we?"
    )
    earlier = next(r for r in reversed(records[:prompt]) if is_real(r))
    hours = [record["timestamp"][11:16] for record in (earlier, records[prompt])]
    minutes = [int(hour[:2]) * 60 + int(hour[3:]) for hour in hours]
    assert 90 <= minutes[1] - minutes[0] < 180
    assert len(compactable_sizes(list(records[:prompt]))) > 8
    after = next(r for r in records[prompt:] if is_real(r))
    assert after["message"]["usage"]["cache_read_input_tokens"] == 0


def test_acknowledgements_and_rounds_without_output() -> None:
    said = [r["message"]["content"] for r in of_type("snip.jsonl", "user") if "permissionMode" in r]
    assert {"ok", "continue", "好的", "yes", "继续"} <= set(said)
    results = blocks("snip.jsonl", "tool_result")
    assert sum(block["content"] == "" for block in results) >= 4
    assert sum(str(block["content"]).startswith("File created") for block in results) >= 4
    assert any(block.get("is_error") for block in results)


KINDS: dict[str, Callable[[Json], str | None]] = {
    "type": lambda r: r["type"],
    "subtype": lambda r: r.get("subtype"),
    "progress": lambda r: r.get("data", {}).get("type"),
    "attachment": lambda r: r.get("attachment", {}).get("type"),
}


@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        (
            "type",
            "user assistant system attachment progress summary file-history-snapshot queue-operation mode "
            "last-prompt ai-title permission-mode",
        ),
        (
            "subtype",
            "compact_boundary microcompact_boundary stop_hook_summary turn_duration local_command "
            "away_summary",
        ),
        (
            "progress",
            "bash_progress hook_progress mcp_progress query_update search_results_received waiting_for_task",
        ),
        (
            "attachment",
            "hook_success hook_system_message hook_additional_context hook_cancelled deferred_tools_delta "
            "agent_listing_delta skill_listing mcp_instructions_delta nested_memory task_reminder "
            "queued_command file compact_file_reference edited_text_file command_permissions auto_mode",
        ),
    ],
)
def test_every_kind_of_record_occurs(what: str, wanted: str) -> None:
    found = {KINDS[what](record) for name in WHOLE_LINES for record in load(name)}
    assert set(wanted.split()) <= found


def test_every_kind_of_block_occurs() -> None:
    found = {block["type"] for name in WHOLE_LINES for record in load(name) for block in content(record)}
    assert found == {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "image",
        "document",
        "server_tool_use",
        "web_search_tool_result",
    }
    inner = {
        part["type"]
        for name in WHOLE_LINES
        for block in blocks(name, "tool_result")
        if isinstance(block["content"], list)
        for part in block["content"]
    }
    assert inner == {"text", "image", "tool_reference"}


def test_thinking_without_text_has_a_long_signature() -> None:
    silent = [block for block in blocks("window-1m.jsonl", "thinking") if block["thinking"] == ""]
    assert len(silent) > 5
    assert all(len(block["signature"]) > 300 for block in silent)


def test_records_without_uuid_are_no_part_of_the_chain() -> None:
    for name in WHOLE_LINES:
        for record in load(name):
            in_chain = record["type"] in ("user", "assistant", "system", "attachment", "progress")
            assert ("uuid" in record) == ("parentUuid" in record) == in_chain


def test_the_session_memory_has_ten_sections_one_of_them_too_long() -> None:
    text = (FOLDER / "two-compactions" / "session-memory" / "summary.md").read_text(encoding="utf-8")
    parts = re.split(r"^# (.+)$", text, flags=re.MULTILINE)
    assert parts[1::2] == [
        "Session Title",
        "Current State",
        "Task specification",
        "Files and Functions",
        "Workflow",
        "Errors & Corrections",
        "Codebase and System Documentation",
        "Learnings",
        "Key results",
        "Worklog",
    ]
    assert [len(part) > 8_000 for part in parts[2::2]] == [False] * 9 + [True]


def test_the_readme_names_a_message_up_to_which_the_memory_reaches() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    found = re.search(r"--last-summarized ([0-9a-f-]{36})", readme)
    assert found
    before = segments(list(load("two-compactions.jsonl.gz")))[0]
    at = next(n for n, record in enumerate(before) if record.get("uuid") == found.group(1))
    assert [block["type"] for block in content(before[at])] == ["text"]
    assert_pairs_are_whole(before[: at + 1])


# --- the damaged file


def parses(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def test_the_damaged_file_is_damaged_in_every_way() -> None:
    data = raw("malformed.jsonl")
    lines = data.split(b"\n")
    assert data.startswith(b"\xef\xbb\xbf{")
    assert any(line.endswith(b"\r") for line in lines)
    assert sum(not line.strip() for line in lines) >= 2
    assert sum(b"}{" in line and not parses(line) for line in lines) == 1
    assert sum(rb"\x1b[31m" in line for line in lines) == 1
    assert sum(rb"\ud83d" in line for line in lines) == 1
    assert sum(b":NaN," in line for line in lines) == 1
    assert sum(line.count(b'"userType"') > 1 for line in lines if b"}{" not in line) == 1
    assert b"42" in lines
    assert sum(b"\x00" in line for line in lines) == 1
    assert not data.endswith(b"\n")
    assert not parses(lines[-1])
    assert sum(not parses(line) for line in lines[1:] if line.strip()) == 5
    assert b'"type":"telemetry-note","note"' in data


def test_the_damaged_file_is_sound_when_read_with_tolerance() -> None:
    text = raw("malformed.jsonl").decode("utf-8-sig", "replace").replace(r"\x1b", r"\u001b")
    decoder = json.JSONDecoder()
    records: list[Json] = []
    for line in text.split("\n"):
        rest = line.strip()
        while rest.startswith("{"):
            try:
                record, end = decoder.raw_decode(rest)
            except ValueError:
                break
            records.append(record)
            rest = rest[end:].strip()
    assert_pairs_are_whole(records)
    known = {record["uuid"] for record in records if "uuid" in record}
    assert all(record["parentUuid"] in known | {None} for record in records if "uuid" in record)
    unknown = next(record for record in records if record["type"] == "telemetry-note")
    assert any(record.get("parentUuid") == unknown["uuid"] for record in records)
