"""The map from an error to an exit code and one line."""

from __future__ import annotations

import errno
import importlib
import os
import pickle
import subprocess
import sys

import pytest

from compactlab import errors
from compactlab.errors import describe


def made_like(full_name: str, base: type[Exception]) -> type[Exception]:
    """A class that says it is `full_name`, as the real one does."""
    module, _, name = full_name.rpartition(".")
    return type(name, (base,), {"__module__": module})


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (errors.CheckFailed("2 errors"), 1, "2 errors"),
        (errors.UsageError("no such option"), 2, "no such option"),
        (errors.InputError("a.jsonl:3: not JSON"), 3, "a.jsonl:3: not JSON"),
        (errors.ResourceError("summary not in the store"), 4, "summary not in the store"),
        (errors.Interrupted(), 130, "interrupted"),
        (errors.LabError("own code", exit_code=3), 3, "own code"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 0, ""),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.jsonl"), 3, "x.jsonl: No such file"),
        (PermissionError(errno.EACCES, "Permission denied", b"x.jsonl"), 3, "x.jsonl: Permission denied"),
        (OSError(errno.EXDEV, "Cross-device link", "a", None, "b"), 3, "a -> b: Cross-device link"),
        (OSError("just text"), 3, "just text"),
        (OSError(), 3, "OSError"),
        (MemoryError(), 4, "not enough memory; try fewer inputs at once"),
        (SystemExit(), 0, ""),
        (SystemExit(5), 5, ""),
        (SystemExit("said\nso"), 1, "said so"),
        (made_like("compactlab.config.load.ConfigError", ValueError)("a.toml: snp"), 2, "a.toml: snp"),
        (made_like("compactlab.tokens.bpe.VocabularyError", RuntimeError)("no ranks"), 4, "no ranks"),
    ],
)  # fmt: skip
def test_each_error_has_its_code_and_line(error: BaseException, code: int, message: str) -> None:
    assert describe(error) == (code, message)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("compactlab.config.load.ConfigError", 2),
        ("compactlab.profiles.catalog.ProfileError", 2),
        ("compactlab.tokens.bpe.VocabularyError", 4),
    ],
)
def test_the_names_are_those_of_the_real_classes(name: str, code: int) -> None:
    module, _, attribute = name.rpartition(".")
    real = getattr(importlib.import_module(module), attribute)
    told = type("Told", (real,), {"__init__": lambda self: None, "__str__": lambda self: "one line"})
    assert describe(told()) == (code, "one line")


def test_an_error_that_carries_a_code_and_formats_itself_is_believed() -> None:
    class Click(Exception):
        exit_code = 2

        def format_message(self) -> str:
            return "No such option: --windw"

    assert describe(Click()) == (2, "No such option: --windw")


def test_anything_else_is_a_bug_with_its_place_and_how_to_report_it() -> None:
    try:
        {}["key\nof two lines"]
    except KeyError as caught:
        code, message = describe(caught)
    assert code == 70
    assert message.startswith("this is a bug in compactlab: KeyError: ")
    assert "(test_errors.py:" in message
    assert os.sep + "tests" not in message
    assert message.endswith("; please report it with the command and `compactlab --version`")
    assert "\n" not in message


def test_a_bug_without_text_or_traceback_and_a_bare_lab_error() -> None:
    assert describe(RuntimeError())[1].startswith("this is a bug in compactlab: RuntimeError; ")
    assert describe(errors.LabError("odd"))[0] == 70
    assert "LabError: odd" in describe(errors.LabError("odd"))[1]


def test_a_message_is_one_line_and_cannot_steer_the_terminal() -> None:
    error = errors.InputError("bad\r\n  name \x1b[2J\u202e\ud800 here")
    assert describe(error) == (3, "bad name \\x1b[2J\\u202e\\ud800 here")
    assert error.message == "bad name \\x1b[2J\\u202e\\ud800 here"
    assert errors.LabError.__new__(errors.LabError).message == ""


def test_errors_survive_the_way_from_a_worker_process() -> None:
    error = pickle.loads(pickle.dumps(errors.LabError("no", exit_code=4)))
    assert describe(error) == (4, "no")
    assert describe(pickle.loads(pickle.dumps(errors.Interrupted()))) == (130, "interrupted")


def test_importing_errors_render_and_sinks_loads_nothing_heavy() -> None:
    code = (
        "import sys, compactlab.errors, compactlab.render, compactlab.render.sinks, compactlab.render.text;"
        "print([m for m in ('rich', 'orjson', 'pandas', 'typer') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment()
    )
    assert done.stdout.strip() == "[]"


def _environment() -> dict[str, str]:
    """The child finds the same packages as this process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
