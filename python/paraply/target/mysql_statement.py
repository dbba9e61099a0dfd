"""Running a block that is a statement in text, exactly once (rules R25b and R33)."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from paraply import _native
from paraply.errors import AlreadyRunning, DdlUndecided, LogNotUnderstood, ParaplyError, ServerError, UsageError
from paraply.target.mysql_progress import PendingDdl
from paraply.target.mysql_sql import Connection, rows_of, text_literal, to_int
from paraply.target.statement_context import (
    context_statements,
    creates_or_drops_database,
    reset_statement,
    statement_text,
    use_statement,
)

if TYPE_CHECKING:
    from paraply._native import Block, Statement
    from paraply.target.mysql import MySqlTarget

__all__ = ["StatementRunner", "decide_pending", "object_exists"]

_LOCK_WAIT = 30
_UNKNOWN_DATABASE = 1049
_UNKNOWN_VARIABLE = (1193, 1231, 1232, 1238, 1273, 1298)
_NAME = r"(?:`((?:[^`]|``)+)`|([\w$]+))"
_CREATE_OR_DROP = re.compile(rf"\s*(?:CREATE|DROP)\s+(TABLE|DATABASE|SCHEMA)\s+{_NAME}\s*(?:\.\s*{_NAME})?(?=[\s(;]|/\*|$)", re.IGNORECASE)
_DECISION = "say which with --ddl-done or --ddl-not-done"


class StatementRunner:
    """Runs one statement block on a session's connection, with its progress."""

    def __init__(self, target: MySqlTarget, connection: Connection, slot: int) -> None:
        self._target = target
        self._connection = connection
        self._slot = slot

    def run(self, block: Block) -> None:
        """Runs the block's statements, then the rows that belong to them (CREATE TABLE ... SELECT), then writes the progress.

        A lock that only the server session's end gives back keeps a later apply waiting until the statement is through, even
        when this process is killed meanwhile.
        """
        target, connection = self._target, self._connection
        if not target.store.lock_statements(connection, _LOCK_WAIT):
            raise AlreadyRunning("another apply of this channel is running a statement on the target")
        try:
            self._check_epoch()
            statements = block.transactions[0].statements
            if target.mode.ddl_under_gtid and block.first_gtid is not None:
                self._run_under_gtid(block, statements)
            else:
                self._run_recorded(block, statements)
        finally:
            with contextlib.suppress(ParaplyError):
                target.store.unlock_statements(connection)

    def _check_epoch(self) -> None:
        results = self._connection.query(f"START TRANSACTION; {self._target.store.fence()}")
        self._target.store.checked(results, self._target.epoch, self._connection, at=1)
        self._connection.query("COMMIT")

    def _run_under_gtid(self, block: Block, statements: list[Statement]) -> None:
        """MySQL 8.0 and later: the server records the GTID together with the statement.

        Together only if the statement is logged. With sql_log_bin=0 the server commits it and then writes an empty transaction
        for the GTID: a crash in between would lose the GTID and keep the statement. So also in ``record`` mode a DDL is logged.
        """
        if len(statements) > 1:
            raise LogNotUnderstood(f"the transaction holds {len(statements)} statements, and one was expected")
        target, connection = self._target, self._connection
        try:
            for statement in statements:
                sql = self._prepare(block, statement)
                if target.mode.hidden:
                    connection.query("SET SESSION sql_log_bin=1")
                connection.query(f"SET gtid_next='{block.first_gtid}'")
                connection.query(sql)
            for rows in self._row_statements(block):
                connection.query(rows)
            connection.query("COMMIT")
        finally:
            self._restore()
        self._write_progress(block, end_record=False)

    def _run_recorded(self, block: Block, statements: list[Statement]) -> None:
        """Elsewhere: the start is recorded, the statement runs, its end is recorded with the progress."""
        target, connection = self._target, self._connection
        begin = target.mode.begin(block.first_gtid)
        sqls = [(statement, self._prepare(block, statement)) for statement in statements[:1]]
        # The record must not run under the statement's own variables or GTID.
        self._restore()
        hide = target.mode.name == "preserve"
        self._hidden(hide, lambda: target.store.begin_ddl(connection, self._pending(block, statements), target.epoch))
        try:
            for statement, _ in sqls:
                sql = self._prepare(block, statement)
                for setting in begin:
                    connection.query(setting)
                connection.query(sql)
            for statement in statements[1:]:
                connection.query(self._prepare(block, statement))
            self._restore()
            for rows in self._row_statements(block):
                connection.query(rows)
        except ServerError:
            # The server refused it, so it is known not to have happened.
            self._restore()
            self._hidden(hide, lambda: connection.query(target.store.end_ddl()))
            raise
        self._hidden(hide, lambda: self._write_progress(block, end_record=True))

    def _row_statements(self, block: Block) -> list[bytes]:
        """The rows of CREATE TABLE ... SELECT."""
        return _native.binlog_statements(block, self._target.max_packet) if block.has_rows else []

    def _prepare(self, block: Block, statement: Statement) -> bytes:
        """Sets the statement's variables and default database, and gives its text."""
        target, connection = self._target, self._connection
        charset = statement.context.get("charset")
        client = target.checker.charset_of(connection, charset[0]) if charset else None
        text, changed = statement_text(statement, client)
        use = use_statement(statement)
        if use is not None:
            try:
                connection.query(use)
            except ServerError as error:
                if error.code != _UNKNOWN_DATABASE or not creates_or_drops_database(statement.sql):
                    raise
        try:
            for setting in context_statements(statement, block.format, target.server):
                connection.query(setting)
        except ServerError as error:
            if error.code in _UNKNOWN_VARIABLE:
                raise LogNotUnderstood(f"the target cannot take over a variable of the statement: {error.message}",
                                       file=block.file, position=statement.offset) from None  # fmt: skip
            raise
        if changed:
            connection.query("SET character_set_client=utf8mb4")
        return text.encode()

    def _restore(self) -> None:
        """The session's own settings again; ``gtid_next`` first, because nothing else may run under it."""
        with contextlib.suppress(ServerError):
            if self._target.mode.ddl_under_gtid:
                self._connection.query("ROLLBACK; SET gtid_next='AUTOMATIC'")
                if self._target.mode.hidden:
                    self._connection.query("SET SESSION sql_log_bin=0")
        self._connection.query(reset_statement(self._target.server))

    def _hidden(self, hide: bool, action: object) -> None:
        if hide:
            self._connection.query("SET SESSION sql_log_bin=0")
        try:
            if callable(action):
                action()
        finally:
            if hide:
                self._connection.query("SET SESSION sql_log_bin=1")

    def _write_progress(self, block: Block, *, end_record: bool) -> None:
        target = self._target
        writes = []
        if target.mode.writes_progress:
            writes.append(target.store.write(self._slot, target.ledger.mark(block)))
        if end_record:
            writes.append(target.store.end_ddl())
        if writes:
            head = f"START TRANSACTION; {target.store.fence()}"
            target.store.checked(self._connection.query("; ".join([head, *writes])), target.epoch, self._connection, at=1)
            self._connection.query("COMMIT")

    def _pending(self, block: Block, statements: list[Statement]) -> PendingDdl:
        database, table = _made_or_dropped(statements[0]) if len(statements) == 1 else (None, None)
        existed = database is not None and object_exists(self._connection, database, table)
        return PendingDdl(block.ordinal, block.first_gtid, block.end_file, block.end_offset, database, table, existed)


