"""Where bytes go: standard output, or a file that is either whole or not there.

Nothing is formatted here. Failures come out as a `ResourceError` of one line; a reader that closed the pipe
is no failure.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO, cast

from compactlab.errors import ResourceError


def write(text: bytes, output: Path | None) -> None:
    """Write to standard output (`None` or `-`) or to the file `output`, atomically.

    An existing file keeps its permissions and stays untouched on any failure; a new one follows the umask.
    Devices and pipes are written to directly.
    """
    if output is None or str(output) == "-":
        _to_stdout(text)
        return
    try:
        if _is_stream(output):
            _to_stream(text, output)
        else:
            _to_file(text, Path(os.path.realpath(output)))
    except OSError as error:
        raise ResourceError(f"cannot write {output}: {_reason(error)}") from error


def _to_stdout(text: bytes) -> None:
    try:
        sys.stdout.flush()
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(text.decode("utf-8", "backslashreplace"))
        else:
            _write_all(cast(BinaryIO, stream), text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        raise ResourceError(f"cannot write to standard output: {_reason(error)}") from error


def _write_all(stream: BinaryIO, text: bytes) -> None:
    """Write everything, also where the stream is unbuffered and takes a part at a time."""
    rest = memoryview(text)
    while rest:
        taken = cast("int | None", stream.write(rest))
        if taken is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = rest[taken:]
    stream.flush()


def _silence_stdout() -> None:
    """Point standard output at the null device, so that the flush at exit does not fail once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, sys.stdout.fileno())
        finally:
            os.close(null)


def _is_stream(output: Path) -> bool:
    """A device, a pipe, or a name of an open descriptor: nothing that may be replaced by a new file."""
    if output.is_absolute() and output.parts[1:2] in (("dev",), ("proc",)):
        return True
    try:
        mode = os.stat(output).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return not stat.S_ISREG(mode)


def _to_stream(text: bytes, output: Path) -> None:
    with contextlib.suppress(BrokenPipeError), open(output, "wb") as stream:
        _write_all(stream, text)


def _to_file(text: bytes, target: Path) -> None:
    temporary = target.with_name(f".compactlab-{os.urandom(8).hex()}.tmp")
    try:
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
        )
        with open(descriptor, "wb") as stream:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
