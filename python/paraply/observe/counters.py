"""What an apply run counts, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.logs.stop_point import StopPlace

__all__ = ["ApplyReport", "Counters", "WorkerCounters"]


@dataclass(slots=True)
class WorkerCounters:
    """What one worker did; written by that worker only.

    Attributes:
        number: From 0.
        state: What it does now, as text.
        block: The block that it works on, 0 for none.
        connection_id: The server's number of its connection.
        blocks: Blocks committed.
        transactions: Transactions committed.
        rows: Rows of those.
        retries: Blocks rolled back and applied again, whatever the reason: temporary errors, an older transaction, a merged block that is
            replayed one by one.
        rollbacks: Those of them where it gave its locks back to an older transaction.
        replays: Merged blocks that it replayed one by one.
        reconnects: New connections after a lost one.
        apply_seconds: Time spent applying and committing.
        waits: Seconds waited, by kind: ``input``, ``dependency``, ``rest``, ``turn``, ``retry``, ``older``, ``reconnect``.
        tries: Tries of the block under way that ended in a temporary error.
        began: When it began with that block, seconds since 1970; 0 for none.
        gtid: GTID of that block's first transaction, if it has one.
        committed_at: When the source committed that transaction, microseconds since 1970, UTC; None if not known.
        last_gtid: GTID of the last transaction that it committed, if it has one.
        last_committed_at: When the source committed that.
        last_began: When it began with the block of that transaction, seconds since 1970; 0 for none.
        last_ended: When that block was committed, seconds since 1970; 0 for none.
        last_tries: Tries of that block that ended in a temporary error.
        last_error: The last temporary error, and empty for none.
        last_error_at: When it came, seconds since 1970.
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
    """A snapshot of a run; figures may be a moment apart.

    Attributes:
        seconds: Since the run began.
        read: Transactions read from the log.
        read_bytes: Bytes of those.
        queue: Jobs handed out and not started.
        backlog: Transactions read and not handed out.
        low_water_mark: Block up to which everything is committed.
        ahead: Blocks committed ahead of that, behind a gap.
        transactions: Transactions committed.
        commits: Commits sent (blocks; parts of replayed ones).
        skipped: Transactions passed over because they were applied before.
        merged: Transactions that shared a commit.
        rows: Rows committed.
        running: Workers that apply.
        waiting_dependency: Workers idle because no job may start.
        waiting_input: Workers idle because there is no job.
        resting: Workers idle because the others keep the target busy.
        waiting_turn: Workers whose transaction waits for its turn to commit.
        retries: Blocks rolled back and applied again, whatever the reason.
        rollbacks: Those of them where a younger transaction gave way to an older one.
        reconnects: New connections after lost ones.
        serial: Whether a storm of retries has degraded the apply to one block at a time.
        merge: Most transactions that become one commit now.
        rate: Transactions a second over the last seconds.
        last_gtid: GTID of the last transaction committed, if it has one.
        committed_at: When the source committed the last transaction, microseconds since 1970, UTC; None if not known.
        lag: Seconds since then; None if not known.
        handed_gtid: GTID of the last transaction that was handed to a worker, if it has one.
        handed_committed_at: When the source committed that.
        handed_at: When it was handed out, seconds since 1970; 0 for none.
        filtered: Transactions of which the filters left nothing.
        bytes_done: Bytes of the logs up to the last transaction committed.
        bytes_total: Bytes of the logs up to their end, or up to the stop as soon as it is found.
        seconds_left: How long the rest may take at the present rate; None if that cannot be told yet.
        foreign_blockers: Connections that are not ours and hold locks which the oldest block waits for.
        workers: One for each worker.
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
    workers: tuple[WorkerCounters, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What a run did.

    Attributes:
        transactions: Transactions committed.
        commits: Commits that they took.
        skipped: Transactions passed over because they were applied before.
        filtered: Transactions of which the filters left nothing; they are recorded as done.
        stop: The transaction at which the log was left, where a stop was reached.
        rows: Rows committed.
        merged: Transactions that shared a commit.
        executed: GTID set that the target holds now, by its progress; empty for a log without GTIDs.
        seconds: Wall time.
        retries: Blocks rolled back and applied again, whatever the reason.
        rollbacks: Those of them where a younger transaction gave way to an older one (R24).
        replays: Merged blocks replayed one by one.
        reconnects: New connections after lost ones.
        storms: Times that retries degraded the apply to one block at a time.
        waits: Seconds waited, summed over the workers, by kind; ``reader`` is the coordinator's wait for the log.
        fallbacks: (reason, table, count) of coarser write sets (R13).
        notes: Remarks for the user.
        workers: One for each worker.
    """

    transactions: int = 0
    commits: int = 0
    skipped: int = 0
    filtered: int = 0
    stop: StopPlace | None = None
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
    fallbacks: list[tuple[str, str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    workers: list[WorkerCounters] = field(default_factory=list)
