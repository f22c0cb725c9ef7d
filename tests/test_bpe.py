"""Token counts: known counts, no network, hostile texts, damaged rank files."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compactlab.tokens import bpe

CLI = Path(bpe.__file__).parents[2]

# Any code point, lone surrogates included, and texts that are rich in pre-token boundaries.
ANY_TEXT = st.text(st.characters(), max_size=200)
EDGE_TEXT = st.text(
    st.sampled_from(
        "aZé9٣_'\"/.,{}[]-\\ \t\n\r\x0b\x1c\u00a0\u2028漢字。、，！ß\u0301ǅʰ①Ⅷ😀sdtmlvre\ufffd\ud83d\ude00"
    ),
    max_size=60,
)
TEXT = ANY_TEXT | EDGE_TEXT
SAFE_CUT = re.compile(bpe._LAST_SAFE_CUT.pattern.replace("(?s:.*)", "", 1), re.VERBOSE)


@pytest.fixture
def fresh_cache() -> Iterator[None]:
    """An empty cache of encodings before and after the test."""
    bpe._encoding.cache_clear()
    yield
    bpe._encoding.cache_clear()


def test_names_are_the_two_encodings() -> None:
    assert bpe.NAMES == ("cl100k_base", "o200k_base")
    assert set(bpe._SPECS) == set(bpe.NAMES)


@pytest.mark.parametrize("name", bpe.NAMES)
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 1),
        ("a", 1),
        ("hello", 1),
        ("hello world", 2),
        ("hello world!", 3),
        ("123", 1),
        ("1234", 2),  # digits go in groups of three
        ("the quick brown fox", 4),
        ("\n", 1),
        ("x = 1\n", 5),  # "x", " =", " ", "1", "\n"
        ("\ud800", 1),  # U+FFFD is one token
    ],
)
def test_known_counts(name: str, text: str, tokens: int) -> None:
    assert bpe.counter(name)(text) == tokens


@pytest.mark.parametrize(
    ("name", "ids"),
    [("cl100k_base", [15339, 1917]), ("o200k_base", [24912, 2375])],
)
def test_published_ids_of_hello_world(name: str, ids: list[int]) -> None:
    assert bpe._encoding(name).encode_ordinary("hello world") == ids


@pytest.mark.parametrize("name", bpe.NAMES)
def test_data_equal_that_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    hashes: list[str] = []

    def load(_url: str, expected_hash: str) -> dict[bytes, int]:
        hashes.append(expected_hash)
        return {}

    monkeypatch.setattr(public, "load_tiktoken_bpe", load)
    theirs = getattr(public, name)()
    spec = bpe._SPECS[name]
    assert (spec.pattern, spec.special_tokens, [spec.sha256]) == (
        theirs["pat_str"],
        theirs["special_tokens"],
        hashes,
    )


@pytest.mark.parametrize("name", bpe.NAMES)
def test_special_tokens_are_plain_text(name: str) -> None:
    assert bpe.counter(name)("<|endoftext|>") > 1


@pytest.mark.parametrize("name", bpe.NAMES)
def test_surrogates(name: str) -> None:
    count = bpe.counter(name)
    assert count("a\ud83d\ude00b") == count("a\U0001f600b")
    assert count("a\udc00b\ud800") == count("a\ufffdb\ufffd")


def test_encoding_is_built_once_per_process(fresh_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = bpe._read_resource

    def spy(file: str) -> bytes:
        reads.append(file)
        return read(file)

    monkeypatch.setattr(bpe, "_read_resource", spy)
    assert bpe.counter("cl100k_base")("hello world") == bpe.counter("cl100k_base")("hello world") == 2
    assert reads == ["cl100k_base.tiktoken.gz"]


OFFLINE = """
import builtins, io, os, socket, sys, tempfile

def forbidden(*args, **kwargs):
    raise AssertionError("network")

class Socket(socket.socket):
    __init__ = forbidden

socket.socket = Socket
socket.create_connection = socket.getaddrinfo = forbidden

def audit(event, args):
    if event.startswith("socket.") or event in ("os.mkdir", "os.rename", "os.remove", "subprocess.Popen"):
        raise AssertionError(event)
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        raise AssertionError(f"write {args[0]}")

sys.addaudithook(audit)
from compactlab.tokens import bpe
assert "tiktoken" not in sys.modules, "tiktoken is imported too early"
counts = [bpe.counter(name)("hello world, " * 3000) for name in bpe.NAMES]
for module in ("requests", "urllib3", "http.client", "tiktoken_ext.openai_public"):
    assert module not in sys.modules, module
