"""One command a file: arguments in, a result out. No arithmetic, no printing.

This list is all that the root needs for its help page; a command's module is imported when it is called.
"""

from __future__ import annotations

#: Name -> what it does, in the order of the help page. The module of a command has its name.
COMMANDS = {
    "replay": "Replay sessions through the layers: savings, boundaries, violations.",
    "inspect": "Show what a session holds: tokens, calls, compactions, faults.",
    "check": "Check the invariants on the recording and on what a replay sends.",
    "validate": "Compare predicted with recorded compactions.",
    "layers": "List the compaction layers in their order.",
    "explain": "Say what an invariant's code means and what to do.",
    "config": "Show, check and describe the settings.",
}
