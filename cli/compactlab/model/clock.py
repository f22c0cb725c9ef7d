"""Recorded time: ISO timestamps of the transcript as seconds. There is no other clock."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(timestamp: str) -> float:
    """Seconds since 1970 of an ISO timestamp, 0.0 where it cannot be read. Naive times count as UTC."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
