"""The digest of a stream, computed beside the reading: hashing leaves the interpreter free for the parser."""

from __future__ import annotations

import hashlib
import queue
import threading

#: Chunks that may wait to be hashed. Hashing is the faster side; the bound only keeps the memory small.
_WAITING = 4


class Digest:
    """sha256 of all chunks given to `update`, in their order. `close` ends its thread; any number of times."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()
        self._chunks: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._open = True
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        update = self._sha.update
        while (chunk := self._chunks.get()) is not None:
            update(chunk)

    def update(self, chunk: bytes) -> None:
        """One more chunk of the stream."""
        self._chunks.put(chunk)

    def close(self) -> None:
        """No more chunks: waits until all are hashed."""
        if self._open:
            self._open = False
            self._chunks.put(None)
            self._thread.join()

    def hexdigest(self) -> str:
        """ "sha256:…" of everything given; closes."""
        self.close()
        return "sha256:" + self._sha.hexdigest()
