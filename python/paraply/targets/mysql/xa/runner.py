"""Execution of the parts of XA transactions on MySQL and MariaDB, exactly once (R35).

A part runs alone, under the same lock as DDL. The server only releases this lock with its session, so a run that holds the channel's
epoch and the lock knows that no older part is active. The next step is always recorded first. The server's list
of prepared transactions then shows whether it has happened. If the part runs under its own GTID, the server's GTIDs show it.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

from paraply._native import GtidSet
from paraply.errors import AlreadyRunning, ApplyFailed, ConnectionLost, ParaplyError, ServerError, TemporaryFailure
from paraply.targets.mysql.errors import interrupted
from paraply.targets.mysql.rows.sequences import row_statements
from paraply.targets.mysql.sql import Connection, must_find, query_each, rows_of, to_int
from paraply.targets.mysql.xa.store import COMMITTING, LEFT_OUT, PREPARED, PREPARING, ROLLING_BACK, XaPart, prepared_xids
from paraply.targets.xid import canonical_xid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block
    from paraply.targets.mysql.context import ChannelContext, MySqlContext

__all__ = ["XaRunner", "XaSession", "came_through", "progress_of", "write_checked"]

_LOCK_WAIT = 30
#: Time limit and pause for waiting for a XID that belongs to another connection, in seconds.
_BUSY_SECONDS, _PAUSE_SECONDS = 20.0, 0.05
_NOT_THERE, _DUPLICATE = 1397, 1440
_TRIES = 3


class XaSession(Protocol):
    """The interface of a session that runs a part."""

    @property
    def connection(self) -> Connection:
        """The current connection."""

    def send_format(self, block: Block) -> None:
        """Send the log's format description."""

    def renew(self) -> None:
        """End the connection on the server, and replace it by a new one."""

    def apply(self, block: Block) -> None:
        """Begin the block's transaction with its progress and without rows."""

    def commit(self) -> None:
        """Commit the transaction."""

    def rollback(self) -> None:
        """Roll back the transaction."""


