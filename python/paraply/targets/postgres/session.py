"""One worker's connection to PostgreSQL."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ConnectionLost, LogNotUnderstood, ParaplyError, RowNotFound, ValueNotStorable
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.ddl.schema_change import DdlPlan, MustBeEmpty, MustLack
from paraply.targets.postgres.errors import TOO_LARGE, failure
from paraply.targets.postgres.last_writer import ANY_ROWS
from paraply.targets.postgres.progress.source_tables import drop_table, store_table
from paraply.targets.postgres.xa import XA_REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from paraply._native import Block
    from paraply.schema.model import Table
    from paraply.targets.postgres.definitions import PgContext
    from paraply.targets.postgres.renderer import Rendered
    from paraply.targets.two_phase import Branch

__all__ = ["PostgresSession"]

MAX_ROUND_TRIP_BYTES = 1 << 20
MAX_ROUND_TRIP_STATEMENTS = 2000
MAX_NAMED_ROWS = 5
"""Rows of a failed block whose keys an error names."""

#: A quoted value or name, which a doubled quote makes two of, or what stands before a condition.
_QUOTED_OR_WHERE = re.compile(rb"""'[^']*'|"[^"]*"| WHERE """)

_XA = frozenset({"xa_prepare", "xa_end"})


class PostgresSession:
    """Applies blocks on one connection; made by ``PostgresTarget.session``.

    A block is rendered first, then sent in as few round trips as its size allows: begin, the channel's lock, the progress,
    and the rows. Every statement must affect exactly the rows that the log says (R32).
    """

    def __init__(self, context: PgContext, connection: PgConnection, slot: int) -> None:
        self._context = context
        self._connection = connection
        self._slot = slot
        self._pending: Block | None = None

    @property
    def connection_id(self) -> int:
        """The server process of this connection."""
        return self._connection.backend_pid

    def apply(self, block: Block) -> None:
        """Begins a transaction, checks the epoch, writes progress and rows; leaves it open.

        A block whose kind is ``empty`` or ``view_change`` writes its progress only.

        Raises:
            LogNotUnderstood: The block is XA or DDL, which must not come this way.
            ParaplyError: As ``Session.apply`` says. The transaction is then failed, ``rollback`` makes the session usable again.
        """
        if block.kind in _XA or block.kind == "ddl":
            raise self._located(LogNotUnderstood(f"a transaction of kind {block.kind} cannot be applied as rows"), block)
        rendered = self._render(block)
        self._begin(block, rendered)

    def apply_waves(self, block: Block, waves: Iterable[Block]) -> None:
        """As ``apply``, with the rows of the waves one after the other; the iterator waits until the next one may go in."""
        for number, wave in enumerate(waves):
            rendered = self._render(wave)
            if number:
                self._send([], rendered, block)
            else:
                self._begin(block, rendered)

    def apply_part(self, block: Block, part: Block, split: str) -> None:
        """As ``apply``, with the rows of one part; its commit decides that the branches with the others are committed."""
        rendered = self._render(part)
        self._begin(block, rendered, [self._context.branches.decide(self._slot, split)])

    def prepare(self, part: Block, branch: Branch) -> None:
        """Applies a part's rows in a transaction of their own and prepares it."""
        rendered, branches = self._render(part), self._context.branches
        try:
            epoch = self._connection.run(branches.begin())[-1]
            self._context.channel.check(1 if epoch.get_value(0, 0) == b"t" else 0)
            self._send([], rendered, part)
            done = self._connection.run([branches.prepare(branch)])[0]
        except StatementFailed as failed:
            raise self._failure(failed, part, "") from failed
        if done.command_status != b"PREPARE TRANSACTION":
            raise self._located(ApplyFailed("PostgreSQL rolled back where a transaction was to be prepared"), part)

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        """Commits a prepared part, or rolls one back however far it came."""
        if self._connection.in_transaction:
            self._connection.run([b"ROLLBACK"])
        self._context.branches.end(self._connection, branch, commit=commit)

    def commit(self) -> None:
        """Commits what ``apply`` left open.

        Raises:
            ConnectionLost: Whether it is committed is not known; ask ``Target.committed``.
            ApplyFailed: The server rolled back instead.
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
        """Rolls back; never raises for a connection that is gone."""
        self._pending = None
        with suppress(ConnectionLost, StatementFailed):
            if self._connection.in_transaction:
                self._connection.run([b"ROLLBACK"])

    def execute_statement(self, block: Block) -> None:
        """Brings a DDL's effect on the tables into the target, with its progress, in one transaction (R25b).

        Raises:
            LogNotUnderstood: XA with rows, or a statement whose effect is not known or cannot be followed exactly; nothing is written.
            ApplyFailed: PostgreSQL refused; everything is rolled back.
        """
        if block.kind in _XA:
            self._record_xa(block)
            return
        try:
            plan = self._context.definitions.plan_ddl(block)
        except ParaplyError as error:
            raise self._located(error, block) from error
        before = self._context.definitions.define(plan)
        try:
            self._begin(block, [])
            self._run_plan(block, plan)
            self._send([], self._render(block), block)
            self.commit()
        except ConnectionLost:
            # Whether it is in is found out by Target.committed, which keeps or takes back the definitions.
            self._context.definitions.undecided(block, before)
            raise
        except BaseException:
            self._context.definitions.restore(before)
            self.rollback()
            raise

    def _record_xa(self, block: Block) -> None:
        """Record a part of an XA transaction without a row to apply: it has none, or the filters leave them out.

        Raises:
            LogNotUnderstood: It has rows to apply, or its rows were prepared where no run of this channel saw them.
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
        """Ends the statement under way, from another thread."""
        self._connection.cancel()

    def rescue(self) -> None:
        """Nothing to do: PostgreSQL answers every statement, a cancelled one too."""

    def close(self) -> None:
        """Closes the connection; never raises."""
        self._connection.close()

    def _render(self, block: Block) -> list[Rendered]:
        try:
            writer = self._context.last_writer
            rendered = self._context.renderer.render(block) if writer is None else writer.statements(block)
            self._context.definitions.check(self._connection, {table for _, _, table in rendered}, block.format)
        except ParaplyError as error:
            error.message += self._context.definitions.other_case(
                table for transaction in block.transactions for table in transaction.tables
            )
            raise self._located(error, block) from error
        return rendered

    def _begin(self, block: Block, rendered: Sequence[Rendered], more: Sequence[bytes] = ()) -> None:
        """Everything up to the block's last row, and before the progress what else is to be written."""
        channel = self._context.channel
        progress = channel.write(self._slot, block, self._context.executed_with(block))
        self._context.remember_slot(block, self._slot)
        self._send([*channel.begin(), *more, progress], rendered, block)
        self._pending = block

    def _send(self, head: list[bytes], rendered: Sequence[Rendered], block: Block) -> None:
        """Sends the statements; ``head`` goes with the first of them, and ends with the progress."""
        for chunk in _chunks(rendered, head):
            statements = [*head, *(sql for sql, _, _ in chunk)]
            try:
                results = self._connection.run(statements)
            except StatementFailed as failed:
                place = failed.index - len(head)
                raise self._failure(failed, block, chunk[place][2] if 0 <= place < len(chunk) else "") from failed
            if head:
                self._context.channel.check(results[len(head) - 1].command_tuples)
            for (sql, rows, table), result in zip(chunk, results[len(head) :], strict=True):
                if result.command_tuples != rows and rows != ANY_ROWS:
                    raise self._located(_not_found(sql, rows, result.command_tuples, table), block)
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
            raise self._failure(failed, block, table.full_name if table is not None else "") from failed

    def _check_condition(self, step: MustBeEmpty | MustLack, block: Block) -> None:
        found = self._connection.run([step.query.encode()])[0]
        if found.ntuples:
            raise self._located(step.refusal(), block)

    def _failure(self, failed: StatementFailed, block: Block, table: str) -> ParaplyError:
        error = failure(failed.error, gtid=block.first_gtid, table=table or None, file=block.file, position=block.offset)
        if failed.error.state == TOO_LARGE and error.key is None and block.kind == "dml":
            with suppress(ParaplyError):  # the rows cannot be read a second way; the server's error is what counts
                error.key = self._keys_of(block, table)
        return error

    def _keys_of(self, block: Block, table: str) -> str | None:
        """Return the primary keys of the table's changed rows; None where there are many, or no primary key."""
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
        """Adds where it happened, as far as the error does not say it."""
        if isinstance(error, ValueNotStorable) and ";" not in error.message:
            error.message += "; PostgreSQL cannot hold it: correct the row on the source, or use a MySQL or MariaDB target"
        error.gtid = error.gtid or block.first_gtid
        if error.file is None:
            error.file, error.position = block.file, block.offset
        return error


