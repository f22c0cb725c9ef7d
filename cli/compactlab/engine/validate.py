"""Predicted against recorded compactions: the program's own running size, walked over the recording.

No layer acts here. Each recorded automatic boundary is judged from the state after the boundary before it:
hit, early, late or unknowable; calls that went out at or over the threshold otherwise are false alarms.
"""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

from compactlab.config.load import Settings
from compactlab.config.schema import Config
from compactlab.engine.micro_validate import MicroRow, MicroValidation
from compactlab.engine.running import Running, recorded_size
from compactlab.model.transcript import Boundary, Call, Transcript
from compactlab.tokens.limits import CallLimits, Thresholds, find_window
from compactlab.tokens.session import Session
from compactlab.tokens.table import token_table


class BoundaryRow(NamedTuple):
    """One recorded compaction with what was predicted for its place. Sizes in tokens, `calls_off` in calls.

    `verdict` is manual for a compaction that the user asked for: its size is predicted, its moment is not.
    """

    line: int
    uuid: str
    version: str
    trigger: str
    pre_tokens: int | None
    predicted_tokens: int
    uncertainty: str
    threshold: int
    implied_window: int | None
    verdict: str
    calls_off: int
    tail_missing: str


class Validation:
    """Walks one session; `run` fills `rows`, `micro` and `false_alarms` (calls)."""

    def __init__(self, transcript: Transcript, settings: Settings) -> None:
        self.transcript = transcript
        config = settings.for_version(transcript.versions[-1] if transcript.versions else None)
        self.window = find_window(transcript, config)
        self._limits = CallLimits(settings, self.window)
        self.session = Session(transcript, token_table(transcript, config))
        self.rows: list[BoundaryRow] = []
        self.micro: list[MicroRow] = []
        self.false_alarms = 0
        self._micro = MicroValidation(self.session, transcript)
        self._newest: Call | None = None
        self._segment = 0
        self._over: list[int] = []

    def run(self) -> Validation:
        """Go over calls and recorded boundaries in the order of the main chain."""
        places: list[tuple[int, int, Call | Boundary]] = [
            (call.first, index, call) for index, call in enumerate(self.transcript.calls)
        ]
        places += [(boundary.index, 0, boundary) for boundary in self.transcript.boundaries]
        for index, number, place in sorted(places, key=lambda p: p[0]):
            if isinstance(place, Boundary):
                self._boundary(place)
            else:
                self._call(index, number, place)
        self._over_is_alarm()
        self.micro = self._micro.rows
        return self

    def _at(self, index: int, version: str, model: str) -> tuple[Running, Config, Thresholds]:
        config, limits = self._limits.of(version, model)
        start = self._newest.first + 1 if self._newest else self._segment
        size = recorded_size(self.session, self.transcript, self._newest, range(start, index), config)
        return size, config, limits

    def _call(self, index: int, number: int, call: Call) -> None:
        size, config, limits = self._at(index, call.version, call.model)
        if size.size >= limits.auto:
            self._over.append(number)
        self._micro.call(index, number, call.version, size.size, config, limits)
        self._newest = call

    def _boundary(self, boundary: Boundary) -> None:
        message = self.transcript.messages[boundary.index]
        model = self._newest.model if self._newest else ""
        size, config, limits = self._at(boundary.index, message.version, model)
        number = sum(1 for call in self.transcript.calls if call.first < boundary.index)
        self._micro.call(boundary.index, number, message.version, size.size, config, limits)
        verdict, off = self._judge(boundary, size, limits, number)
        pre = boundary.pre_tokens
        implied = None
        if pre is not None and boundary.trigger == "auto":
            implied = pre + config.window.auto_buffer + limits.reserve
        self.rows.append(
            BoundaryRow(
                message.line,
                message.uuid,
                message.version,
                boundary.trigger,
                pre,
                size.size,
                "tail" if boundary.tail_missing else size.uncertainty,
                limits.auto,
                implied,
                verdict,
                off,
                boundary.tail_missing,
            )
        )
        self._newest = None
        self._segment = boundary.index
        self._micro.boundary(boundary.index)
        self._over = []

    def _judge(self, boundary: Boundary, size: Running, limits: Thresholds, number: int) -> tuple[str, int]:
        if boundary.trigger != "auto":
            self._over_is_alarm()
            return "manual", 0
        if self._over:
            return "early", number - self._over[0]
        if size.size >= limits.auto:
            return "hit", 0
        return ("unknowable" if boundary.tail_missing else "late"), 0

    def _over_is_alarm(self) -> None:
        self.false_alarms += len(self._over)
        self._over = []


VERDICTS = ("hit", "early", "late", "unknowable")


def totals(found: list[Validation]) -> dict[str, Any]:
    """Counts over sessions, and the median size error of the automatic boundaries (tokens, and as a share)."""
    rows = [row for validation in found for row in validation.rows if row.trigger == "auto"]
    sized = [row for row in rows if row.pre_tokens]
    errors = [abs(row.predicted_tokens - (row.pre_tokens or 0)) for row in sized]
    shares = [error / (row.pre_tokens or 1) for error, row in zip(errors, sized, strict=True)]
    micro = [row for validation in found for row in validation.micro]
    result: dict[str, Any] = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    knowable = len(rows) - result["unknowable"]
    result |= {
        "false_alarms": sum(validation.false_alarms for validation in found),
        "calls": sum(len(validation.transcript.calls) for validation in found),
        "exact": sum(error == 0 for error in errors),
        "boundaries": len(rows),
        "median_abs_error": median(errors) if errors else None,
        "median_abs_error_share": round(median(shares), 6) if shares else None,
        "hit_share_of_knowable": round(result["hit"] / knowable, 6) if knowable else None,
        "micro": {
            "recorded": sum(row.verdict != "false alarm" for row in micro),
            "same_call": sum(row.verdict == "hit" for row in micro),
            "same_ids": sum(row.same_ids for row in micro),
            "same_saving": sum(row.tokens_saved == row.predicted_saved for row in micro),
            "false_alarms": sum(row.verdict == "false alarm" for row in micro),
        },
    }
    return result
