"""The Python API: what the commands call, and what a notebook may call. No printing, no environment.

`load` reads one file, `replay`, `check` and `validate` take transcripts. The `*_paths` functions go over
files, directories and standard input, and return the problems of inputs beside the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

from compactlab.config.load import Settings, resolve
from compactlab.config.schema import digest, to_dict
from compactlab.engine.replay import Replay
from compactlab.engine.report import session_result, totals_over
from compactlab.ingest.load import InputProblem, find_files, load_path, load_stream
from compactlab.model.results import ReplayResult, SessionReplay, TableResult, Violation
from compactlab.model.transcript import Transcript

Progress = Callable[[str, int, int], None]
T = TypeVar("T")

#: The source of the problem that stands for an interrupt (Ctrl-C) after at least one session.
INTERRUPTED = "interrupted"


def load(path: str | Path) -> Transcript:
    """The main session of one file. Raises OSError, or InputError where it holds no session."""
    from compactlab.errors import InputError

    loaded = load_path(Path(path), str(path))
    if not loaded.sessions:
        raise InputError(
            f"{loaded.problem.source}: {loaded.problem.message}" if loaded.problem else str(path)
        )
    return loaded.sessions[0]


def replay(
    transcript: Transcript, config: Settings | None = None, *, as_recorded: bool = False
) -> SessionReplay:
    """Replay one session; `config` defaults to the built-in settings with the transcript's own profiles."""
    settings = config if config is not None else resolve(start=None)
    return session_result(Replay(transcript, settings, as_recorded=as_recorded).run())


class Inputs:
    """Sessions of files, directories and "-" (standard input), one file in memory at a time.

    Files come in the order of their names, each once; `problems` fills up on the way.
    """

    def __init__(
        self, paths: Sequence[str], stdin: IO[bytes] | None = None, progress: Progress | None = None
    ) -> None:
        self._paths = paths
        self._stdin = stdin
        self._progress = progress
        self.problems: list[InputProblem] = []

    def __iter__(self) -> Iterator[tuple[Transcript, ...]]:
        files = self._files()
        for done, name in enumerate(files):
            if self._progress is not None:
                self._progress(name, done, len(files))
            sessions = self._read(name)
            if sessions:
                yield sessions
            del sessions  # the next file is read when this one's memory is free again
        if self._progress is not None and files:
            self._progress("", len(files), len(files))

    def _read(self, name: str) -> tuple[Transcript, ...]:
        """The sessions of one file, () where it holds no messages; what is wrong with it goes to `problems`."""
        try:
            if name == "-" and self._stdin is not None:
                loaded = load_stream(self._stdin, "-")
            else:
                loaded = load_path(Path(name), name)
        except OSError as error:
            self.problems.append(InputProblem(name, (error.strerror or str(error)).lower()))
            return ()
        if loaded.problem is not None:
            self.problems.append(loaded.problem)
        held = any(m.role in ("user", "assistant") for t in loaded.sessions for m in t.messages)
        return loaded.sessions if held else ()

    def _files(self) -> list[str]:
        names: set[str] = set()
        for given in self._paths:
            if given == "-":
                names.add(given)
                continue
            path = Path(given)
            try:
                found = find_files(path)
            except OSError as error:
                self.problems.append(InputProblem(given, (error.strerror or str(error)).lower()))
                continue
            if not found:
                self.problems.append(InputProblem(given, "no .jsonl or .jsonl.gz file below this directory"))
            names.update(given if p == path else p.as_posix() for p in found)
        return sorted(names)


def _each(inputs: Inputs, main_only: bool, make: Callable[[Transcript], T]) -> list[T]:
    """One value a session. An interrupt keeps what is finished, and is told as a problem of the run."""
    made: list[T] = []
    try:
        for sessions in inputs:
            _make(made, main_sessions(sessions) if main_only else sessions, make)
            del sessions  # one session in memory at a time
    except KeyboardInterrupt:
        if not made:
            raise
        finished = "1 session was" if len(made) == 1 else f"{len(made)} sessions were"
        inputs.problems.append(InputProblem(INTERRUPTED, f"{finished} finished and reported"))
    return made


