"""Sharing an integer out in proportion to weights, without losing or making a token."""

from __future__ import annotations

from collections.abc import Sequence


def share(total: int, weights: Sequence[int]) -> list[int]:
    """Integers in proportion to the weights that add up to `total` (largest remainder, ties to the first).

    All weights zero: everything goes to the first. No weights: an empty list.
    """
    if not weights:
        return []
    whole = sum(weights)
    if whole == 0:
        return [total] + [0] * (len(weights) - 1)
    parts = [total * weight // whole for weight in weights]
    left = total - sum(parts)
    if left:
        remainders = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
        for i in remainders[:left]:
            parts[i] += 1
    return parts
