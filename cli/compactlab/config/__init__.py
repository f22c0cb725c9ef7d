"""The settings: what they are, where they come from, which one wins.

`Config` is the value that the core takes; `resolve` makes it from files, variables and options. Standard
library only. Who may use it: everybody below `commands`; only `commands` passes in the environment.

The names here are loaded when they are first asked for, so that a command without settings does not pay
for the tables of the schema.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compactlab.config.errors import ConfigError
    from compactlab.config.load import Settings, resolve
    from compactlab.config.schema import Config, digest, schema_rows, to_dict
    from compactlab.config.write import reference_text, to_toml

__all__ = [
    "Config",
    "ConfigError",
    "Settings",
    "digest",
    "reference_text",
    "resolve",
    "schema_rows",
    "to_dict",
    "to_toml",
]

_HOMES = {
    "ConfigError": "errors",
    "Settings": "load",
    "resolve": "load",
    "Config": "schema",
    "digest": "schema",
    "schema_rows": "schema",
    "to_dict": "schema",
    "reference_text": "write",
    "to_toml": "write",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
