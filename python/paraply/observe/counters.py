"""Counters and report of an apply run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.observe.cpu_cost import CpuCost

if TYPE_CHECKING:
    from paraply._native import WriteSetFallback
    from paraply.logs.skipping import SkipResult
    from paraply.logs.stop_point import StopPlace
    from paraply.observe.conflicts import ConflictCount

__all__ = ["ApplyReport", "Counters", "WorkerCounters"]


@dataclass(slots=True)
class WorkerCounters:
    """Counters of one worker; written by that worker only.

    Attributes:
        number: Number of the worker, from 0.
        state: Current activity, as text.
        block: The block in progress; 0 for none.
        connection_id: The server's number of its connection.
        blocks: Blocks committed.
        transactions: Transactions committed.
        rows: Rows committed.
        retries: Blocks rolled back and applied again, whatever the reason: temporary errors, an older transaction, a merged block that is
            replayed one by one.
        rollbacks: Rollbacks, among the retries, that released locks for an older transaction.
        replays: Merged blocks replayed one by one.
        reconnects: New connections after a lost one.
        apply_seconds: Time spent applying and committing.
        waits: Seconds waited, by kind: ``input``, ``dependency``, ``rest``, ``turn``, ``retry``, ``older``, ``reconnect``.
        tries: Attempts at the present block that ended in a temporary error.
        began: Start of the present block, seconds since 1970; 0 for none.
        gtid: GTID of the present block's first transaction, if it has one.
        committed_at: Commit time of that transaction on the source, microseconds since 1970, UTC; None if not known.
        last_gtid: GTID of the last committed transaction, if it has one.
        last_committed_at: Commit time of the last committed transaction on the source.
        last_began: Start of the last committed block, seconds since 1970; 0 for none.
        last_ended: Commit time of the last committed block on the target, seconds since 1970; 0 for none.
        last_tries: Attempts at the last committed block that ended in a temporary error.
        last_error: The last temporary error; empty for none.
        last_error_at: Time of the last temporary error, seconds since 1970.
    """

    number: int
    state: str = "Starting"
    block: int = 0
    connection_id: int = 0
    blocks: int = 0
    transactions: int = 0
    rows: int = 0
    retries: int = 0
    rollbacks: int = 0
    replays: int = 0
    reconnects: int = 0
    apply_seconds: float = 0.0
    waits: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("input", "dependency", "rest", "turn", "retry", "older", "reconnect"), 0.0)
    )
    tries: int = 0
    began: float = 0.0
    gtid: str | None = None
    committed_at: int | None = None
    last_gtid: str | None = None
    last_committed_at: int | None = None
    last_began: float = 0.0
    last_ended: float = 0.0
    last_tries: int = 0
    last_error: str = ""
    last_error_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Counters:
    """Snapshot of a run; figures may be a moment apart.

    Attributes:
        seconds: Seconds since the start of the run.
        read: Transactions read from the log.
        read_bytes: Bytes of the transactions read.
        queue: Jobs handed out and not started.
        backlog: Transactions read and not handed out.
        low_water_mark: Block up to which everything is committed.
        ahead: Blocks committed after a gap, above the low-water mark.
        transactions: Transactions committed.
        commits: Commits sent (blocks; parts of replayed ones).
        skipped: Transactions skipped: applied before, or left out by name.
        merged: Transactions that shared a commit.
        rows: Rows committed.
        running: Workers that apply.
        waiting_dependency: Workers idle because every queued job is blocked by a dependency.
        waiting_input: Workers idle because there is no job.
        resting: Workers idle because the others keep the target busy.
        waiting_turn: Workers whose transaction waits for its turn to commit.
        retries: Blocks rolled back and applied again, whatever the reason.
        rollbacks: Rollbacks, among the retries, in which a younger transaction released locks for an older one.
        reconnects: New connections after lost ones.
        serial: True while a storm of retries restricts the apply to one block at a time.
        merge: Most transactions that become one commit now.
        rate: Transactions a second over the last seconds.
        last_gtid: GTID of the last transaction committed, if it has one.
        committed_at: Commit time of the last transaction on the source, microseconds since 1970, UTC; None if not known.
        lag: Seconds since that commit; None if not known.
        handed_gtid: GTID of the last transaction handed to a worker, if it has one.
        handed_committed_at: Commit time of that transaction on the source.
        handed_at: Time at which it was handed out, seconds since 1970; 0 for none.
        filtered: Transactions that the filters left empty.
        bytes_done: Bytes of the logs up to the last transaction committed.
        bytes_total: Bytes of the logs up to their end, or up to the stop once it is found.
        seconds_left: Estimated seconds left at the present rate; None if not known yet.
        foreign_blockers: Connections that block the oldest block and do not belong to this process.
        conflicts: Row changes that did not fit the target (``--on-conflict``).
        workers: Counters of each worker.
    """

    seconds: float = 0.0
    read: int = 0
    read_bytes: int = 0
    queue: int = 0
    backlog: int = 0
    low_water_mark: int = 0
    ahead: int = 0
    transactions: int = 0
    commits: int = 0
    skipped: int = 0
    merged: int = 0
    rows: int = 0
    running: int = 0
    waiting_dependency: int = 0
    waiting_input: int = 0
    resting: int = 0
    waiting_turn: int = 0
    retries: int = 0
    rollbacks: int = 0
    reconnects: int = 0
    serial: bool = False
    merge: int = 1
    rate: float = 0.0
    last_gtid: str | None = None
    committed_at: int | None = None
    lag: float | None = None
    handed_gtid: str | None = None
    handed_committed_at: int | None = None
    handed_at: float = 0.0
    filtered: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    seconds_left: float | None = None
    foreign_blockers: tuple[int, ...] = ()
    conflicts: int = 0
    workers: tuple[WorkerCounters, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """Result of a run.

    Attributes:
        transactions: Transactions committed.
        commits: Number of commits.
        skipped: Transactions skipped: applied before, or left out by name.
        filtered: Transactions that the filters left empty; they are recorded as done.
        own_left_out: Transactions from which changes of paraply's own tables were removed.
        stop: The transaction at which reading stopped, if a stop was reached.
        skip: Outcome of ``--skip``; None without it.
        rows: Rows committed.
        merged: Transactions that shared a commit.
        executed: GTID set that the target holds now, by its progress; empty for a log without GTIDs.
        seconds: Wall time.
        retries: Blocks rolled back and applied again, whatever the reason.
        rollbacks: Rollbacks, among the retries, in which a younger transaction released locks for an older one (R24).
        replays: Merged blocks replayed one by one.
        reconnects: New connections after lost ones.
        storms: Times that retries degraded the apply to one block at a time.
        waits: Seconds waited, summed over the workers, by kind; ``reader`` is the coordinator's wait for the log.
        fallbacks: (reason, table, count) of coarser write sets (R13).
        notes: Remarks for the user.
        workers: Counters of each worker.
        conflicts: Row changes that did not fit the target, by table and kind.
        on_conflict: Treatment of these changes: ``stop``, ``log`` or ``overwrite``.
        cpu: CPU time of the run by stage.
    """

    transactions: int = 0
    commits: int = 0
    skipped: int = 0
    filtered: int = 0
    own_left_out: int = 0
    stop: StopPlace | None = None
    skip: SkipResult | None = None
    rows: int = 0
    merged: int = 0
    executed: str = ""
    seconds: float = 0.0
    retries: int = 0
    rollbacks: int = 0
    replays: int = 0
    reconnects: int = 0
    storms: int = 0
    waits: dict[str, float] = field(default_factory=dict)
    fallbacks: list[WriteSetFallback] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    workers: list[WorkerCounters] = field(default_factory=list)
    conflicts: tuple[ConflictCount, ...] = ()
    on_conflict: str = "stop"
    cpu: CpuCost = field(default_factory=CpuCost)
