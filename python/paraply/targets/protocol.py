"""What the applier asks of a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from paraply._native import Block, Format, GtidSet, TableMap, Transaction
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.channel_status import ChannelStatus

__all__ = ["ApplyPlan", "Capabilities", "Forecast", "Peek", "Progress", "RowForecast", "Session", "Standing", "StatusRow", "Target"]


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """What an apply run is about, as the target must know it before the first write.

    Attributes:
        channel: Name under which progress is kept.
        fingerprint: Identity of sources, filters and start; stored progress with another one is refused (R25).
        workers: How many sessions will apply at the same time.
        gtid_mode: ``record``, ``preserve``, ``none`` or ``auto``.
        has_gtids: Whether the log's transactions carry GTIDs.
        mariadb: Whether a MariaDB server wrote the log.
        allow_nontransactional: Take tables of non-transactional engines (R34).
        ddl_decision: ``done`` or ``not-done`` where the user answered the question of R25b, else None.
        gaps: Whether blocks may commit while older ones have not, so that the progress must hold gaps (R25).
        two_phase: Whether transactions may be committed on several connections in two phases, which the target must be able to do.
        timestamp_column: Where the last writer of a row wins, the column that says when it was written (policy ``unordered``).
        xa: Whether there are XA transactions in the log that are prepared and ended apart (R35).
        lower_case_table_names: The source's setting of that name, where it is known.
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


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can do that not every target can.

    Attributes:
        takes_batches: Its sessions may be handed several blocks at once (``SeriesSession``).
        replicates: It has an applier of its own that can be fed as a replica's (``--via replication``).
        has_system_databases: It has the databases that a source's server keeps for itself, such as ``mysql``.
    """

    takes_batches: bool = False
    replicates: bool = False
    has_system_databases: bool = True


@dataclass(slots=True)
class Progress:
    """What the target holds already.

    Attributes:
        executed: GTIDs applied (stored progress and the target's own gtid_executed); empty for a log without GTIDs.
        file: Base name of the log file of the last committed transaction, if any.
        offset: Offset after that transaction.
        ordinal: Transactions of the source that are through.
        resumed: Whether an earlier run left this.
        notes: What is worth saying about it.
        done: File and offset behind each transaction that is applied ahead of ``offset``, in a log without GTIDs.
        low: What is applied without a gap, where the text of ``executed`` cannot hold gaps; else None.
    """

    executed: GtidSet
    file: str | None = None
    offset: int | None = None
    ordinal: int = 0
    resumed: bool = False
    notes: list[str] = field(default_factory=list)
    low: GtidSet | None = None
    done: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Peek:
    """What an apply would find in the target, read without writing anything.

    Attributes:
        progress: What the target holds already.
        gtid_mode: The GTID mode that ``auto`` would become; ``none`` where the target has no GTIDs.
        merges: Whether several transactions may become one commit in that mode.
        tables: The tables that stand in the target, where they were asked for.
        own: Where the replay would get GTIDs of the target's own: its ``server_uuid``.
        xa: XA transactions of the log that could be ended there, where the plan has some; None where the target cannot (R35).
        notes: What the user should know of the target.
        runs_events: Whether the target runs scheduled events.
    """

    progress: Progress
    gtid_mode: str = "none"
    merges: bool = True
    tables: tuple[Table, ...] = ()
    own: str = ""
    xa: frozenset[str] | None = None
    notes: tuple[str, ...] = ()
    runs_events: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What a target of another family holds of a log, read without writing anything.

    Attributes:
        tables: The source's definitions behind what is applied.
        written: ``database.table`` of those that have rows.
    """

    tables: tuple[Table, ...] = ()
    written: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forecast:
    """A transaction with statements that has not been run.

    Attributes:
        transaction: The transaction.
        changes: What its statements do.
        known: The source's tables before it.
        written: ``database.table`` of the tables that have rows then.
        lower_case_table_names: The source's setting of that name, where it is known.
    """

    transaction: Transaction
    changes: Sequence[SchemaChange]
    known: Mapping[tuple[str, str], Table]
    written: frozenset[str] = frozenset()
    lower_case_table_names: int | None = None


@dataclass(frozen=True, slots=True)
class RowForecast:
    """The first rows of a table that an apply would write, or the first behind a change of the table.

    Attributes:
        table_map: The table as the log describes it.
        table: The source's definition; None if it is not known.
        log: Format of the log.
        changed: True if the log itself creates or changes the table before these rows.
        plan: As the target would be opened with it.
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
    """The row in the target where a run's status is kept, on a connection of its own."""

    def publish(self, text: str) -> None:
        """Write the row, unless another run has taken the channel over.

        Raises:
            ParaplyError: It cannot be written now.
        """

    def close(self) -> None:
        """Close the connection; never raises."""


class Session(Protocol):
    """One connection of one worker. Not shared between threads, but ``interrupt`` may be called from another one."""

    @property
    def connection_id(self) -> int:
        """The server's number of this connection, as ``Target.blockers`` speaks of it."""

    def apply(self, block: Block) -> None:
        """Begins a transaction, checks the channel's epoch (R25a), writes the progress and applies the block's rows; leaves it open.

        Raises:
            TemporaryFailure: Deadlock or lock-wait timeout; the caller rolls back and tries again.
            ApplyFailed: For good, with transaction, table and key.
            ConnectionLost: The connection is gone; the caller reconnects and finds out what was committed.
            AlreadyRunning: The epoch is not ours any more.
        """

    def apply_waves(self, block: Block, waves: Iterable[Block]) -> None:
        """As ``apply``, with the rows of the waves one after the other.

        Args:
            block: The whole block, for the progress.
            waves: The parts that its rows come in; the iterator waits until the next one may go in.
        """

    def commit(self) -> None:
        """Commits what ``apply`` left open."""

    def rollback(self) -> None:
        """Rolls back; never raises for a connection that is gone."""

    def execute_statement(self, block: Block) -> None:
        """Runs a DDL or XA block, with its progress, to the end (R25b, R33, R35); commits by itself."""

    def interrupt(self) -> None:
        """Ends the statement under way, from another thread: Ctrl-C, or the younger one of R24."""

    def rescue(self) -> None:
        """Ends the connection if it waits for an answer that will not come, from another thread; called about once a second."""

    def close(self) -> None:
        """Closes the connection; never raises."""


class Target(Protocol):
    """A database that transactions are applied to."""

    @property
    def family(self) -> Literal["mysql", "mariadb", "postgresql"]:
        """Which kind of server."""

    @property
    def is_local(self) -> bool:
        """Whether its address is this machine's; what stands there may still forward to another one."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do that not every target can; known before ``open``, but for what depends on the plan."""

    @property
    def merges(self) -> bool:
        """Whether several transactions may become one commit in the GTID mode in force (R21a)."""

    @property
    def most_merged(self) -> int:
        """Most transactions that automatic merging makes one commit: where larger blocks wait longer for each other than they save."""

    def peek(self, plan: ApplyPlan, *, tables: bool = False) -> Peek:
        """Reads what ``open`` would find, and writes nothing; closes what it opened.

        Args:
            plan: As for ``open``.
            tables: Whether to read the tables' definitions too.
        """

    def open(self, plan: ApplyPlan) -> Progress:
        """Connects, checks privileges and modes, raises the channel's epoch, makes the progress tables, and reads progress."""

    def session(self) -> Session:
        """A new connection for a worker; called from the worker's thread."""

    def open_board(self) -> StatusRow | None:
        """The row where the run's status is kept, on a connection of its own, once the target is open; None where there is no place."""

    def read_channels(self) -> list[ChannelStatus]:
        """What the target holds of each channel; writes nothing, and needs no ``open``."""

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Table]:
        """The tables that stand in the target now, for hashing; empty where the target is of another family than the log."""

    def create_tables(self, tables: Iterable[Table]) -> None:
        """Make tables that are missing, where the target renders rows itself; nothing where the log's own DDL makes them."""

    def schema_changed(self, catalog: SchemaCatalog, changes: Sequence[SchemaChange]) -> None:
        """Told when the reader has passed a DDL, before a block after it is handed out (PostgreSQL keeps per-version mappings)."""

    def standing(self, plan: ApplyPlan) -> Standing:
        """Return what stands in the target of an earlier run; writes nothing. Nothing where the target is of the log's family."""

    def foresee(self, forecast: Forecast) -> None:
        """Raise what the transaction's statements would end with, as far as that can be told without running them; writes nothing."""

    def foresee_tables(self, tables: Sequence[Table]) -> None:
        """Raise what taking over these definitions (``--schema``) would end with; writes nothing."""

    def foresee_rows(self, forecast: RowForecast) -> None:
        """Raise what rows of a table would end with, by the target's definitions; writes nothing."""

    def pass_over(self, block: Block) -> None:
        """Told that an earlier run committed the block, one of ``Progress.done``."""

    def committed(self, block: Block) -> bool:
        """Whether the block (or DDL) is in: asked after a connection broke during its commit."""

    def blockers(self, connection_id: int) -> list[int]:
        """Connections that hold locks which this one waits for (R24); empty when it waits for none or cannot be told.

        ``lock_waits.UNTOLD`` is among them where somebody waits for a row lock, and the target does not tell yet who for whom.
        """

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """What is said of a connection that waits for locks: who holds them and what those run (R24).

        Args:
            connection_id: The connection that waits.
            holders: Those of ``blockers`` that are not ours; where there are none, the target's own word for the wait is said.

        Returns:
            The rest of a sentence that begins with who waits; empty where nothing waits for a lock.
        """

    def finish(self, executed: GtidSet) -> None:
        """Everything is applied: record mode adds the set to gtid_purged (R26)."""

    def left_prepared(self) -> list[str]:
        """The XA transactions of the log that are prepared and not ended (R35)."""

    def close(self) -> None:
        """Lets the channel go; never raises."""
