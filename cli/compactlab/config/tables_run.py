"""The settings of a run as a whole: counting, window, memory, summaries, money, injected faults.

One frozen class a TOML table, attribute names as in the file. Not here: the layers (`tables_layers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from compactlab.config.fields import key

if TYPE_CHECKING:
    from fractions import Fraction

COUNTERS = ("auto", "recorded", "heuristic", "o200k_base", "cl100k_base")


@lru_cache(maxsize=256)
def _as_ratio(value: float) -> Fraction:
    from fractions import Fraction

    return Fraction(value).limit_denominator(1000)


@dataclass(frozen=True, slots=True)
class Tokens:
    """[tokens]: how text becomes a number of tokens."""

    counter: str = key(
        "auto", "Counter; auto takes recorded where enough calls have usage, else heuristic", choices=COUNTERS
    )
    chars_per_token: float = key(
        4.0, "Length that the estimate takes for one token", "UTF-16 units a token", above=0, high=1000
    )
    image_tokens: int = key(2000, "Estimate of one image or document", "tokens")
    pad: float = key(
        4 / 3, "Factor of the padded estimate, read as a small fraction", "ratio", low=1, high=100
    )
    output_figure: str = key(
        "program",
        "Output figure that counts: that of the last line, or what the program knew; set by the profile",
        choices=("last_line", "program"),
    )
    read_reminder: bool = key(
        True, "Whether the estimate of the tail counts the reminder that Read appends; set by the profile"
    )

    @property
    def pad_ratio(self) -> Fraction:
        """`pad` as an exact fraction with a denominator of at most 1,000: 4/3 by default."""
        return _as_ratio(self.pad)


@dataclass(frozen=True, slots=True)
class Window:
    """[window]: the context window and the distances that its thresholds keep from it, in tokens."""

    tokens: int = key(0, "Context window; 0 infers it from the session and its model", "tokens")
    reserve_cap: int = key(
        20_000, "Most that is held back for the answer; recorded, set by the profile", "tokens"
    )
    auto_buffer: int = key(13_000, "Auto-compact fires this far below the effective window", "tokens")
    warning_buffer: int = key(20_000, "Warning, and token-threshold micro-compact, below auto", "tokens")
    blocking_buffer: int = key(3_000, "Calls are refused this far below the effective window", "tokens")
    auto_compact_window: int = key(0, "Cap on the window for auto-compact; 0 is unset", "tokens")
    pct_override: float = key(
        0.0, "Lowers the auto threshold to this share of the effective window; 0 is unset", "percent", low=0,
        high=100,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Memory:
    """[memory]: when session memory is extracted during a replay (a schedule reported by users)."""

    init_tokens: int = key(10_000, "Context at which memory is extracted first", "tokens")
    update_tokens: int = key(5_000, "Growth of the context before memory is updated", "tokens")
    tool_calls_between: int = key(3, "Tool calls before memory is updated, unless there is a pause", "calls")
    duration_seconds: float = key(0.0, "Recorded time that an extraction takes", "seconds", low=0)


@dataclass(frozen=True, slots=True)
class Summary:
    """[summary]: where the text of a summary comes from; a model is never asked."""

    source: str = key(
        "stub", "stub, recorded, cache, fixed:N (tokens) or ratio:R (share of what is replaced, up to 1)"
    )
    size: int = key(4_000, "Most that the stub writes", "tokens", low=1)
    cache: str = key("", "Directory of the summary store; empty takes the usual place")
    on_miss: str = key("stub", "What a cache miss does", choices=("error", "stub"))

    @property
    def kind(self) -> str:
        """The word of `source`: stub, fixed, ratio, recorded or cache."""
        return self.source.partition(":")[0]

    @property
    def fixed_tokens(self) -> int | None:
        """N of "fixed:N" in tokens, None for any other source."""
        return int(self.source.partition(":")[2]) if self.kind == "fixed" else None

    @property
    def ratio(self) -> float | None:
        """R of "ratio:R", a share in (0, 1], None for any other source."""
        return float(self.source.partition(":")[2]) if self.kind == "ratio" else None


@dataclass(frozen=True, slots=True)
class Cost:
    """[cost]: whose prices count, and how long the prompt cache lives."""

    model: str = key("", "Model whose prices count; empty takes the model of each call")
    ttl: str = key(
        "5m", "Lifetime of the prompt cache; auto goes by the recorded usage", choices=("5m", "1h", "auto")
    )


@dataclass(frozen=True, slots=True)
class Faults:
    """[faults]: failures injected by a fixed list, since no API is there to fail. Calls count from 0."""

    summary_fails_at: tuple[int, ...] = key((), "Calls at which the summary request fails", "call numbers")
    overflow_at: tuple[int, ...] = key((), "Calls that the API refuses as too long", "call numbers")
