"""Runs the invariants during a replay: what the recording itself breaks is set apart, each place is told once."""

from __future__ import annotations

from collections import Counter

from compactlab.config.schema import Config
from compactlab.invariants.carried import check_carried
from compactlab.invariants.catalog import severity
from compactlab.invariants.compaction import check_cleared, check_compaction
from compactlab.invariants.images import check_images
from compactlab.invariants.invariant import Broken
from compactlab.invariants.request import check_request, check_split, is_sound, response_lines
from compactlab.invariants.thinking import check_thinking
from compactlab.invariants.wire import project
from compactlab.model.plan import Compact, Plan, Replace
from compactlab.model.results import Violation
from compactlab.model.view import View
from compactlab.tokens.session import Session

#: Rules about one compaction: each of them may break them anew.
_PER_COMPACTION = frozenset(
    {"CL302", "CL303", "CL401", "CL404", "CL501", "CL502", "CL503", "CL504", "CL505", "CL506"}
)


class Checks:
    """Collects violations. The request is checked whole when its structure changed, and once more at the end."""

    def __init__(self, session: Session, history: list[int]) -> None:
        self._session = session
        self.baseline = baseline(session, history)
        self._known = {(broken.code, broken.key) for broken in self.baseline}
        self._told: set[tuple[str, str]] = set()
        self._lines: Counter[str] = Counter()
        self._pending: list[int] = []
        self.violations: list[Violation] = []
        self.layer = ""

    def appended(self, items: list[int]) -> None:
        """What the history gained; needed to tell a split response from one still arriving."""
        self._pending += items

    def applied(
        self,
        plan: Plan,
        view: View,
        before: list[int],
        call: int,
        config: Config,
        sizes: tuple[int, int],
        auto: int,
    ) -> None:
        """After a layer's plan. `before`: the items it worked on; `sizes`: tokens before and after, with overhead."""
        self.layer = plan.layer
        if isinstance(plan, Replace):
            found = [
                Broken("CL108", str(item.message), item.message, "a block was replaced by an empty text")
                for item in plan.items
                if item.text == ""
            ]
            if plan.layer == "micro":
                tools = frozenset(config.micro.compactable_tools)
                if config.micro.api.enabled:
                    tools |= self._session.tools - frozenset(config.micro.api.exclude_tools)
                found += check_cleared(self._session, plan, tools)
            self._tell(found, call, plan.layer)
        elif isinstance(plan, Compact):
            size_before, size_after = sizes
            found = check_compaction(
                self._session, plan, before, size_before=size_before, size_after=size_after, auto=auto
            )
            self._tell(found + check_carried(self._session, plan, before, config), call, plan.layer)

    def concerns_shape(self, plan: Plan) -> bool:
        """Whether the request must be looked at again: not where only contents of tool results were replaced."""
        if not isinstance(plan, Replace):
            return True
        messages = self._session.messages
        return any(
            item.text is None or messages[item.message].blocks[item.block].kind != "tool_result"
            for item in plan.items
        )

    def request(self, view: View, call: int, last_response: tuple[int, ...]) -> None:
        """The request as it would be sent; called where its structure changed."""
        session = self._session
        found: list[Broken] = []
        removed = any(text is None for text in view.replaced.values())
        if removed or not is_sound(session.messages, view.items):
            found = check_request(project(session.messages, view.items, view.replaced))
        self.images(view, call)
        self._lines.update(response_lines(session.messages, self._pending))
        self._pending = []
        here = response_lines(session.messages, view.items)
        first: dict[str, int] = {}
        for item in view.items:
            first.setdefault(session.messages[item].response_id, item)
        found += check_split(here, self._lines, first)
        found += check_thinking(session.messages, last_response, frozenset(view.items), view.replaced)
        if self.layer == "recorded":
            self.baseline += [broken for broken in found if (broken.code, broken.key) not in self._known]
            self._known |= {(broken.code, broken.key) for broken in found}
            return
        self._tell(found, call, self.layer or "recording")

    def images(self, view: View, call: int) -> None:
        """CL601, the one rule of a request that a recording can break and a compaction would mend."""
        self._tell(check_images(self._session.messages, view.items), call, self.layer or "window")

    def size(self, sent: int, window: int, blocking: int, call: int, layer: str) -> None:
        """CL301 for the size that goes out, in tokens."""
        if sent > window:
            self._tell(
                [Broken("CL301", "window", -1, f"{sent} tokens do not fit the window of {window}")],
                call,
                layer,
            )
        elif sent > blocking:
            text = f"{sent} tokens are over the blocking limit of {blocking}"
            self._tell([Broken("CL301", "blocking", -1, text, "warning")], call, layer)

    def thrashing(self, call: int) -> None:
        """CL304: the thrash guard stopped auto-compact."""
        self._tell(
            [Broken("CL304", "thrash", -1, "refilled within a few calls, again and again")], call, "auto"
        )

    def _tell(self, found: list[Broken], call: int, layer: str) -> None:
        for broken in found:
            place = (broken.code, broken.key)
            repeats = broken.code in _PER_COMPACTION
            if place in self._known or (not repeats and place in self._told):
                continue
            self._told.add(place)
            message = self._session.messages[broken.message] if broken.message >= 0 else None
            self.violations.append(
                Violation(
                    broken.code,
                    broken.severity or severity(broken.code),
                    call,
                    layer,
                    message.line if message else 0,
                    message.uuid if message else "",
                    broken.text,
                )
            )


def baseline(session: Session, history: list[int]) -> list[Broken]:
    """What the untouched history breaks: faults of the recording, never of a layer."""
    if is_sound(session.messages, history):
        return []
    return check_request(project(session.messages, history, {}))


def recording_faults(session: Session, broken: list[Broken]) -> list[Violation]:
    """The transcript's faults and the baseline as CL9xx rows, in file order."""
    rows = [
        Violation(fault.code, severity(fault.code), -1, "recording", fault.line, fault.uuid, fault.message)
        for fault in session.transcript.faults
    ]
    for item in broken:
        message = session.messages[item.message] if item.message >= 0 else None
        code = "CL904" if item.code in ("CL101", "CL102") else "CL908"
        text = item.text if code == "CL904" else f"{item.code}: {item.text}"
        rows.append(
            Violation(
                code,
                severity(code),
                -1,
                "recording",
                message.line if message else 0,
                message.uuid if message else "",
                text,
            )
        )
    return sorted(rows, key=lambda row: (row.line, row.code, row.message))
