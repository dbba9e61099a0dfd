"""A replay of recorded statements: several connections, the order of dependent blocks, and no order of commits."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import ParaplyError, ServerError, TemporaryFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply.bench.floor.family import FloorConnection
    from paraply.bench.floor.recording import RecordedBlock, Recording

__all__ = ["FloorRun", "replay"]

_TRIES = 50
_TEMPORARY = {1205, 1213}
_WINDOW = 256
"""Blocks after the oldest one that are looked through for one that may start."""


@dataclass(frozen=True, slots=True)
class FloorRun:
    """One replay.

    Attributes:
        seconds: From the opening of the connections to the last answer.
        client_cpu: CPU seconds of the client.
        repeated: Blocks that were rolled back and sent again.
    """

    seconds: float
    client_cpu: float
    repeated: int


def replay(recording: Recording, connect: Callable[[], FloorConnection], connections: int) -> FloorRun:
    """Send all blocks.

    Args:
        recording: The blocks.
        connect: Opens a connection.
        connections: Number of connections, each with a thread of its own.

    Raises:
        ParaplyError: A statement failed.
    """
    progress = _Progress(recording.blocks)
    threads = [threading.Thread(target=_work, args=(progress, connect), name="paraply-floor") for _ in range(connections)]
    started, cpu = time.monotonic(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    if progress.failure is not None:
        raise progress.failure
    return FloorRun(seconds, cpu, progress.repeated)


def _work(progress: _Progress, connect: Callable[[], FloorConnection]) -> None:
    """Take and send blocks until there are no more."""
    try:
        connection = connect()
        try:
            known: set[bytes] = set()
            while (block := progress.take()) is not None:
                _send(progress, connection, block, known)
                progress.committed(block.number)
        finally:
            connection.close()
    except ParaplyError as error:
        progress.fail(error)
    except BaseException as error:  # the other threads would wait for this one
        progress.fail(ParaplyError(f"the client failed: {error!r}"))


def _send(progress: _Progress, connection: FloorConnection, block: RecordedBlock, known: set[bytes]) -> None:
    """Send a block and commit it; a deadlock or a lock that was not available repeats it."""
    for text in block.needs:
        if text not in known:
            connection.send(text)
            known.add(text)
    for tries in range(1, _TRIES + 1):
        try:
            for part in block.parts:
                progress.await_all(part.up_to)
                for text in part.texts:
                    connection.send(text)
            if block.commits and block.parts:
                connection.send(b"COMMIT")
        except (TemporaryFailure, ServerError) as error:
            if tries == _TRIES or not block.commits or (isinstance(error, ServerError) and error.code not in _TEMPORARY):
                raise
            with suppress(ServerError):
                connection.send(b"ROLLBACK")
            progress.repeated += 1
        else:
            return


@dataclass(slots=True)
class _Progress:
    """Committed statements of a replay, and the next one that may start."""

    blocks: Sequence[RecordedBlock]
    failure: ParaplyError | None = None
    repeated: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _waiting: deque[RecordedBlock] = field(default_factory=deque)
    _ahead: set[int] = field(default_factory=set)
    _mark: int = 0

    def __post_init__(self) -> None:
        self._waiting.extend(self.blocks)

    def take(self) -> RecordedBlock | None:
        """Return the oldest block that may start, as soon as there is one; None if there are no more."""
        with self._changed:
            while self.failure is None and self._waiting:
                for place in range(min(_WINDOW, len(self._waiting))):
                    block = self._waiting[place]
                    if block.up_to <= self._mark and all(number <= self._mark or number in self._ahead for number in block.after):
                        del self._waiting[place]
                        return block
                self._changed.wait()
            return None

    def committed(self, number: int) -> None:
        """Note that a block is committed."""
        with self._changed:
            self._ahead.add(number)
            while self._mark + 1 in self._ahead:
                self._mark += 1
                self._ahead.discard(self._mark)
            self._changed.notify_all()

    def await_all(self, number: int) -> None:
        """Wait until all blocks up to this one are committed.

        Raises:
            ParaplyError: Another block failed.
        """
        if number <= self._mark:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._mark >= number or self.failure is not None)
            if self.failure is not None:
                raise self.failure

    def fail(self, error: ParaplyError) -> None:
        """End all threads."""
        with self._changed:
            self.failure = self.failure or error
            self._changed.notify_all()
