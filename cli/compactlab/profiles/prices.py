"""What tokens cost, from a dated table of list prices: `prices.toml`. USD per million tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from compactlab.profiles.data import read
from compactlab.profiles.naming import rule_for


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of one model in USD per million tokens.

    `rule` names the row of the table ("opus 4.5"), `as_of` its date; `assumed` marks what was not published.
    """

    rule: str
    input: float
    output: float
    cache_write_5m: float
    cache_write_1h: float
    cache_read: float
    assumed: bool
    as_of: str


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return read("prices.toml")


def as_of() -> str:
    """The date of the table, as YYYY-MM-DD."""
    return str(_data()["as_of"])


@lru_cache(maxsize=512)
def price_for(model: str | None) -> Price:
    """The prices of a model; an unknown name has the default row, marked as assumed."""
    data = _data()
    label, rule = rule_for(model, data)
    cache = data["cache"]
    price = float(rule["input"])
    return Price(
        rule=label,
        input=price,
        output=float(rule["output"]),
        cache_write_5m=_rounded(price * cache["write_5m"]),
        cache_write_1h=_rounded(price * cache["write_1h"]),
        cache_read=_rounded(price * cache["read"]),
        assumed=bool(rule.get("assumed", False)),
        as_of=str(data["as_of"]),
    )


def _rounded(price: float) -> float:
    return round(price, 6)  # 0.1 × 3 is 0.3, not 0.30000000000000004
