"""Execution of a block with a statement as text, exactly once (R25b and R33)."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import (
    AlreadyRunning,
    ApplyFailed,
    ConnectionLost,
    DdlUndecided,
    LogNotUnderstood,
    ParaplyError,
    ServerError,
    TemporaryFailure,
    UsageError,
)
from paraply.logs.statement_text import read_statement_text
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.targets.mysql.ddl.context import (
    expected_error,
    refused_setting,
    reset_statement,
    statement_rules,
    use_statement,
)
from paraply.targets.mysql.ddl.done import check_done
from paraply.targets.mysql.ddl.logged_statement import check_names, read_statement
from paraply.targets.mysql.preflight.table_check import words_of
from paraply.targets.mysql.progress.store import PendingDdl
from paraply.targets.mysql.rows.sequences import row_statements
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import Connection, must_find, name_literal, query_all, query_each, rows_of, set_gtid, to_int
from paraply.targets.progress.gtid_ledger import read_executed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block, ResultSet, Statement
    from paraply.targets.mysql.context import MySqlContext

__all__ = ["StatementRunner", "decide_pending", "object_exists", "pending_statement"]

_LOCK_WAIT = 30
_UNKNOWN_DATABASE = 1049
_OUT_OF_ORDER = 1950
_STRICT_NUMBERS = (
    "the rows of this CREATE TABLE ... SELECT are a transaction of their own on the target, and gtid_strict_mode does not let it share its"
    " GTID with the statement: SET GLOBAL gtid_strict_mode=OFF on the target until it is applied, or use --gtid record"
)
_NEWEST = ServerKind(False, (9, 7, 0))
_DECISION = "state the answer with --ddl-done or --ddl-not-done"


class StatementRunner:
    """The execution of one statement block on a session's connection, together with its progress.

    Independent statements are sent together: a DDL takes nine round trips instead of seventeen.
    """

    def __init__(self, context: MySqlContext, connection: Connection, slot: int) -> None:
        self._context = context
        self._connection = connection
        self._slot = slot
        self.words: set[str] = set()
        """Words of the executed statements."""

    def run(self, block: Block) -> None:
        """Run the block's statements and the rows that belong to them (CREATE TABLE ... SELECT), and write the progress.

        A lock makes a later apply wait until the statement has ended, even if this process is killed meanwhile: the server only releases
        it with the session.
        """
        context, connection = self._context, self._connection
        context.sessions.note([block], connection.connection_id)
        if not context.store.lock_statements(connection, _LOCK_WAIT):
            raise AlreadyRunning("another apply of this channel is running a statement on the target")
        try:
            self._check_epoch()
            statements = block.transactions[0].statements
            if context.answer.covers(block):
                self._count_as_done(block, statements)
            elif context.mode.ddl_under_gtid and block.first_gtid is not None:
                self._run_under_gtid(block, statements)
            else:
                self._run_recorded(block, statements)
        finally:
            with contextlib.suppress(ParaplyError):
                context.store.unlock_statements(connection)

    def _count_as_done(self, block: Block, statements: Sequence[Statement]) -> None:
        """Record a statement that the user has made by hand, with the rows that belong to it, after a comparison with the tables.

        Raises:
            SchemaMismatch: The target is not as the statement leaves it.
        """
        context, connection, log = self._context, self._connection, block.format
        for statement in statements:
            text = read_statement_text(statement, mariadb=log.mariadb, version=log.version, has_rows=block.has_rows).text
            self.words |= words_of(text)
            rules = Rules.of(statement.context, mariadb=log.mariadb, version=log.version)
            check_done(connection, text, statement.database or "", rules)
        if context.mode.writes_progress:
            self._write_progress(block)
        elif context.mode.ddl_under_gtid:
            query_all(connection, [set_gtid(block.first_gtid), "START TRANSACTION", "COMMIT", set_gtid()])
        else:  # MariaDB logs no empty transaction, so that its binlog's position cannot hold it
            stored = context.store.read(connection)
            executed = read_executed([*stored.executed, str(context.ledger.executed() | block.gtids)], GtidSet)
            stored = replace(stored, file=block.end_file, position=block.end_offset, ordinal=block.ordinal)
            self._hidden(True, lambda: context.store.consolidate(connection, stored, executed.text()))

    def _check_epoch(self) -> None:
        results = query_all(self._connection, ["START TRANSACTION", self._context.store.fence(), "COMMIT"])
        self._context.store.checked(results, self._context.epoch, self._connection, at=1)

    def _run_under_gtid(self, block: Block, statements: list[Statement]) -> None:
        """Run a statement on MySQL 8.0 and later, where the server records the GTID together with the statement.

        This is only atomic if the statement is logged. With sql_log_bin=0, the server commits the statement and then writes an empty
        transaction for the GTID: a crash in between would lose the GTID and keep the statement. So a DDL is logged even in mode
        ``record``.
        """
        if len(statements) > 1:
            raise LogNotUnderstood(f"the transaction holds {len(statements)} statements, and one was expected")
        context, connection = self._context, self._connection
        try:
            for statement in statements:
                logged = ["SET SESSION sql_log_bin=1"] if context.mode.hidden else []
                self._execute(block, statement, *logged, set_gtid(block.first_gtid))
            for rows in self._row_statements(block):
                connection.query(rows)
            connection.query("COMMIT")
        finally:
            self._restore()
        if context.mode.writes_progress:
            self._write_progress(block)

    def _run_recorded(self, block: Block, statements: list[Statement]) -> None:
        """Record the start of a statement, run it, and record its end together with the progress and the rows that belong to it.

        A statement that can be repeated without effect needs no record.
        """
        context, connection = self._context, self._connection
        atomic = _with_its_rows(statements, context.server)
        if len(statements) == 1 and not block.has_rows and not atomic and _may_repeat(statements[0], context.server):
            self._run_unrecorded(block, statements[0])
            return
        apart = block.has_rows and not atomic
        begin = context.mode.begin_apart(block.first_gtid) if apart else context.mode.begin(block.first_gtid)
        self._prepare(block, statements[0])
        # The record must not run under the statement's own variables or GTID.
        self._restore()
        hide, rows = self._hides_progress, self._row_statements(block) if atomic else []
        self._hidden(hide, lambda: context.store.begin_ddl(connection, self._pending(block, statements), context.epoch))
        try:
            self._execute(block, statements[0], *begin)
            if atomic:
                for row in rows:
                    connection.query(row)
        except ServerError as error:
            # The server refused the statement, so it had no effect.
            if atomic:
                connection.query("ROLLBACK")
            self._restore()
            self._hidden(hide, lambda: connection.query(context.store.end_ddl()))
            if apart and error.code == _OUT_OF_ORDER:
                raise LogNotUnderstood(_STRICT_NUMBERS, position=statements[0].offset) from None
            raise
        if atomic:
            connection.query("COMMIT")
            rows = []
        for statement in statements[1:]:
            self._execute(block, statement)
        self._restore()
        if apart:
            # The table only exists from here on. Comparing it with the log also determines how its rows are written.
            context.forget_tables(self.words)
            context.checker.check(lambda: connection, block.table_maps(), block.format.version)
            rows = self._row_statements(block)
        end = [context.store.end_ddl()]
        if hide:  # the progress tables must stay out of the target's log, so the logged rows need a transaction of their own
            if rows:
                self._write_rows(block, rows)
            self._hidden(True, lambda: self._write_progress(block, end))
        else:
            self._write_progress(block, end, rows)

    def _write_rows(self, block: Block, rows: Sequence[bytes]) -> None:
        """Write the rows of CREATE TABLE ... SELECT under their GTID, in one transaction."""
        mode, connection = self._context.mode, self._connection
        try:
            query_all(connection, mode.start(block.first_gtid))
            for row in rows:
                connection.query(row)
            connection.query("COMMIT")
        finally:
            self._set_back("ROLLBACK", *mode.end())

    def _run_unrecorded(self, block: Block, statement: Statement) -> None:
        try:
            self._execute(block, statement, *self._context.mode.begin(block.first_gtid))
        finally:
            self._restore()
        self._hidden(self._hides_progress, lambda: self._write_progress(block))

    @property
    def _hides_progress(self) -> bool:
        """True if the session is logged, and the progress tables must stay out of the log."""
        return self._context.mode.keeps_out and not self._context.mode.hidden

    def _row_statements(self, block: Block) -> list[bytes]:
        """Return the statements for the rows of CREATE TABLE ... SELECT."""
        context = self._context
        return list(row_statements(context, block)) if block.has_rows else []

    def _execute(self, block: Block, statement: Statement, *begin: str) -> None:
        """Run a statement under its variables; it must end as on the source.

        Raises:
            ServerError: The server refused the statement, which succeeded on the source.
            ApplyFailed: The statement ended in an error on the source, and here in none or in another one.
        """
        text, expected = self._prepare(block, statement, *begin), expected_error(statement, block.format)
        try:
            self._connection.query(text)
        except ServerError as error:
            if not expected:
                raise
            if error.code == expected:
                return
            outcome = f"error {error.code} ({error.message})"
        else:
            if not expected:
                return
            outcome = "no error"
        self._restore()
        raise ApplyFailed(
            f"the statement ended in error {expected} on the source, and in {outcome} on the target, so that it may have done another part"
            " of its work there: compare what it names on both servers, and go on after it with --ddl-done",
            position=statement.offset,
        )

    def _prepare(self, block: Block, statement: Statement, *begin: str) -> bytes:
        """Set the statement's variables and default database, run the given statements, and return the text of the statement."""
        context, connection = self._context, self._connection
        collations = context.checker.collations(connection)
        read = read_statement(statement, block.format, context.server, collations, has_rows=block.has_rows)
        kind = read.kind
        check_names(context.checker.names, connection, read.text, statement, block.format)
        self.words |= words_of(read.text)
        use = use_statement(statement)
        if use is not None:
            try:
                connection.query(use)
            except ServerError as error:
                if error.code != _UNKNOWN_DATABASE or kind is None or not kind.is_about_database:
                    raise
        try:
            query_all(connection, read.settings)
            data = read.prepare(connection, statement.offset)
            if begin:
                query_all(connection, begin)
        except ServerError as error:
            refused = refused_setting(error, statement.offset, block.file)
            if refused is not None:
                raise refused from None
            raise
        return data

    def _restore(self) -> None:
        """Restore the session's own settings; ``gtid_next`` first, because no other statement may run under it."""
        settings = []
        if self._context.mode.ddl_under_gtid:
            settings += ["ROLLBACK", set_gtid()]
            if self._context.mode.hidden:
                settings.append("SET SESSION sql_log_bin=0")
        self._set_back(*settings, reset_statement(self._context.server))

    def _set_back(self, *settings: str) -> None:
        """Run statements that restore settings; close the connection if they fail, because it cannot be used without them."""
        try:
            query_all(self._connection, settings)
        except (ServerError, TemporaryFailure) as error:
            self._connection.close()
            raise ConnectionLost(f"the session could not be set back to its own settings: {error.message}") from None

    def _hidden(self, hide: bool, action: Callable[[], object]) -> None:
        if hide:
            self._connection.query("SET SESSION sql_log_bin=0")
        try:
            action()
        finally:
            if hide:
                self._set_back("SET SESSION sql_log_bin=1")

    def _write_progress(
        self, block: Block, writes: Sequence[str] = (), rows: Sequence[bytes] = (), send: Callable[..., list[ResultSet]] = query_all
    ) -> None:
        """Write the progress, the given statements and the given rows in one transaction."""
        context, connection = self._context, self._connection
        mark = (
            [context.store.write(self._slot, context.ledger.mark(block, self._slot), context.epoch)] if context.mode.writes_progress else []
        )
        results = send(connection, ["START TRANSACTION", context.store.fence(), *mark, *writes])
        context.store.checked(results, context.epoch, connection, at=1)
        must_find(results[2:])
        for statement in rows:
            connection.query(statement)
        connection.query("COMMIT")

    def settle(self, block: Block, pending: PendingDdl) -> bool:
        """Determine if a recorded statement of this run was executed, after its connection broke; write its progress if so.

        Raises:
            DdlUndecided: The catalog does not show it.
        """
        done = decide_pending(self._connection, pending, None, logged=self._context.logs_hold(self._connection, pending))
        if done:
            self._write_progress(block, [self._context.store.end_ddl()], send=query_each)  # no watchdog on this connection
        else:
            self._connection.query(self._context.store.end_ddl())
        return done

    def _pending(self, block: Block, statements: list[Statement]) -> PendingDdl:
        return _pending(self._connection, block, statements, self._context.server)


