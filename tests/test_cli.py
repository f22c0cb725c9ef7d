"""The command line as a user meets it: exit codes, one line for every mistake, the same bytes everywhere."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab import app

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
        (("repl ay\x1b[31m",), 2, "'repl ay\\x1b[31m': did you mean 'replay'?"),
        (("zzz",), 2, "choose replay, inspect, check"),
        (("config", "shwo"), 2, "no such command 'config shwo': did you mean 'show'?"),
        (("--versoin",), 2, "no such option '--versoin': did you mean '--version'?"),
        (("replay", SESSION, "--fromat", "json"), 2, "no such option '--fromat': did you mean '--format'?"),
        (("replay", SESSION, "-x"), 2, "no such option '-x': see compactlab replay --help"),
        (("replay", SESSION, "--format"), 2, "requires an argument: see compactlab replay --help"),
        (("replay", SESSION, "--window", "abc"), 2, "invalid value for '--window'"),
        (("layers", "more"), 2, "(more): see compactlab layers --help"),
        (("replay", ""), 2, "the name of an input is empty"),
        (("replay", SESSION, "-o", SESSION), 2, "is an input; write to another file"),
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
        (("explain",), 2, "as in: compactlab explain CL101"),
        (("validate", SESSION, "--min-hits", "nan"), 2, "--min-hits: give a number from 0 to 100, not nan"),
        (("validate", SESSION, "--max-false-alarms", "-1"), 2, "--max-false-alarms: give a number from 0"),
        (("config", "check"), 2, "as in: compactlab config check compactlab.toml"),
        (("config", "show", "--version", "abc"), 2, "--version: 'abc' is no version"),
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
    done = run("replay", ".", "missing.jsonl", "--format", "json", "-q", cwd=tmp_path)
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


@pytest.mark.parametrize("command", ["replay", "inspect", "check", "validate"])
def test_strict_makes_an_unreadable_line_an_error(command: str) -> None:
    """The first line of the fixture that cannot be read is its tenth; the report is printed all the same."""
    malformed = FIXTURES / "malformed.jsonl"
    assert run(command, str(malformed)).returncode == 0
    done = run(command, str(malformed), "--strict")
    assert done.returncode == 3
    assert f"{malformed}:10: " in one_line(done)
    assert done.stdout
    piped = run(command, "-", "--strict", stdin=malformed.read_bytes())
    assert piped.returncode == 3
    assert "-:10: " in one_line(piped)
    assert run(command, SESSION, "--strict").returncode == 0


def sorted_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    assert names == sorted(names)
    return dict(pairs)


@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", SESSION), ("inspect", SESSION), ("check", SESSION), ("validate", SESSION), ("layers",),
        ("explain", "CL201"), ("config", "show"), ("config", "schema"), ("config", "profiles"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_json_is_one_document_with_sorted_keys(arguments: tuple[str, ...]) -> None:
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0
    assert done.stderr == b""
    assert json.loads(done.stdout, object_pairs_hook=sorted_keys)["schema"].startswith("compactlab.")
    assert done.stdout.endswith(b"}\n")
    assert str(ROOT).encode() not in done.stdout.replace(SESSION.encode(), b"")


def test_config_show_takes_the_profile_of_a_version() -> None:
    shown = {}
    for version in ("2.1.20", "2.1.200"):
        shown[version] = json.loads(run("config", "show", "--version", version, "--format", "json").stdout)
    old, new = shown["2.1.20"], shown["2.1.200"]
    assert old["profile"] == "2.1.20"
    assert new["profile"] == "current"
    assert old["origins"]["window.reserve_cap"].startswith(("profile", "default"))


def test_config_check_tells_good_files_from_bad_ones(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text("[auto]\nenabled = false\n")
    (tmp_path / "ignored.toml").write_text("[auto.session_memory]\nmin_tokens = 0\n")
    (tmp_path / "typo.toml").write_text("[auto]\nenabeld = false\n")
    (tmp_path / "type.toml").write_text("\n[auto]\nenabled = 1\n")
    assert run("config", "check", "good.toml", cwd=tmp_path).returncode == 0
    done = run("config", "check", "good.toml", "ignored.toml", "typo.toml", "type.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == b"good.toml: ok\nignored.toml: ok\n"
    warning, typo, wrong = done.stderr.decode().splitlines()
    assert warning.startswith("compactlab: warning: ignored.toml:2: auto.session_memory.min_tokens")
    assert typo.startswith("compactlab: typo.toml:2: auto.enabeld: unknown key; did you mean auto.enabled")
    assert wrong.startswith("compactlab: type.toml:3: auto.enabled: expected true or false")


def test_names_that_no_terminal_should_get(tmp_path: Path) -> None:
    """A name that is not UTF-8 and one with an escape sequence are shown as escapes, in any locale."""
    names = [b"b\xff.toml", b"e\x1b[31m.toml"]
    for name in names:
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(b"")
    done = run(
        "config", "check", *map(os.fsdecode, names), cwd=tmp_path, LC_ALL="C", PYTHONIOENCODING="ascii"
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"b\\udcff.toml: ok\ne\\x1b[31m.toml: ok\n"
    assert "b\\udcff.jsonl: no such file" in one_line(run("replay", os.fsdecode(b"b\xff.jsonl")))


@pytest.mark.parametrize(
    ("redirection", "code", "words"),
    [
        ("layers >&-", 4, "standard output is closed"),
        ("--version >&-", 4, "standard output is closed"),
        ("layers > /dev/full", 4, "cannot write to standard output"),
        (f"replay {SESSION} <&-", 0, ""),
        ("replay - <&-", 3, "-: the file is empty"),
        (f"replay {SESSION} 2>&-", 0, ""),
        ("repaly 2>&-", 2, ""),
        ("replay nowhere.jsonl 2>&-", 3, ""),
    ],
)
def test_closed_and_full_streams(redirection: str, code: int, words: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m compactlab {redirection}"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code
    assert (words in one_line(done)) if words else done.stderr == b""


def on_a_terminal(*arguments: str, interrupt_at: bytes = b"") -> tuple[int, str]:
    """Exit code and what the terminal at stderr got; Ctrl-C once it shows `interrupt_at`."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(
        [sys.executable, "-m", "compactlab", *arguments], cwd=ROOT, stderr=theirs, stdout=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        waiting = bool(interrupt_at)
        with contextlib.suppress(OSError):  # how a terminal without a writer ends
            while piece := os.read(ours, 4096):
                shown += piece
                if waiting and interrupt_at in shown:
                    waiting = False
                    process.send_signal(signal.SIGINT)
    os.close(ours)
    return process.returncode, shown.decode()


