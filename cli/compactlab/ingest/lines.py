"""One JSON object a line, and what to do when a line is not that.

A good line takes the fast path. Anything else goes through `salvage`, which reads what can be read (two
objects on one line, invalid escapes, lone surrogates, NaN, a BOM) and says in words what was wrong.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from compactlab.ingest.digest import Digest
from compactlab.model.transcript import Malformed

#: A line over this many bytes is not read: no recorded line comes near it, and a hostile one must not fill the memory.
MAX_LINE_BYTES = 64 * 1024 * 1024

_CHUNK = 1 << 19
_PROGRESS = b'"type":"progress","data":{'
_PROGRESS_HEAD = re.compile(
    rb'\{"parentUuid":(?:null|"([0-9a-f-]{36})"),"isSidechain":false,[^{}]*"type":"progress","data":\{'
)
_PROGRESS_TAIL = re.compile(rb',"uuid":"([0-9a-f-]{36})"(?:,"timestamp":"[0-9TZ:.-]{20,30}")?\}$')
_TAIL_LENGTH = len(b',"uuid":"","timestamp":""}') + 36 + 30
_BAD_ESCAPE = re.compile(r'\\(u(?![0-9a-fA-F]{4})|[^"\\/bfnrtu])|\\\\|\\.', re.DOTALL)
#: Looked for at the head of a line only: a whole scan would cost a tenth of the parsing.
_REPEATED_KEYS = b'"parentUuid":'


class Bytes(Protocol):
    """All that is needed of a binary stream."""

    def read1(self, size: int, /) -> bytes:
        """At most `size` bytes, what one read gives; empty at the end."""
        ...


class LineReader:
    """Iterates the objects of a stream with their line numbers; `malformed` fills up on the way.

    Args: a binary stream. Yields (line number from 1, object). `lines` and `bytes` count what was read,
    `readable` the lines of which at least one object could be used; `digest` is the sha256 of all bytes
    and `damage` says why the stream ended early, or "".
    """

    def __init__(self, stream: Bytes) -> None:
        self._stream = stream
        self._sha = Digest()
        self.malformed: list[Malformed] = []
        self.lines = 0
        self.bytes = 0
        self.readable = 0
        self.damage = ""

    @property
    def digest(self) -> str:
        """ "sha256:…" of what was read (unpacked)."""
        return self._sha.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        loads = orjson.loads
        for line in self._lines():
            self.lines += 1
            if line.find(_PROGRESS, 0, 1024) > 0:
                short = progress_record(line)
                if short is not None:
                    self.readable += 1
                    yield self.lines, short
                    continue
            try:
                value = loads(line)
            except orjson.JSONDecodeError:
                yield from self._salvage(self.lines, line)
                continue
            if type(value) is not dict:
                self.malformed.append(Malformed(self.lines, "not a JSON object: skipped"))
                continue
            if line.count(_REPEATED_KEYS, 0, 1024) > 1:
                self._note_repeated_keys(self.lines, line)
            self.readable += 1
            yield self.lines, value

    def _lines(self) -> Iterator[bytes]:
        """Lines without their newline; one over the limit is counted, reported and read away in pieces."""
        rest: list[bytes] = []
        held = 0
        for chunk in self._chunks():
            first, *others = chunk.split(b"\n")
            held += len(first)
            if held <= MAX_LINE_BYTES:
                rest.append(first)
            if not others:
                continue
            last = others.pop()
            yield from self._whole(rest, held)
            yield from others
            rest, held = [last], len(last)
        if held:
            yield from self._whole(rest, held)

    def _whole(self, parts: list[bytes], size: int) -> Iterator[bytes]:
        if size <= MAX_LINE_BYTES:
            yield b"".join(parts) if len(parts) > 1 else parts[0]
            return
        self.lines += 1
        self.malformed.append(Malformed(self.lines, f"longer than {MAX_LINE_BYTES >> 20} MiB: skipped"))

    def _chunks(self) -> Iterator[bytes]:
        try:
            while chunk := self._stream.read1(_CHUNK):
                self._sha.update(chunk)
                self.bytes += len(chunk)
                yield chunk
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self.damage = (
                "the gzip data is cut" if isinstance(error, EOFError) else "the gzip data is damaged"
            )
        finally:
            self._sha.close()

    def _salvage(self, number: int, line: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        if not line.strip():
            return
        objects, reason = salvage(line)
        if reason:
            self.malformed.append(Malformed(number, reason))
        self.readable += bool(objects)
        for value in objects:
            yield number, value

    def _note_repeated_keys(self, number: int, line: bytes) -> None:
        repeated: set[str] = set()

        def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            keys = [key for key, _ in pairs]
            if "uuid" in keys:
                repeated.update(key for key in keys if keys.count(key) > 1)
            return dict(pairs)

        try:
            json.loads(line, object_pairs_hook=note)
        except (ValueError, RecursionError):
            return
        if repeated:
            names = ", ".join(sorted(repeated))
            self.malformed.append(Malformed(number, f"repeated key {names}: the last one is used"))


def progress_record(line: bytes) -> dict[str, Any] | None:
    """A progress record of the main thread by its two ends alone, None for any other line.

    Nothing of it but the links is used, and these lines are a sixth of a file's bytes. No brace stands
    between the start and `data`, so the links found there are the record's own.
    """
    head = _PROGRESS_HEAD.match(line)
    tail = _PROGRESS_TAIL.search(line, max(0, len(line) - _TAIL_LENGTH))
    if head is None or tail is None:
        return None
    parent = head[1]
    return {
        "type": "progress",
        "uuid": tail[1].decode(),
        "parentUuid": parent.decode() if parent else None,
    }


def salvage(line: bytes) -> tuple[list[dict[str, Any]], str]:
    """All objects that a faulty line still holds, and what was wrong ("" where nothing was lost or odd)."""
    text = line.decode("utf-8", "replace")
    stripped = text.lstrip("\ufeff").strip().strip("\x00")
    if not stripped:
        return [], ("only NUL bytes" if b"\x00" in line else "")
    remarks = ["bytes that are not UTF-8"] if "\ufffd" in text and b"\xef\xbf\xbd" not in line else []
    objects, problem = _decode_all(stripped)
    if problem and "escape" in problem:
        objects, problem = _decode_all(_BAD_ESCAPE.sub(_double, stripped))
        remarks.append("invalid escape" if not problem else "")
    objects_found = [value for value in objects if isinstance(value, dict)]
    if len(objects_found) < len(objects):
        remarks.append("not a JSON object: skipped")
    if len(objects_found) > 1:
        remarks.append(f"{len(objects_found)} objects on one line: all used")
    if any(map(_has_lone_surrogate, objects_found)):
        remarks.append("a lone surrogate: kept as it is")
    if problem:
        remarks.append(problem)
    return objects_found, "; ".join(remark for remark in remarks if remark)


def _has_lone_surrogate(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except RecursionError:
        return False
    return False


def _double(match: re.Match[str]) -> str:
    return "\\" + match.group(0) if match.group(1) else match.group(0)


def _decode_all(text: str) -> tuple[list[Any], str]:
    odd: list[str] = []
    decoder = json.JSONDecoder(strict=False, parse_constant=odd.append)
    values: list[Any] = []
    position = 0
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            return values, f"not JSON: {_in_words(error)} at column {error.pos + 1}"
        except RecursionError:
            return values, "nested too deeply: skipped"
        except ValueError as error:
            return values, f"not JSON: {str(error)[:60]}"
        values.append(value)
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
    return values, f"{odd[0]} is no JSON: read as null" if odd else ""


def _in_words(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc) or error.msg.startswith("Unterminated"):
        return "the line is cut"
    return error.msg[:1].lower() + error.msg[1:]
