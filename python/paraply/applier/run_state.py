"""What the threads of one apply run share."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING

from paraply.applier.commit_order import CommitOrder
from paraply.applier.retry import RetryPolicy, StormGuard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paraply._native import Block, GtidSet
    from paraply.applier.job_list import JobList
    from paraply.target.base import Session, Target

__all__ = ["RunState", "SharedTarget"]

_log = logging.getLogger("paraply.applier")

_STEP = 0.05


class SharedTarget:
    """A target whose own connection is used by one thread at a time; sessions are opened without waiting.

    Args:
        target: The target.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._mutex = threading.Lock()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Target]:
        """The target, for calls other than ``session``."""
        with self._mutex:
            yield self._target

    def session(self) -> Session:
        """A new session for the calling thread."""
        return self._target.session()

    def committed(self, block: Block) -> bool:
        """Whether the block is in."""
        with self._mutex:
            return self._target.committed(block)

    def blockers(self, connection_id: int) -> list[int]:
        """Who holds the locks that this connection waits for."""
        with self._mutex:
            return self._target.blockers(connection_id)


class RunState:
    """Order, counters and switches of one run.

    Args:
        target: The target.
        executed: GTIDs that the target's progress holds at the start.
        retry: How temporary errors are met.
        jobs: The job list; None when blocks are applied inline.
        storm: Sees storms of retries; a default one if not given.
    """

    def __init__(
        self, target: Target, executed: GtidSet, retry: RetryPolicy, jobs: JobList | None, storm: StormGuard | None = None
    ) -> None:
        self.target = SharedTarget(target)
        self.order = CommitOrder()
        self.jobs = jobs
        self.retry = retry
        self.storm = storm or StormGuard()
        self.executed = executed
        self.notes: list[str] = []
        self.transactions = 0
        self.commits = 0
        self.skipped = 0
        self.filtered = 0
        self.merged = 0
        self.rows = 0
        self.last_block: Block | None = None
        self.apply_seconds = 0.0
        """A running median of how long applying or committing a block takes."""
        self.started = time.perf_counter()
        self.foreign_blockers: tuple[int, ...] = ()

    def through(self, block: Block) -> None:
        """Counts a committed block; called by whoever has the turn, so by one thread at a time."""
        filtered = block.filtered
        count = block.transaction_count - filtered
        self.filtered += filtered
        self.transactions += count
        self.commits += 1
        self.skipped += block.skipped
        self.rows += block.rows
        if count > 1:
            self.merged += count
        self.executed = self.executed | block.gtids
        self.last_block = block
        if self.storm.committed():
            self.set_serial(serial=False)

    def apply_took(self, seconds: float) -> None:
        """Moves the median; the length of an outlier, such as a wait for a lock, does not count."""
        median = self.apply_seconds
        self.apply_seconds = seconds if not median else median * (1 + _STEP if seconds > median else 1 - _STEP)

    def retried(self) -> None:
        """Counts a retry, and degrades to serial if they storm."""
        if self.storm.retried():
            self.set_serial(serial=True)

    def set_serial(self, *, serial: bool) -> None:
        """Switches between parallel and serial apply, and says so."""
        if self.jobs is None:
            return
        self.jobs.set_serial(serial)
        if serial:
            self.note("too many retries: applying one block at a time for a while")
        else:
            _log.info("applying in parallel again")

    def note(self, text: str) -> None:
        """A remark for the log and the report; each only once in the report."""
        _log.warning("%s", text)
        if text not in self.notes:
            self.notes.append(text)

    def abort(self, error: BaseException) -> None:
        """Ends the run at once; whatever is not committed rolls back."""
        self.order.abort(error)
        if self.jobs is not None:
            self.jobs.abort()
