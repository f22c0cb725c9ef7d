"""The command line as a user meets it: exit codes, one line for every mistake, the same bytes everywhere."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
SESSION = str(FIXTURES / "parallel-tools.jsonl")


def run(
    *arguments: str, cwd: Path = ROOT, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("COMPACTLAB_", "COV_"))}
    return subprocess.run(
        [sys.executable, "-m", "compactlab", *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env=clean | env,
        timeout=120,
        check=False,
    )


def one_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """The only line on stderr; never a traceback."""
    text = done.stderr.decode()
    assert "Traceback" not in text
    (line,) = text.splitlines()
    assert line.startswith("compactlab: ")
    return line


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("repaly", SESSION), 2, "did you mean 'replay'"),
        (("replay",), 2, "no input: give a transcript"),
        (("replay", "nowhere.jsonl"), 3, "nowhere.jsonl: no such file"),
        (("replay", SESSION, "--fromat", "json"), 2, "--format"),
        (("replay", SESSION, "--format", "yaml"), 2, "choose table, json, csv, markdown"),
        (("replay", SESSION, "--set", "auto.enabeld=true"), 2, "did you mean auto.enabled"),
        (("replay", SESSION, "--set", "window.tokens=many"), 2, "window.tokens"),
        (("replay", SESSION, "--window", "-5"), 2, "window.tokens"),
        (("replay", SESSION, "--counter", "o300k"), 2, "tokens.counter"),
        (("replay", SESSION, "--profile", "2.1.21x"), 2, "2.1.2"),
        (("replay", SESSION, "--summary", "cache"), 2, "stub"),
        (("replay", SESSION, "--fail-on", "CL9999"), 2, "--fail-on"),
        (("replay", SESSION, "-o", "no/such/folder/x.json"), 4, "cannot write"),
        (("inspect", SESSION, "--segment", "7"), 2, "no segment 7; it has 1"),
        (("explain", "CL110"), 2, "did you mean"),
        (("config", "check", "nowhere.toml"), 2, "nowhere.toml"),
    ],
)
def test_a_mistake_is_one_line_and_its_exit_code(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert words in one_line(done)
    assert done.stdout == b""


def test_good_inputs_are_reported_beside_bad_ones(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(os.urandom(200))
    (tmp_path / "good.jsonl").write_bytes(Path(SESSION).read_bytes())
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(Path(SESSION).read_bytes())[:-4000])
    done = run("replay", ".", "missing.jsonl", "--format", "json", cwd=tmp_path)
    assert done.returncode == 3
    assert [s["source"] for s in json.loads(done.stdout)["sessions"]] == ["cut.jsonl.gz", "good.jsonl"]
    lines = done.stderr.decode().splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["bad.jsonl", "cut.jsonl.gz", "missing.jsonl"]


def test_json_has_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Another hash seed, time zone, locale, working directory and order of the arguments change nothing."""
    names = ["idle-gap.jsonl", "parallel-tools.jsonl", "malformed.jsonl"]
    for name in names:
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    other = tmp_path / "deeper" / "still"
    other.mkdir(parents=True)
    first = run("replay", *names, "--format", "json", cwd=tmp_path, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    (tmp_path / "compactlab.toml").write_bytes(b"")
    second = run(
        "replay", *reversed(names), "--format", "json", "-q",
        cwd=tmp_path, PYTHONHASHSEED="77", TZ="Asia/Tokyo", LC_ALL="de_DE.UTF-8",
    )  # fmt: skip
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout
    assert str(tmp_path).encode() not in first.stdout
    assert first.stdout.endswith(b"}\n")
    assert not first.stdout.endswith(b"\n\n")
    document = json.loads(first.stdout)
    assert list(document) == sorted(document)
    for name in names:
        (other / name).write_bytes((FIXTURES / name).read_bytes())
    third = run("replay", *names, "--format", "json", cwd=other)
    assert third.stdout == first.stdout


def test_standard_input_and_files_give_the_same_session() -> None:
    piped = run("replay", "-", "--format", "json", stdin=Path(SESSION).read_bytes())
    direct = run("replay", SESSION, "--format", "json")
    (from_pipe,) = json.loads(piped.stdout)["sessions"]
    (from_file,) = json.loads(direct.stdout)["sessions"]
    assert from_pipe.pop("source") == "-"
    assert from_file.pop("source") == SESSION
    assert from_pipe == from_file


@pytest.mark.parametrize("command", ["replay", "inspect", "check", "validate"])
@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_every_command_has_every_format(command: str, form: str) -> None:
    done = run(command, "fixtures", "--format", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if form == "json":
        assert json.loads(done.stdout)["schema"] == f"compactlab.{command}/1"
    if form == "table":
        assert max(map(len, done.stdout.decode().splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [("layers",), ("explain", "CL201"), ("config", "show"), ("config", "schema"), ("config", "profiles")],
)
def test_what_needs_no_session(arguments: tuple[str, ...]) -> None:
    table, document = run(*arguments), run(*arguments, "--format", "json")
    assert table.returncode == document.returncode == 0
    assert max(map(len, table.stdout.decode().splitlines())) <= 80
    assert json.loads(document.stdout)["schema"].startswith("compactlab.")


def test_settings_come_from_where_they_are_said_to(tmp_path: Path) -> None:
    (tmp_path / "compactlab.toml").write_text("[auto]\nmax_failures = 4\n")
    done = run(
        "config", "show", "--format", "json", "--set", "budget.enabled=false",
        cwd=tmp_path, COMPACTLAB_AUTO__THRASH_CALLS="9",
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert document["config"]["auto"]["max_failures"] == 4
    assert document["config"]["auto"]["thrash_calls"] == 9
    assert document["config"]["budget"]["enabled"] is False
    assert "compactlab.toml" in document["origins"]["auto.max_failures"]
    assert "COMPACTLAB_AUTO__THRASH_CALLS" in document["origins"]["auto.thrash_calls"]
    assert document["origins"]["budget.enabled"].startswith("--set")


def test_checks_that_were_asked_for_fail_with_1() -> None:
    tail = str(FIXTURES / "tail-missing.jsonl.gz")
    done = run("validate", tail, "--min-hits", "95")
    assert done.returncode == 1
    assert "no knowable compaction" in done.stderr.decode()
    assert run("validate", "fixtures", "--min-hits", "95", "--max-false-alarms", "1").returncode == 0
    assert run("check", "fixtures", "--fail-on", "error").returncode == 0
    done = run("check", str(FIXTURES / "malformed.jsonl"), "--fail-on", "CL906")
    assert done.returncode == 1
    assert "CL906" in done.stderr.decode()


def test_strict_makes_an_unreadable_line_an_error() -> None:
    malformed = str(FIXTURES / "malformed.jsonl")
    assert run("replay", malformed).returncode == 0
    done = run("replay", malformed, "--strict")
    assert done.returncode == 3
    assert "malformed.jsonl:" in one_line(done)


def test_the_naive_cut_is_named_with_its_layer() -> None:
    small = ["--window", "54000", "--format", "json"]
    for key, value in (("min_tokens", 400), ("min_text_block_messages", 1), ("max_tokens", 400)):
        small += ["--set", f"auto.session_memory.{key}={value}"]

    def codes(*more: str) -> set[tuple[str, str]]:
        (session,) = json.loads(run("check", SESSION, *small, *more).stdout)["sessions"]
        return {(v["code"], v["layer"]) for v in session["violations"] if v["code"] in ("CL101", "CL201")}

    assert codes() == set()
    naive = codes("--set", "auto.session_memory.preserve_invariants=false")
    assert naive == {("CL101", "auto"), ("CL201", "auto")}


def test_output_files_are_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    assert run("replay", SESSION, "--format", "json", "-o", str(target)).returncode == 0
    assert json.loads(target.read_bytes())["sessions"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m compactlab replay fixtures --format csv | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert done.stdout.startswith(b"source,")
    assert done.stderr == b""


def test_interrupted_is_130_and_leaves_no_file(tmp_path: Path) -> None:
    made = tmp_path / "long.jsonl"
    subprocess.run([sys.executable, "fixtures/generate.py", "--size", "12", str(made)], cwd=ROOT, check=True)
    target = tmp_path / "out.txt"
    with subprocess.Popen(
        [sys.executable, "-m", "compactlab", "replay", str(made), "--counter", "o200k_base", "-o", str(target)],
        cwd=ROOT, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.decode() == "compactlab: interrupted\n"
    assert not target.exists()


def test_the_help_page_loads_no_heavy_library() -> None:
    code = (
        "import sys; from compactlab.app import run; run(['--help']); "
        "print([m for m in ('rich','pandas','matplotlib','tiktoken','orjson','numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    text = done.stdout.decode()
    assert text.endswith("[]\n")
    for name in ("replay", "inspect", "check", "validate", "layers", "explain", "config"):
        assert f"\n  {name} " in text


@pytest.mark.parametrize("command", ["replay", "inspect", "check", "validate"])
def test_help_names_the_common_options(command: str) -> None:
    text = run(command, "--help").stdout.decode()
    for option in ("--config", "--set", "--profile", "--window", "--counter", "--summary", "--format", "--output",
                   "--strict", "--quiet", "--no-color"):  # fmt: skip
        assert option in text
    assert max(map(len, text.splitlines())) <= 80
