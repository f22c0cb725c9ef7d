"""The replay of one session: a fold of one step over its recorded calls.

Counterfactual (default): recorded compactions and what they wrote are left out, the whole history flows
through the configured layers. As recorded: recorded compactions are honoured.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from compactlab.config.load import Settings
from compactlab.config.schema import Config
from compactlab.engine.apply import append, apply
from compactlab.engine.boundaries import boundary_result, honour, kept_ids, recorded_clearing
from compactlab.engine.checks import Checks
from compactlab.engine.cost import Bill
from compactlab.engine.running import idle_minutes, tail_estimate
from compactlab.layers import reactive
from compactlab.layers.auto import Auto
from compactlab.layers.budget import Budget
from compactlab.layers.catalog import COLUMNS
from compactlab.layers.collapse import Collapse
from compactlab.layers.layer import Layer, Step
from compactlab.layers.micro import Micro
from compactlab.layers.snip import Snip
from compactlab.memory.schedule import MemorySchedule
from compactlab.model.clock import seconds
from compactlab.model.plan import Compact, Plan, Replace
from compactlab.model.results import BoundaryResult, TimelineRow
from compactlab.model.transcript import Boundary, Call, Transcript
from compactlab.model.view import View
from compactlab.tokens.limits import CallLimits, Window, find_window
from compactlab.tokens.output import output_figure
from compactlab.tokens.session import Session
from compactlab.tokens.table import token_table


class Replay:
    """State of one session's replay; `run` plays all calls. Everything it holds is read by `engine.report`."""

    def __init__(self, transcript: Transcript, settings: Settings, *, as_recorded: bool = False) -> None:
        self.transcript = transcript
        self.settings = settings
        self.as_recorded = as_recorded
        config = settings.for_version(transcript.versions[-1] if transcript.versions else None)
        self.window: Window = find_window(transcript, config)
        self.session = Session(transcript, token_table(transcript, config))
        self.overhead = self.session.table.overhead
        self.view = View(size=self.session.table.lost)
        self.memory = MemorySchedule()
        self.auto = Auto(self.memory)
        self._micro = Micro()
        self._cleared = (
            {m.index: frozenset(m.tool_ids) for m in transcript.micro_boundaries} if as_recorded else {}
        )
        self._micro.as_recorded = bool(self._cleared)
        self.layers: tuple[Layer, ...] = (Budget(), Snip(), self._micro, Collapse(), self.auto)
        products = {i for b in transcript.boundaries for i in b.products}
        self._skipped = frozenset() if as_recorded else frozenset(products)
        self._honoured = {b.index: b for b in transcript.boundaries} if as_recorded else {}
        history = [i for i in range(self.session.recorded) if i not in products]
        self.checks = Checks(self.session, history)
        self.bill = Bill(self.overhead)
        self.boundaries: list[BoundaryResult] = []
        self.timeline: list[TimelineRow] = []
        self.fired: Counter[str] = Counter()
        self.saved: Counter[str] = Counter()
        self.reasons: dict[str, Counter[str]] = {name: Counter() for name in (*COLUMNS, "reactive")}
        self.blocked = self.failed = 0
        self._cursor = 0
        self._raw = self.session.table.lost
        self._sent = self._output = 0
        self._turn = 0
        self._reactive_turn = -1
        self._void = True
        self._as_it_was = as_recorded  # until a layer of ours changes what is sent
        self._active: tuple[Layer, ...] = self.layers
        self.limits = CallLimits(settings, self.window)

    def run(self) -> Replay:
        """Play every call in order."""
        calls = self.transcript.calls
        configs = {
            id(config): config for config, _ in (self.limits.of(c.version, c.model) for c in calls)
        }.values()
        self._active = tuple(layer for layer in self.layers if any(map(layer.runs, configs)))
        for layer in self.layers:
            if calls and layer not in self._active:
                self.reasons[layer.name]["disabled"] = len(calls)
        for index, call in enumerate(calls):
            self._call(index, call)
        if calls and self.view.version:
            last = len(calls) - 1
            self.checks.request(self.view, last, self._last_response(last))
        elif calls:
            self.checks.images(self.view, len(calls) - 1)
        return self

    def _last_response(self, index: int) -> tuple[int, ...]:
        return self.transcript.calls[index - 1].lines if index else ()

    def _call(self, index: int, call: Call) -> None:
        config, limits = self.limits.of(call.version, call.model)
        events: list[str] = []
        if index and self._extracted(config, self.transcript.calls[index - 1]):
            events.append("session memory extracted")
        fresh = self._append_until(call.first, index, events)
        step = Step(
            index,
            config,
            limits,
            self._running(index, config, fresh),
            fresh,
            self.session.messages[call.first - 1].timestamp if call.first else call.timestamp,
            idle_minutes(self.transcript, index) if config.micro.time.enabled else 0.0,
            call.model,
            self.overhead,
            index in config.auto.manual_at,
        )
        compacted = self._layers(step, events)
        if compacted:
            self.reasons["reactive"]["compacted already"] += 1
        else:
            compacted = self._too_large(step, events)
        self._record(index, call, step, compacted, events)

    def _append_until(self, end: int, call: int, events: list[str]) -> list[int]:
        """What the history gained since the last call; returns the new ids in order."""
        view, tokens, messages = self.view, self.session.tokens, self.session.messages
        skipped, honoured = self._skipped, self._honoured
        new = (
            [item for item in range(self._cursor, end) if item not in skipped]
            if skipped
            else range(self._cursor, end)
        )
        fresh: list[int] = []
        for item in new:
            kind = messages[item].kind
            if kind == "prompt":
                self._turn += 1
            elif honoured and item in honoured:
                self._recorded_compaction(honoured[item], call, events)
                view, fresh = self.view, []
            fresh.append(item)
            view.items.append(item)
            view.size += tokens[item]
            self._raw += tokens[item]
            if kind == "micro_boundary" and item in self._cleared:
                self._recorded_clearing(self._cleared[item], events)
            if honoured and kind == "summary":
                for kept in kept_ids(self.transcript, item):
                    append(self.session, view, kept)
        self.checks.appended(fresh)
        self._cursor = max(self._cursor, end)
        return fresh

    def _recorded_compaction(self, boundary: Boundary, call: int, events: list[str]) -> None:
        self.boundaries.append(honour(self.session, self.transcript, self.view, boundary, call))
        events.append(f"recorded compaction ({boundary.trigger})")
        self.view = View(version=self.view.version + 1)
        self.checks.layer = "recorded"
        self.fired["auto"] += 1
        self._reset_layers()
        self.memory.compacted(self.overhead, 1)
        self._void = True

    def _recorded_clearing(self, tool_ids: frozenset[str], events: list[str]) -> None:
        apply(self.session, self.view, recorded_clearing(self.session, self.view, tool_ids))
        self._micro.reset(self.session, self.view)
        self.fired["micro"] += 1
        events.append("recorded micro-compaction")

    def _reset_layers(self) -> None:
        for layer in self.layers:
            layer.reset(self.session, self.view)

    def _running(self, index: int, config: Config, fresh: list[int]) -> int:
        """Tokens before the call as the program counts them, on the simulated context."""
        call = self.transcript.calls[index - 1] if index and not self._void else None
        tail = tail_estimate(self.session, fresh if call else self.view.items, call, config)
        if call is None:
            return tail
        context = call.usage.context if self._as_it_was else self._sent
        return context + self._output + tail

    def _extracted(self, config: Config, call: Call) -> bool:
        lines = call.lines
        messages = self.session.messages
        tool_calls = [block.kind for line in lines for block in messages[line].blocks].count("tool_use")
        reach = len(self.view.items) + max(0, lines[-1] + 1 - self._cursor)
        if self._skipped:
            reach -= sum(item in self._skipped for item in range(self._cursor, lines[-1] + 1))
        now = seconds(messages[lines[-1]].timestamp) if config.memory.duration_seconds else 0.0
        return self.memory.response(
            config.memory,
            context=self._sent + self._output,
            tool_calls=tool_calls,
            last_message=lines[-1],
            reach=reach,
            now=now,
        )

    def _layers(self, step: Step, events: list[str]) -> bool:
        compacted = False
        for layer in self._active:
            outcome = layer.step(self.session, self.view, step)
            if outcome.events:
                events += outcome.events
            if not outcome.plans:
                self.reasons[layer.name][outcome.reason] += 1
                continue
            self.fired[layer.name] += 1
            for plan in outcome.plans:
                freed = self._apply(plan, step)
                compacted = compacted or isinstance(plan, Compact)
                if layer.name == "budget" and isinstance(plan, Replace):
                    freed = sum(item.saved_estimate for item in plan.items)
                if layer.name in ("budget", "snip"):
                    step = step._replace(running=step.running - freed)
        if self.auto.thrashing:
            self.checks.thrashing(step.call)
        return compacted

    def _apply(self, plan: Plan, step: Step) -> int:
        """Apply one plan, check it, and return the tokens that it freed."""
        view, session = self.view, self.session
        before = view.items
        size_before = self.overhead + view.size
        self.bill.edited(session, view, plan, step)
        apply(session, view, plan)
        self._as_it_was = False
        size_after = self.overhead + view.size
        self.checks.applied(
            plan, view, before, step.call, step.config, (size_before, size_after), step.limits.auto
        )
        if isinstance(plan, Compact):
            self.boundaries.append(boundary_result(session, view, plan, before, step.call, size_after))
            for layer in self.layers:
                if layer is not self.auto:
                    layer.reset(session, view)
            self.memory.compacted(size_after, len(plan.head))
        if self.checks.concerns_shape(plan):
            self.checks.request(view, step.call, self._last_response(step.call))
        return size_before - size_after

    def _too_large(self, step: Step, events: list[str]) -> bool:
        """The reactive path where the call would not fit, else the blocking limit. True if it compacted."""
        sent = self.overhead + self.view.size
        refused = step.call in step.config.faults.overflow_at
        if sent <= step.limits.window and not refused:
            self.reasons["reactive"]["the call fits"] += 1
            if step.running > step.limits.blocking:
                self.blocked += 1
                events.append("blocked: over the blocking limit")
            return False
        if self._reactive_turn == self._turn:
            self.reasons["reactive"]["already tried in this turn"] += 1
        else:
            self._reactive_turn = self._turn
            plan = reactive.compact(self.session, self.view, step)
            if plan is not None:
                self.fired["reactive"] += 1
                events.append("reactive compaction")
                self._apply(plan, step)
                self.auto.reset(self.session, self.view)
                return True
            self.reasons["reactive"]["no cut fits"] += 1
        self.failed += 1
        events.append("call failed: it does not fit")
        return False

    def _record(self, index: int, call: Call, step: Step, compacted: bool, events: list[str]) -> None:
        raw = self.overhead + self._raw
        sent = self.overhead + self.view.size
        row: dict[str, Any] = {
            "call": index,
            "uuid": self.session.messages[call.first].uuid,
            "timestamp": call.timestamp,
            "raw": raw,
        }
        size = raw
        savings = self.view.totals
        for name in COLUMNS[:-1]:
            if name in savings:
                size -= savings[name]
                self.saved[name] += savings[name]
            row[name] = size
        row["auto"] = row["sent"] = sent
        self.saved["auto"] += size - sent
        row["events"] = events
        self.timeline.append(row)
        if sent > step.limits.blocking:
            self.checks.size(
                sent, step.limits.window, step.limits.blocking, index, "auto" if compacted else "window"
            )
        figure = output_figure(self.transcript, call, self.session.table, step.config.tokens.output_figure)
        self.bill.end(call, step.config, raw, sent, figure.tokens)
        self._sent, self._output = sent, figure.tokens
        self._void = False
