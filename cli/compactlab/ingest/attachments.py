"""What an attachment record puts in front of the model, as far as its text can be known from the record.

A type that is not named here counts as its compact JSON, which is what its rendering grows with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: Kept for the user or the program; never part of a request.
SILENT = frozenset(
    {
        "hook_system_message",
        "hook_cancelled",
        "hook_non_blocking_error",
        "hook_error_during_execution",
        "hook_permission_decision",
        "command_permissions",
        "structured_output",
        "already_read_file",
    }
)

#: Written by a compaction when they stand between its summary and the next prompt or response.
RESTORED = frozenset(
    {
        "file",
        "compact_file_reference",
        "plan_file_reference",
        "plan_mode",
        "invoked_skills",
        "skill_listing",
        "task_status",
        "deferred_tools_delta",
        "agent_listing_delta",
        "mcp_instructions_delta",
        "nested_memory",
        "hook_success",
        "hook_additional_context",
        "hook_system_message",
        "async_hook_response",
        "auto_mode",
    }
)


def _text(value: Any) -> list[str]:
    """Every string below a value, in document order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _text(item)]
    if isinstance(value, list):
        return [text for item in value for text in _text(item)]
    return []


def _field(*names: str) -> Callable[[Mapping[str, Any]], list[str]]:
    return lambda attachment: [text for name in names for text in _text(attachment.get(name))]


def _file(attachment: Mapping[str, Any]) -> list[str]:
    content = attachment.get("content")
    if isinstance(content, Mapping) and isinstance(content.get("file"), Mapping):
        return _text(content["file"].get("content"))
    return _text(content)


_RENDERED: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "file": _file,
    "nested_memory": lambda a: (
        _text(a["content"].get("content"))
        if isinstance(a.get("content"), Mapping)
        else _text(a.get("content"))
    ),
    "hook_success": _field("content"),
    "hook_additional_context": _field("content"),
    "queued_command": _field("prompt"),
    "skill_listing": _field("content"),
    "deferred_tools_delta": _field("addedLines", "removedNames"),
    "agent_listing_delta": _field("addedLines", "removedTypes"),
    "mcp_instructions_delta": _field("addedBlocks", "removedNames"),
    "edited_text_file": _field("filename", "snippet"),
    "compact_file_reference": _field("filename"),
}


def rendered(attachment: Mapping[str, Any]) -> list[str] | None:
    """The texts that the model sees, [] for none; None where only the JSON is known."""
    kind = attachment.get("type")
    if not isinstance(kind, str):
        return None
    if kind in SILENT:
        return []
    render = _RENDERED.get(kind)
    return None if render is None else render(attachment)
