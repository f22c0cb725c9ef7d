"""Imports run one way, third parties stay in their rooms, modules and functions stay small."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "cli" / "compactlab"

#: A room may import rooms of a lower floor, and itself. Rooms of one floor do not know each other.
FLOORS = {
    "errors": 0,
    "model": 0,
    "profiles": 1,
    "config": 2,
    "ingest": 3,
    "tokens": 4,
    "memory": 5,
    "summaries": 6,
    "layers": 7,
    "invariants": 7,
    "engine": 8,
    "render": 8,
    "api": 9,
    "commands": 10,
    "app": 11,
    "__main__": 12,
}

#: Where each third party may be imported.
ROOMS = {
    "orjson": {"ingest", "render"},
    "tiktoken": {"tokens"},
    "pandas": {"analysis", "render"},
    "matplotlib": {"render"},
    "typer": {"app", "commands"},
    "rich": {"render", "app", "commands"},
}

#: The standard library is all that the model needs.
MODEL_ONLY = {"__future__", "collections", "dataclasses", "datetime", "typing", "compactlab"}

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "compactlab":
                yield from (f"compactlab.{alias.name}" for alias in node.names)


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_run_one_way(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in FLOORS, f"{room} has no floor: say where it belongs"
    for module in imports(ast.parse(path.read_text(encoding="utf-8"))):
        parts = module.split(".")
        if parts[0] == "compactlab" and len(parts) > 1 and parts[1] != room and parts[1] != "__version__":
            assert FLOORS[parts[1]] < FLOORS[room], f"{name(path)} imports {module}"
        if parts[0] in ROOMS:
            assert room in ROOMS[parts[0]], f"{name(path)} imports {parts[0]}"
        if room == "model":
            assert parts[0] in MODEL_ONLY, f"{name(path)} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_modules_and_functions_are_small_and_described(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert text.count("\n") <= 300
    assert ast.get_docstring(tree), "a module says what is in it"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name
        public = isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
        if public and node in tree.body:
            assert ast.get_docstring(node), f"{node.name} has no docstring"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_fault_is_hidden_and_no_clock_is_read(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    room = room_of(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            names = (
                {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
                if node.type
                else {"everything"}
            )
            broad = names & {"everything", "Exception", "BaseException"}
            assert not broad or room in ("app", "render", "commands"), f"{name(path)}:{node.lineno}"
    core = room in (
        "model",
        "ingest",
        "tokens",
        "layers",
        "invariants",
        "memory",
        "summaries",
        "engine",
        "profiles",
    )
    if core:
        banned = {"random", "time", "os", "locale", "socket", "subprocess", "urllib"}
        used = {module.split(".")[0] for module in imports(tree)}
        assert not used & banned, f"{name(path)} imports {used & banned}"
