"""One worker's connection to MySQL or MariaDB."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from paraply._native import format_statement
from paraply.errors import AlreadyRunning, ConnectionLost, ParaplyError, ServerError, TemporaryFailure
from paraply.targets.mysql.batch_commit import apply_and_commit
from paraply.targets.mysql.ddl.statement import StatementRunner
from paraply.targets.mysql.errors import cascade_hint, explain, interrupted, names_a_row, table_of
from paraply.targets.mysql.rows.row_finder import RowFinder
from paraply.targets.mysql.rows.sequences import row_statements
from paraply.targets.mysql.sql import query_all, rows_of, to_text
from paraply.targets.mysql.xa.branches import end, prepare
from paraply.targets.mysql.xa.runner import XaRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, ReferenceCheck
    from paraply.targets.batch import SeriesOutcome
    from paraply.targets.mysql.context import MySqlContext
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.two_phase import Branch

__all__ = ["MySqlSession"]

#: A statement's text; the rest of max_allowed_packet is left to what stands before it.
_HEADROOM = 64 * 1024
#: How often a ROLLBACK that is interrupted is sent again.
_ROLLBACKS = 5
#: From when on the server is asked whether it still works on the answer.
_OVERDUE_SECONDS = 2.0


class MySqlSession:
    """Applies blocks on a connection of its own; see ``Session`` for the contract."""

    def __init__(self, context: MySqlContext, connection: Connection, slot: int) -> None:
        self._context = context
        self._connection = connection
        self.slot = slot
        """The number of its row of progress."""
        self._format: bytes | None = None
        self._open: Block | None = None
        #: Whether what the mode's ``start`` left behind still stands.
        self._left = False

    @property
    def connection_id(self) -> int:
        """The server's number of this connection."""
        return self._connection.connection_id

    @property
    def connection(self) -> Connection:
        """The connection itself, fit for any statement."""
        if self._left:
            query_all(self._connection, self._context.mode.end())
            self._left = False
        return self._connection

    @property
    def raw(self) -> Connection:
        """The connection as the last transaction left it."""
        return self._connection

    @property
    def commits_at_once(self) -> bool:
        """Whether a block that fits a series takes one statement, so that even one alone is worth a series."""
        return self._context.takes_batches and self._context.mode.writes_progress

    def leaves(self, end: list[str]) -> None:
        """Says that a transaction begins behind which these statements are due, before any other kind."""
        self._left = bool(end)

    def apply(self, block: Block) -> None:
        """Begins a transaction, checks the epoch, writes the progress and hands the rows over; leaves it open."""
        try:
            self._apply(block)
        except ParaplyError as error:
            raise self.explained(error, block) from None

    def apply_waves(self, block: Block, waves: Iterable[Block]) -> None:
        """As ``apply``, with the rows of the waves one after the other; the iterator waits until the next one may go in."""
        try:
            self._apply(block, waves=waves)
        except ParaplyError as error:
            raise self.explained(error, block) from None

    def apply_part(self, block: Block, part: Block, split: str) -> None:
        """As ``apply``, with the rows of one part; its commit decides that the branches with the others are committed."""
        try:
            self._hand_over(block, part, self._context.branches.decide(self.slot, split))
        except ParaplyError as error:
            raise self.explained(error, part) from None

    def prepare(self, part: Block, branch: Branch) -> None:
        """Applies a part's rows in an XA transaction and prepares it."""
        try:
            prepare(self._context, self, part, branch)
        except ParaplyError as error:
            raise explain(error, file=part.file, position=part.offset) from None

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        """Commits a prepared part, or rolls one back however far it came."""
        try:
            end(self._context, self._connection, branch, commit=commit)
        except ParaplyError as error:
            raise explain(error) from None

    def commit(self) -> None:
        """Commits what ``apply`` left open."""
        block, self._open = self._open, None
        try:
            query_all(self._connection, ["COMMIT"])
        except (ServerError, TemporaryFailure) as error:
            raise self.uncommitted(error, block) from None
        if block is not None:
            self._context.ledger.acknowledge(block, self.slot)

    def uncommitted(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """What the error of a COMMIT means."""
        if not interrupted(error):
            return self.explained(error, block)
        self.close()
        return ConnectionLost(f"the commit was interrupted, and it is not known whether it happened: {error.message}")

    def apply_and_commit(self, blocks: Sequence[Block]) -> SeriesOutcome:
        """Applies and commits blocks one after the other; see ``SeriesSession`` for the contract."""
        return apply_and_commit(self._context, self, blocks)

    def rollback(self) -> None:
        """Rolls back; a connection that is gone has rolled back by itself.

        A late KILL QUERY may hit the ROLLBACK (MariaDB keeps it for the next statement), and a START TRANSACTION would then commit
        what was to go.
        """
        self._open = None
        for _ in range(_ROLLBACKS):
            try:
                query_all(self._connection, ["ROLLBACK", *self._context.mode.end()])
                self._left = False
            except (ServerError, TemporaryFailure):
                continue
            except ConnectionLost:
                pass
            return
        self.close()

    def execute_statement(self, block: Block) -> None:
        """Runs a block whose transaction is text, with its progress, to the end."""
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
            raise self.explained(error, block) from None
        self._context.forget_tables(runner.words)
        self._context.ledger.acknowledge(block, self.slot)

    def _execute_xa(self, block: Block) -> None:
        """Runs a part of an XA transaction (R35)."""
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
        """Ends the connection on the server, and makes another one in its place."""
        old, started = self._connection, time.monotonic()
        old.close()
        self._connection = self._context.fresh(after=(old.connection_id, started))
        self._format, self._left = None, False

    def interrupt(self) -> None:
        """Ends the statement under way, from another thread."""
        self._beside(lambda other: other.query(f"KILL QUERY {self.connection_id}"))

    def rescue(self) -> None:
        """Ends the connection if it waits for an answer that the server will not send, from another thread.

        A KILL QUERY that comes between two statements of one text leaves MySQL 9.7 idle after it has announced another result.
        """
        if self._connection.overdue > _OVERDUE_SECONDS:
            self._beside(self._end_if_idle)

    def _end_if_idle(self, other: Connection) -> None:
        rows = rows_of(other.query(f"SELECT command FROM information_schema.processlist WHERE id={self.connection_id}"))
        if rows and to_text(rows[0][0]) == "Sleep" and self._connection.overdue > _OVERDUE_SECONDS:
            other.query(f"KILL {self.connection_id}")

    def _beside(self, action: Callable[[Connection], object]) -> None:
        """Does something on a short connection of its own."""
        with contextlib.suppress(ParaplyError):
            other = self._context.connect()
            try:
                action(other)
            finally:
                other.close()

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()

    def send_format(self, block: Block) -> None:
        """Hands the log's format description over, where the server has not got it yet."""
        statement = format_statement(block)
        if statement != self._format:
            self.connection.query(statement)
            for follow_up in self._context.mode.after_format():
                self._connection.query(follow_up)
            self._format = statement

    def _apply(self, block: Block, waves: Iterable[Block] | None = None) -> None:
        """Applies a block, in one go or by waves; foreign keys are asked about at its end where that is worth it."""
        references = self._context.references
        check = references.check(lambda: self.connection, block) if references is not None and block.kind == "dml" else None
        self._hand_over(block, waves=waves, check=check)
        if references is not None and check is not None and not references.hold(self._connection, check):
            self.rollback()
            self._hand_over(block)

    def _hand_over(
        self,
        block: Block,
        part: Block | None = None,
        decision: str | None = None,
        waves: Iterable[Block] | None = None,
        check: ReferenceCheck | None = None,
    ) -> None:
        """Begins the transaction with its progress and runs the rows of a block, or of a part of it with the decision about the others."""
        source = block if part is None else part
        context = self._context
        rows = block.kind == "dml"
        if rows:
            self.check_tables(block, source)
            self.send_format(source)
        writer = context.last_writer
        before = context.mode.start(block.first_gtid)
        if writer is not None:
            before = [writer.settings, *before]
        writes = context.mode.writes_progress
        guard = context.store.write(self.slot, context.ledger.mark(block, self.slot), context.epoch) if writes else context.store.fence()
        head = [*before, guard]
        if decision is not None:
            head.append(decision)
        self._open, self._left = block, bool(context.mode.end())
        context.sessions.note([block], self._connection.connection_id)
        written = writer.statements(self._connection, block) if writer is not None and rows else []
        own = rows and writer is None
        sources = (source,) if waves is None else waves
        made = (row_statements(context, one, check) for one in sources)
        statements = (statement for some in made for statement in some) if own else iter(())
        first = next(statements, None)
        along = [first] if first is not None and self._goes_along(head, first) else []
        context.store.checked(query_all(self._connection, [*head, *along]), context.epoch, self._connection, at=len(before))
        if first is not None and not along:
            self._connection.query(first)
        for statement in statements:
            self._connection.query(statement)
        if writer is not None:
            writer.run(self._connection, written)

    def check_tables(self, block: Block, source: Block) -> None:
        """Looks at the tables of a block, or of a part of it, when they come for the first time: what we may do to them, and their form."""
        maps = source.table_maps()
        self._context.row_privileges.check(lambda: self.connection, block, maps)
        self._context.checker.check(lambda: self.connection, maps, block.format.version)

    def _goes_along(self, head: list[str], first: bytes) -> bool:
        """Whether the first rows go with the statements before them, in one round trip: where one packet holds them.

        The epoch is compared before the commit, so rows of a session that was fenced off never become visible. Only one BINLOG
        goes along, at the end: the servers run what stands behind it, but do not announce the results of that.
        """
        return sum(map(len, head)) + len(first) <= self._context.max_packet - _HEADROOM

    def explained(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """The exception of a cause's own class, with the row where one is concerned; the block is rolled back."""
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
                # A merged block is applied again one by one, and then it is known which transaction fails.
                if block.transaction_count == 1:
                    table, key = self._find_row(error, block, table)
        found = explain(error, file=block.file, position=block.offset, gtid=block.first_gtid, table=table, key=key)
        found.message += hint
        return found

    def is_taken_over(self) -> bool:
        """Whether a row that is there, or is not, may be the work of another apply of the channel; its epoch is compared after the rows."""
        with contextlib.suppress(ParaplyError):
            return not self._context.store.is_ours(self._connection, self._context.epoch)
        return False

    def _find_row(self, error: ServerError, block: Block, table: str | None) -> tuple[str | None, str | None]:
        """Finds out which row it was; an error that has no key is better than none."""
        with contextlib.suppress(ParaplyError):
            return RowFinder(self._connection, block).find(error.code, error.message, table)
        return table, None
