"""Real recordings, where they are beside the checkout: the predictions against what really happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactlab import api
from compactlab.config.load import resolve
from compactlab.engine.validate import Validation, totals
from compactlab.model.transcript import Transcript

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "sessions"
FILES = sorted(CORPUS.glob("*.jsonl.gz")) if CORPUS.is_dir() else []
pytestmark = pytest.mark.skipif(not FILES, reason="no recordings beside the checkout")

NAIVE = "auto.session_memory.preserve_invariants=false"


@pytest.fixture(scope="module")
def sessions() -> dict[str, Transcript]:
    return {path.name.split(".")[0]: api.load(path) for path in FILES}


@pytest.fixture(scope="module")
def validations(sessions: dict[str, Transcript]) -> dict[str, Validation]:
    return {name: Validation(transcript, resolve(start=None)).run() for name, transcript in sessions.items()}


def test_recorded_compactions_are_found(validations: dict[str, Validation]) -> None:
    summed = totals(list(validations.values()))
    knowable = summed["boundaries"] - summed["unknowable"]
    assert summed["boundaries"] == 19
    assert summed["hit"] >= 0.95 * knowable
    assert summed["false_alarms"] <= summed["calls"] / 1000
    assert summed["median_abs_error_share"] <= 0.001


def test_sizes_of_2_1_12_to_2_1_20_are_exact(validations: dict[str, Validation]) -> None:
    rows = [row for v in validations.values() for row in v.rows if row.trigger == "auto"]
    exact = [row for row in rows if (2, 1, 12) <= tuple(map(int, row.version.split("."))) <= (2, 1, 20)]
    assert len(exact) == 5
    assert [row.predicted_tokens for row in exact] == [row.pre_tokens for row in exact]


def test_a_recorded_manual_compaction_is_sized_exactly(validations: dict[str, Validation]) -> None:
    (row,) = validations["6c0a282a"].rows
    assert (row.verdict, row.predicted_tokens) == ("manual", row.pre_tokens)


def test_recorded_clearings_are_found(validations: dict[str, Validation]) -> None:
    rows = {(name, row.line): row for name, v in validations.items() for row in v.micro}
    assert len(rows) == 5
    for (name, _), row in rows.items():
        assert row.verdict == "hit"
        assert row.same_ids
        if name != "70d782f7":  # one of its results was altered after the clearing
            assert row.predicted_saved == row.tokens_saved
            # What is left differs by less than a line of text in two of the three records.
            assert abs(row.predicted_pre - row.pre_tokens) < 30
    assert next(row.earlier_unrecorded for (name, _), row in sorted(rows.items()) if name == "fdd24234") == 12


@pytest.mark.parametrize("name", ["0cd9edf7", "70d782f7", "fdd24234"])
def test_the_replay_clears_where_the_recording_did(sessions: dict[str, Transcript], name: str) -> None:
    transcript = sessions[name]
    fired = [
        row["call"] for row in api.replay(transcript).timeline if any("threshold" in e for e in row["events"])
    ]
    recorded = [
        sum(1 for call in transcript.calls if call.first < m.index) for m in transcript.micro_boundaries
    ]
    # fdd24234 was cleared once before without a record: the replay fires there, and then as recorded or later.
    assert fired[0] == (28 if name == "fdd24234" else recorded[0])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_default_settings_break_no_invariant(sessions: dict[str, Transcript], path: Path) -> None:
    result = api.replay(sessions[path.name.split(".")[0]])
    assert [v for v in result.violations if v.severity == "error"] == []
    assert sum(layer.tokens_saved for layer in result.layers) == result.totals["saved_tokens"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_as_recorded_follows_the_recorded_context(sessions: dict[str, Transcript], path: Path) -> None:
    transcript = sessions[path.name.split(".")[0]]
    result = api.replay(transcript, as_recorded=True)
    assert {b.layer for b in result.boundaries} <= {"recorded"}
    assert [b.trigger for b in result.boundaries] == [b.trigger for b in transcript.boundaries]


def test_a_naive_cut_breaks_pairs_and_responses(sessions: dict[str, Transcript]) -> None:
    broken = {
        (violation.code, violation.layer)
        for transcript in sessions.values()
        for violation in api.replay(transcript, resolve(start=None, sets=[NAIVE])).violations
        if violation.severity == "error"
    }
    assert ("CL201", "auto") in broken
    assert ("CL101", "auto") in broken


def test_the_first_compaction_of_a_replay_is_the_recorded_one(sessions: dict[str, Transcript]) -> None:
    """With the session's own counter and nothing cleared before, the counterfactual fires at the same call."""
    for name in ("0cf3db51", "53ea1606", "ca8cc13b"):
        transcript = sessions[name]
        recorded = transcript.boundaries[0]
        call = sum(1 for c in transcript.calls if c.first < recorded.index)
        (first, *_) = api.replay(transcript).boundaries
        assert first.call == call
        assert abs(first.pre_tokens - (recorded.pre_tokens or 0)) < 10
