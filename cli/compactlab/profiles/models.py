"""Context window and output limit of a model, in tokens. The rules are data: `models.toml`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from compactlab.profiles.data import read
from compactlab.profiles.naming import LONG_SUFFIX, rule_for

#: The window of a name that asks for the long one, in tokens.
LONG_WINDOW = 1_000_000


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return read("models.toml")


@lru_cache(maxsize=512)
def window_for(model: str | None) -> int:
    """The context window of a model in tokens; 200,000 where the name is unknown."""
    if (model or "").lower().endswith(LONG_SUFFIX):
        return LONG_WINDOW
    return int(rule_for(model, _data())[1]["window"])


@lru_cache(maxsize=512)
def max_output(model: str | None) -> int:
    """The most tokens that a model writes in one response; 32,000 where the name is unknown."""
    return int(rule_for(model, _data())[1]["max_output"])
