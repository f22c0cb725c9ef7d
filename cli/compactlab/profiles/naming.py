"""Model names: family and version, and the rule of a data file that holds for them.

Understands "claude-opus-4-5-20251101", "claude-3-5-sonnet-20241022", "claude-opus-4.5@20251101" and the same
with the prefix or suffix of a cloud vendor. A number of more than two digits is a date, not a version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(
    r"claude-(?:(?P<before>\d{1,2}(?:[-.]\d{1,2})?)-)?(?P<family>[a-z]+)"
    r"(?:-(?P<after>\d{1,2}(?:[-.]\d{1,2})?)(?!\d))?"
)
#: The suffix by which the program asks for the long window; transcripts drop it.
LONG_SUFFIX = "[1m]"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A family ("opus") and its version as whole numbers: (4, 5)."""

    family: str
    version: tuple[int, ...]


def parse_model(name: str | None) -> ModelName | None:
    """Family and version of a model's name, None where it does not look like one of the known vendor."""
    match = _NAME.search((name or "").lower())
    if match is None:
        return None
    return ModelName(match["family"], dotted(match["before"] or match["after"] or "0"))


def dotted(text: str) -> tuple[int, ...]:
    """The whole numbers of "4.5" or "4-5"."""
    return tuple(int(part) for part in text.replace("-", ".").split("."))


def rule_for(name: str | None, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The label and the rule of a model: the newest of its family not newer than it, else the default."""
    parsed = parse_model(name)
    rules = data.get(parsed.family) if parsed else None
    if parsed is None or not isinstance(rules, list):
        return "default", data["default"]
    fitting = [rule for rule in rules if dotted(rule["from"]) <= parsed.version]  # one is from "0"
    best = max(fitting, key=lambda rule: dotted(rule["from"]))
    return f"{parsed.family} {best['from']}", best
