"""Help pages as they stand in `tests/golden/help`, and how fast they come.

`ACCEPT_GOLDEN=1 pytest tests/test_help.py` writes the new pages; then read the diff.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compactlab.app import run
from compactlab.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "help"
GROUPS = {"config": ("show", "check", "schema", "profiles")}
PAGES = [(), *((name,) for name in COMMANDS), *((group, name) for group in GROUPS for name in GROUPS[group])]
HEAVY = ("rich", "pandas", "numpy", "matplotlib", "tiktoken", "orjson", "pydantic")


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether what comes out is to become the golden page."""
    monkeypatch.setenv("COLUMNS", "80")
    return bool(os.environ.get("ACCEPT_GOLDEN"))


@pytest.mark.parametrize("words", PAGES, ids=lambda words: "-".join(("compactlab", *words)))
def test_help_pages(words: tuple[str, ...], accepted: bool, capfd: pytest.CaptureFixture[str]) -> None:
    path = GOLDEN / f"{'-'.join(('compactlab', *words))}.txt"
    assert run([*words, "--help"]) == 0
    page, errors = capfd.readouterr()
    if accepted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    assert page == path.read_text(encoding="utf-8")
    assert max(map(len, page.splitlines())) <= 80
    assert errors == ""


def test_there_is_a_page_for_every_command_and_no_other() -> None:
    pages = {"-".join(("compactlab", *words)) for words in PAGES}
    assert {path.stem for path in GOLDEN.iterdir()} == pages


@pytest.mark.parametrize("words", PAGES, ids=lambda words: "-".join(("compactlab", *words)))
def test_short_and_long_help_are_the_same(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    long = capfd.readouterr()
    assert run([*words, "-h"]) == 0
    assert capfd.readouterr() == long


@pytest.mark.parametrize("words", [(), ("config",)], ids=["compactlab", "config"])
def test_a_group_without_a_command_shows_its_page_and_exits_with_2(
    words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    page = capfd.readouterr()
    assert run(words) == 2
    assert capfd.readouterr() == page


def imported(*arguments: str) -> set[str]:
    """The modules that a run of Python imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize("words", [(), ("replay",), ("config", "show")], ids=" ".join)
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    """Start-up is a matter of imports. The clock is not asked, since other work on the machine sways it.

    Old versions of typer import rich by themselves.
    """
    names = imported("-m", "compactlab", *words, "--help")
    assert "typer.core" in names
    assert not [name for name in names - imported("-c", "import typer") if name.split(".")[0] in HEAVY]
    assert not [name for name in names if name.startswith(("compactlab.api", "compactlab.engine"))]
    assert not (words == () and "compactlab.commands.replay" in names)
