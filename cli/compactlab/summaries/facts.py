"""What an extractive summary can name: the user's words, files, commands, errors, open todo items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compactlab.tokens.session import Session
from compactlab.tokens.table import result_texts

_PATH_KEYS = ("file_path", "path", "notebook_path")
_WRITERS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


@dataclass(slots=True)
class Facts:
    """Short texts in the order in which they first came up. Each list keeps the newest mention last."""

    prompts: list[str] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    commands: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    tools: dict[str, int] = field(default_factory=dict)
    todos: list[str] = field(default_factory=list)
    last_text: str = ""


def gather(session: Session, messages: list[int]) -> Facts:
    """Walk the messages once."""
    facts = Facts()
    pending = ""
    for index in messages:
        message = session.messages[index]
        for block in message.blocks:
            if message.role == "assistant" and block.kind == "tool_use":
                value = block.raw.get("input")
                _tool_use(facts, block.name, value if isinstance(value, dict) else {})
                if pending:
                    facts.errors.append(f"{pending} -> then {block.name}")
                    pending = ""
            elif block.kind == "text":
                text = _line(block.raw.get("text"), 400)
                if message.role == "assistant":
                    facts.last_text = text or facts.last_text
                elif message.kind == "prompt" and text:
                    facts.prompts.append(text)
            elif block.kind == "tool_result" and block.raw.get("is_error") is True:
                name = session.tool_names.get(block.tool_id, "tool")
                pending = f"{name}: {_line(' '.join(result_texts(block.raw.get('content'))), 160)}"
    if pending:
        facts.errors.append(pending)
    return facts


def _tool_use(facts: Facts, name: str, value: Mapping[str, Any]) -> None:
    facts.tools[name] = facts.tools.get(name, 0) + 1
    for key in _PATH_KEYS:
        path = value.get(key)
        if isinstance(path, str) and path:
            _touch(facts.written if name in _WRITERS else facts.read, path)
    command = value.get("command")
    if isinstance(command, str) and command:
        _touch(facts.commands, _line(command, 160))
    todos = value.get("todos")
    if name == "TodoWrite" and isinstance(todos, list):
        facts.todos = [
            _line(item.get("content"), 160)
            for item in todos
            if isinstance(item, dict) and item.get("status") != "completed" and item.get("content")
        ]


def _touch(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.pop(key, 0) + 1


def _line(value: Any, limit: int) -> str:
    text = " ".join(value[: limit * 4].split()) if isinstance(value, str) else ""
    return text if len(text) <= limit else text[: limit - 1] + "…"
