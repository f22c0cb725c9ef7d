"""JSON as the contract has it: keys sorted, two blanks of indent, one newline at the end.

orjson does the work. Only where it refuses a document (a lone surrogate, a key that is no string) a second
pass makes a clean copy of it. Nothing here knows what the documents mean.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

_OPTIONS = (
    orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS
)

#: Characters that JSON lets through and a terminal obeys or hides, in UTF-8: DEL, C1, bidi, zero width.
_HOSTILE = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
    rb"|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)

#: orjson nests to 254; anything deeper is no result of ours, and is shown as a string.
_DEPTH = 200


def dumps(document: Any) -> bytes:
    """The document as bytes. Tuples, mappings of any kind, sets and NaN (null) are taken as they come.

    Characters that could steer a terminal are written as JSON escapes, which lose nothing.
    """
    try:
        text = orjson.dumps(document, default=_default, option=_OPTIONS)
    except (TypeError, RecursionError):
        text = orjson.dumps(_clean(document, 0), option=_OPTIONS)
    return _HOSTILE.sub(_escape, text)


def _escape(match: re.Match[bytes]) -> bytes:
    units = match[0].decode("utf-8").encode("utf-16-be")
    return b"".join(b"\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))


def _default(value: Any) -> Any:
    """What orjson does not know, in terms that it does."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (type(item).__name__, str(item)))
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable):
        return list(value)
    return str(value)


def _clean(value: Any, depth: int) -> Any:
    """A copy of `value` that orjson takes."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, int):
        number = int(value)
        return number if -(2**63) <= number < 2**64 else orjson.Fragment(str(number).encode())
    if depth > _DEPTH:
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {_key(key): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in value]
    return _clean(_default(value), depth + 1)


def _key(key: Any) -> str:
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return _clean_text(str(key))


def _clean_text(text: str) -> str:
    """Halves of a surrogate pair joined where they meet, replaced by U+FFFD where they stand alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
