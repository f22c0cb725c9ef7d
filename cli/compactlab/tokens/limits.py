"""The window and the thresholds that follow from it. All figures in tokens."""

from __future__ import annotations

import math
from typing import NamedTuple

from compactlab.config.load import Settings
from compactlab.config.schema import Config
from compactlab.model.transcript import Transcript
from compactlab.profiles.models import max_output, window_for

#: A recorded context over this proves the long window.
STANDARD_WINDOW = 200_000
LONG_WINDOW = 1_000_000


class Window(NamedTuple):
    """Tokens of the context window; `inferred` where nobody gave it."""

    tokens: int
    inferred: bool


class Thresholds(NamedTuple):
    """`effective` = (capped) window − `reserve`; compaction starts at `auto`; a call must fit `window` itself."""

    window: int
    reserve: int
    effective: int
    auto: int
    warning: int
    blocking: int


def find_window(transcript: Transcript, config: Config) -> Window:
    """The configured window, else the long one where a recorded context proves it, else the newest model's.

    The transcript's model names drop the suffix that marks the long window, hence the proof by size.
    """
    if config.window.tokens > 0:
        return Window(config.window.tokens, False)
    if any(call.usage.context > STANDARD_WINDOW for call in transcript.calls):
        return Window(LONG_WINDOW, True)
    if not transcript.calls:
        return Window(STANDARD_WINDOW, True)
    return Window(max(window_for(call.model) for call in transcript.calls[-1:]), True)


def thresholds(config: Config, window: int, model: str) -> Thresholds:
    """Thresholds of one call. `auto_compact_window` and `pct_override` only ever lower the trigger."""
    settings = config.window
    capped = min(window, settings.auto_compact_window) if settings.auto_compact_window > 0 else window
    reserve = min(max_output(model), settings.reserve_cap)
    effective = capped - reserve
    auto = effective - settings.auto_buffer
    if settings.pct_override > 0:
        auto = min(math.floor(effective * settings.pct_override / 100), auto)
    return Thresholds(
        window, reserve, effective, auto, auto - settings.warning_buffer, effective - settings.blocking_buffer
    )


def limit_warnings(config: Config, window: int, model: str) -> tuple[str, ...]:
    """What a user should know about an override that hardly or never does anything."""
    settings = config.window
    if settings.pct_override <= 0:
        return ()
    plain = window - min(max_output(model), settings.reserve_cap)
    if settings.pct_override < 1:
        return (f"window.pct_override = {settings.pct_override}: a percentage is meant, not a share of 1",)
    if math.floor(plain * settings.pct_override / 100) >= plain - settings.auto_buffer:
        return (
            f"window.pct_override = {settings.pct_override} has no effect: it can only lower the threshold",
        )
    return ()


class CallLimits:
    """Configuration and thresholds of any call of a session: by its version's profile and its model."""

    def __init__(self, settings: Settings, window: Window) -> None:
        self._settings = settings
        self._window = window.tokens
        self._found: dict[tuple[str, str], tuple[Config, Thresholds]] = {}

    def of(self, version: str, model: str) -> tuple[Config, Thresholds]:
        """The settings that hold for one call."""
        found = self._found.get((version, model))
        if found is None:
            config = self._settings.for_version(version or None)
            found = self._found[version, model] = (config, thresholds(config, self._window, model))
        return found
