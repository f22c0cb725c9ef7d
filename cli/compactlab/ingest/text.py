"""Lengths as the recording program measures them: UTF-16 code units, and compact JSON."""

from __future__ import annotations

import json
from typing import Any

import orjson


def utf16(text: str) -> int:
    """Length in UTF-16 code units; lone surrogates count one each."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) >> 1


def compact_json(value: Any) -> str:
    """Compact JSON text of a value, non-ASCII characters as they are.

    Raises RecursionError for a value nested more deeply than Python can walk.
    """
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_length(value: Any) -> int:
    """UTF-16 units of the compact JSON of a value."""
    try:
        data = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return utf16(compact_json(value))
    return len(data) if data.isascii() else utf16(data.decode())
