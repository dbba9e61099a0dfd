"""One worker's connection to PostgreSQL."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from paraply.errors import (
    ApplyFailed,
    ConnectionLost,
    LogNotUnderstood,
    ParaplyError,
    PrecedingFailed,
    RowNotFound,
    ValueNotStorable,
)
from paraply.targets.conflicts import Resolver
from paraply.targets.ddl_answer import name_way_on
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.ddl.schema_change import DdlPlan, MustBeEmpty, MustLack
from paraply.targets.postgres.errors import TOO_LARGE, failure
from paraply.targets.postgres.progress.source_tables import drop_table, store_table
from paraply.targets.postgres.rows.conflicts import SavepointWriter, inserts
from paraply.targets.postgres.rows.last_writer import ANY_ROWS
from paraply.targets.postgres.rows.prepared import PreparedStatements
from paraply.targets.postgres.xa import XA_REFUSED
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from paraply._native import Block, RenderedStatement
    from paraply.schema.model import Table
    from paraply.targets.conflicts import Conflict
    from paraply.targets.postgres.definitions import PgContext
    from paraply.targets.two_phase import Branch

__all__ = ["PostgresSession"]

MAX_ROUND_TRIP_BYTES = 1 << 20
MAX_ROUND_TRIP_STATEMENTS = 2000
MAX_NAMED_ROWS = 5
"""Most rows of a failed block with keys in the error."""

#: A quoted value or name (with a doubled quote, it counts as two), or the keyword before a condition.
_QUOTED_OR_WHERE = re.compile(rb"""'[^']*'|"[^"]*"| WHERE """)

_XA = frozenset({"xa_prepare", "xa_end"})


