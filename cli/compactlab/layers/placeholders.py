"""The texts that stand where content was taken out, as the recording program writes them."""

from __future__ import annotations

CLEARED = "[Old tool result content cleared]"
PERSISTED_START = "<persisted-output>"
PERSISTED_END = "</persisted-output>"


def preview(content: str, units: int, path: str, preview_bytes: int) -> str:
    """The preview of a result that went to disk: its first bytes, cut back to a newline in their second half.

    `units` is the result's size in UTF-16 units, `path` the name that the preview gives; it is never opened.
    """
    head = content.encode("utf-8", "replace")[:preview_bytes].decode("utf-8", "ignore")
    newline = head.rfind("\n")
    if len(head) < len(content) and newline >= len(head) // 2:
        head = head[:newline]
    more = "\n..." if len(head) < len(content) else ""
    return (
        f"{PERSISTED_START}\nOutput too large ({_size(units)}). Full output saved to: {path}\n\n"
        f"Preview (first {_size(preview_bytes)}):\n{head}{more}\n{PERSISTED_END}"
    )


def _size(count: int) -> str:
    if count < 1024:
        return f"{count}B"
    kilobytes = count / 1024
    return f"{kilobytes:.1f}KB".replace(".0KB", "KB") if kilobytes < 1024 else f"{kilobytes / 1024:.1f}MB"
