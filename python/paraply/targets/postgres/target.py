"""PostgreSQL as a target: a server by URL, or an embedded one."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Literal

from paraply.errors import ConnectionFailed, ParaplyError, UsageError
from paraply.schema.ddl.change import AlterDatabase, Irrelevant
from paraply.targets.ddl_answer import name_way_on
from paraply.targets.postgres.branches import PgBranches, check_two_phase
from paraply.targets.postgres.connection import PgConnection, StatementFailed, is_local
from paraply.targets.postgres.ddl.create import create_source_table
from paraply.targets.postgres.ddl.schema_change import MustBeEmpty, TableKey, plan_changes
from paraply.targets.postgres.ddl.statement_time import StatementTime
from paraply.targets.postgres.definitions import PgContext, SourceDefinitions
from paraply.targets.postgres.embedded import EmbeddedPostgres
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.lock_waits import describe_holders, lock_holders, patiently
from paraply.targets.postgres.privileges import check_user
from paraply.targets.postgres.progress.channel_control import PgChannelControl
from paraply.targets.postgres.progress.channel_status import read_channels
from paraply.targets.postgres.progress.diverged import read_diverged, write_diverged
from paraply.targets.postgres.progress.source_tables import load_tables, read_standing
from paraply.targets.postgres.progress.status_row import PgStatusRow, open_status_row
from paraply.targets.postgres.progress.store import Channel, look, open_channel
from paraply.targets.postgres.rows.conflicts import create_conflict_table
from paraply.targets.postgres.rows.last_writer import PgLastWriter
from paraply.targets.postgres.rows.renderer import Renderer
from paraply.targets.postgres.rows.row_forecast import check_definitions, check_rows
from paraply.targets.postgres.session import PostgresSession
from paraply.targets.postgres.table_check import refuse_preserve
from paraply.targets.postgres.xa import LeftOut, read_left_out
from paraply.targets.protocol import Capabilities, Inspection, Progress, Standing
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, GtidSet
    from paraply.logs.skipping import Diverged
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
        folder: Data folder of the embedded server; ``./paraply-data`` by default.
        renderer: Renders blocks; the native one by default.
        new_gtid_set: Parses GTID sets; the native type by default.
        lock_timeout_ms: Time in milliseconds that a statement waits for a lock before its block is retried (R24).
        on_committed: Called with each block once it is known to be committed.
        connector: Opens the sessions' connections; replaced to record their statements.
    """

    #: GTIDs are kept in the progress, not in the server's own log.
    merges = True
    #: PostgreSQL has no counterpart of the databases ``mysql`` and ``sys``.
    capabilities = Capabilities(has_system_databases=False)
    #: Measured: with 256, the sessions lose more time waiting for each other's blocks than they save in commits.
    most_merged = 128

    def __init__(
        self,
        uri: str | None = None,
        *,
        folder: str | None = None,
        renderer: Renderer | None = None,
        new_gtid_set: Callable[[str], GtidSet] | None = None,
        lock_timeout_ms: int = 1000,
        on_committed: Callable[[Block], None] | None = None,
        connector: Callable[..., PgConnection] = PgConnection,
    ) -> None:
        if renderer is None or new_gtid_set is None:
            from paraply._native import GtidSet, PostgresRenderer

            renderer = renderer or PostgresRenderer()
            new_gtid_set = new_gtid_set or GtidSet
        self._renderer: Renderer = renderer
        self._new_gtid_set = new_gtid_set
        self._embedded = EmbeddedPostgres(folder) if folder is not None else EmbeddedPostgres()
        self._is_embedded = uri is None
        self._uri = uri
        self._lock_timeout_ms = lock_timeout_ms
        self._on_committed = on_committed
        self._connector = connector
        self._lock = threading.Lock()
        self._control_lock = threading.Lock()
        self._control: PgConnection | None = None
        self._definitions = SourceDefinitions(renderer)
        self._context: PgContext | None = None
        self._dropped: set[TableKey] = set()
        self._last_slot = 0
        self._last_split = 0
        self._sessions: weakref.WeakSet[PostgresSession] = weakref.WeakSet()

    @property
    def family(self) -> Literal["mysql", "mariadb", "postgresql"]:
        """Family of the server: ``postgresql``."""
        return "postgresql"

    @property
    def is_local(self) -> bool:
        """True if its address is on this machine."""
        return is_local(self._uri or "")

    @property
    def context(self) -> PgContext:
        """The context of the open target."""
        if self._context is None:
            raise UsageError("the target is not open")
        return self._context

    def inspect(self, plan: ApplyPlan, *, tables: bool = False) -> Inspection:
        """Return the state that ``open`` would find, using a connection of its own. A missing embedded server is not created."""
        refuse_preserve(plan)
        if self._is_embedded:
            if not self._embedded.exists:
                return Inspection(Progress(self._new_gtid_set("")))
            self._uri = self._embedded.start()
        connection = PgConnection(self._uri or "", name="paraply look")
        try:
            check_user(connection)
            if plan.two_phase and not self._is_embedded:
                check_two_phase(connection, plan.workers)
            with patiently(connection, self._uri or "", "the start"):
                progress = look(connection, plan, self._new_gtid_set)
                progress.diverged = read_diverged(connection, plan.channel)
                known = load_tables(connection, plan.channel)[0] if tables and progress.resumed else []
        except StatementFailed as failed:
            raise failure(failed.error) from failed
        finally:
            connection.close()
        return Inspection(progress, tables=tuple(known))

    def open(self, plan: ApplyPlan) -> Progress:
        """Connect, raise the channel's epoch, and read the progress and the source's definitions.

        Raises:
            UsageError: ``gtid_mode`` is ``preserve`` (PostgreSQL has no GTIDs), the database's encoding is not UTF8, or the user lacks
                a privilege.
            ConfigurationMismatch: The stored progress has another fingerprint.
            AlreadyRunning: Another apply's transaction stays open.
        """
        refuse_preserve(plan)
        last_writer = PgLastWriter(plan.timestamp_column, self._definitions.find) if plan.timestamp_column else None
        if self._is_embedded:
            if plan.two_phase:
                self._embedded.allow_prepared(plan.workers)
            self._uri = self._embedded.start()
        with self._control_lock:
            control = self._connect_control()
            check_user(control)
            if plan.two_phase:
                check_two_phase(control, plan.workers)
            with patiently(control, self._uri or "", "the start") as reports:
                channel, progress, ledger = open_channel(control, plan, self._new_gtid_set)
                branches = _recover_branches(control, channel, plan)
                left_out = LeftOut(checked=plan.xa, channel=plan.channel, prepared=read_left_out(control, plan.channel))
                tables, self._dropped = load_tables(control, plan.channel)
                progress.diverged = read_diverged(control, plan.channel)
                create_conflict_table(control, plan.on_conflict)
            for table in tables:
                self._definitions.put(table)
        self._context = PgContext(
            channel=channel,
            branches=branches,
            ledger=ledger,
            definitions=self._definitions,
            renderer=self._renderer,
            last_writer=last_writer,
            left_out=left_out,
            on_committed=self._on_committed,
            answer=plan.answer,
            on_conflict=plan.on_conflict,
        )
        self._definitions.local_time = plan.local_time
        progress.notes.extend(reports)
        return progress

    def new_split(self) -> str:
        """Return a new name for the branches of a transaction that is committed in two phases."""
        with self._lock:
            self._last_split += 1
            return self.context.branches.new_name(self._last_split)

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """End a branch of a broken connection, after its server process has ended."""
        with self._control_lock:
            self.context.branches.finish(self._connect_control(), branch, connection_id, commit=commit)

    def session(self) -> PostgresSession:
        """Return a new session with its own slot; slots are never reused within a run."""
        with self._lock:
            self._last_slot += 1
            slot = self._last_slot
        context = self.context
        name = f"paraply {context.channel.name} {slot}"
        connection = self._connector(self._uri or "", lock_timeout_ms=self._lock_timeout_ms, name=name)
        try:
            context.channel.make_slot(connection, slot)
            context.channel.check_kept(connection, context.ledger, self._new_gtid_set)
        except ParaplyError:
            connection.close()
            raise
        session = PostgresSession(context, connection, slot)
        with self._lock:
            self._sessions.add(session)
        return session

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Table]:
        """Return the source's definitions that were stored with the last committed block; empty on the first run."""
        return self._definitions.all(databases)

    def create_tables(self, tables: Iterable[Table]) -> None:
        """Take over definitions from a dump (``--schema``): create missing tables, and check the others.

        Skips tables that an earlier run stored or dropped, because the log has changed them since. Raises the errors of ``check_tables``.
        """
        with self._control_lock:
            control = self._connect_control()
            for table in tables:
                key = (table.database, table.name)
                if key not in self._definitions and key not in self._dropped:
                    create_source_table(control, self.context.channel, table)
                    self._definitions.put(table)

    def schema_changed(self, catalog: SchemaCatalog, changes: Sequence[SchemaChange]) -> None:  # noqa: ARG002 - the changes suffice
        """Store the changes of the next statement until ``execute_statement`` runs it; the changes of a skipped statement are discarded."""
        self._definitions.next_changes(changes)

    def standing(self, plan: ApplyPlan) -> Standing:
        """Return the source's definitions that an earlier run stored, and which of the tables have rows."""
        if self._is_embedded:
            if not self._embedded.exists:
                return Standing()
            self._uri = self._embedded.start()
        connection = PgConnection(self._uri or "", name="paraply look")
        try:
            return read_standing(connection, plan.channel)
        finally:
            connection.close()

    def check_ddl(self, forecast: Forecast) -> None:
        """Raise the error that a DDL would end with, from the steps that ``execute_statement`` would take."""
        time = StatementTime.of(forecast.transaction.statements)
        try:
            steps = plan_changes(forecast.changes, forecast.known, time).steps
        except ParaplyError as error:
            name_way_on(error)
            raise
        for step in steps:
            if isinstance(step, MustBeEmpty) and step.table in forecast.written:
                raise step.refusal()

    def skips(self, changes: Sequence[SchemaChange], /) -> bool:
        """Return True for views, routines, triggers, accounts and other statements that do not change tables."""
        return all(isinstance(change, AlterDatabase | Irrelevant) for change in changes)

    def check_tables(self, tables: Sequence[Table]) -> None:
        """Raise the error that ``create_tables`` would raise in a new channel."""
        check_definitions(tables, None if self._is_embedded and not self._embedded.exists else self._uri)

    def check_rows(self, forecast: RowForecast) -> None:
        """Compare the source's definition with PostgreSQL's types, and with the table of the target."""
        check_rows(forecast, None if self._is_embedded and not self._embedded.exists else self._uri)

    def open_status_row(self, found: ChannelStatus | None = None) -> PgStatusRow | None:
        """Return the row that holds a run's status; None if it cannot be stored. Without a channel, called after ``open``."""
        if found is not None:
            return open_status_row(self._uri, found.name, found.epoch) if self._uri is not None else None
        return open_status_row(self._uri or "", self.context.channel.name, self.context.channel.epoch)

    def read_channels(self) -> list[ChannelStatus]:
        """Return the state of each channel, using a connection of its own; write nothing, and create no embedded server."""
        if self._is_embedded:
            if not self._embedded.exists:
                return []
            self._uri = self._embedded.start()
        connection = PgConnection(self._uri or "", name="paraply look")
        try:
            return read_channels(connection)
        finally:
            connection.close()

    def open_control(self) -> PgChannelControl:
        """Return a connection that pauses, resumes and forgets channels."""
        if self._is_embedded:
            self._uri = self._embedded.start()
        return PgChannelControl(self._uri or "")

    def record_diverged(self, tables: Sequence[Diverged]) -> None:
        """Replace the channel's record of tables that differ from the log because a statement was skipped."""
        with self._control_lock:
            write_diverged(self._connect_control(), self.context.channel, tables)

    def pass_over(self, block: Block) -> None:
        """Record that an earlier run committed the block."""
        self.context.ledger.pass_over(block)

    def committed(self, block: Block) -> bool:
        """Return True if the block is committed, after its session's transaction has ended: the session's row has the block's number.

        Waits for the end of that session's transaction.
        """
        context = self.context
        slot, found = context.slot_of(block), False
        if slot is not None:
            with self._control_lock:
                control = self._connect_control()
                found = context.channel.slot_ordinal(control, slot) == block.ordinal
                context.channel.check_kept(control, context.ledger, self._new_gtid_set)
        self._definitions.decide(block, committed=found)
        if found:
            context.acknowledge(block)
        return found

    def blockers(self, connection_id: int) -> list[int]:
        """Return the server processes that hold locks this process waits for."""
        with self._control_lock:
            try:
                return lock_holders(self._connect_control(), connection_id)
            except (StatementFailed, ParaplyError):
                return []

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:  # noqa: ARG002 - the server always reports holders
        """Return a description of the holders and their statements."""
        with self._control_lock:
            try:
                return describe_holders(self._connect_control(), holders)
            except (StatementFailed, ParaplyError):
                return ""

    def left_prepared(self) -> list[str]:
        """Return an empty list: XA transactions that are prepared and ended separately are refused."""
        return []

    def held_xids(self) -> frozenset[str]:
        """Return no XID, for the same reason."""
        return frozenset()

    def finish(self, executed: GtidSet) -> None:  # noqa: ARG002 - each block has kept its own
        """Record that everything is applied. Tries again if the connection is lost, because it was idle for the whole run."""
        with_retries(self._finish, ConnectionFailed)

    def complete_gtids(self, executed: GtidSet) -> None:
        """Do nothing: PostgreSQL has no GTIDs of its own."""

    def _finish(self) -> None:
        with self._control_lock, patiently(self._connect_control(), self._uri or "", "the end"):
            self.context.channel.check_kept(self._connect_control(), self.context.ledger, self._new_gtid_set)
            self.context.channel.finish(self._connect_control())

    def close(self) -> None:
        """Close all connections, including the connections of open sessions, and stop the embedded server; never raise."""
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

    def _connect_control(self) -> PgConnection:
        """Return the control connection; open it again if it broke. The caller holds the control lock."""
        if self._control is None or self._control.broken:
            self._control = PgConnection(self._uri or "", lock_timeout_ms=5000, name="paraply control")
        return self._control


def _recover_branches(control: PgConnection, channel: Channel, plan: ApplyPlan) -> PgBranches:
    """End the branches that a killed run left prepared, even if this run prepares none."""
    branches = PgBranches(channel, control.raw.info.dbname)
    try:
        if plan.two_phase:
            branches.create_table(control)
        if branches.exists(control):
            branches.recover(control)
    except StatementFailed as failed:
        raise failure(failed.error) from failed
    return branches