sys.stdout.write(repr(counts))
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_offline_and_nothing_written(seed: str, tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(CLI),
        "PYTHONHASHSEED": seed,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    # "hello", " world", "," once, then " hello", " world", "," and a last " "
    assert done.stdout == "[9001, 9001]"
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=150)
@given(TEXT)
@example("\udfff\ud800")
def test_any_text_gives_a_count(text: str) -> None:
    for name in bpe.NAMES:
        tokens = bpe.counter(name)(text)
        assert isinstance(tokens, int)
        assert (tokens == 0) if text == "" else (tokens > 0)
        assert tokens == bpe.counter(name)(text)


@settings(deadline=None, max_examples=400)
@given(TEXT)
def test_a_safe_cut_never_changes_the_tokens(text: str) -> None:
    text = bpe._without_surrogates(text)
    for name in bpe.NAMES:
        encode = bpe._encoding(name).encode_ordinary
        whole = encode(text)
        for cut in SAFE_CUT.finditer(text):
            assert encode(text[: cut.end()]) + encode(text[cut.end() :]) == whole


@settings(deadline=None)
@given(TEXT, st.integers(1, 20))
def test_blocks_cover_the_text(text: str, limit: int) -> None:
    start = 0
    while start < len(text):
        end = bpe._block_end(text, start, limit)
        assert start < end <= start + limit
        start = end
    assert start == len(text)


@pytest.mark.parametrize("name", bpe.NAMES)
@pytest.mark.parametrize(
    "unit",
    [
        "It's a plain sentence, isn't it?\n\n",
        '{"id":17,"a":["x","y"],"n":null},',
        "长文本也要准确，对吧？",
        "aGVsbG8x",
    ],
    ids=["prose", "json", "chinese", "base64"],
)
def test_long_ordinary_text_is_counted_exactly(name: str, unit: str) -> None:
    text = unit * (4 * bpe.BLOCK_CHARS // len(unit))
    assert bpe.counter(name)(text) == len(bpe._encoding(name).encode_ordinary(text))


@pytest.mark.parametrize("name", bpe.NAMES)
@pytest.mark.parametrize("unit", [" ", "\n\u00a0"], ids=ascii)
def test_two_million_white_space_characters_do_not_panic(name: str, unit: str) -> None:
    assert bpe.counter(name)(unit * (2_000_000 // len(unit))) > 0


@pytest.mark.parametrize("name", bpe.NAMES)
@pytest.mark.parametrize(
    "unit",
    ["\n", " \n", "\t", "a", "A", "漢", "=", "/\n", "a\u0301", "!\x1c", "😀", "\ud800", "9"],
    ids=ascii,
)
def test_a_long_run_without_a_boundary_is_linear_and_deterministic(name: str, unit: str) -> None:
    text = unit * (200_000 // len(unit))
    count = bpe.counter(name)
    tokens = count(text)
    assert 0 < tokens <= len(text.encode("utf-8", "replace")) * 3
    assert tokens == count(text)


@pytest.mark.parametrize("name", bpe.NAMES)
def test_a_run_of_spaces_is_cut_at_the_documented_length(name: str) -> None:
    count = bpe.counter(name)
    run = " " * bpe.BLOCK_CHARS
    assert count(run * 3) == 3 * count(run)
    assert count("word" + run * 3) == 1 + 3 * count(run)


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="unknown encoding 'p50k_base': known are cl100k_base, o200k_base"):
        bpe.counter("p50k_base")


GOOD = (Path(bpe.__file__).parent / "ranks" / "cl100k_base.tiktoken.gz").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not gzip",
        GOOD[:1000],
        GOOD[:5000] + b"\xff" * 50 + GOOD[5050:],
        gzip.compress(b""),
        gzip.compress(b"IQ== 0\n"),
    ],
    ids=["empty", "no-gzip", "truncated", "flipped", "gzip-of-nothing", "other-ranks"],
)
def test_corrupted_rank_file(data: bytes, fresh_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "_read_resource", lambda _file: data)
    with pytest.raises(bpe.VocabularyError, match=r"cl100k_base.*corrupted") as caught:
        bpe.counter("cl100k_base")
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert bpe.counter("cl100k_base")("hello world") == 2  # the failure was not cached


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "gone\naway"), PermissionError(), ModuleNotFoundError("ranks")]
)
def test_missing_rank_file(error: Exception, fresh_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_file: str) -> bytes:
        raise error

    monkeypatch.setattr(bpe, "_read_resource", read)
    with pytest.raises(bpe.VocabularyError, match=r"o200k_base.*missing or unreadable") as caught:
        bpe.counter("o200k_base")
    assert isinstance(caught.value, RuntimeError)
    assert "\n" not in str(caught.value)
