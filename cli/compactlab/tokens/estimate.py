"""The recording program's own estimate: length / 4 per text, rounded half up, images at a fixed price.

Measured exact on recordings: see the profiles. Counts are additive over blocks.
"""

from __future__ import annotations

import math
from fractions import Fraction

from compactlab.model.transcript import Block, Message

REMINDER_END = "</system-reminder>"

#: Tokens by which early versions counted a Read result with its reminder lower than its text: measured on
#: three recordings, the same in each, and more than the reminder's own length explains.
REMINDER_TOKENS = 183


def text_tokens(units: int, chars_per_token: float = 4) -> int:
    """Tokens of a text of so many UTF-16 units, half up."""
    return math.floor(units / chars_per_token + 0.5)


def block_tokens(block: Block, chars_per_token: float = 4, image_tokens: int = 2000) -> int:
    """Tokens of a block: the sum over its counted texts plus its images."""
    if chars_per_token == 4:
        total = 0
        for units in block.lengths:
            total += (units + 2) >> 2
    else:
        total = sum(text_tokens(units, chars_per_token) for units in block.lengths)
    return total + block.images * image_tokens


def message_tokens(message: Message, chars_per_token: float = 4, image_tokens: int = 2000) -> int:
    """Tokens of a message: the sum over its blocks; system records have none."""
    total = 0
    for block in message.blocks:
        total += block_tokens(block, chars_per_token, image_tokens)
    return total


def padded(tokens: int, pad: Fraction) -> int:
    """The padded estimate of one message: tokens × pad, rounded up."""
    return -(-tokens * pad.numerator // pad.denominator)


def has_reminder(block: Block) -> bool:
    """Whether a result's text ends with the reminder that the Read tool appends."""
    content = block.raw.get("content")
    return isinstance(content, str) and content.rstrip().endswith(REMINDER_END)
