"""The interface between the applier and a database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from paraply.targets.conflicts import OnConflict
from paraply.targets.ddl_answer import DdlAnswer

if TYPE_CHECKING:
    from paraply._native import Block, Format, GtidSet, TableMap, Transaction
    from paraply.logs.skipping import Diverged
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.channel_status import ChannelStatus, Pause

__all__ = [
    "ApplyPlan",
    "Capabilities",
    "Forecast",
    "Inspection",
    "LocalTime",
    "Progress",
    "RowForecast",
    "Session",
    "Standing",
    "StatusRow",
    "Target",
]

LocalTime = Callable[[str, int], str | None]
"""Returns the local time in a session's time zone at a Unix time in seconds, as ``YYYY-MM-DD hh:mm:ss``; None if it is not known."""


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """The properties of an apply run that the target must know before the first write.

    Attributes:
        channel: Name under which the progress is stored.
        fingerprint: Identity of sources, filters and start; stored progress with a different fingerprint is refused (R25).
        workers: Number of sessions that apply at the same time.
        gtid_mode: ``record``, ``preserve``, ``none`` or ``auto``.
        has_gtids: True if the log's transactions carry GTIDs.
        mariadb: True if a MariaDB server wrote the log.
        allow_nontransactional: Accept tables of non-transactional engines (R34).
        ddl_decision: The user's answer about a statement with an unknown outcome (R25b): ``done`` or ``not-done``; None if not given.
        gaps: True if blocks may commit before older ones, so that the progress must hold gaps (R25).
        two_phase: True if the target must be able to commit one transaction on several connections, in two phases.
        timestamp_column: The column with the time of the last write of a row; None except for policy ``unordered``.
        xa: True if the log has XA transactions that are prepared and ended separately (R35).
        lower_case_table_names: The source's setting of that name, where it is known.
        renames: True if tables have other names on the target, so that its own GTIDs do not show which transactions it holds.
        answer: The answer ``done`` for the first statement of the run, if it does not belong to a statement that an earlier run began.
        live: True if the target is a replica of a live source, so that ``auto`` prefers a mode that keeps its GTIDs right at every moment.
        local_time: Asks the source for a local time; None if there is no source to ask.
        first_gtid: GTID of the log's first transaction; empty if it is not known.
        on_conflict: Treatment of rows that do not fit the target.
        by_replication: True if the target's own replication applies.
        log_version: Version of the server that wrote the log's first transaction; empty if it is not known.
    """

    channel: str
    fingerprint: str
    workers: int
    gtid_mode: Literal["auto", "record", "preserve", "none"] = "auto"
    has_gtids: bool = True
    mariadb: bool = False
    allow_nontransactional: bool = False
    ddl_decision: Literal["done", "not-done"] | None = None
    gaps: bool = False
    two_phase: bool = False
    timestamp_column: str | None = None
    xa: bool = False
    lower_case_table_names: int | None = None
    renames: bool = False
    answer: DdlAnswer = field(default_factory=DdlAnswer, compare=False)
    live: bool = False
    local_time: LocalTime | None = field(default=None, compare=False)
    first_gtid: str = field(default="", compare=False)
    on_conflict: OnConflict = field(default=OnConflict.STOP, compare=False)
    by_replication: bool = False
    log_version: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The optional features of a target.

    Attributes:
        takes_batches: True if its sessions accept several blocks at once (``BatchSession``).
        replicates: True if it has a replication applier of its own (``--via replication``).
        has_system_databases: True if it has system databases like the source's server, such as ``mysql``.
    """

    takes_batches: bool = False
    replicates: bool = False
    has_system_databases: bool = True


@dataclass(slots=True)
class Progress:
    """The progress that the target already holds.

    Attributes:
        executed: Applied GTIDs (stored progress and the target's own gtid_executed); empty for a log without GTIDs.
        file: Base name of the log file of the last committed transaction, if any.
        offset: Offset after that transaction.
        ordinal: Number of committed transactions of the source.
        resumed: True if an earlier run stored this progress.
        notes: Remarks for the user.
        done: For a log without GTIDs, file and end offset of each transaction that is applied after ``offset``.
        low: GTIDs that are applied without a gap, if the text of ``executed`` cannot hold gaps; else None.
        diverged: Tables that differ from the log since a statement was skipped.
    """

    executed: GtidSet
    file: str | None = None
    offset: int | None = None
    ordinal: int = 0
    resumed: bool = False
    notes: list[str] = field(default_factory=list)
    low: GtidSet | None = None
    done: frozenset[tuple[str, int]] = frozenset()
    diverged: tuple[Diverged, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state that an apply would find in the target, read without writing.

    Attributes:
        progress: Progress that the target already holds.
        gtid_mode: The GTID mode that ``auto`` would become; ``none`` where the target has no GTIDs.
        merges: True if that mode allows several transactions in one commit.
        tables: Tables of the target; empty if they were not requested.
        own: The target's ``server_uuid`` if it would assign GTIDs of its own to the replay; else empty.
        xa: Prepared XA transactions of the log that the target could end; None if the target does not support XA (R35).
        notes: Remarks about the target for the user.
        runs_events: True if the target runs scheduled events.
        history: GTIDs that the target wrote or holds by its own account, and its server id; only for a plan with renames.
        mode_note: Remark about the GTID mode.
        mode_is_fallback: True if the remark is a warning: the preferred mode is not possible.
        shares_own_database: True if the database of paraply's own tables has tables of other owners.
    """

    progress: Progress
    gtid_mode: str = "none"
    merges: bool = True
    tables: tuple[Table, ...] = ()
    own: str = ""
    xa: frozenset[str] | None = None
    notes: tuple[str, ...] = ()
    runs_events: bool = False
    history: tuple[GtidSet, int] | None = None
    mode_note: str = ""
    mode_is_fallback: bool = False
    shares_own_database: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The tables of a log in a target, read without writing.

    Attributes:
        tables: The source's table definitions after the applied transactions.
        written: ``database.table`` of each table that has rows; empty if the target is of the log's family.
    """

    tables: tuple[Table, ...] = ()
    written: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forecast:
    """A transaction with statements, to be checked before it runs.

    Attributes:
        transaction: The transaction.
        changes: Schema changes of its statements.
        known: The source's tables before the transaction.
        written: ``database.table`` of each table that has rows at that time.
        lower_case_table_names: The source's setting of that name, where it is known.
    """

    transaction: Transaction
    changes: Sequence[SchemaChange]
    known: Mapping[tuple[str, str], Table]
    written: frozenset[str] = frozenset()
    lower_case_table_names: int | None = None


@dataclass(frozen=True, slots=True)
class RowForecast:
    """The first rows of a table that an apply would write, or the first rows after a change of the table.

    Attributes:
        table_map: The table as the log describes it.
        table: The source's definition; None if unknown.
        log: Format of the log.
        changed: True if the log itself creates or changes the table before these rows.
        plan: Plan with which the target would be opened.
    """

    table_map: TableMap
    table: Table | None
    log: Format
    changed: bool
    plan: ApplyPlan

    @property
    def name(self) -> str:
        """``database.table``."""
        return f"{self.table_map.database}.{self.table_map.table}"


class StatusRow(Protocol):
    """The row in the target that holds a run's status, on its own connection."""

    def publish(self, text: str) -> None:
        """Write the row, unless another run has taken over the channel.

        Raises:
            ParaplyError: The row cannot be written now.
        """

    def paused(self) -> Pause | None:
        """Return the pause of the channel that is noted in the target; None without one.

        Raises:
            ParaplyError: It cannot be read now.
        """

    def close(self) -> None:
        """Close the connection; never raise."""


class ChannelControl(Protocol):
    """A connection that changes the state of channels past the target's binlog, while runs may be active."""

    def pause(self, channel: str, by: str) -> None:
        """Note a pause; one that is noted already stays as it is."""

    def resume(self, channel: str) -> bool:
        """Remove the pause; return False if there was none."""

    def forget(self, channel: str) -> None:
        """Remove the channel's progress. A run that is active nevertheless ends with AlreadyRunning before its next commit.

        Raises:
            UsageError: Something of the channel must be ended before, such as prepared XA transactions.
            AlreadyRunning: Transactions of the channel are open.
        """

    def close(self) -> None:
        """Close the connection; never raise."""


class Session(Protocol):
    """The connection of one worker. Only ``interrupt`` and ``rescue`` may be called from another thread."""

    @property
    def connection_id(self) -> int:
        """Number of this connection on the server, as ``Target.blockers`` uses it."""

    def apply(self, block: Block) -> None:
        """Begin a transaction, check the channel's epoch (R25a), write the progress and apply the rows; do not commit.

        Raises:
            TemporaryFailure: A deadlock or a lock wait timeout; the caller rolls back and tries again.
            ApplyFailed: The block cannot be applied; the error names transaction, table and key.
            ConnectionLost: The connection broke; the caller reconnects and checks whether the block was committed.
            AlreadyRunning: Another process has taken over the channel.
        """

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply a block like ``apply``, with its rows in several parts, so that some rows go in early.

        Args:
            block: The whole block, for the progress.
            steps: The parts of its rows in order; the iterator waits until the next part may be applied.
        """

    def commit(self) -> None:
        """Commit the transaction that ``apply`` left open."""

    def rollback(self) -> None:
        """Roll back the open transaction; never raise for a broken connection."""

    def execute_statement(self, block: Block) -> None:
        """Run a DDL or XA block together with its progress, and commit it (R25b, R33, R35)."""

    def interrupt(self) -> None:
        """Cancel the running statement from another thread: on Ctrl-C, or as the younger transaction of a deadlock (R24)."""

    def rescue(self) -> None:
        """Close the connection from another thread if it waits for an answer that will not come; called about once a second."""

    def close(self) -> None:
        """Close the connection; never raise."""


class Target(Protocol):
    """A database that transactions are applied to."""

    @property
    def family(self) -> Literal["mysql", "mariadb", "postgresql"]:
        """Family of the server."""

    @property
    def is_local(self) -> bool:
        """True if its address is on this machine; a proxy at that address may still forward to another machine."""

    @property
    def capabilities(self) -> Capabilities:
        """The optional features of the target. Features that do not depend on the plan are known before ``open``."""

    @property
    def merges(self) -> bool:
        """True if the GTID mode in force allows several transactions in one commit (R21a)."""

    @property
    def most_merged(self) -> int:
        """Most transactions that automatic merging puts into one commit. Larger blocks lose more time to waiting than they save."""

    def inspect(self, plan: ApplyPlan, *, tables: bool = False) -> Inspection:
        """Return the state that ``open`` would find. Write nothing, and close all connections again.

        Args:
            plan: As for ``open``.
            tables: True to read the tables' definitions too.
        """

    def open(self, plan: ApplyPlan) -> Progress:
        """Connect, check privileges and modes, raise the channel's epoch, create the progress tables, and return the progress."""

    def session(self) -> Session:
        """Return a new session for a worker; called in the worker's thread."""

    def open_status_row(self, found: ChannelStatus | None = None) -> StatusRow | None:
        """Return the row that holds a run's status, on its own connection; None if it cannot be stored.

        Args:
            found: The channel, of which nothing is taken over; None for that of the run, after ``open``.
        """

    def read_channels(self) -> list[ChannelStatus]:
        """Return the state of each channel. Write nothing; ``open`` is not needed."""

    def open_control(self) -> ChannelControl:
        """Return a connection that pauses, resumes and forgets channels; ``open`` is not needed.

        Raises:
            UsageError: The user may not keep these changes out of the target's binlog.
        """

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Table]:
        """Return the current tables of the target, for hashing; empty if the target is of another family than the log."""

    def create_tables(self, tables: Iterable[Table]) -> None:
        """Create missing tables, if the target renders rows itself; do nothing if the log's own DDL creates them."""

    def schema_changed(self, catalog: SchemaCatalog, changes: Sequence[SchemaChange]) -> None:
        """Take note of a schema change that the reader passed; called before a later block is handed out. Used by PostgreSQL."""

    def standing(self, plan: ApplyPlan) -> Standing:
        """Return the tables that an earlier run left in the target, or all tables if it is of the log's family; write nothing."""

    def check_ddl(self, forecast: Forecast) -> None:
        """Raise the error that the transaction's statements would end with, if it can be determined without running them; write nothing."""

    def skips(self, changes: Sequence[SchemaChange], /) -> bool:
        """Return True if statements with these changes have no counterpart in the target, so that only their progress is recorded."""

    def check_tables(self, tables: Sequence[Table]) -> None:
        """Raise the error that taking over these definitions (``--schema``) would end with; write nothing."""

    def check_rows(self, forecast: RowForecast) -> None:
        """Raise the error that rows of a table would end with, by the target's definitions; write nothing."""

    def record_diverged(self, tables: Sequence[Diverged]) -> None:
        """Replace the channel's record of tables that differ from the log because a statement was skipped."""

    def pass_over(self, block: Block) -> None:
        """Take note that an earlier run committed the block, which is one of ``Progress.done``."""

    def committed(self, block: Block) -> bool:
        """Return True if the block is committed; called after the connection broke during its commit."""

    def blockers(self, connection_id: int) -> list[int]:
        """Return the connections that hold locks this connection waits for (R24); empty if there is no wait or it cannot be determined.

        Contains ``lock_waits.UNTOLD`` if some connection waits for a row lock, and the target does not report the two connections yet.
        """

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """Return a description of a connection's lock wait: the holders of the locks and their statements (R24).

        Args:
            connection_id: The connection that waits.
            holders: The ``blockers`` outside this process; if empty, the description uses the target's name for the wait.

        Returns:
            The rest of a sentence whose subject is the waiting activity; empty if the connection waits for no lock.
        """

    def finish(self, executed: GtidSet) -> None:
        """Finish after everything is applied; mode ``record`` adds the set to gtid_purged (R26)."""

    def complete_gtids(self, executed: GtidSet) -> None:
        """Make the applied GTIDs the target's own at a stop before the end of the log, if the mode does so only at the end (``record``).

        Args:
            executed: Applied GTIDs; on MariaDB without gaps between them.
        """

    def left_prepared(self) -> list[str]:
        """Return the XA transactions of the log that are prepared and not ended (R35)."""

    def held_xids(self) -> frozenset[str]:
        """Return the XIDs of the transactions that the server holds prepared, or whose preparation earlier runs left out (R35).

        May be called from any thread, before the run has applied a part of an XA transaction.
        """

    def close(self) -> None:
        """Release the channel; never raise."""
