"""MySQL and MariaDB as targets: row events of the log, applied with BINLOG statements (R25, R26 and R31)."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from paraply._native import GtidSet, MySqlConnection
from paraply.errors import ConnectionFailed, ParaplyError, ServerError, UsageError
from paraply.targets.mysql.context import ChannelContext, MySqlContext, quieten
from paraply.targets.mysql.errors import connect_error, explain, interrupted
from paraply.targets.mysql.gtid_mode import GtidMode, check_gaps
from paraply.targets.mysql.lock_waits import RowWaits, describe_wait, lock_holders, telling
from paraply.targets.mysql.preflight.ddl_forecast import StatementForecast
from paraply.targets.mysql.preflight.inspect import check_family, inspect_server, own_tables
from paraply.targets.mysql.preflight.privileges import Grants, RowPrivileges, check_user
from paraply.targets.mysql.preflight.table_check import TableChecker, check_server
from paraply.targets.mysql.progress.channel_control import MySqlChannelControl, open_control
from paraply.targets.mysql.progress.channel_status import read_channels
from paraply.targets.mysql.progress.diverged import read_diverged, write_diverged
from paraply.targets.mysql.progress.recovery import settle_at_start, settle_block
from paraply.targets.mysql.progress.status_row import MySqlStatusRow, open_status_row
from paraply.targets.mysql.progress.store import ProgressStore, StoredProgress
from paraply.targets.mysql.replica_mode import choose, earlier_executed
from paraply.targets.mysql.rows.foreign_keys import References, may_ask
from paraply.targets.mysql.rows.last_writer import MySqlLastWriter
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.session import MySqlSession
from paraply.targets.mysql.session_end import await_end
from paraply.targets.mysql.sql import Connection, rows_of, settled, to_int
from paraply.targets.mysql.xa.branch_store import recover_branches
from paraply.targets.mysql.xa.branches import finish
from paraply.targets.mysql.xa.store import PREPARED, XaStore, held_xids, prepared_xids
from paraply.targets.progress.file_ledger import PlaceLedger
from paraply.targets.progress.gtid_ledger import ProgressLedger, make_ledger
from paraply.targets.protocol import ApplyPlan, Capabilities, Inspection, Progress, Standing
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block
    from paraply.logs.skipping import Diverged
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.protocol import Forecast, RowForecast
    from paraply.targets.two_phase import Branch
    from paraply.targets.url import DatabaseUrl

__all__ = ["MySqlTarget", "connect"]

_TRIES = 3

T = TypeVar("T")


def connect(url: DatabaseUrl) -> Connection:
    """Open a connection to a MySQL or MariaDB server.

    Raises:
        ConnectionFailed: The server cannot be reached or refuses the login; the message gives advice.
        UsageError: A file of the TLS options cannot be read.
    """
    try:
        return settled(MySqlConnection(
            url.host, url.port, url.user, url.password, database=url.database, socket=url.socket, tls=url.tls_options(),
            connect_timeout=url.connect_timeout, found_rows=True,
        ))  # fmt: skip
    except (ServerError, ConnectionFailed) as error:
        url.check_tls_files()
        raise connect_error(error, str(url), tls=url.tls != "disabled") from None


class MySqlTarget:
    """A MySQL or MariaDB server, for logs of the same family.

    Args:
        url: Address and account.
        connector: Opens connections; replaced in tests.
    """

    def __init__(self, url: DatabaseUrl, connector: Callable[[DatabaseUrl], Connection] = connect) -> None:
        # The URL's database is not entered: a statement without a default database must not find one.
        self.url = replace(url, database=None)
        self.is_local = url.is_local
        self._connector = connector
        self._forecast = StatementForecast(self.connect)
        self._control: Connection | None = None
        self._server: ServerKind | None = None
        self._context: MySqlContext | None = None
        self._lock = threading.Lock()
        self._row_waits = RowWaits()

    @property
    def context(self) -> MySqlContext:
        """The context of the open target."""
        if self._context is None:
            raise UsageError("the target is not open")
        return self._context

    @property
    def server(self) -> ServerKind:
        """Family and version of the server; only after ``inspect`` or ``open``."""
        if self._server is None:
            raise UsageError("the target has not been asked for its version yet")
        return self._server

    @property
    def family(self) -> Literal["mysql", "mariadb"]:
        """Family of the server."""
        return "mariadb" if self.server.mariadb else "mysql"

    @property
    def merges(self) -> bool:
        """True if the GTID mode in force allows several transactions in one commit."""
        return self.context.mode.merges

    @property
    def most_merged(self) -> int:
        """Most transactions in one commit. Measured: an OLTP load takes a tenth longer with 512 on MySQL, and is faster on MariaDB."""
        return 512 if self.server.mariadb else 256

    @property
    def capabilities(self) -> Capabilities:
        """The optional features: batches, unless the last writer wins, and replay through the server's own applier."""
        return Capabilities(takes_batches=self._context is None or self._context.takes_batches, replicates=True)

    def connect(self) -> Connection:
        """Open a connection without any settings."""
        return self._connector(self.url)

    def inspect(self, plan: ApplyPlan, *, tables: bool = False) -> Inspection:
        """Return the state that ``open`` would find, using a connection of its own; write nothing."""

        def inspect() -> Inspection:
            with contextlib.closing(self.connect()) as connection, telling(self.connect, connection.connection_id, "the start"):
                self._server = ServerKind.parse(connection.server_version)
                return inspect_server(connection, plan, tables=tables)

        try:
            return with_retries(inspect, ServerError, interrupted)
        except ParaplyError as error:
            raise explain(error) from None

    def open(self, plan: ApplyPlan) -> Progress:
        """Connect, check the server, take over the channel and return the stored progress."""

        def begin() -> Progress:
            self.close()
            control = self._control = self.connect()
            with telling(self.connect, control.connection_id, "the start") as reports:
                progress = self._open(plan, control)
            progress.notes.extend(reports)
            return progress

        try:
            return with_retries(begin, ServerError, interrupted)
        except ParaplyError as error:
            self.close()
            raise explain(error) from None

    def session(self) -> MySqlSession:
        """Return a new session for a worker."""
        context = self.context
        connection = context.fresh()
        try:
            slot = context.take_slot(connection)
            context.kept_progress(connection)
            return MySqlSession(context, connection, slot)
        except ParaplyError as error:
            connection.close()
            raise explain(error) from None

    def left_prepared(self) -> list[str]:
        """Return the XA transactions of the log that are prepared and not ended."""
        recorded = [part.xid for part in self._read(self.context.xa.read) if part.state == PREPARED]
        held = self._read(prepared_xids) if recorded else frozenset()
        return [xid for xid in recorded if xid in held]

    def held_xids(self) -> frozenset[str]:
        """Return the XA transactions that the server holds prepared, or that earlier runs left out, using a connection of its own."""
        with contextlib.closing(self.connect()) as connection:
            return held_xids(connection, XaStore(self.context.store.channel))

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Table]:
        """Return the current tables of the target, for hashing."""
        return self._read(lambda control: own_tables(control, databases))

    def standing(self, plan: ApplyPlan) -> Standing:  # noqa: ARG002 - all channels share the server's tables
        """Return the server's tables, which hold the effect of the applied transactions."""
        with contextlib.closing(self.connect()) as connection:
            return Standing(tuple(own_tables(connection, None)))

    def check_ddl(self, forecast: Forecast) -> None:
        """Raise the error of a statement that the server does not understand, or that names a table it will not have."""
        self._forecast.check(forecast)

    def create_tables(self, tables: Iterable[Table]) -> None:
        """Do nothing: the log's own DDL creates the tables."""

    def skips(self, _changes: Sequence[SchemaChange], /) -> bool:
        """Return False: every statement is run."""
        return False

    def check_tables(self, tables: Sequence[Table]) -> None:
        """Do nothing: the server has its own definitions."""

    def check_rows(self, forecast: RowForecast) -> None:
        """Compare a table of the target with the log."""
        self._forecast.check_table(forecast)

    def schema_changed(self, catalog: SchemaCatalog, changes: Sequence[SchemaChange]) -> None:
        """Do nothing: row events describe their own columns."""

    def open_status_row(self, found: ChannelStatus | None = None) -> MySqlStatusRow | None:
        """Return the row that holds a run's status; None if it cannot be stored. Without a channel, called after ``open``."""
        name, epoch = (found.name, found.epoch) if found is not None else (self.context.store.channel, self.context.epoch)
        return open_status_row(self.connect, name, epoch)

    def read_channels(self) -> list[ChannelStatus]:
        """Return the state of each channel, using a connection of its own; write nothing."""
        with contextlib.closing(self.connect()) as connection:
            return read_channels(connection)

    def open_control(self) -> MySqlChannelControl:
        """Return a connection that pauses, resumes and forgets channels."""
        return open_control(self.connect)

    def record_diverged(self, tables: Sequence[Diverged]) -> None:
        """Replace the channel's record of tables that differ from the log because a statement was skipped."""
        context = self.context
        self._read(lambda control: write_diverged(control, context.store, context.epoch, tables))

    def pass_over(self, block: Block) -> None:
        """Record that an earlier run committed the block."""
        self.context.ledger.pass_over(block)

    def committed(self, block: Block) -> bool:
        """Return True if a block is committed. Called after its connection broke, and waits until its server session has ended."""
        session = self.context.sessions.last(block)
        connection = self.connect()
        try:
            if session is not None:
                await_end(connection, *session)
            found = self._is_in(connection, block)
        except ParaplyError as error:
            raise explain(error, file=block.file, position=block.offset, gtid=block.first_gtid) from None
        finally:
            connection.close()
        if found:
            self.context.ledger.acknowledge(block)
        return found

    def new_split(self) -> str:
        """Return a new name for the branches of a transaction that is committed in two phases."""
        context = self.context
        return context.branches.new_name(context.epoch, context.sessions.next_split())

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """End a branch of a broken connection, after its server session has ended."""
        try:
            connection = self.connect()
            try:
                await_end(connection, connection_id, time.monotonic())
            finally:
                connection.close()
            finish(self.context, branch, commit=commit)
        except ParaplyError as error:
            raise explain(error) from None

    def blockers(self, connection_id: int) -> list[int]:
        """Return the connections that hold row locks or metadata locks this connection waits for."""
        return self._read_or([], lambda control: lock_holders(control, self.server, connection_id, self._row_waits))

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """Return a description of the holders and their statements; without holders, the server's name for the wait."""
        return self._read_or("", lambda control: describe_wait(control, self.server, connection_id, holders))

    def _read_or(self, otherwise: T, read: Callable[[Connection], T]) -> T:
        try:
            with self._lock:
                return read(self._controlled())
        except ServerError:
            return otherwise
        except ConnectionFailed:
            self.close()
            return otherwise

    def owns_channel(self) -> bool:
        """Return True if no other apply has taken over the channel (R25a)."""
        try:
            return self.context.store.owns_channel(self._controlled(), self.context.epoch)
        except ConnectionFailed:
            self.close()
            raise

    def server_id(self) -> int:
        """Return the replication ID of the server."""
        return self._read(lambda connection: to_int(rows_of(connection.query("SELECT @@GLOBAL.server_id"))[0][0]))

    def finish(self, executed: GtidSet) -> None:
        """Move the progress into the channel's row, and make the applied GTIDs the target's own; called after everything is applied.

        If the connection is lost, all steps are repeated. It was idle during the whole run, so a loss is likely.
        """
        self._read(lambda control: self._finish(control, executed))

    def complete_gtids(self, executed: GtidSet) -> None:
        """Make the applied GTIDs the target's own, at a stop before the end of the log."""
        self._read(lambda control: self.context.complete(control, executed))

    def _finish(self, control: Connection, executed: GtidSet) -> None:
        context = self.context
        with telling(self.connect, control.connection_id, "the end"):
            stored = context.complete(control, executed)
            if isinstance(context.ledger, PlaceLedger):
                places = context.ledger.places()
                if places.file is not None:
                    stored = replace(stored, file=places.file, position=places.offset)
            context.store.consolidate(control, stored, str(context.ledger.executed()), "complete")

    def close(self) -> None:
        """Close the control connection."""
        self._forecast.close()
        control, self._control = self._control, None
        if control is not None:
            with contextlib.suppress(ParaplyError):
                control.close()

    def _open(self, plan: ApplyPlan, control: Connection) -> Progress:
        from paraply.targets.mysql.replication import take_away

        server = self._server = ServerKind.parse(control.server_version)
        check_family(server, plan)
        check_server(control, server)
        store = ProgressStore(plan.channel)
        mode = choose(control, plan, server, store)
        grants = check_user(control, server, mode)
        check_gaps(plan, mode)
        quiet = quieten(control, mode, server)
        packet = to_int(rows_of(control.query("SELECT @@GLOBAL.max_allowed_packet"))[0][0])
        checker = TableChecker.of(control, server, plan)
        last_writer = MySqlLastWriter(plan.timestamp_column) if plan.timestamp_column else None
        asks = not server.mariadb and last_writer is None and may_ask(control, mode, grants)
        channel, stored = self._take_channel(control, plan, server, mode, quiet, store)
        take_away(control, plan.channel)
        branches = recover_branches(control, plan)
        stored, settled = settle_at_start(channel, control, stored, plan)
        progress, ledger = _read_progress(control, plan, channel, stored)
        progress.notes.extend([mode.note, *settled])
        progress.diverged = read_diverged(control, plan.channel)
        from paraply.targets.mysql.rows.conflicts import begin_conflicts

        begin_conflicts(control, plan, mode, progress.executed)
        self._context = MySqlContext(
            connect=channel.connect,
            server=server,
            mode=mode,
            store=channel.store,
            xa=channel.xa,
            epoch=channel.epoch,
            quiet_settings=quiet,
            branches=branches,
            ledger=ledger,
            checker=checker,
            # MariaDB does not compare table privileges with rows of BINLOG statements.
            row_privileges=RowPrivileges(Grants(known=False) if server.mariadb else grants),
            references=References() if asks else None,
            last_writer=last_writer,
            max_packet=packet,
            answer=plan.answer,
            on_conflict=plan.on_conflict,
        )
        return progress

    def _take_channel(
        self, control: Connection, plan: ApplyPlan, server: ServerKind, mode: GtidMode, quiet: tuple[str, ...], store: ProgressStore
    ) -> tuple[ChannelContext, StoredProgress]:
        """Raise the channel's epoch, and return the channel with its progress."""
        store.create_schema(control)
        stored = store.open(control, plan.fingerprint)
        stored.executed.extend(earlier_executed(control, plan, server, mode, store.kept_mode(control)[1]))
        store.keep_mode(control, mode.name, stored.epoch)
        channel = ChannelContext(
            connect=self.connect, server=server, mode=mode, store=store, xa=XaStore(plan.channel), epoch=stored.epoch, quiet_settings=quiet
        )
        return channel, stored

    def _is_in(self, connection: Connection, block: Block) -> bool:
        context = self.context
        stored = context.kept_progress(connection)
        settled = settle_block(context, connection, block, stored)
        if settled is not None:
            return settled
        if block.first_gtid is None:
            return stored.places().hold(block)
        from paraply.targets.mysql.progress.kept import stored_gtids

        return block.gtids <= stored_gtids(connection, context.mode, stored).gtids

    def _read(self, read: Callable[[Connection], T], tries: int = _TRIES) -> T:
        """Return the result of a function that uses the control connection; try again if the connection is lost or KILL QUERY hits it."""
        try:
            return read(self._controlled())
        except ParaplyError as error:
            if isinstance(error, ConnectionFailed):
                self.close()
            elif interrupted(error):
                with contextlib.suppress(ParaplyError):
                    self._controlled().query("ROLLBACK")
            else:
                tries = 1
            if tries == 1:
                raise explain(error) from None
            return self._read(read, tries - 1)

    def _controlled(self) -> Connection:
        """Return the control connection; open it again if it broke."""
        if self._control is None:
            control = self.connect()
            for setting in self.context.quiet_settings:
                control.query(setting)
            self._control = control
        return self._control


def _read_progress(
    control: Connection, plan: ApplyPlan, channel: ChannelContext, stored: StoredProgress
) -> tuple[Progress, ProgressLedger]:
    """Return the progress that the target holds, and the ledger that goes on from there; moves the progress into the channel's row."""
    if not plan.has_gtids:
        places, nothing = stored.places(), GtidSet("")
        channel.store.consolidate(control, replace(stored, file=places.file, position=places.offset), places.text())
        progress = Progress(nothing, places.file, places.offset, stored.ordinal, stored.resumed, done=places.done)
        return progress, PlaceLedger(places, nothing, ordered=not plan.gaps)
    from paraply.targets.mysql.progress.kept import stored_gtids

    executed = stored_gtids(control, channel.mode, stored)
    channel.store.consolidate(control, stored, executed.text())
    progress = Progress(executed.gtids, stored.file, stored.position, stored.ordinal, stored.resumed, low=executed.low)
    return progress, make_ledger(executed, mariadb=channel.server.mariadb, gaps=plan.gaps)
