"""The parts of a run that its status is taken from, as far as ``observe`` reads them; the applier has the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paraply._native import Block, GtidSet
    from paraply.observe.counters import WorkerCounters
    from paraply.observe.timeline import Timeline

__all__ = ["AppliedJob", "BatchSize", "JobQueue", "ObservedRun", "ObservedWorker", "OrderedCommits", "RetryStorms"]


class OrderedCommits(Protocol):
    """The commit order of a run."""

    @property
    def low_water_mark(self) -> int:
        """Number up to which every block is committed."""

    @property
    def ahead(self) -> int:
        """Number of blocks that are committed before an older one."""


class JobQueue(Protocol):
    """The job list of a run."""

    @property
    def serial(self) -> bool:
        """Whether blocks are applied one after the other for a while."""

    def __len__(self) -> int: ...


class RetryStorms(Protocol):
    """The guard against storms of retries."""

    @property
    def storms(self) -> int:
        """Number of storms so far."""


class BatchSize(Protocol):
    """Number of transactions that may become one commit."""

    @property
    def current(self) -> int:
        """The number now."""


class AppliedJob(Protocol):
    """A block under way."""

    @property
    def block(self) -> Block:
        """The block."""


class ObservedWorker(Protocol):
    """A worker, or a worker of the target's own applier."""

    @property
    def job(self) -> AppliedJob | None:
        """The block under way; None for an idle worker."""

    @property
    def counters(self) -> WorkerCounters:
        """The worker's counters."""


class ObservedRun(Protocol):
    """One run of the applier."""

    timeline: Timeline | None
    notes: list[str]
    transactions: int
    commits: int
    skipped: int
    filtered: int
    merged: int
    rows: int
    started: float
    handed_at: float
    foreign_blockers: tuple[int, ...]

    @property
    def order(self) -> OrderedCommits:
        """The commit order."""

    @property
    def jobs(self) -> JobQueue | None:
        """The job list; None when blocks are applied inline."""

    @property
    def storm(self) -> RetryStorms:
        """The guard against storms of retries."""

    @property
    def last_block(self) -> Block | None:
        """The newest committed block."""

    @property
    def handed(self) -> Block | None:
        """The last block that was handed to a worker."""

    def executed(self) -> GtidSet:
        """Return the GTIDs that are committed."""

    def executed_text(self) -> str:
        """Return the GTIDs that are committed as text."""

    def note(self, text: str) -> None:
        """Add a remark to the log and to the report."""
