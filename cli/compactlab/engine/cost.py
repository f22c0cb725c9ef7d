"""What the replayed calls cost with prompt caching, next to the same calls with nothing compacted.

A call reads the cached prefix and writes the rest. The prefix ends at the first changed position, and all
of it is lost when the pause since the call before exceeds the cache's life. Prices: `profiles/prices.toml`.
"""

from __future__ import annotations

from compactlab.config.schema import Config
from compactlab.layers.layer import Step
from compactlab.model.clock import seconds
from compactlab.model.plan import Compact, Plan, Replace
from compactlab.model.transcript import Call
from compactlab.model.view import View
from compactlab.profiles.prices import Price, price_for
from compactlab.tokens.session import Session

TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}
_MILLION = 1_000_000


class Bill:
    """`sent` and `raw` are USD over all calls so far, with and without the layers."""

    def __init__(self, overhead: int) -> None:
        self.sent = 0.0
        self.raw = 0.0
        self.models: set[str] = set()
        self._prefix = 0
        self._raw_prefix = 0
        self._overhead = overhead
        self._summaries = 0.0
        self._last = 0.0

    def edited(self, session: Session, view: View, plan: Plan, step: Step) -> None:
        """A plan is about to be applied: the prefix ends at the first position that it changes (tokens)."""
        if isinstance(plan, Compact):
            if plan.cut.path != "session_memory":
                price = self._price(step.model, step.config)
                written = session.tokens[plan.head[-1]]
                reads = (self._overhead + view.size) * price.cache_read
                self._summaries += (reads + written * price.output) / _MILLION
            self._prefix = min(self._prefix, self._overhead)
            return
        if isinstance(plan, Replace):
            if plan.layer == "budget" or (plan.layer == "micro" and step.config.micro.cached.enabled):
                return  # fresh results are in no cache yet; a cache edit leaves the prefix valid
            changed = {item.message for item in plan.items}
        else:
            changed = set(plan.messages)
        position = self._overhead
        for item in view.items:
            if item in changed:
                break
            position += session.tokens[item]
        self._prefix = min(self._prefix, position)

    def end(self, call: Call, config: Config, raw: int, sent: int, output: int) -> None:
        """The call goes out with `sent` tokens (without layers it would be `raw`) and is answered by `output`."""
        price = self._price(call.model, config)
        now = seconds(call.timestamp)
        life = TTL_SECONDS[config.cost.ttl]
        warm = self._last > 0.0 and now - self._last <= life
        write = price.cache_write_1h if config.cost.ttl == "1h" else price.cache_write_5m
        answer = output * price.output
        read = min(self._prefix, sent) if warm else 0
        self.sent += (read * price.cache_read + (sent - read) * write + answer) / _MILLION + self._summaries
        read = min(self._raw_prefix, raw) if warm else 0
        self.raw += (read * price.cache_read + (raw - read) * write + answer) / _MILLION
        self._summaries = 0.0
        self._prefix, self._raw_prefix, self._last = sent, raw, now

    def _price(self, model: str, config: Config) -> Price:
        name = config.cost.model or model
        price = price_for(name)
        self.models.add(f"{name or 'an unknown model'} (assumed)" if price.assumed else name)
        return price