def pending_statement(connection: Connection, block: Block, server: ServerKind) -> PendingDdl | None:
    """Return the record of a block's statement that is about to run; None for a statement that has no further effect a second time."""
    statements = block.transactions[0].statements
    if len(statements) == 1 and not block.has_rows and _may_repeat(statements[0], server):
        return None
    return _pending(connection, block, statements, server)


def _pending(connection: Connection, block: Block, statements: list[Statement], server: ServerKind) -> PendingDdl:
    # If rows follow in another transaction, the presence of the table does not show that they were committed.
    alone = len(statements) == 1 and (not block.has_rows or _with_its_rows(statements, server))
    database, table = _made_or_dropped(statements[0], server) if alone else (None, None)
    existed = database is not None and object_exists(connection, database, table)
    return PendingDdl(block.ordinal, block.first_gtid, block.end_file, block.end_offset, database, table, existed)


def _kind_of(statement: Statement, server: ServerKind = _NEWEST) -> StatementKind | None:
    """Return the kind of a statement, or None if its text cannot be parsed."""
    return StatementKind.read(statement.sql.decode("utf-8", "replace"), statement_rules(statement, server))


def _with_its_rows(statements: Sequence[Statement], server: ServerKind = _NEWEST) -> bool:
    """Return True if the statement leaves a transaction open; its rows follow, and COMMIT ends the transaction.

    >>> from types import SimpleNamespace as S
    >>> [_with_its_rows([S(sql=sql, context={})]) for sql in (b"CREATE TABLE a (b INT) START TRANSACTION", b"CREATE TABLE a (b INT)")]
    [True, False]
    """
    kind = _kind_of(statements[0], server) if len(statements) == 1 else None
    return kind is not None and kind.leaves_open