class PostgresSession:
    """A session that applies blocks on one connection; created by ``PostgresTarget.session``.

    A block is rendered first. It is then sent in as few round trips as its size allows: begin, the channel's lock, the progress, and the
    rows. Every statement must affect exactly the number of rows in the log (R32).

    The rows are sent as sets. If a set fails, the transaction is rolled back and its rows are sent again in the log's order. So an error
    names its row, and a rule of the target that depends on the order of the rows is kept.
    """

    def __init__(self, context: PgContext, connection: PgConnection, slot: int) -> None:
        self._context = context
        self._connection = connection
        self._slot = slot
        self._prepared = PreparedStatements(connection, context.renderer)
        self._pending: Block | None = None

    @property
    def connection_id(self) -> int:
        """The server process of this connection."""
        return self._connection.backend_pid

    def apply(self, block: Block) -> None:
        """Begin a transaction, check the epoch, write progress and rows; do not commit.

        A block of kind ``empty`` or ``view_change`` only writes its progress.

        Raises:
            LogNotUnderstood: The block is XA or DDL, for which ``execute_statement`` is used.
            ParaplyError: The errors of ``Session.apply``. The transaction has then failed; ``rollback`` makes the session usable again.
        """
        if block.kind in _XA or block.kind == "ddl":
            raise self._located(LogNotUnderstood(f"a transaction of kind {block.kind} cannot be applied as rows"), block)
        self._apply_parts(block, [block], lambda rendered: self._begin(block, rendered))

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply a block like ``apply``, with its rows in several parts; the iterator waits until the next part may be applied."""
        self._apply_parts(block, steps, lambda rendered: self._begin(block, rendered))

    def apply_resolving(self, block: Block) -> list[Conflict]:
        """Apply a block of one transaction row by row, and record the changes that do not fit; see ``ConflictSession`` for the contract."""
        context = self._context
        self._begin(block, [])
        writer = SavepointWriter(self._connection, lambda part: self._render(part, sets=False))
        try:
            conflicts = Resolver(context.on_conflict, writer, context.definitions.find).resolve(block)
            self._connection.run([*inserts(context.channel.name, block, conflicts), b"SELECT 1"])
        except StatementFailed as failed:
            raise self._failure(failed, block, "") from failed
        except ParaplyError as error:
            raise self._located(error, block) from error
        return conflicts

    def apply_part(self, block: Block, part: Block, split: str) -> None:
        """Apply the rows of one part like ``apply``; its commit decides that the branches with the other rows are committed."""
        more = [self._context.branches.decide(self._slot, split)]
        self._apply_parts(block, [part], lambda rendered: self._begin(block, rendered, more))

    def prepare(self, part: Block, branch: Branch) -> None:
        """Apply the rows of a part in a separate transaction and prepare it."""
        branches = self._context.branches

        def begin(rendered: Sequence[RenderedStatement]) -> None:
            epoch = self._connection.run(branches.begin())[-1]
            self._context.channel.check(1 if epoch.get_value(0, 0) == b"t" else 0)
            self._send([], rendered, part)

        try:
            self._apply_parts(part, [part], begin)
            done = self._connection.run([branches.prepare(branch)])[0]
        except StatementFailed as failed:
            raise self._failure(failed, part, "") from failed
        if done.command_status != b"PREPARE TRANSACTION":
            raise self._located(ApplyFailed("PostgreSQL rolled back where a transaction was to be prepared"), part)

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        """Commit a prepared branch, or roll back a branch in any state."""
        if self._connection.in_transaction:
            self._connection.run([b"ROLLBACK"])
        self._context.branches.end(self._connection, branch, commit=commit)

    def commit(self) -> None:
        """Commit the transaction that ``apply`` left open.

        Raises:
            ConnectionLost: The connection broke; the outcome is unknown until ``Target.committed`` is called.
            ApplyFailed: The server rolled the transaction back.
        """
        block, self._pending = self._pending, None
        if block is None:
            raise ApplyFailed("nothing was applied that could be committed")
        try:
            done = self._connection.run([b"COMMIT"])[0]
        except StatementFailed as failed:
            raise self._failure(failed, block, "") from failed
        if done.command_status != b"COMMIT":
            raise self._located(ApplyFailed("PostgreSQL rolled back where a commit was asked for"), block)
        self._context.acknowledge(block)

    def rollback(self) -> None:
        """Roll back the open transaction; never raise for a broken connection."""
        self._pending = None
        with suppress(ConnectionLost, StatementFailed):
            if self._connection.in_transaction:
                self._connection.run([b"ROLLBACK"])

    def execute_statement(self, block: Block) -> None:
        """Apply the effect of a DDL on the tables together with its progress, in one transaction (R25b).

        Raises:
            LogNotUnderstood: The block is XA with rows, or a statement whose effect is unknown or cannot be reproduced exactly; nothing
                is written.
            ApplyFailed: PostgreSQL refused a statement; everything is rolled back.
        """
        if block.kind in _XA:
            self._record_xa(block)
            return
        done = self._context.answer.covers(block)
        try:
            plan = self._plan_done(block) if done else self._context.definitions.plan_ddl(block)
        except ParaplyError as error:
            if not done:
                name_way_on(error)
            raise self._located(error, block) from error
        before = self._context.definitions.define(plan)
        try:
            self._begin(block, [])
            self._run_plan(block, plan)
            for part in () if done else self._pieces(block):
                self._send([], self._render(part, sets=False), block)
            self.commit()
        except ConnectionLost:
            # Target.committed determines the outcome, and keeps or restores the definitions.
            self._context.definitions.undecided(block, before)
            raise
        except BaseException:
            self._context.definitions.restore(before)
            self.rollback()
            raise

    def _plan_done(self, block: Block) -> DdlPlan:
        """Compare the target with a statement that counts as done; return its definitions."""
        done = self._context.definitions.plan_done()
        try:
            done.check(self._connection)
        except StatementFailed as failed:
            raise self._failure(failed, block, "") from failed
        return done.plan

    def _record_xa(self, block: Block) -> None:
        """Record a part of an XA transaction that applies nothing, because it has no rows or the filters leave them out.

        Raises:
            LogNotUnderstood: The part has rows to apply, or its rows were prepared outside the logs that this channel has applied.
        """
        left_out = self._context.left_out
        if not left_out.takes(block):
            raise self._located(LogNotUnderstood(f"{block.xid}: {XA_REFUSED}"), block)
        try:
            self._begin(block, [], [left_out.record(block)])
            self.commit()
            left_out.recorded(block)
        except ConnectionLost:
            raise
        except BaseException:
            self.rollback()
            raise

    def interrupt(self) -> None:
        """Cancel the running statement from another thread."""
        self._connection.cancel()

    def rescue(self) -> None:
        """Do nothing: PostgreSQL answers every statement, even a canceled one."""

    def close(self) -> None:
        """Close the connection; never raise."""
        self._connection.close()

    def _apply_parts(self, block: Block, parts: Iterable[Block], begin: Callable[[Sequence[RenderedStatement]], None]) -> None:
        """Send the rows of all parts as sets; if a set fails, roll back and send the rows of these parts one by one."""
        sets = self._context.last_writer is None
        sent: list[Block] = []
        for part in (piece for whole in parts for piece in self._pieces(whole)):
            rendered = self._render(part, sets=sets)
            sent.append(part)
            try:
                self._send_part(block, rendered, begin if len(sent) == 1 else None)
            except ApplyFailed as failed:
                if not sets or isinstance(failed, PrecedingFailed):
                    raise
                sets = False
                self._repeat(block, sent, begin)
                self._note_repeated(failed)

    def _pieces(self, block: Block) -> Sequence[Block]:
        """Return a block, or the pieces of a large one, so that its statements are never all in memory."""
        return (block.pieces() if self._context.last_writer is None else []) or [block]

    def _send_part(
        self, block: Block, rendered: Sequence[RenderedStatement], begin: Callable[[Sequence[RenderedStatement]], None] | None
    ) -> None:
        """Send the rows of a part; the first one begins the transaction."""
        try:
            self._prepared.prepare(rendered)
        except StatementFailed as failed:
            raise self._failure(failed, block, "") from failed
        if begin is not None:
            begin(rendered)
        else:
            self._send([], rendered, block)

    def _repeat(self, block: Block, sent: Iterable[Block], begin: Callable[[Sequence[RenderedStatement]], None]) -> None:
        """Roll back, and send the rows in the log's order."""
        self._prepared.forget()  # a pooler may have given the connection another server process
        self.rollback()
        for number, part in enumerate(sent):
            self._send_part(block, self._render(part, sets=False), None if number else begin)

    def _note_repeated(self, failed: ApplyFailed) -> None:
        """Count a failure of a table's set that had no reason in a single row."""
        table = self._context.definitions.named(failed.table or "")
        if table is not None:
            self._context.renderer.set_repeated(table.database, table.name)

    def _render(self, block: Block, *, sets: bool) -> list[RenderedStatement]:
        try:
            definitions, writer = self._context.definitions, self._context.last_writer
            while True:
                known = definitions.alone_found
                rendered = self._context.renderer.render(block, sets=sets) if writer is None else writer.statements(block)
                tables = {statement.table for statement in rendered}
                definitions.check(self._connection, tables, block.format)
                if definitions.alone_found == known:
                    break
            self._context.refuse_alone(tables)
        except StatementFailed as failed:
            raise self._failure(failed, block, "") from failed
        except ParaplyError as error:
            error.message += self._context.definitions.other_case(
                table for transaction in block.transactions for table in transaction.tables
            )
            raise self._located(error, block) from error
        return rendered

    def _begin(self, block: Block, rendered: Sequence[RenderedStatement], more: Sequence[bytes] = ()) -> None:
        """Send the begin, the additional statements, the progress and the rows of a block."""
        channel = self._context.channel
        progress = channel.write(self._slot, block, self._context.executed_with(block))
        self._context.remember_slot(block, self._slot)
        self._send([*channel.begin(), *more, progress], rendered, block)
        self._pending = block

    def _send(self, head: list[bytes], rendered: Sequence[RenderedStatement], block: Block) -> None:
        """Send the statements; ``head`` goes with the first of them, and ends with the progress."""
        for chunk in _chunks(rendered, head):
            statements = [*head, *(each.sql for each in chunk)]
            try:
                results = self._connection.run(statements)
            except StatementFailed as failed:
                place = failed.index - len(head)
                raise self._failure(failed, block, chunk[place].table if 0 <= place < len(chunk) else "") from failed
            if head:
                self._context.channel.check(results[len(head) - 1].command_tuples)
            for statement, result in zip(chunk, results[len(head) :], strict=True):
                if result.command_tuples != statement.rows and statement.rows != ANY_ROWS:
                    raise self._located(_not_found(statement, result.command_tuples), block)
            head = []

    def _run_plan(self, block: Block, plan: DdlPlan) -> None:
        channel = self._context.channel.name
        for step in plan.steps:
            if isinstance(step, MustBeEmpty | MustLack):
                self._check_condition(step, block)
            else:
                self._run_ddl(step.encode(), block)
        for database, name in sorted(plan.forget):
            self._run_ddl(drop_table(channel, database, name), block)
        for table in plan.define.values():
            self._run_ddl(store_table(channel, table), block, table)

    def _run_ddl(self, sql: bytes, block: Block, table: Table | None = None) -> None:
        try:
            self._connection.run([sql])
        except StatementFailed as failed:
            error = self._failure(failed, block, table.full_name if table is not None else "")
            name_way_on(error)
            raise error from failed

    def _check_condition(self, step: MustBeEmpty | MustLack, block: Block) -> None:
        try:
            found = self._connection.run([step.query.encode()])[0]
        except StatementFailed as failed:
            raise self._failure(failed, block, step.table) from failed
        if found.ntuples:
            raise self._located(step.refusal(), block)

    def _failure(self, failed: StatementFailed, block: Block, table: str) -> ParaplyError:
        error = failure(failed.error, gtid=block.first_gtid, table=table or None, file=block.file, position=block.offset)
        if failed.error.state == TOO_LARGE and error.key is None and block.kind == "dml":
            with suppress(ParaplyError):  # an error while the rows are read must not hide the server's error
                error.key = self._keys_of(block, table)
        return error

    def _keys_of(self, block: Block, table: str) -> str | None:
        """Return the primary keys of the table's changed rows, or None if there are many rows or no primary key."""
        known = self._context.definitions.named(table)
        if known is None or known.primary_key is None:
            return None
        names = [column.name for column in known.columns]
        places = {part.column: names.index(part.column) for part in known.primary_key.parts if part.column in names}
        changes = block.changes(known.database, known.name, sorted(places.values()), MAX_NAMED_ROWS + 1)
        if len(changes) > MAX_NAMED_ROWS:
            return None
        images = [after or before or {} for before, after in changes]
        return " or ".join(", ".join(f"{name}={_shown(image.get(place))}" for name, place in places.items()) for image in images)

    def _located(self, error: ParaplyError, block: Block) -> ParaplyError:
        """Add the position in the log to an error that lacks it."""
        if isinstance(error, ValueNotStorable) and ";" not in error.message:
            error.message += "; PostgreSQL cannot hold it: correct the row on the source, or use a MySQL or MariaDB target"
        error.gtid = error.gtid or block.first_gtid
        if error.file is None:
            error.file, error.position = block.file, block.offset
        return error


