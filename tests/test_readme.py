"""The README shows what the commands print. `ACCEPT_GOLDEN=1 pytest` writes the new output into it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"<!-- output: compactlab (.+?) -->\n(?:```text\n.*?```\n)?<!-- end -->", re.DOTALL)


def shown(arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "compactlab", *shlex.split(arguments)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return f"<!-- output: compactlab {arguments} -->\n```text\n{done.stdout.decode()}```\n<!-- end -->"


def test_the_readme_shows_what_the_commands_print() -> None:
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    fresh = BLOCK.sub(lambda match: shown(match[1]), text)
    assert fresh.count("```text") == 2
    if os.environ.get("ACCEPT_GOLDEN"):
        path.write_text(fresh, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == fresh


def test_the_readme_names_every_command_and_no_other() -> None:
    from compactlab.commands import COMMANDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`compactlab ([a-z]+)", text))
    assert named == set(COMMANDS)
