"""One broken rule, before the replay adds call and layer."""

from __future__ import annotations

from typing import NamedTuple


class Broken(NamedTuple):
    """`key` tells two places of the same rule apart (a tool id, a response id); `message` is a message id or -1.

    `severity` is set where the place is milder than the rule's own severity.
    """

    code: str
    key: str
    message: int
    text: str
    severity: str = ""