def _shown(value: object) -> str:
    """Return a value of a key for a message."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _chunks(rendered: Sequence[RenderedStatement], head: Iterable[bytes]) -> Iterator[Sequence[RenderedStatement]]:
    """Yield the statements of each round trip; there is at least one round trip, for the head."""
    start, size = 0, sum(map(len, head))
    for place, statement in enumerate(rendered):
        length = len(statement.sql)
        if place > start and (size + length > MAX_ROUND_TRIP_BYTES or place - start >= MAX_ROUND_TRIP_STATEMENTS):
            yield rendered[start:place]
            start, size = place, 0
        size += length
    if start < len(rendered) or size:
        yield rendered[start:]


def _not_found(statement: RenderedStatement, affected: int | None) -> RowNotFound:
    """Return the error for a statement that affected too few or too many rows."""
    key = _condition(statement.sql)[:200].decode(errors="replace") or None
    problem = f"a statement affected {counted(affected or 0, 'row')} in the target where the log has {statement.rows:,}"
    advice = "the row was changed by someone else, or the replay began too early"
    error = RowNotFound(f"{problem}; {advice}", table=statement.table, key=key)
    error.misfit = (affected or 0) < statement.rows
    return error


def _condition(sql: bytes) -> bytes:
    r"""Return the condition of a rendered statement, or an empty text.

    Values and names may contain any text, so quoted text is skipped.

    >>> _condition(b"UPDATE \"d\".\"t\" SET \"a\"='it''s WHERE it was' WHERE \"id\"='1'")
    b'"id"=\'1\''
    """
    for match in _QUOTED_OR_WHERE.finditer(sql):
        if match.group() == b" WHERE ":
            return sql[match.end() :]
    return b""
