"""Recorded token-threshold clearings against what the rule predicts: the call, the ids, both sums."""

from __future__ import annotations

from typing import NamedTuple

from compactlab.config.schema import Config
from compactlab.layers.micro import token_threshold_cut
from compactlab.layers.results_log import Entry, ResultsLog
from compactlab.model.transcript import MicroBoundary, Transcript
from compactlab.tokens.limits import Thresholds
from compactlab.tokens.session import Session


class MicroRow(NamedTuple):
    """One recorded clearing (or a predicted one that was not recorded: false alarm). Sizes in tokens.

    `earlier_unrecorded` counts the oldest results that the record leaves out, as if cleared before.
    """

    line: int
    uuid: str
    version: str
    running: int
    pre_tokens: int
    predicted_pre: int
    tokens_saved: int
    predicted_saved: int
    results: int
    predicted_results: int
    same_ids: bool
    earlier_unrecorded: int
    verdict: str


class MicroValidation:
    """Follows the compactable results of the recorded chain. What a record cleared stays cleared."""

    def __init__(self, session: Session, transcript: Transcript) -> None:
        self._session = session
        self._recorded = {boundary.index: boundary for boundary in transcript.micro_boundaries}
        self._log = ResultsLog()
        self._fed = 0
        self.rows: list[MicroRow] = []
        self._due: int | None = None

    def boundary(self, index: int) -> None:
        """A compaction: results before it are gone."""
        self._log = ResultsLog()
        self._fed = index

    def call(
        self, index: int, number: int, version: str, running: int, config: Config, limits: Thresholds
    ) -> None:
        """The gap before the message at `index`: compare the record that stands in it with the prediction."""
        settings = config.micro.tokens
        tools = frozenset(config.micro.compactable_tools)
        recorded = next((self._recorded[i] for i in range(self._fed, index) if i in self._recorded), None)
        self._log.feed(self._session, list(range(self._fed, index)), tools)
        self._fed = index
        active = settings.enabled and running >= limits.warning
        if recorded is None:
            if active and self._predict(config)[1] >= settings.min_saving and self._due is None:
                self._due = number
            return
        earlier = self._left_out(recorded)
        chosen, saved = self._predict(config)
        verdict = "hit" if active and saved >= settings.min_saving else "late"
        if self._due is not None and not earlier:
            verdict = "early"
        self._due = None
        message = self._session.messages[recorded.index]
        self.rows.append(
            MicroRow(
                message.line,
                message.uuid,
                message.version,
                running,
                recorded.pre_tokens,
                self._log.uncleared,
                recorded.tokens_saved,
                saved,
                len(recorded.tool_ids),
                len(chosen),
                tuple(entry.tool_id for entry in chosen) == recorded.tool_ids,
                earlier,
                verdict,
            )
        )
        ids = set(recorded.tool_ids)
        self._log.clear(self._session, [entry for entry in self._log.oldest() if entry.tool_id in ids], {})

    def _predict(self, config: Config) -> tuple[list[Entry], int]:
        settings = config.micro.tokens
        return token_threshold_cut(
            self._log.oldest(), self._log.uncleared, settings.target_tokens, settings.keep_recent
        )

    def _left_out(self, recorded: MicroBoundary) -> int:
        """Results older than the first recorded one that the record does not name: cleared without a record."""
        if not recorded.tool_ids:
            return 0
        oldest = self._log.oldest()
        first = next((i for i, entry in enumerate(oldest) if entry.tool_id == recorded.tool_ids[0]), 0)
        self._log.clear(self._session, oldest[:first], {})
        return first
