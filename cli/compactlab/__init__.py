"""compactlab: replay recorded agent sessions through context compaction, offline.

The public functions are `load`, `replay`, `check` and `validate`; each returns plain values with
`to_dict()`. Importing this package imports none of its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from compactlab.api import check, load, replay, validate

__all__ = ["__version__", "check", "load", "replay", "validate"]


def __getattr__(name: str) -> Any:
    if name in ("check", "load", "replay", "validate"):
        from compactlab import api

        return getattr(api, name)
    raise AttributeError(f"module 'compactlab' has no attribute {name!r}")
