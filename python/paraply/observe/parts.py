"""Interfaces of the parts of a run whose state ``observe`` reads; the applier has the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paraply._native import Block, GtidSet
    from paraply.observe.conflicts import ConflictTally
    from paraply.observe.counters import WorkerCounters
    from paraply.observe.cpu_cost import CpuMeter
    from paraply.observe.timeline import Timeline
    from paraply.targets.channel_status import Pause
    from paraply.targets.conflicts import OnConflict

__all__ = ["AppliedJob", "BatchSize", "JobQueue", "ObservedRun", "ObservedWorker", "OrderedCommits", "Pausable", "RetryStorms"]


class Pausable(Protocol):
    """The gate that a pause closes."""

    @property
    def pause(self) -> Pause | None:
        """The pause in force."""

    def set_pause(self, pause: Pause | None) -> None:
        """Begin or end a pause."""


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
        """True while blocks are applied one after the other."""

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
        """Present number."""


class AppliedJob(Protocol):
    """A job in progress."""

    @property
    def block(self) -> Block:
        """The block."""


class ObservedWorker(Protocol):
    """A worker, or a worker of the target's own applier."""

    @property
    def job(self) -> AppliedJob | None:
        """The job in progress; None for an idle worker."""

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
    own_left_out: int
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
    def cpu(self) -> CpuMeter:
        """CPU time of the run."""

    @property
    def last_block(self) -> Block | None:
        """The newest committed block."""

    @property
    def on_conflict(self) -> OnConflict | None:
        """Treatment of row changes that do not fit."""

    @property
    def conflicts(self) -> ConflictTally:
        """Row changes that did not fit."""

    @property
    def handed(self) -> Block | None:
        """The last block that was handed to a worker."""

    def executed(self) -> GtidSet:
        """Return the GTIDs that are committed."""

    def executed_text(self) -> str:
        """Return the GTIDs that are committed as text."""

    def note(self, text: str) -> None:
        """Add a remark to the log and to the report."""
