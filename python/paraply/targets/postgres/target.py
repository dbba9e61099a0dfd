"""PostgreSQL as a target: a server by URL, or an embedded one.

How definitions follow the log. Rows are written by the source's definition that holds at their place in the log. The
coordinator hands out a statement only when everything before it is committed, and nothing behind it before it is committed
(R5); right before it tells ``schema_changed`` what the statement does. The target keeps that until ``execute_statement`` runs
it: there the DDL, the new definitions (table ``paraply.source_table``) and the progress are committed together, and the
renderer is told in the same place. So whatever is rendered is rendered by the definitions of its own position, and a run that
resumes finds them in the target.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Literal

from paraply.errors import ConnectionFailed, LogNotUnderstood, ParaplyError, UsageError
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.postgres.branches import PgBranches, check_two_phase
from paraply.targets.postgres.connection import PgConnection, StatementFailed, is_local
from paraply.targets.postgres.ddl.create import create_source_table
from paraply.targets.postgres.ddl.schema_change import DdlPlan, MustBeEmpty, TableKey, parents, plan_changes
from paraply.targets.postgres.embedded import EmbeddedPostgres
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.last_writer import PgLastWriter
from paraply.targets.postgres.lock_waits import describe_holders, lock_holders, patiently
from paraply.targets.postgres.privileges import check_user
from paraply.targets.postgres.progress.channel_status import read_channels
from paraply.targets.postgres.progress.source_tables import load_tables, other_case, read_standing
from paraply.targets.postgres.progress.status_row import PgBoard, open_board
from paraply.targets.postgres.progress.store import Channel, look, open_channel
from paraply.targets.postgres.renderer import Renderer
from paraply.targets.postgres.row_forecast import check_definitions, check_rows
from paraply.targets.postgres.session import PostgresSession
from paraply.targets.postgres.table_check import check_counterpart, refuse_preserve
from paraply.targets.postgres.types import map_table
from paraply.targets.postgres.xa import LeftOut, read_left_out
from paraply.targets.progress.gtid_ledger import ProgressLedger
from paraply.targets.protocol import Peek, Progress, Standing
from paraply.targets.retrying import steadily

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, Format, GtidSet
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.protocol import ApplyPlan, Forecast, RowForecast
    from paraply.targets.two_phase import Branch

__all__ = ["PostgresTarget", "Renderer"]


class PostgresTarget:
    """A PostgreSQL database that transactions are applied to.

    Args:
        uri: ``postgresql://...``; None starts the embedded server.
        folder: The embedded server's data; ``./paraply-data`` by default.
        renderer: Renders blocks; the native one by default.
        new_gtid_set: Reads GTID sets; the native type by default.
        lock_timeout_ms: How long a statement waits for a lock before its block is tried again (R24).
    """

    #: GTIDs are kept in the progress, not in the server's own log.
    merges = True
    #: Nothing there is like the source's own databases ``mysql`` and ``sys``.
    lacks_system_databases = True
    #: Measured: with 256 the sessions wait longer for each other's blocks than the commits saved would take.
    most_merged = 128

    def __init__(
        self,
        uri: str | None = None,
        *,
        folder: str | None = None,
        renderer: Renderer | None = None,
        new_gtid_set: Callable[[str], GtidSet] | None = None,
        lock_timeout_ms: int = 1000,
    ) -> None:
        if renderer is None or new_gtid_set is None:
            from paraply import _native

            renderer = renderer or _native.PostgresRenderer()
            new_gtid_set = new_gtid_set or _native.GtidSet
        self.renderer: Renderer = renderer
        self._new_gtid_set = new_gtid_set
        self._embedded = EmbeddedPostgres(folder) if folder is not None else EmbeddedPostgres()
        self._is_embedded = uri is None
        self._uri = uri
        self._lock_timeout_ms = lock_timeout_ms
        self.left_out = LeftOut(checked=False)
        self._lock = threading.Lock()
        self._control_lock = threading.Lock()
        self._control: PgConnection | None = None
        self._channel: Channel | None = None
        self._ledger: ProgressLedger = ProgressLedger(new_gtid_set(""), has_gtids=False)
        self._tables: dict[TableKey, Table] = {}
        self._dropped: set[TableKey] = set()
        self._checked: set[tuple[str, bool]] = set()
        self._changes: list[SchemaChange] | None = None
        self._slots: dict[int, int] = {}
        self._undecided: dict[int, dict[TableKey, Table]] = {}
        self._last_slot = 0
        self._last_split = 0
        self._database = ""
        self.last_writer: PgLastWriter | None = None
        self._sessions: weakref.WeakSet[PostgresSession] = weakref.WeakSet()

    @property
    def family(self) -> Literal["mysql", "mariadb", "postgresql"]:
        """``postgresql``."""
        return "postgresql"

    @property
    def is_local(self) -> bool:
        """Whether its address is this machine's."""
        return is_local(self._uri or "")

    @property
    def channel(self) -> Channel:
        """The channel, once it is open."""
        if self._channel is None:
            raise UsageError("the target is not open")
        return self._channel

    def peek(self, plan: ApplyPlan, *, tables: bool = False) -> Peek:
        """Reads what ``open`` would find, on a connection of its own; an embedded server that is not there yet is not made."""
        refuse_preserve(plan)
        if self._is_embedded:
            if not self._embedded.exists:
                return Peek(Progress(self._new_gtid_set("")))
            self._uri = self._embedded.start()
        connection = PgConnection(self._uri or "", name="paraply look")
        try:
            check_user(connection)
            if plan.two_phase and not self._is_embedded:
                check_two_phase(connection, plan.workers)
            with patiently(connection, self._uri or "", "the start"):
                progress = look(connection, plan, self._new_gtid_set)
                known = load_tables(connection, plan.channel)[0] if tables and progress.resumed else []
        except StatementFailed as failed:
            raise failure(failed.error) from failed
        finally:
            connection.close()
        return Peek(progress, tables=tuple(known))

    def open(self, plan: ApplyPlan) -> Progress:
        """Connects, raises the channel's epoch, reads progress and the source's definitions.

        Raises:
            UsageError: ``gtid_mode`` is ``preserve`` (PostgreSQL has no GTIDs), the database's encoding is not UTF8, or the user lacks
                a privilege.
            ConfigurationMismatch: Progress of another fingerprint.
            AlreadyRunning: Another apply's transaction stays open.
        """
        refuse_preserve(plan)
        if plan.timestamp_column:
            self.last_writer = PgLastWriter(plan.timestamp_column, lambda database, name: self._tables.get((database, name)))
        if self._is_embedded:
            if plan.two_phase:
                self._embedded.allow_prepared(plan.workers)
            self._uri = self._embedded.start()
        with self._control_lock:
            control = self._connect_control()
            check_user(control)
            self._database = control.raw.info.dbname
            if plan.two_phase:
                check_two_phase(control, plan.workers)
            with patiently(control, self._uri or "", "the start") as said:
                self._channel, progress, self._ledger = open_channel(control, plan, self._new_gtid_set)
                self._recover_branches(control, plan)
                self.left_out = LeftOut(checked=plan.xa, channel=plan.channel, prepared=read_left_out(control, plan.channel))
                tables, self._dropped = load_tables(control, plan.channel)
            for table in tables:
                self._put(table)
        progress.notes.extend(said)
        return progress

    def _recover_branches(self, control: PgConnection, plan: ApplyPlan) -> None:
        """Ends what a killed run left prepared, also where this run prepares nothing itself."""
        try:
            if plan.two_phase:
                self.branches.create_table(control)
            if self.branches.exists(control):
                self.branches.recover(control)
        except StatementFailed as failed:
            raise failure(failed.error) from failed

    @property
    def branches(self) -> PgBranches:
        """The channel's branches, once it is open."""
        return PgBranches(self.channel, self._database)

    def new_split(self) -> str:
        """A name for the branches of a transaction that is committed in two phases."""
        with self._lock:
            self._last_split += 1
            return self.branches.new_name(self._last_split)

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """Ends a branch whose connection broke, once its server process has ended."""
        with self._control_lock:
            self.branches.finish(self._connect_control(), branch, connection_id, commit=commit)

    def session(self) -> PostgresSession:
        """A new connection with a slot of its own; slots are never used again within a run."""
        with self._lock:
            self._last_slot += 1
            slot = self._last_slot
        connection = PgConnection(self._uri or "", lock_timeout_ms=self._lock_timeout_ms, name=f"paraply {self.channel.name} {slot}")
        try:
            self.channel.make_slot(connection, slot)
        except ParaplyError:
            connection.close()
            raise
        session = PostgresSession(self, connection, slot)
        with self._lock:
            self._sessions.add(session)
        return session

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Table]:
        """The source's definitions as they were kept when the last block was committed; empty on the first run."""
        with self._lock:
            return [table for table in self._tables.values() if databases is None or table.database in databases]

    def create_tables(self, tables: Iterable[Table]) -> None:
        """Takes over definitions from a dump (``--schema``): makes the tables that are missing, and checks the others.

        Leaves alone the tables that an earlier run kept or dropped: the log has moved them on. Raises what ``foresee_tables`` raises.
        """
        with self._control_lock:
            control = self._connect_control()
            for table in tables:
                key = (table.database, table.name)
                if key not in self._tables and key not in self._dropped:
                    create_source_table(control, self.channel, table)
                    self._put(table)

    def schema_changed(self, catalog: SchemaCatalog, changes: Sequence[SchemaChange]) -> None:  # noqa: ARG002 - the changes say it all
        """Keeps what the next statement does until ``execute_statement`` runs it; a statement that is passed over is forgotten."""
        self._changes = list(changes)

    def standing(self, plan: ApplyPlan) -> Standing:
        """Read the source's definitions that an earlier run kept, and which of the tables have rows."""
        if self._is_embedded:
            if not self._embedded.exists:
                return Standing()
            self._uri = self._embedded.start()
        connection = PgConnection(self._uri or "", name="paraply look")
        try:
            return read_standing(connection, plan.channel)
        finally:
            connection.close()

    def foresee(self, forecast: Forecast) -> None:
        """Raise what a DDL would end with, by the steps that ``execute_statement`` would take."""
        for step in plan_changes(forecast.changes, forecast.known).steps:
            if isinstance(step, MustBeEmpty) and step.table in forecast.written:
                raise step.refusal()

    def foresee_tables(self, tables: Sequence[Table]) -> None:
        """Raise what ``create_tables`` would raise in a new channel."""
        check_definitions(tables, None if self._is_embedded and not self._embedded.exists else self._uri)

    def foresee_rows(self, forecast: RowForecast) -> None:
        """Compare the source's definition with what PostgreSQL can hold, and with the table that stands in the target."""
        check_rows(forecast, None if self._is_embedded and not self._embedded.exists else self._uri)

    def open_board(self) -> PgBoard | None:
        """The row where the run's status is kept, once the target is open; None where there is no place for it."""
        return open_board(self._uri or "", self.channel.name, self.channel.epoch)

    def read_channels(self) -> list[ChannelStatus]:
        """What the target holds of each channel, on a connection of its own; writes nothing, and makes no embedded server."""
        if self._is_embedded:
            if not self._embedded.exists:
                return []
            self._uri = self._embedded.start()
        connection = PgConnection(self._uri or "", name="paraply look")
        try:
            return read_channels(connection)
        finally:
            connection.close()

    def pass_over(self, block: Block) -> None:
        """An earlier run committed the block."""
        self._ledger.acknowledge(block)

    def committed(self, block: Block) -> bool:
        """Whether the block is in: reads the slot that its session wrote, once that session's transaction has ended."""
        with self._lock:
            slot = self._slots.get(block.ordinal)
        found = False
        if slot is not None:
            with self._control_lock:
                found = self.channel.slot_ordinal(self._connect_control(), slot) == block.ordinal
        with self._lock:
            before = self._undecided.pop(block.ordinal, None)
        if found:
            self.acknowledge(block)
        elif before is not None:
            self.restore(before)
        return found

    def blockers(self, connection_id: int) -> list[int]:
        """The server processes that hold locks which this one waits for."""
        with self._control_lock:
            try:
                return lock_holders(self._connect_control(), connection_id)
            except (StatementFailed, ParaplyError):
                return []

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:  # noqa: ARG002 - the server always tells who
        """Who these are, and what they run."""
        with self._control_lock:
            try:
                return describe_holders(self._connect_control(), holders)
            except (StatementFailed, ParaplyError):
                return ""

    def left_prepared(self) -> list[str]:
        """None: XA transactions that are prepared and ended apart are refused."""
        return []

    def finish(self, executed: GtidSet) -> None:  # noqa: ARG002 - each block has kept its own
        """Says in the target that everything is applied; again where the connection is lost, which was idle for the whole run."""
        steadily(self._finish, ConnectionFailed)

    def _finish(self) -> None:
        with self._control_lock, patiently(self._connect_control(), self._uri or "", "the end"):
            self.channel.finish(self._connect_control())

    def close(self) -> None:
        """Closes the connection and those of sessions left open, and stops the embedded server; never raises."""
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.close()
        with self._control_lock:
            if self._control is not None:
                self._control.close()
                self._control = None
        if self._is_embedded:
            self._embedded.stop()

    # What sessions ask for.

    def executed_with(self, block: Block) -> str:
        """The GTID set for the progress of a block: all that is acknowledged, and the block's own."""
        return self._ledger.mark(block).executed

    def remember_slot(self, block: Block, slot: int) -> None:
        """Which slot tells whether the block is committed."""
        with self._lock:
            self._slots[block.ordinal] = slot

    def acknowledge(self, block: Block) -> None:
        """The block is committed."""
        self._ledger.acknowledge(block)
        with self._lock:
            self._slots.pop(block.ordinal, None)
            self._changes = None

    def plan_ddl(self, block: Block) -> DdlPlan:
        """The steps for a DDL block; nothing for a block without a statement.

        Raises:
            LogNotUnderstood: The statement's effect is not known, or nobody said what it is.
        """
        if block.kind != "ddl":
            return DdlPlan()
        if self._changes is None:
            raise LogNotUnderstood("a statement whose effect on the tables is not known")
        return plan_changes(self._changes, self._tables)

    def define(self, plan: DdlPlan) -> dict[TableKey, Table]:
        """Takes a DDL's definitions over; returns the ones before it."""
        with self._lock:
            before = dict(self._tables)
        for key in plan.forget:
            self._remove(key)
        for table in plan.define.values():
            self._put(table)
        return before

    def undecided(self, block: Block, before: dict[TableKey, Table]) -> None:
        """The connection broke during a DDL: ``committed`` decides which definitions hold."""
        with self._lock:
            self._undecided[block.ordinal] = before

    def restore(self, before: dict[TableKey, Table]) -> None:
        """Takes a DDL's definitions back."""
        for key in list(self._tables):
            if self._tables[key] is not before.get(key):
                self._remove(key)
        for key, table in before.items():
            if key not in self._tables:
                self._put(table)

    def definition(self, name: str) -> Table | None:
        """Return the source's definition of a table, by ``database.table``; None where it is not known."""
        return next((table for table in list(self._tables.values()) if table.full_name == name), None)

    def check_tables(self, connection: PgConnection, tables: Iterable[str], log: Format) -> None:
        """Compares tables with their mapping before their first row and after each of their DDLs (R31, R32)."""
        incomplete = ServerKind(log.mariadb, log.version).leaves_generated_out
        for name in tables:
            if (name, incomplete) not in self._checked:
                table = next((table for table in self._tables.values() if table.full_name == name), None)
                if table is not None:
                    check_counterpart(connection, table, incomplete=incomplete)
                self._checked.add((name, incomplete))

    def other_case(self, names: Iterable[str]) -> str:
        """Return what to add to an error of these tables: whether one is known that differs only in upper and lower case."""
        with self._lock:
            return other_case({table.full_name for table in self._tables.values()}, names)

    def _put(self, table: Table) -> None:
        self._remove((table.database, table.name))
        with self._lock:
            self._tables[table.database, table.name] = table
        self._tell_renderer({(table.database, table.name), *parents(table)})

    def _remove(self, key: TableKey) -> None:
        with self._lock:
            table = self._tables.pop(key, None)
            if table is not None:
                self._checked -= {(table.full_name, False), (table.full_name, True)}
        self.renderer.forget(*key)
        if table is not None:
            self._tell_renderer(parents(table))

    def _tell_renderer(self, keys: Iterable[TableKey]) -> None:
        """Defines these tables; a parent's mapping depends on its children, too."""
        for key in keys:
            table = self._tables.get(key)
            if table is not None:
                self.renderer.define(table, map_table(table, self._tables.values()))

    def _connect_control(self) -> PgConnection:
        """The connection for everything but blocks, made anew when it broke; under the control lock."""
        if self._control is None or self._control.broken:
            self._control = PgConnection(self._uri or "", lock_timeout_ms=5000, name="paraply control")
        return self._control