def _made_or_dropped(statement: Statement, server: ServerKind = _NEWEST) -> tuple[str | None, str | None]:
    """Return database and table of a plain CREATE or DROP; see ``StatementKind.made_or_dropped``."""
    kind = _kind_of(statement, server)
    return kind.made_or_dropped(statement.database or None) if kind is not None else (None, None)


def object_exists(connection: Connection, database: str, table: str | None) -> bool:
    """Return True if a database, or a table in it, exists."""
    if table is None:
        sql = f"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name={name_literal(database)}"
    else:
        sql = (f"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema={name_literal(database)}"
               f" AND table_name={name_literal(table)}")  # fmt: skip
    return to_int(rows_of(connection.query(sql))[0][0]) > 0


def _may_repeat(statement: Statement, server: ServerKind = _NEWEST) -> bool:
    """Return True if a statement has no further effect when it runs a second time.

    >>> from types import SimpleNamespace as S
    >>> texts = (b"DROP TABLE IF EXISTS a, b", b"TRUNCATE a", b"DROP TABLE a", b"CREATE TABLE a (b INT)")
    >>> [_may_repeat(S(sql=sql, context={})) for sql in texts]
    [True, True, False, False]
    """
    kind = _kind_of(statement, server)
    return kind is not None and kind.is_repeatable


def decide_pending(connection: Connection, pending: PendingDdl, decision: str | None, *, logged: bool = False) -> bool:
    """Return True if a statement that an earlier run began was executed.

    Args:
        connection: Any connection to the target.
        pending: The record of its start.
        decision: The user's answer: ``done``, ``not-done`` or None.
        logged: True if the target's own binlog contains the statement.

    Raises:
        DdlUndecided: The catalog does not show it, and the user gave no answer.
    """
    if decision is not None:
        if decision not in ("done", "not-done"):
            raise UsageError(f"{decision!r} is no answer; {_DECISION}")
        return decision == "done"
    if logged:
        return True
    if pending.database is None:
        raise DdlUndecided(
            f"an earlier run was stopped while the statement before this position ran, and the target does not show whether it was done:"
            f" check the target, and {_DECISION}. A CREATE TABLE ... SELECT is done only with all of its rows: otherwise DROP TABLE first,"
            " and answer --ddl-not-done",
            file=pending.file, position=pending.position, gtid=pending.gtid,
        )  # fmt: skip
    return object_exists(connection, pending.database, pending.table) != pending.existed
