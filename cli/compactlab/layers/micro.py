"""Micro-compact: the contents of old tool results are cleared; the blocks, their ids and flags stay.

Paths in order, the first that fires: time-based, cached, token-threshold, the API's own context
management. Each has its own switch; the token-threshold path belongs to 2.1.12 to 2.1.22.
"""

from __future__ import annotations

from compactlab.config.schema import Config
from compactlab.layers.layer import DISABLED, Step
from compactlab.layers.micro_api import ApiPath
from compactlab.layers.results_log import Entry, ResultsLog
from compactlab.model.plan import Outcome, Replace, Replacement
from compactlab.model.view import View
from compactlab.tokens.session import Session


class Micro:
    """One log of results serves all paths. A compaction makes it void.

    `as_recorded`: the recording's own clearings are honoured, so the token-threshold path adds none.
    """

    name = "micro"

    def __init__(self) -> None:
        self.log = ResultsLog()
        self._pending: list[int] = []
        self.as_recorded = False
        self._api = ApiPath()

    @staticmethod
    def runs(config: Config) -> bool:
        """Whether any of it is switched on."""
        micro = config.micro
        return micro.time.enabled or micro.cached.enabled or micro.tokens.enabled or micro.api.enabled

    def reset(self, session: Session, view: View) -> None:
        """The log is built anew from what was kept; results cleared there stay cleared."""
        self.log = ResultsLog(already=view.replaced)
        self._pending = list(view.items)
        self._api = ApiPath(already=view.replaced, pending=self._pending)

    def step(self, session: Session, view: View, step: Step) -> Outcome:
        """The first path that fires clears; a firing that would save nothing is none."""
        settings = step.config.micro
        self._pending += step.fresh
        if not (
            settings.time.enabled
            or settings.cached.enabled
            or settings.tokens.enabled
            or settings.api.enabled
        ):
            return DISABLED
        self.log.feed(session, self._pending, frozenset(settings.compactable_tools))
        self._pending = []
        reasons = []
        for path in (_time, _cached) if self.as_recorded else (_time, _cached, _tokens):
            entries, event, reason = path(self.log, step)
            if entries:
                return self._outcome(self.log.clear(session, entries, view.replaced), event)
            reasons.append(reason)
        items, event, reason = self._api.decide(session, view, step)
        if items:
            return self._outcome(items, event)
        reasons.append(reason)
        return Outcome(reason=next((reason for reason in reasons if reason != "disabled"), "disabled"))

    def _outcome(self, items: tuple[Replacement, ...], event: str) -> Outcome:
        if sum(item.saved for item in items) <= 0:
            return Outcome(reason="the placeholders would be larger")
        return Outcome((Replace(self.name, items),), events=(event,))


Decision = tuple[list[Entry], str, str]


def _time(log: ResultsLog, step: Step) -> Decision:
    """The last response is older than the gap: all but the newest results are cleared."""
    settings = step.config.micro.time
    if not settings.enabled:
        return [], "", "disabled"
    if step.idle_minutes <= settings.gap_minutes:
        return [], "", "no idle gap"
    keep = max(1, settings.keep_recent)
    if log.open <= keep:
        return [], "", "too few results"
    return log.oldest()[:-keep], "tengu_time_based_microcompact", ""


def _cached(log: ResultsLog, step: Step) -> Decision:
    """Enough results not yet deleted: all but the newest are deleted by a cache edit, the prefix stays valid."""
    settings = step.config.micro.cached
    if not settings.enabled:
        return [], "", "disabled"
    if not any(step.model.startswith(name) for name in settings.models):
        return [], "", "the model cannot edit its cache"
    if log.open < settings.trigger_threshold:
        return [], "", "too few results"
    oldest = log.oldest()
    return oldest[: len(oldest) - settings.keep_recent], "tengu_cached_microcompact", ""


def _tokens(log: ResultsLog, step: Step) -> Decision:
    """Near the compaction threshold: clear from the oldest until little enough remains, if that saves enough."""
    settings = step.config.micro.tokens
    if not settings.enabled:
        return [], "", "disabled"
    if step.running < step.limits.warning:
        return [], "", "under the threshold"
    if log.uncleared <= settings.target_tokens:
        return [], "", "too little to clear"
    chosen, saved = token_threshold_cut(
        log.oldest(), log.uncleared, settings.target_tokens, settings.keep_recent
    )
    if saved < settings.min_saving:
        return [], "", "it would save too little"
    return chosen, "micro-compact: token threshold", ""


def token_threshold_cut(
    oldest: list[Entry], uncleared: int, target: int, keep_recent: int
) -> tuple[list[Entry], int]:
    """The oldest results to clear so that at most `target` tokens remain, and their sum; the newest never."""
    chosen: list[Entry] = []
    saved = 0
    for entry in oldest[: max(0, len(oldest) - keep_recent)]:
        if uncleared - saved <= target:
            break
        chosen.append(entry)
        saved += entry.estimate
    return chosen, saved