def _made_or_dropped(statement: Statement) -> tuple[str | None, str | None]:
    """Database and table that a plain CREATE or DROP is about; nothing where it is about more, or about something else.

    ``IF [NOT] EXISTS`` says nothing, because then the object's presence does not show whether the statement ran.
    """
    match = _CREATE_OR_DROP.match(statement.sql.decode("utf-8", "replace"))
    if match is None or (match.group(2) is None and match.group(3).upper() == "IF"):
        return None, None
    first, second = _name(match.group(2), match.group(3)), _name(match.group(4), match.group(5))
    if match.group(1).upper() != "TABLE":
        return first, None
    if "," in statement.sql.decode("utf-8", "replace")[match.end() :] and statement.sql.lstrip()[:4].upper() == b"DROP":
        return None, None
    return (first, second) if second is not None else (statement.database or None, first)


def _name(quoted: str | None, plain: str | None) -> str | None:
    return quoted.replace("``", "`") if quoted is not None else plain


def object_exists(connection: Connection, database: str, table: str | None) -> bool:
    """Whether a database, or a table in it, is there."""
    if table is None:
        sql = f"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name={text_literal(database)}"
    else:
        sql = (f"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema={text_literal(database)}"
               f" AND table_name={text_literal(table)}")  # fmt: skip
    return to_int(rows_of(connection.query(sql))[0][0]) > 0


def decide_pending(connection: Connection, pending: PendingDdl, decision: str | None) -> bool:
    """Whether a statement that was begun by an earlier run has been done.

    Args:
        connection: Any connection to the target.
        pending: The record of its start.
        decision: The user's answer: ``done``, ``not-done`` or None.

    Raises:
        DdlUndecided: The catalog cannot tell, and the user has not.
    """
    if decision is not None:
        if decision not in ("done", "not-done"):
            raise UsageError(f"{decision!r} is no answer; {_DECISION}")
        return decision == "done"
    if pending.database is None:
        raise DdlUndecided(
            f"an earlier run was stopped while the statement before this position ran, and the target cannot tell whether it was done:"
            f" look at the target, and {_DECISION}",
            file=pending.file, position=pending.position, gtid=pending.gtid,
        )  # fmt: skip
    return object_exists(connection, pending.database, pending.table) != pending.existed
