"""MySQL and MariaDB as targets: the log's own row events, handed over in BINLOG statements (rules R25, R26 and R31)."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from paraply import _native
from paraply.errors import ConnectionFailed, ParaplyError, ServerError, UsageError
from paraply.targets.mysql.errors import connect_error, explain, interrupted
from paraply.targets.mysql.gtid_mode import GtidMode, check_gaps, choose_mode, read_facts
from paraply.targets.mysql.lock_waits import RowWaits, describe_wait, lock_holders, telling
from paraply.targets.mysql.preflight.ddl_forecast import StatementForecast
from paraply.targets.mysql.preflight.inspect import check_family, peek
from paraply.targets.mysql.preflight.privileges import Grants, RowPrivileges, check_user
from paraply.targets.mysql.preflight.table_check import TableChecker, check_server
from paraply.targets.mysql.progress.channel_status import read_channels
from paraply.targets.mysql.progress.recovery import settle_at_start, settle_block
from paraply.targets.mysql.progress.status_row import MySqlBoard, open_board
from paraply.targets.mysql.progress.store import PendingDdl, ProgressStore, StoredProgress
from paraply.targets.mysql.replica_channel import take_away
from paraply.targets.mysql.rows.foreign_keys import References, may_ask
from paraply.targets.mysql.rows.last_writer import MySqlLastWriter
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.session import MySqlSession, session_settings
from paraply.targets.mysql.session_end import await_end
from paraply.targets.mysql.sql import Connection, query_each, rows_of, to_int
from paraply.targets.mysql.xa.branches import BranchStore, finish
from paraply.targets.mysql.xa.store import PREPARED, XaStore, prepared_xids
from paraply.targets.progress.file_ledger import PlaceLedger
from paraply.targets.progress.gtid_ledger import Executed, ProgressLedger, make_ledger, read_executed
from paraply.targets.protocol import ApplyPlan, Peek, Progress, Standing
from paraply.targets.retrying import steadily

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set

    from paraply._native import Block, GtidSet
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.protocol import Forecast, RowForecast
    from paraply.targets.two_phase import Branch
    from paraply.targets.url import DatabaseUrl

__all__ = ["MySqlTarget", "connect"]

_REMEMBERED = 10_000
_TRIES = 3

T = TypeVar("T")


def connect(url: DatabaseUrl) -> Connection:
    """A new connection to a MySQL or MariaDB server.

    Raises:
        ConnectionFailed: The server cannot be reached or does not let us in; says what to do.
        UsageError: A file of the TLS options cannot be read.
    """
    try:
        return _native.MySqlConnection(
            url.host, url.port, url.user, url.password, database=url.database, socket=url.socket, tls=url.tls_options(),
            connect_timeout=url.connect_timeout, found_rows=True,
        )  # fmt: skip
    except (ServerError, ConnectionFailed) as error:
        url.check_tls_files()
        raise connect_error(error, str(url), tls=url.tls != "disabled") from None


class MySqlTarget:
    """A MySQL or MariaDB server that transactions of a log of the same family are applied to.

    Args:
        url: Where it is.
        connector: Makes connections; replaced in tests.
    """

    epoch: int
    store: ProgressStore
    xa: XaStore
    branches: BranchStore
    quiet_settings: list[str]
    last_writer: MySqlLastWriter | None = None
    ledger: ProgressLedger
    checker: TableChecker
    grants: Grants
    row_privileges: RowPrivileges
    references: References | None = None
    mode: GtidMode
    server: ServerKind
    max_packet: int

    def __init__(self, url: DatabaseUrl, connector: Callable[[DatabaseUrl], Connection] = connect) -> None:
        # The URL's database is not entered: a statement without a default database must not find one.
        self.url = replace(url, database=None)
        self.is_local = url.is_local
        self._connector = connector
        self._forecast = StatementForecast(self.connect)
        self._control: Connection | None = None
        self._sessions: dict[int, tuple[int, float]] = {}  # connection and time of a block's last start
        self._next_slot = self._splits = 0
        self._lock = threading.Lock()
        self._row_waits = RowWaits()

    @property
    def family(self) -> Literal["mysql", "mariadb"]:
        """Which kind of server."""
        return "mariadb" if self.server.mariadb else "mysql"

    @property
    def merges(self) -> bool:
        """Whether several transactions may become one commit in the GTID mode in force."""
        return self.mode.merges

    @property
    def most_merged(self) -> int:
        """As measured: into MySQL an OLTP load takes a tenth longer with 512, into MariaDB less than with 256."""
        return 512 if self.server.mariadb else 256

    @property
    def takes_series(self) -> bool:
        """Whether its sessions may be handed several blocks at once (``SeriesSession``)."""
        return self.last_writer is None

    def connect(self) -> Connection:
        """A new plain connection."""
        return self._connector(self.url)

    def peek(self, plan: ApplyPlan, *, tables: bool = False) -> Peek:
        """Reads what ``open`` would find, on a connection of its own, and writes nothing."""

        def look() -> Peek:
            with contextlib.closing(self.connect()) as connection, telling(self.connect, connection.connection_id, "the start"):
                self.server = ServerKind.parse(connection.server_version)
                return peek(connection, plan, tables=tables)

        try:
            return steadily(look, ServerError, interrupted)
        except ParaplyError as error:
            raise explain(error) from None

    def open(self, plan: ApplyPlan) -> Progress:
        """Connect, check the server, take the channel over and read what is applied already."""

        def begin() -> Progress:
            self.close()
            control = self._control = self.connect()
            with telling(self.connect, control.connection_id, "the start") as said:
                progress = self._open(plan, control)
            progress.notes.extend(said)
            return progress

        try:
            return steadily(begin, ServerError, interrupted)
        except ParaplyError as error:
            self.close()
            raise explain(error) from None

    def session(self) -> MySqlSession:
        """A new connection for a worker."""
        connection = self.fresh()
        try:
            return MySqlSession(self, connection, self.take_slot(connection))
        except ParaplyError as error:
            connection.close()
            raise explain(error) from None

    def take_slot(self, connection: Connection) -> int:
        """A row of progress that nobody else of this run writes."""
        with self._lock:
            slot, self._next_slot = self._next_slot, self._next_slot + 1
        if self.mode.writes_progress:
            self.store.take_slot(connection, slot, self.epoch)
        return slot

    def fresh(self, after: tuple[int, float] | None = None) -> Connection:
        """Return a connection with a session's settings, made once the connection ``after`` (number, last seen) has ended."""
        connection = self.connect()
        try:
            if after is not None:
                await_end(connection, *after)
            query_each(connection, session_settings(hidden=self.mode.hidden))
        except ParaplyError as error:
            connection.close()
            raise explain(error) from None
        return connection

    def left_prepared(self) -> list[str]:
        """The XA transactions of the log that are prepared and not ended."""
        ours = [part.xid for part in self._read(self.xa.read) if part.state == PREPARED]
        held = self._read(prepared_xids) if ours else frozenset()
        return [xid for xid in ours if xid in held]

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Table]:
        """The tables that stand in the target now, for hashing."""
        from paraply.schema.readers.live import read_tables

        tables = self._read(lambda control: read_tables(lambda sql: rows_of(control.query(sql)), databases))
        return [table for table in tables if table.database != "paraply"]

    def standing(self, plan: ApplyPlan) -> Standing:  # noqa: ARG002 - the server knows its tables
        """Nothing: the definitions are the server's own."""
        return Standing()

    def foresee(self, forecast: Forecast) -> None:
        """Raise LogNotUnderstood for a statement whose variables are not known here; the rest is known when the server runs its text."""
        self._forecast.check(forecast.transaction, forecast.lower_case_table_names)

    def foresee_tables(self, tables: Sequence[Table]) -> None:
        """Do nothing: the tables are the server's own."""

    def foresee_rows(self, forecast: RowForecast) -> None:
        """Compare a table of the target with the log."""
        self._forecast.check_table(forecast)

    def schema_changed(self, catalog: SchemaCatalog, changes: Sequence[SchemaChange]) -> None:
        """Nothing to do: the events say themselves what they hold."""

    def open_board(self) -> MySqlBoard | None:
        """The row where the run's status is kept, once the target is open; None where there is no place for it."""
        return open_board(self.connect, self.store.channel, self.epoch)

    def read_channels(self) -> list[ChannelStatus]:
        """What the target holds of each channel, on a connection of its own; writes nothing."""
        connection = self.connect()
        try:
            return read_channels(connection)
        except ParaplyError as error:
            raise explain(error) from None
        finally:
            connection.close()

    def pass_over(self, block: Block) -> None:
        """An earlier run committed the block."""
        self.ledger.acknowledge(block)

    def forget_tables(self, words: Set[str] | None = None) -> None:
        """A DDL was run: what is known of tables is read again.

        Args:
            words: The statement's (``words_of``), where they are known.
        """
        self.checker.forget(words)
        if self.last_writer is not None:
            self.last_writer.forget()
        if self.references is not None:
            self.references.forget()

    def note_session(self, blocks: Iterable[Block], connection_id: int) -> None:
        """Remembers which connection works on blocks, so that ``committed`` can wait for its end."""
        now = time.monotonic()
        with self._lock:
            for block in blocks:
                self._sessions[block.id] = (connection_id, now)
                self._sessions.pop(block.id - _REMEMBERED, None)  # blocks under way are asked for, and those are few

    def committed(self, block: Block) -> bool:
        """Whether a block is in, asked after its connection broke: first its server session must have ended."""
        with self._lock:
            session = self._sessions.get(block.id)
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
            self.ledger.acknowledge(block)
        return found

    def new_split(self) -> str:
        """A name for the branches of a transaction that is committed in two phases."""
        with self._lock:
            self._splits += 1
            return self.branches.new_name(self.epoch, self._splits)

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """Ends a branch whose connection broke, once its server session has ended."""
        try:
            connection = self.connect()
            try:
                await_end(connection, connection_id, time.monotonic())
            finally:
                connection.close()
            finish(self, branch, commit=commit)
        except ParaplyError as error:
            raise explain(error) from None

    def logs_hold(self, connection: Connection, pending: PendingDdl) -> bool:
        """Whether the target's own GTIDs show that a recorded statement has been done (``preserve`` on MariaDB)."""
        if pending.gtid is None or self.mode.writes_progress:
            return False
        return pending.gtid in _native.GtidSet(self.mode.own_executed(connection))

    def blockers(self, connection_id: int) -> list[int]:
        """Connections that hold locks which this one waits for: of rows, and of definitions of tables."""
        return self._told([], lambda control: lock_holders(control, self.server, connection_id, self._row_waits))

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """Who these are, and what they run; without any, the server's own word for the wait."""
        return self._told("", lambda control: describe_wait(control, self.server, connection_id, holders))

    def _told(self, otherwise: T, read: Callable[[Connection], T]) -> T:
        try:
            with self._lock:
                return read(self._controlled())
        except ServerError:
            return otherwise
        except ConnectionFailed:
            self.close()
            return otherwise

    def is_ours(self) -> bool:
        """Whether no other apply has taken the channel over (R25a)."""
        try:
            return self.store.is_ours(self._controlled(), self.epoch)
        except ConnectionFailed:
            self.close()
            raise

    def server_id(self) -> int:
        """The server's number among its replicas."""
        return self._read(lambda connection: to_int(rows_of(connection.query("SELECT @@GLOBAL.server_id"))[0][0]))

    def finish(self, executed: GtidSet) -> None:
        """Everything is applied: the progress is moved into the channel's row, and the GTIDs are made the target's own.

        What was done of it where the connection is lost, which was idle for the whole run, is done again.
        """
        self._read(lambda control: self._finish(control, executed))

    def _finish(self, control: Connection, executed: GtidSet) -> None:
        with telling(self.connect, control.connection_id, "the end"):
            self.mode.finish(control, executed)
            stored = self.store.read(control)
            if isinstance(self.ledger, PlaceLedger):
                places = self.ledger.places()
                if places.file is not None:
                    stored = replace(stored, file=places.file, position=places.offset)
            self.store.consolidate(control, stored, str(self.ledger.executed()), "complete")

    def close(self) -> None:
        """Closes the connection."""
        control, self._control = self._control, None
        if control is not None:
            with contextlib.suppress(ParaplyError):
                control.close()

    def _open(self, plan: ApplyPlan, control: Connection) -> Progress:
        self.server = ServerKind.parse(control.server_version)
        check_family(self.server, plan)
        check_server(control, self.server)
        self.mode = choose_mode(plan, read_facts(control, self.server), self.server)
        self.grants = check_user(control, self.server, self.mode)
        # MariaDB does not compare table privileges with rows of BINLOG statements.
        self.row_privileges = RowPrivileges(Grants(known=False) if self.server.mariadb else self.grants)
        check_gaps(plan, self.mode)
        self._configure(control, plan)
        self.store, self.xa = ProgressStore(plan.channel), XaStore(plan.channel)
        self.store.create_schema(control)
        stored = self.store.open(control, plan.fingerprint)
        self.epoch = stored.epoch
        take_away(control, plan.channel)
        self._recover_branches(control, plan)
        stored, settled = settle_at_start(self, control, stored, plan)
        notes = [self.mode.note, *settled]
        if not plan.has_gtids:
            return self._open_without_gtids(plan, control, stored, notes)
        executed = self._executed(control, stored)
        self.store.consolidate(control, stored, executed.text())
        self.ledger = make_ledger(executed, mariadb=self.server.mariadb, gaps=plan.gaps)
        return Progress(executed.gtids, stored.file, stored.position, stored.ordinal, stored.resumed, notes, executed.low)

    def _open_without_gtids(self, plan: ApplyPlan, control: Connection, stored: StoredProgress, notes: list[str]) -> Progress:
        places, nothing = stored.places(), _native.GtidSet("")
        self.store.consolidate(control, replace(stored, file=places.file, position=places.offset), places.text())
        self.ledger = PlaceLedger(places, nothing, ordered=not plan.gaps)
        return Progress(nothing, places.file, places.offset, stored.ordinal, stored.resumed, notes, done=places.done)

    def _recover_branches(self, control: Connection, plan: ApplyPlan) -> None:
        """Ends what a killed run left prepared, also where this run prepares nothing itself."""
        self.branches = BranchStore(plan.channel)
        if plan.two_phase:
            self.branches.create_schema(control)
        if self.branches.exists(control):
            self.branches.recover(control)

    def _configure(self, control: Connection, plan: ApplyPlan) -> None:
        self.quiet_settings = session_settings(hidden=self.mode.keeps_out)
        try:
            for setting in self.quiet_settings:
                control.query(setting)
        except ServerError as error:
            if error.code == 1227:
                raise UsageError(
                    f"--gtid {self.mode.name} needs the privilege to leave the binlog out: grant the user"
                    f" {'BINLOG ADMIN' if self.server.mariadb else 'SYSTEM_VARIABLES_ADMIN'}, or use --gtid none"
                ) from None
            raise
        self.max_packet = to_int(rows_of(control.query("SELECT @@GLOBAL.max_allowed_packet"))[0][0])
        self.checker = TableChecker.of(control, self.server, plan)
        self.last_writer = MySqlLastWriter(plan.timestamp_column) if plan.timestamp_column else None
        asks = not self.server.mariadb and self.last_writer is None and may_ask(control, self.mode, self.grants)
        self.references = References() if asks else None

    def _executed(self, connection: Connection, stored: StoredProgress) -> Executed:
        return read_executed([*stored.executed, self.mode.own_executed(connection)], _native.GtidSet)

    def _is_in(self, connection: Connection, block: Block) -> bool:
        stored = self.store.read(connection)
        settled = settle_block(self, connection, block, stored)
        if settled is not None:
            return settled
        if block.first_gtid is None:
            return stored.places().hold(block)
        return block.gtids <= self._executed(connection, stored).gtids

    def _read(self, read: Callable[[Connection], T], tries: int = _TRIES) -> T:
        """What is read on the connection for everything but blocks; done again where that is lost, or KILL QUERY has ended it."""
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
        """The connection for everything but blocks, made anew when it broke."""
        if self._control is None:
            control = self.connect()
            for setting in self.quiet_settings:
                control.query(setting)
            self._control = control
        return self._control
