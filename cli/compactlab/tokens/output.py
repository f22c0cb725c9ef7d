"""Which output figure the running program had for a response.

The file often holds a stub: the figure of the stream's start. Some versions knew the true one all the
same ("program"), others worked with what the file holds ("last_line"): a key of the profile, measured on
recorded boundaries.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from compactlab.model.transcript import Call, Transcript
from compactlab.tokens.table import TokenTable


class Preset(NamedTuple):
    """Output tokens = per_estimate × estimate + per_tool a tool_use + per_signature × signature characters.

    Fitted on responses whose recorded output can be trusted (median error under a tenth).
    """

    per_estimate: float
    per_tool: int
    per_signature: float


#: Models up to 4.6 write their thinking out; in later ones its text is empty or cut, and the signature grows with it.
WRITTEN_THINKING = Preset(1.14, 82, 0.0)
HIDDEN_THINKING = Preset(1.54, 60, 0.226)

#: A recorded figure under this share of the estimate is a stub: in recordings stubs stay under 0.25 of it,
#: true figures over 0.6.
STUB_SHARE = 0.5

_MODEL_VERSION = re.compile(r"(?:opus|sonnet|haiku|fable)-(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?")


@lru_cache(maxsize=256)
def preset_for(model: str) -> Preset:
    """The preset of a model's generation; models whose name says nothing count as the newest."""
    match = _MODEL_VERSION.search(model)
    if match is None:
        return WRITTEN_THINKING if "claude-3" in model else HIDDEN_THINKING
    version = (int(match[1]), int(match[2] or 0))
    return WRITTEN_THINKING if version <= (4, 6) else HIDDEN_THINKING


class OutputFigure(NamedTuple):
    """Output tokens of one response as the program had them; `estimated` where the file lacks the figure."""

    tokens: int
    estimated: bool


def output_figure(transcript: Transcript, call: Call, table: TokenTable, mode: str) -> OutputFigure:
    """The figure for one call. `mode` is the profile's `tokens.output_figure`: last_line or program."""
    if mode == "last_line":
        return OutputFigure(call.usage.output, False)
    expected = expected_output(transcript, call, table)
    if call.output_max >= STUB_SHARE * expected:
        return OutputFigure(call.output_max, False)
    return OutputFigure(max(expected, call.output_max), True)


def expected_output(transcript: Transcript, call: Call, table: TokenTable) -> int:
    """Output tokens that the response's own blocks make likely."""
    preset = preset_for(call.model)
    text = tools = signature = 0
    for index in call.lines:
        for block in transcript.messages[index].blocks:
            if block.kind == "thinking" and preset.per_signature:
                value = block.raw.get("signature")
                signature += len(value) if isinstance(value, str) else 0
                continue
            text += table.estimate_of(block)
            tools += block.kind == "tool_use"
    return round(preset.per_estimate * text + preset.per_tool * tools + preset.per_signature * signature)
