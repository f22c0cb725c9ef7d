"""Exact token counts with tiktoken's ``cl100k_base`` and ``o200k_base``, without network.

The rank files are package data (``ranks/``), checked by tiktoken's own sha256 before use; the
``tiktoken.Encoding`` is built directly, so that neither tiktoken's downloader nor its cache directory nor
its plugins are touched. Nothing is written and no socket is opened.

Long texts are encoded in blocks of at most ``BLOCK_CHARS`` characters, because tiktoken panics on runs of
about a million white-space characters and becomes slow on very long runs without a token boundary. A block
ends at the last *safe cut*, a place where both encodings end a pre-token whatever surrounds it, and so the
count is the exact count of the whole text. Only where ``BLOCK_CHARS`` characters hold no safe cut at all (a
run of white space or of letters longer than a block) the block ends after ``BLOCK_CHARS`` characters; each
such cut may change the count by a few tokens, always in the same way. Texts of at most ``BLOCK_CHARS``
characters are never cut.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import tiktoken

__all__ = ["BLOCK_CHARS", "NAMES", "VocabularyError", "counter"]

NAMES: Final = ("cl100k_base", "o200k_base")
"""The encodings that can be counted."""

BLOCK_CHARS: Final = 10_000
"""Longest text, in characters (code points), that is given to tiktoken in one call."""


class VocabularyError(RuntimeError):
    """A rank file is missing, unreadable or not the published one; the message is one line."""


class _Spec(NamedTuple):
    """One encoding as data: the sha256 of the plain rank file, the pre-token pattern, the special tokens."""

    sha256: str
    pattern: str
    special_tokens: dict[str, int]


# Pattern, special tokens and hash as in tiktoken_ext/openai_public.py (tiktoken, MIT licence).
_SPECS: Final[dict[str, _Spec]] = {
    "cl100k_base": _Spec(
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        pattern="|".join(
            (
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            )
        ),
        special_tokens={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": _Spec(
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        pattern="|".join(
            (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
}

# The last safe cut of a stretch: after a letter or digit and before ASCII or CJK punctuation or white space
# (not before the apostrophe, which o200k_base takes into the word), between an ASCII letter and an ASCII
# digit, and after anything visible before a space or a tab.
_LAST_SAFE_CUT: Final = re.compile(
    r"""(?s:.*)(?:
        [^\W_](?=[\x00-&(-/:-@\[-`{-\x7f\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f])
      | [A-Za-z](?=[0-9])
      | [0-9](?=[A-Za-z])
      | \S(?=[ \t])
    )""",
    re.VERBOSE,
)


def counter(name: str) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text in the encoding ``name`` (one of ``NAMES``).

    The function takes a text of any length and returns a number of tokens (>= 0, and 0 for the empty text).
    Special tokens such as ``<|endoftext|>`` are counted as plain text; a surrogate pair counts as its
    character and a lone surrogate as U+FFFD. The encoding is loaded now (some tenths of a second), once per
    process.

    Raises ``ValueError`` for an unknown name, ``VocabularyError`` when the rank file cannot be used.
    """
    if name not in _SPECS:
        raise ValueError(f"unknown encoding {name!r}: known are {', '.join(NAMES)}")
    encode = _encoding(name).encode_ordinary

    def count(text: str) -> int:
        """Number of tokens of ``text``."""
        text = _without_surrogates(text)
        if len(text) <= BLOCK_CHARS:
            return len(encode(text))
        total = start = 0
        while start < len(text):
            end = _block_end(text, start, BLOCK_CHARS)
            total += len(encode(text[start:end]))
            start = end
        return total

    return count


def _block_end(text: str, start: int, limit: int) -> int:
    """Index (in characters) where the block that begins at ``start`` ends; at most ``limit`` further on."""
    end = start + limit
    if end >= len(text):
        return len(text)
    cut = _LAST_SAFE_CUT.match(text, start, end + 1)  # one more character: what the look-ahead may see
    return cut.end() if cut else end


def _without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, as tiktoken does; else ``text`` itself."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@functools.cache
def _encoding(name: str) -> tiktoken.Encoding:
    """Build the encoding ``name`` from the package data, once per process (a failure is not cached)."""
    import tiktoken

    spec = _SPECS[name]
    return tiktoken.Encoding(
        name=name,
        pat_str=spec.pattern,
        mergeable_ranks=_ranks(name, spec.sha256),
        special_tokens=spec.special_tokens,
    )


def _ranks(name: str, sha256: str) -> dict[bytes, int]:
    """Decompress, check and parse one rank file: token bytes to rank. Raises ``VocabularyError``."""
    import base64
    import gzip
    import hashlib
    import zlib

    file = f"{name}.tiktoken.gz"
    try:
        packed = _read_resource(file)
    except (OSError, ImportError) as error:
        raise VocabularyError(
            f"vocabulary {name}: rank file {file} is missing or unreadable ({type(error).__name__})"
        ) from error
    try:
        plain = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        raise VocabularyError(
            f"vocabulary {name}: rank file {file} is corrupted ({type(error).__name__})"
        ) from error
    found = hashlib.sha256(plain).hexdigest()
    if found != sha256:
        raise VocabularyError(
            f"vocabulary {name}: rank file {file} is corrupted "
            f"(sha256 {found[:12]}..., expected {sha256[:12]}...)"
        )
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, plain.splitlines())}


def _read_resource(file: str) -> bytes:
    """The bytes of one file of the package data in ``ranks/``."""
    from importlib.resources import files

    return files("compactlab.tokens.ranks").joinpath(file).read_bytes()
