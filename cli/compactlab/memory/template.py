"""The sections of a session memory, and the test for one that nobody has filled in."""

from __future__ import annotations

import re

SECTIONS = (
    "Session Title",
    "Current State",
    "Task specification",
    "Files and Functions",
    "Workflow",
    "Errors & Corrections",
    "Codebase and System Documentation",
    "Learnings",
    "Key results",
    "Worklog",
)

TRUNCATED = "[... section truncated for length ...]"


def is_empty(memory: str) -> bool:
    """Whether a memory holds nothing but headings, the template's italic hints and white space."""
    body = re.sub(r"^#.*$|^_.*_\s*$", "", memory, flags=re.MULTILINE)
    return not body.strip()


def truncate_sections(memory: str, max_tokens: int) -> tuple[str, bool]:
    """Each section cut at a line end to `max_tokens` × 4 characters; headings stay. (text, whether any was cut)"""
    limit = max_tokens * 4
    parts = re.split(r"(?m)^(?=# )", memory)
    cut = False
    kept = []
    for part in parts:
        heading, newline, body = part.partition("\n")
        if len(body) > limit:
            head = body[:limit]
            body = head[: head.rfind("\n") + 1] if "\n" in head else head
            body = body.rstrip("\n") + f"\n{TRUNCATED}\n"
            cut = True
        kept.append(heading + newline + body)
    return "".join(kept), cut