def _shown(value: object) -> str:
    """Return a value of a key for a message."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _chunks(rendered: Sequence[Rendered], head: Iterable[bytes]) -> Iterator[Sequence[Rendered]]:
    """Round trips; at least one, for the head."""
    start, size = 0, sum(map(len, head))
    for place, (sql, _, _) in enumerate(rendered):
        if place > start and (size + len(sql) > MAX_ROUND_TRIP_BYTES or place - start >= MAX_ROUND_TRIP_STATEMENTS):
            yield rendered[start:place]
            start, size = place, 0
        size += len(sql)
    if start < len(rendered) or size:
        yield rendered[start:]


def _not_found(sql: bytes, rows: int, affected: int | None, table: str) -> RowNotFound:
    """The rows to change are not there, or there are more of them than one."""
    key = _condition(sql)[:200].decode(errors="replace") or None
    problem = f"a statement affected {affected or 0} rows in the target where the log has {rows}"
    advice = "the row was changed by someone else, or the replay began too early"
    return RowNotFound(f"{problem}; {advice}", table=table, key=key)


def _condition(sql: bytes) -> bytes:
    r"""Return the condition of a rendered statement; nothing where it has none.

    Values and names may hold any text, so what is quoted is passed over.

    >>> _condition(b"UPDATE \"d\".\"t\" SET \"a\"='it''s WHERE it was' WHERE \"id\"='1'")
    b'"id"=\'1\''
    """
    for match in _QUOTED_OR_WHERE.finditer(sql):
        if match.group() == b" WHERE ":
            return sql[match.end() :]
    return b""
