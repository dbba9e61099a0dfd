"""One worker's connection to MySQL or MariaDB."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from paraply._native import format_statement
from paraply.errors import AlreadyRunning, ConnectionLost, ParaplyError, ServerError, TemporaryFailure
from paraply.targets.conflicts import OnConflict
from paraply.targets.ddl_answer import name_way_on
from paraply.targets.mysql.batch_commit import apply_and_commit
from paraply.targets.mysql.ddl.statement import StatementRunner
from paraply.targets.mysql.errors import cascade_hint, explain, interrupted, names_a_row, table_of
from paraply.targets.mysql.rows.row_finder import FoundRow, RowFinder
from paraply.targets.mysql.rows.sequences import row_statements
from paraply.targets.mysql.sql import query_all, rows_of, to_text
from paraply.targets.mysql.xa.branches import end, prepare
from paraply.targets.mysql.xa.runner import XaRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, ReferenceCheck
    from paraply.targets.batch import BatchOutcome
    from paraply.targets.conflicts import Conflict
    from paraply.targets.mysql.context import MySqlContext
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.two_phase import Branch

__all__ = ["MySqlSession"]

#: Part of max_allowed_packet that is reserved for the statements before the rows.
_HEADROOM = 64 * 1024
#: Number of attempts for a ROLLBACK that is interrupted.
_ROLLBACKS = 5
#: Delay of an answer after which the server is asked whether the statement still runs.
_OVERDUE_SECONDS = 2.0


class MySqlSession:
    """A session that applies blocks on its own connection; see ``Session`` for the contract."""

    def __init__(self, context: MySqlContext, connection: Connection, slot: int) -> None:
        self._context = context
        self._connection = connection
        self.slot = slot
        """Number of the session's progress row."""
        self._format: bytes | None = None
        self._open: Block | None = None
        #: True if the settings of the mode's ``start`` are still in force.
        self._left = False

    @property
    def connection_id(self) -> int:
        """Number of this connection on the server."""
        return self._connection.connection_id

    @property
    def connection(self) -> Connection:
        """The connection, ready for any statement."""
        if self._left:
            query_all(self._connection, self._context.mode.end())
            self._left = False
        return self._connection

    @property
    def raw(self) -> Connection:
        """The connection in the state after the last transaction."""
        return self._connection

    @property
    def commits_at_once(self) -> bool:
        """True if a block that fits a batch is one statement, so that a batch of a single block is worth it."""
        return self._context.takes_batches and self._context.mode.writes_progress

    def leaves(self, end: list[str]) -> None:
        """Record that these statements are due after the transaction, before the connection is used for anything else."""
        self._left = bool(end)

    def apply(self, block: Block) -> None:
        """Begin a transaction, check the epoch, write the progress and apply the rows; do not commit."""
        try:
            self._apply(block)
        except ParaplyError as error:
            raise self.explained(error, block) from None

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply a block like ``apply``, with its rows in several parts; the iterator waits until the next part may be applied."""
        try:
            self._apply(block, steps=steps)
        except ParaplyError as error:
            raise self.explained(error, block) from None

    def apply_resolving(self, block: Block) -> list[Conflict]:
        """Apply a block of one transaction row by row, and record the changes that do not fit; see ``ConflictSession`` for the contract."""
        try:
            return self._apply_resolving(block)
        except ParaplyError as error:
            raise self.explained(error, block, search=True) from None

    def apply_part(self, block: Block, part: Block, split: str) -> None:
        """Apply the rows of one part like ``apply``; its commit decides that the branches with the other rows are committed."""
        try:
            self._hand_over(block, part, self._context.branches.decide(self.slot, split))
        except ParaplyError as error:
            raise self.explained(error, part) from None

    def prepare(self, part: Block, branch: Branch) -> None:
        """Apply the rows of a part in an XA transaction and prepare it."""
        try:
            prepare(self._context, self, part, branch)
        except ParaplyError as error:
            raise explain(error, file=part.file, position=part.offset) from None

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        """Commit a prepared branch, or roll back a branch in any state."""
        try:
            end(self._context, self._connection, branch, commit=commit)
        except ParaplyError as error:
            raise explain(error) from None

    def commit(self) -> None:
        """Commit the transaction that ``apply`` left open."""
        block, self._open = self._open, None
        try:
            query_all(self._connection, ["COMMIT"])
        except (ServerError, TemporaryFailure) as error:
            raise self.uncommitted(error, block) from None
        if block is not None:
            self._context.ledger.acknowledge(block, self.slot)

    def uncommitted(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """Return the exception for an error of a COMMIT; close the connection if the outcome is unknown."""
        if not interrupted(error):
            return self.explained(error, block)
        self.close()
        return ConnectionLost(f"the commit was interrupted, and it is not known whether it happened: {error.message}")

    def apply_and_commit(self, blocks: Sequence[Block]) -> BatchOutcome:
        """Apply and commit blocks one by one; see ``BatchSession`` for the contract."""
        return apply_and_commit(self._context, self, blocks)

    def rollback(self) -> None:
        """Roll back the open transaction. A broken connection has already rolled back.

        A late KILL QUERY may hit the ROLLBACK (MariaDB keeps it for the next statement). A later START TRANSACTION would then commit the
        rows that were to be rolled back.
        """
        self._open = None
        for _ in range(_ROLLBACKS):
            try:
                query_all(self._connection, ["ROLLBACK", *self._context.mode.end(), *self._context.checker.session.resets])
                self._left = False
            except (ServerError, TemporaryFailure):
                continue
            except ConnectionLost:
                pass
            return
        self.close()

    def execute_statement(self, block: Block) -> None:
        """Run a DDL or XA block together with its progress, and commit it."""
        if block.kind != "ddl":
            self._execute_xa(block)
            return
        try:
            runner = StatementRunner(self._context, self.connection, self.slot)
            self.send_format(block)
            runner.run(block)
        except ParaplyError as error:
            if interrupted(error):
                self.close()
                raise ConnectionLost(f"the statement was interrupted, and it is not known what it did: {error.message}") from None
            self.rollback()
            found = self.explained(error, block)
            if isinstance(error, ServerError):
                found = self._explained_account(found, error, block)
            name_way_on(found)
            raise found from None
        self._context.forget_tables(runner.words)
        self._context.ledger.acknowledge(block, self.slot)

    def _explained_account(self, found: ParaplyError, error: ServerError, block: Block) -> ParaplyError:
        """Return the error of a statement about accounts with the statement and the ways on; other errors as they are."""
        from paraply.targets.mysql.ddl.account_refusal import explain_account_refusal
        from paraply.targets.mysql.preflight.privileges import account

        def user() -> str:
            try:
                return account(self._connection)
            except ParaplyError:  # the refusal is what matters
                return "that user"

        return explain_account_refusal(found, error, block, self._context.server, user)

    def _execute_xa(self, block: Block) -> None:
        """Run a part of an XA transaction (R35)."""
        runner = XaRunner(self._context, self, self.slot)
        try:
            runner.run(block)
        except ParaplyError as error:
            if interrupted(error) or (runner.sent and not isinstance(error, AlreadyRunning)):
                self.close()
                raise ConnectionLost(f"it is not known what became of a part of an XA transaction: {error.message}") from None
            self.rollback()
            raise self.explained(error, block) from None
        if not runner.recorded:
            self._context.ledger.acknowledge(block, self.slot)

    def renew(self) -> None:
        """End the connection on the server, and replace it by a new one."""
        old, started = self._connection, time.monotonic()
        old.close()
        self._connection = self._context.fresh(after=(old.connection_id, started))
        self._format, self._left = None, False
        self._context.kept_progress(self._connection)

    def interrupt(self) -> None:
        """Cancel the running statement from another thread."""
        self._beside(lambda other: other.query(f"KILL QUERY {self.connection_id}"))

    def rescue(self) -> None:
        """Close the connection from another thread if it waits for an answer that the server will not send.

        A KILL QUERY between two statements of one text leaves MySQL 9.7 idle after the server has announced another result.
        """
        if self._connection.overdue > _OVERDUE_SECONDS:
            self._beside(self._end_if_idle)

    def _end_if_idle(self, other: Connection) -> None:
        rows = rows_of(other.query(f"SELECT command FROM information_schema.processlist WHERE id={self.connection_id}"))
        if rows and to_text(rows[0][0]) == "Sleep" and self._connection.overdue > _OVERDUE_SECONDS:
            other.query(f"KILL {self.connection_id}")

    def _beside(self, action: Callable[[Connection], object]) -> None:
        """Call a function with a short-lived connection of its own."""
        with contextlib.suppress(ParaplyError):
            other = self._context.connect()
            try:
                action(other)
            finally:
                other.close()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()

    def send_format(self, block: Block) -> None:
        """Send the log's format description, if the server does not have it yet."""
        statement = format_statement(block)
        if statement != self._format:
            self.connection.query(statement)
            for follow_up in self._context.mode.after_format():
                self._connection.query(follow_up)
            self._format = statement

    def _apply(self, block: Block, steps: Iterable[Block] | None = None) -> None:
        """Apply a block, whole or in several parts. Check its foreign keys at the end if that is faster than row by row."""
        references = self._context.references
        check = references.check(lambda: self.connection, block) if references is not None and block.kind == "dml" else None
        self._hand_over(block, steps=steps, check=check)
        if references is not None and check is not None and not references.hold(self._connection, check):
            self.rollback()
            self._hand_over(block)

    def _hand_over(
        self,
        block: Block,
        part: Block | None = None,
        decision: str | None = None,
        steps: Iterable[Block] | None = None,
        check: ReferenceCheck | None = None,
    ) -> None:
        """Begin the transaction, write its progress, and apply the rows of a block, or of one part with the decision about the others."""
        source = block if part is None else part
        context = self._context
        rows = block.kind == "dml"
        if rows:
            self.check_tables(block, source)
            self.send_format(source)
        writer = context.last_writer
        head = self._head(block, [writer.settings] if writer is not None else [])
        guarded = len(head) - 1
        if decision is not None:
            head.append(decision)
        written = writer.statements(self._connection, block) if writer is not None and rows else []
        own = rows and writer is None
        sources = (source,) if steps is None else steps
        made = (row_statements(context, one, check) for one in sources)
        statements = (statement for some in made for statement in some) if own else iter(())
        first = next(statements, None)
        along = [first] if first is not None and self._goes_along(head, first) else []
        context.store.checked(query_all(self._connection, [*head, *along]), context.epoch, self._connection, at=guarded)
        if first is not None and not along:
            self._connection.query(first)
        for statement in statements:
            self._connection.query(statement)
        if writer is not None:
            writer.run(self._connection, written)

    def _head(self, block: Block, settings: Sequence[str] = ()) -> list[str]:
        """Return the statements that begin a block's transaction; the last one writes its progress, or reads the epoch."""
        context = self._context
        writes = context.mode.writes_progress
        guard = context.store.write(self.slot, context.ledger.mark(block, self.slot), context.epoch) if writes else context.store.fence()
        self._open, self._left = block, bool(context.mode.end())
        context.sessions.note([block], self._connection.connection_id)
        return [*settings, *context.mode.start(block.first_gtid), guard]

    def _apply_resolving(self, block: Block) -> list[Conflict]:
        from paraply.targets.mysql.rows.conflicts import definitions_of, record_along, record_apart, resolve_rows

        context = self._context
        self.check_tables(block, block)
        self.send_format(block)
        tables = definitions_of(context, self.connection, block)
        head = self._head(block)
        context.store.checked(query_all(self._connection, head), context.epoch, self._connection, at=len(head) - 1)
        conflicts = resolve_rows(context, self._connection, block, tables)
        if context.mode.name == "preserve":
            record_apart(context, block, conflicts)
        else:
            record_along(context, self._connection, block, conflicts)
        return conflicts

    def check_tables(self, block: Block, source: Block) -> None:
        """Check privileges and column layout of every table in the block, or in a part of it, that has not been checked yet."""
        maps = source.table_maps()
        self._context.row_privileges.check(lambda: self.connection, block, maps)
        self._context.checker.check(lambda: self.connection, maps, block.format.version)

    def _goes_along(self, head: list[str], first: bytes) -> bool:
        """Return True if the first rows are sent together with the statements before them, because one packet holds both.

        The epoch is compared before the commit, so rows of a session that was fenced off never become visible. The text ends with its only
        BINLOG statement: the servers run statements after a BINLOG, but do not announce their results.
        """
        return sum(map(len, head)) + len(first) <= self._context.max_packet - _HEADROOM

    def explained(self, error: ParaplyError, block: Block | None, *, search: bool = False) -> ParaplyError:
        """Return the exception of the class for an error's cause, with the row's key if it is found.

        With ``--on-conflict``, the row of a first failure is only searched for if ``search`` is true: the rows are then applied one by one.

        An error about a row rolls the block back.
        """
        if block is None:
            return explain(error)
        table, key, hint = error.table, error.key, ""
        if table is None and isinstance(error, ServerError) and block.kind == "dml":
            tables = {(table_map.database, table_map.table) for table_map in block.table_maps()}
            only = next(iter(tables)) if len(tables) == 1 else None
            table = f"{only[0]}.{only[1]}" if only is not None else table_of(error.message, tables)
            hint = cascade_hint(error.code, block.format, len(tables))
            if names_a_row(error.code):
                self.rollback()
                if self.is_taken_over():
                    return self._context.store.taken_over()
                # The transactions of a merged block are applied again one by one. Only then is it known which of them fails.
                if block.transaction_count == 1 and (search or self._context.on_conflict is OnConflict.STOP):
                    table, key, more = self._find_row(error, block, table)
                    hint = more or hint
        found = explain(error, file=block.file, position=block.offset, gtid=block.first_gtid, table=table, key=key)
        found.message += hint
        return found

    def is_taken_over(self) -> bool:
        """Return True if another process has taken over this channel."""
        with contextlib.suppress(ParaplyError):
            return not self._context.store.owns_channel(self._connection, self._context.epoch)
        return False

    def _find_row(self, error: ServerError, block: Block, table: str | None) -> FoundRow:
        """Return the row that an error is about. An error without a key is better than none."""
        with contextlib.suppress(ParaplyError):
            return RowFinder(self._connection, block).find(error.code, error.message, table)
        return FoundRow(table)
