"""From a path or stream to transcripts: `.jsonl`, `.jsonl.gz`, directories, standard input.

Problems of an input as a whole are `InputProblem` values beside the sessions, so that one bad file never
hides the others. No path inside a transcript is ever opened.
"""

from __future__ import annotations

import gzip
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from compactlab.ingest.lines import Bytes, LineReader
from compactlab.ingest.records import parse_record
from compactlab.ingest.session import build
from compactlab.model.transcript import Fault, Malformed, Message, Transcript


class InputProblem(NamedTuple):
    """An input that could not be read, or only in part: the source as given, and what to do about it."""

    source: str
    message: str


class Loaded(NamedTuple):
    """What one file held: its main session first, then its sidechains, and a problem if there was one."""

    sessions: tuple[Transcript, ...]
    problem: InputProblem | None


def find_files(path: Path) -> list[Path]:
    """The transcripts below a path, sorted by name; a file is itself. Raises OSError where it cannot be listed."""
    if not path.is_dir():
        return [path]
    names = {p for pattern in ("*.jsonl", "*.jsonl.gz") for p in path.rglob(pattern)}
    return sorted(p for p in names if p.is_file())


def load_path(path: Path, source: str | None = None) -> Loaded:
    """Read one file. Raises OSError where it cannot be opened or read."""
    name = source if source is not None else str(path)
    with path.open("rb") as stream:
        return load_stream(stream, name)


def load_stream(stream: IO[bytes], source: str) -> Loaded:
    """Read one open binary stream; gzip is recognised by its first bytes, whatever the name says."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    if buffered.peek(2)[:2] != b"\x1f\x8b":
        return _read(buffered, source)
    with gzip.open(buffered, "rb") as unpacked:
        return _read(unpacked, source)


def _read(stream: Bytes, source: str) -> Loaded:
    reader = LineReader(stream)
    collected = _Collected()
    types = collected.types
    for line, record in reader:
        name = record.get("type")
        types[name if type(name) is str else "(no type)"] += 1
        try:
            message = parse_record(record, line)
        except RecursionError:
            reader.malformed.append(Malformed(line, "nested too deeply: skipped"))
            continue
        if message is not None:
            collected.add(message, record)
    malformed = tuple(sorted(reader.malformed))
    sessions = tuple(collected.sessions(source, reader.digest, malformed, reader.bytes))
    return Loaded(sessions, _problem(source, reader, sessions, reader.damage))


def _problem(
    source: str, reader: LineReader, sessions: tuple[Transcript, ...], damage: str
) -> InputProblem | None:
    held = any(message.role in ("user", "assistant") for session in sessions for message in session.messages)
    if damage:
        rest = "what came before is used" if held else "nothing could be used"
        return InputProblem(f"{source}:{reader.lines}", f"{damage}: {rest}; get a whole copy of the file")
    if held:
        return None
    if reader.lines == 0:
        return InputProblem(source, "the file is empty: give a transcript .jsonl")
    if reader.readable == 0:
        first = reader.malformed[0] if reader.malformed else Malformed(1, "blank")
        return InputProblem(
            f"{source}:{first.line}", f"no line is a JSON object ({first.reason}): not a transcript"
        )
    return InputProblem(
        f"{source}:1", "no user or assistant record with a uuid: not a transcript of this kind"
    )


class _Collected:
    """Chain records as they come in: the first of a repeated uuid counts; sidechains are kept apart."""

    def __init__(self) -> None:
        self.types: Counter[str] = Counter()
        self._main: list[Message] = []
        self._side: dict[str, list[Message]] = {}
        self._seen: set[str] = set()
        self._root: dict[str, str] = {}
        self._repeated: list[Message] = []
        self._session_id = ""

    def add(self, message: Message, record: dict[str, object]) -> None:
        if message.uuid in self._seen:
            self._repeated.append(message)
            return
        self._seen.add(message.uuid)
        if not self._session_id:
            session_id = record.get("sessionId")
            self._session_id = session_id if isinstance(session_id, str) else ""
        if record.get("isSidechain") is not True:
            self._main.append(message)
            return
        agent = record.get("agentId")
        root = self._root.get(message.parent, message.uuid)
        self._root[message.uuid] = root
        self._side.setdefault(agent if isinstance(agent, str) else root, []).append(message)

    def sessions(
        self, source: str, digest: str, malformed: tuple[Malformed, ...], size: int
    ) -> Iterator[Transcript]:
        faults = []
        if self._repeated:
            first = self._repeated[0]
            count = len(self._repeated)
            faults = [
                Fault(
                    "CL903", first.line, first.uuid, f"uuid seen before ({count} repeated records left out)"
                )
            ]
        threads = [(source, self._main, False)] if self._main else []
        alone = not self._main and len(self._side) == 1
        threads += [
            (source if alone else f"{source}#{name}", side, True) for name, side in self._side.items()
        ]
        for index, (name, records, sidechain) in enumerate(threads):
            yield build(
                records,
                source=name,
                digest=digest,
                session_id=self._session_id,
                sidechain=sidechain,
                malformed=malformed if index == 0 else (),
                faults=faults if index == 0 else (),
                types=self.types if index == 0 else Counter(message.role for message in records),
                size=size,
            )
