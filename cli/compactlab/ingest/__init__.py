"""Bytes to transcripts: lines, records, the main chain. orjson lives here; nothing here counts tokens."""