def _make(made: list[T], sessions: tuple[Transcript, ...], make: Callable[[Transcript], T]) -> None:
    for transcript in sessions:
        made.append(make(transcript))  # noqa: PERF401  what is made must outlive an interrupt


def main_sessions(sessions: tuple[Transcript, ...]) -> tuple[Transcript, ...]:
    """What a replay of a file plays: the main thread; sidechains only where they are all there is."""
    main = tuple(session for session in sessions if not session.sidechain)
    return main or sessions


def replay_paths(
    paths: Sequence[str],
    settings: Settings,
    *,
    as_recorded: bool = False,
    stdin: IO[bytes] | None = None,
    progress: Progress | None = None,
) -> tuple[ReplayResult, tuple[InputProblem, ...]]:
    """Replay every session below the paths, sorted by source."""
    inputs = Inputs(paths, stdin, progress)
    results = _each(
        inputs, True, lambda t: session_result(Replay(t, settings, as_recorded=as_recorded).run())
    )
    sessions = tuple(sorted(results, key=lambda r: (r.source, r.digest)))
    config = to_dict(settings.base())
    result = ReplayResult(
        config, digest({"overrides": settings.overrides(), "config": config}), sessions, totals_over(sessions)
    )
    return result, tuple(sorted(inputs.problems))


def validate_paths(
    paths: Sequence[str],
    settings: Settings,
    *,
    stdin: IO[bytes] | None = None,
    progress: Progress | None = None,
) -> tuple[TableResult, tuple[InputProblem, ...]]:
    """Predicted against recorded compactions for every session below the paths."""
    from compactlab.engine.tables import validation_table
    from compactlab.engine.validate import Validation

    inputs = Inputs(paths, stdin, progress)
    found = _each(inputs, True, lambda t: Validation(t, settings).run())
    return validation_table(found), tuple(sorted(inputs.problems))


def inspect_paths(
    paths: Sequence[str],
    settings: Settings,
    *,
    segment: int | None = None,
    stdin: IO[bytes] | None = None,
    progress: Progress | None = None,
) -> tuple[TableResult, tuple[InputProblem, ...]]:
    """What every session below the paths holds, sidechains as sessions of their own."""
    from compactlab.engine.inspect import Inspection, inspection_table

    inputs = Inputs(paths, stdin, progress)
    found = _each(inputs, False, lambda t: Inspection(t, settings, segment))
    return inspection_table(found), tuple(sorted(inputs.problems))


def check(transcript: Transcript, config: Settings | None = None) -> tuple[Violation, ...]:
    """The faults of a recording (CL9xx), then what a replay's layers break. `config` as in `replay`."""
    settings = config if config is not None else resolve(start=None)
    return session_result(Replay(transcript, settings).run(), faults=True).violations


def check_paths(
    paths: Sequence[str],
    settings: Settings,
    *,
    recording_only: bool = False,
    stdin: IO[bytes] | None = None,
    progress: Progress | None = None,
) -> tuple[TableResult, tuple[InputProblem, ...]]:
    """The invariants on every session below the paths: the recording's faults, and what a replay would send."""
    from compactlab.engine.check import check_table

    inputs = Inputs(paths, stdin, progress)
    found = _each(inputs, True, lambda t: session_result(Replay(t, settings).run(), faults=True))
    return check_table(found, recording_only=recording_only), tuple(sorted(inputs.problems))


def validate(transcript: Transcript, config: Settings | None = None) -> TableResult:
    """Predicted against recorded compactions of one session. `config` as in `replay`."""
    from compactlab.engine.tables import validation_table
    from compactlab.engine.validate import Validation

    settings = config if config is not None else resolve(start=None)
    return validation_table([Validation(transcript, settings).run()])


def layers() -> TableResult:
    """The layers in their order."""
    from compactlab.engine.check import layers_table

    return layers_table()


def explain(code: str) -> TableResult:
    """What an invariant says and what to do. Raises UsageError for an unknown code."""
    from compactlab.engine.check import explain_table

    return explain_table(code)