class XaRunner:
    """The execution of one part of an XA transaction on a session, together with its progress."""

    def __init__(self, context: MySqlContext, session: XaSession, slot: int) -> None:
        self._context = context
        self._session = session
        self._slot = slot
        #: True if the statement that makes the part durable was sent. From then on, only the target knows the outcome.
        self.sent = False
        #: True if the part was applied as a transaction without rows, which the session has acknowledged.
        self.recorded = False

    def run(self, block: Block) -> None:
        """Run the block to its end.

        Raises:
            ApplyFailed: The target has an unexpected prepared transaction of this XID, or lacks the expected one.
        """
        context, connection = self._context, self._session.connection
        context.sessions.note([block], connection.connection_id)
        if not context.store.lock_statements(connection, _LOCK_WAIT):
            raise AlreadyRunning("another apply of this channel is running a statement on the target")
        try:
            self._write([])
            self._apart(lambda: context.xa.create(connection))
            self._run(block, canonical_xid(block.xid or ""))
        finally:
            with contextlib.suppress(ParaplyError):
                context.store.unlock_statements(self._session.connection)

    def _run(self, block: Block, xid: str) -> None:
        connection = self._session.connection
        if block.kind == "xa_end":
            self._end(block, xid, xid in prepared_xids(connection))
        elif block.has_rows:
            if xid in prepared_xids(connection):
                raise ApplyFailed(
                    f"the target has a prepared XA transaction {xid} already, which is not this one: end it there with XA COMMIT or"
                    " XA ROLLBACK, and run the same command again"
                )
            self._prepare(block, xid)
        else:
            self._write([self._context.xa.put(XaPart.of(block, xid, LEFT_OUT))])
            self._record(block)

    def _prepare(self, block: Block, xid: str) -> None:
        context, session = self._context, self._session
        connection = session.connection
        maps = block.table_maps()
        context.row_privileges.check(lambda: connection, block, maps)
        context.checker.check(lambda: connection, maps, block.format.version)
        session.send_format(block)
        writer = context.last_writer
        written = writer.statements(connection, block) if writer is not None else []
        self._write([context.xa.put(XaPart.of(block, xid, PREPARING))])
        try:
            for setting in [*([writer.settings] if writer is not None else []), *context.mode.begin_xa(block.first_gtid)]:
                connection.query(setting)
            self._when_free(xid, f"XA START {xid}", _DUPLICATE)
            if writer is not None:
                writer.run(connection, written)
            else:
                for statement in row_statements(context, block):
                    connection.query(statement)
            connection.query(f"XA END {xid}")
            self.sent = True
            connection.query(f"XA PREPARE {xid}")
        except ParaplyError as error:
            if not (self.sent or interrupted(error) or isinstance(error, ConnectionLost)):
                self._undo(xid)
            raise
        if self._detaches(connection):
            self._settings_back()
        else:
            session.renew()
        self._write(progress_of(context, self._slot, block, XaPart.of(block, xid, PREPARED)))

    def _end(self, block: Block, xid: str, prepared: bool) -> None:
        context, connection = self._context, self._session.connection
        if not prepared:
            if (xid, LEFT_OUT) not in [(part.xid, part.state) for part in context.xa.read(connection)]:
                raise ApplyFailed(
                    f"the log ends the XA transaction {xid} here, and the target does not hold it prepared: it was ended there by"
                    " someone else, or the replay began between the two parts"
                )
            self._record(block)
            try:
                self._write([context.xa.drop(xid)])
            except (ServerError, TemporaryFailure):  # the next XA PREPARE of this name overwrites the row
                self._session.rollback()
            return
        commit = commits(block)
        self._write([context.xa.put(XaPart.of(block, xid, COMMITTING if commit else ROLLING_BACK))])
        self.sent = True
        for setting in context.mode.begin_xa(block.first_gtid):
            connection.query(setting)
        self._when_free(xid, end_statement(xid, commit=commit), _NOT_THERE)
        self._settings_back()
        self._write(progress_of(context, self._slot, block, XaPart.of(block, xid, PREPARED), gone=True))

    def _record(self, block: Block) -> None:
        """Record a part that applies no rows as an empty transaction."""
        self._session.apply(block)
        self._session.commit()
        self.recorded = True

    def _when_free(self, xid: str, statement: str, busy: int) -> None:
        """Run a statement; if another connection still holds the XID, wait until that connection has ended."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._session.connection.query(statement)
                return
            except ServerError as error:
                if error.code != busy:
                    raise
                if time.monotonic() > deadline:
                    self.sent = False
                    self._settings_back()
                    raise ApplyFailed(
                        f"the XA transaction {xid} belongs to another connection on the target, which does not end ({error.message}):"
                        " end it with KILL, and run the same command again"
                    ) from None
            time.sleep(_PAUSE_SECONDS)

    def _undo(self, xid: str) -> None:
        """Roll back a transaction that was not prepared."""
        connection = self._session.connection
        for statement in (f"XA END {xid}", f"XA ROLLBACK {xid}"):
            for _ in range(_TRIES):
                try:
                    connection.query(statement)
                    break
                except ServerError as error:
                    if not interrupted(error):
                        break
        self._settings_back()
        with contextlib.suppress(ParaplyError):
            self._write([self._context.xa.drop(xid)])

    def _write(self, statements: Sequence[str]) -> None:
        """Write to paraply's own tables; keep these changes out of the target's log if the mode requires it."""
        self._apart(lambda: write_checked(self._context, self._session.connection, statements))

    def _apart(self, action: Callable[[], object]) -> None:
        connection, mode = self._session.connection, self._context.mode
        if not mode.keeps_out or mode.hidden:
            action()
            return
        connection.query("SET SESSION sql_log_bin=0")
        try:
            action()
        finally:
            self._set_back(["SET SESSION sql_log_bin=1"])

    def _settings_back(self) -> None:
        self._set_back(self._context.mode.end_xa())

    def _set_back(self, settings: Sequence[str]) -> None:
        """Run statements that restore settings; close the connection if they fail, because it cannot be used without them."""
        connection = self._session.connection
        try:
            for setting in settings:
                connection.query(setting)
        except ServerError as error:
            connection.close()
            raise ConnectionLost(f"the session could not be set back to its own settings: {error.message}") from None

    def _detaches(self, connection: Connection) -> bool:
        """Return True if a prepared transaction leaves its connection at once (MySQL 8.0.29 and later, unless switched off)."""
        if self._context.server.mariadb or self._context.server.version < (8, 0, 29):
            return False
        return bool(to_int(rows_of(connection.query("SELECT @@SESSION.xa_detach_on_prepare"))[0][0]))


def commits(block: Block) -> bool:
    """Return True if a part that ends an XA transaction commits it."""
    statement = block.statement
    words = statement.sql.split(None, 2) if statement is not None else []
    return len(words) > 1 and words[1].upper() == b"COMMIT"


def end_statement(xid: str, *, commit: bool) -> str:
    """Return XA COMMIT or XA ROLLBACK of a XID."""
    return f"XA {'COMMIT' if commit else 'ROLLBACK'} {xid}"


def write_checked(context: ChannelContext, connection: Connection, statements: Sequence[str]) -> None:
    """Write to paraply's own tables in a transaction that checks the epoch (R25a)."""
    results = query_each(connection, ["START TRANSACTION", context.store.fence(), *statements])
    context.store.checked(results, context.epoch, connection, at=1)
    must_find(result for statement, result in zip(statements, results[2:], strict=True) if statement.startswith("UPDATE"))
    connection.query("COMMIT")


def progress_of(context: MySqlContext, slot: int, block: Block, part: XaPart, *, gone: bool = False) -> list[str]:
    """Return the statements that record a part as done."""
    mark = [context.store.write(slot, context.ledger.mark(block, slot), context.epoch)] if context.mode.writes_progress else []
    return [*mark, context.xa.drop(part.xid) if gone else context.xa.put(part)]


def came_through(context: ChannelContext, connection: Connection, part: XaPart) -> bool:
    """Return True if a part that was begun is done. Its connection has ended, and this connection stays out of the target's log.

    If a server was killed between the writes to its log and to its storage engine, so that they differ, the engine is brought to the state
    in the log.

    Raises:
        ApplyFailed: The engine cannot be brought to the state in the log.
    """
    prepared, preparing = part.xid in prepared_xids(connection), part.state == PREPARING
    if part.gtid is None or not context.mode.xa_under_gtid:
        return prepared == preparing
    logged = part.gtid in GtidSet(context.mode.own_executed(connection))
    if prepared == (preparing == logged):
        return logged
    if not prepared:
        raise ApplyFailed(
            f"the target {'logged' if logged else 'did not log'} {part.gtid}, and the XA transaction {part.xid} is not prepared there:"
            f" it was ended by someone else while the apply was {part.state} it; restore the target and begin again",
            gtid=part.gtid,
        )
    connection.query(end_statement(part.xid, commit=part.state == COMMITTING))
    return logged