def test_progress_is_one_line_that_goes_away() -> None:
    code, shown = on_a_terminal("replay", SESSION, "nowhere.jsonl")
    assert code == 3
    head, _, tail = shown.partition("1/2 nowhere.jsonl")
    assert head.endswith("\r\x1b[K")
    assert "\n" not in head
    assert tail.startswith("\r\x1b[K")
    assert tail.endswith("\r\x1b[Kcompactlab: nowhere.jsonl: no such file or directory\r\n")
    assert on_a_terminal("replay", SESSION, "--quiet") == (0, "")
    assert run("replay", SESSION).stderr == b""


def test_an_interrupt_clears_the_progress(tmp_path: Path) -> None:
    """The session comes from a pipe that nobody closes, so that the interrupt always finds it at work."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    try:
        code, shown = on_a_terminal("replay", str(pipe), interrupt_at=b"0/1 ")
    finally:
        os.close(held)
    assert code == 130
    assert shown.endswith("\r\x1b[Kcompactlab: interrupted\r\n")
    assert "Traceback" not in shown


WORDS = (
    "replay", "inspect", "check", "validate", "layers", "explain", "config", "show", "schema", "profiles", "--",
    "-", "", SESSION, "nowhere", "CL101", "--set", "auto.enabled=false", "auto=1", "=", "--window", "1e9", "-1",
    "0", "--profile", "2.1.20", "--counter", "heuristic", "--summary", "ratio:2", "fixed:0", "--format", "json",
    "csv", "--strict", "-q", "-h", "--help", "--version", "--fail-on", "error", "--segment", "--manual-at",
    "--min-hits", "nan", "-c", "\udcff", "--format=", "-qq", "--no-color", "9" * 5000,
)  # fmt: skip


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(words=st.lists(st.sampled_from(WORDS), max_size=7))
def test_no_command_line_is_a_bug(words: list[str]) -> None:
    """Whatever is typed: a known exit code, and on stderr nothing but lines of ours."""
    out, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", errors)
        code = app.run(words)
    assert code in (0, 1, 2, 3, 4), errors.getvalue()
    assert all(line.startswith("compactlab: ") for line in errors.getvalue().splitlines())
    assert (code == 0) <= (not errors.getvalue())


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
    command = f"{sys.executable} -m compactlab replay fixtures -q --format csv | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert done.stdout.startswith(b"source,")
    assert done.stderr == b""


def interrupted(cwd: Path, *arguments: str) -> tuple[int, bytes, bytes]:
    """Ctrl-C while standard input, a pipe that nobody closes, is being read: exit code, stdout, stderr."""
    with subprocess.Popen(
        [sys.executable, "-m", "compactlab", "replay", *arguments],
        cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        returncode = process.wait(timeout=60)
        assert process.stdout is not None
        assert process.stderr is not None
        return returncode, process.stdout.read(), process.stderr.read()


def test_interrupted_is_130_and_leaves_no_file(tmp_path: Path) -> None:
    code, out, error = interrupted(tmp_path, "-", "-o", "out.txt")
    assert (code, out, error) == (130, b"", b"compactlab: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    (tmp_path / "+a.jsonl").write_bytes(Path(SESSION).read_bytes())  # sorts before "-"
    code, out, error = interrupted(tmp_path, "-", "+a.jsonl", "--format", "json")
    assert code == 130
    assert [session["source"] for session in json.loads(out)["sessions"]] == ["+a.jsonl"]
    assert error == b"compactlab: 1 session was finished and reported\ncompactlab: interrupted\n"


@pytest.mark.parametrize("command", ["replay", "inspect", "check", "validate"])
def test_help_names_the_common_options(command: str) -> None:
    text = run(command, "--help").stdout.decode()
    for option in ("--config", "--set", "--profile", "--window", "--counter", "--summary", "--format", "--output",
                   "--strict", "--quiet", "--no-color"):  # fmt: skip
        assert option in text
    assert max(map(len, text.splitlines())) <= 80
