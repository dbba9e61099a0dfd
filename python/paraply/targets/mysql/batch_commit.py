"""Batches of transactions that one session commits one after the other (``BatchSession``).

If the progress is a row of paraply's own table, a transaction is one ``BINLOG`` statement. It begins with the row event that changes
the session's row of ``paraply.progress``, and the rows of the transaction follow. Under autocommit, a server commits the whole
statement or nothing. So one round trip replaces four: begin, progress, rows and commit. The key of the progress row contains the
epoch: a session that was fenced off does not find its row (R25a).

In mode ``preserve`` there is no progress row, and the epoch is read instead. There, the COMMIT of each transaction is sent together
with the statements of the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paraply._native import format_statement
from paraply.errors import ConnectionLost, ParaplyError, ServerError, TemporaryFailure
from paraply.targets.batch import BatchOutcome
from paraply.targets.mysql.errors import NO_SUCH_ROW, interrupted
from paraply.targets.mysql.rows.sequences import row_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import BatchEnd, Block
    from paraply.targets.mysql.context import MySqlContext
    from paraply.targets.mysql.sql import Connection

__all__ = ["apply_and_commit"]

#: Part of max_allowed_packet that is reserved for the statements before the rows.
_HEADROOM = 64 * 1024
#: Most bytes of the texts of a batch, which are all made before the batch begins.
_BATCH_BYTES = 128 * 1024
#: Name of the progress table in the servers' error messages about a missing row.
_PROGRESS = "'progress'"


class BlockSession(Protocol):
    """The session that applies a batch."""

    slot: int

    @property
    def connection_id(self) -> int:
        """Number of the connection on the server."""

    @property
    def connection(self) -> Connection:
        """The connection, ready for any statement."""

    @property
    def raw(self) -> Connection:
        """The connection in the state after the last transaction."""

    def leaves(self, end: list[str]) -> None:
        """Record that these statements are due after the transaction, before the connection is used for anything else."""

    def send_format(self, block: Block) -> None:
        """Send the log's format description, if the server does not have it yet."""

    def check_tables(self, block: Block, source: Block) -> None:
        """Check the tables of a block that have not been checked yet."""

    def rollback(self) -> None:
        """Roll back the open transaction."""

    def uncommitted(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """Return the exception for an error of a COMMIT."""

    def explained(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """Roll back the block of an error about a row, and return the exception of the class for the error's cause."""

    def is_taken_over(self) -> bool:
        """Return True if another process has taken over this channel."""


def apply_and_commit(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> BatchOutcome:
    """Apply and commit blocks one by one; stop at the first block that fails or does not fit.

    Args:
        context: The target.
        session: A session of the target, without an open transaction.
        blocks: Blocks of one transaction each.
    """
    return _by_statements(context, session, blocks) if context.mode.writes_progress else _with_commits(context, session, blocks)


def _by_statements(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> BatchOutcome:
    """Apply each block as one statement."""
    try:
        fitting = _fitting(context, session, blocks)
        if not fitting:
            return BatchOutcome(0)
        session.send_format(fitting[0])
    except ParaplyError:
        return BatchOutcome(0)  # the error is raised when the block is applied by itself
    context.sessions.note(fitting, session.connection_id)
    ledger = context.ledger
    progress = ledger.native or [mark.executed for mark in ledger.marks(fitting, session.slot)]
    limit = max(0, context.max_packet - _HEADROOM)
    place, ends = (context.store.channel, session.slot, context.epoch), context.checker.row_ends
    done, error = session.raw.apply_each(fitting, progress, *place, limit, ends)
    if ledger.native is None:
        ledger.acknowledge_all(fitting[:done], session.slot)
    if error is None:
        return BatchOutcome(done)
    error = _statement_error(context, session, fitting[done], error)
    return BatchOutcome(done, error, isinstance(error, ConnectionLost))


def _fitting(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the blocks before the first block that needs more than its rows; check the tables of the returned blocks."""
    references, known = context.references, context.checker.known
    known_blocks = known.leading(blocks) if context.row_privileges.everything else 0
    if references is None and known_blocks == len(blocks):
        return blocks
    for number, block in enumerate(blocks):
        if number >= known_blocks:
            if block.kind != "dml":
                return blocks[:number]
            session.check_tables(block, block)
            if context.checker.sequences_of(block) or context.checker.session.includes(block):
                return blocks[:number]
            known.add(block)
        if references is not None and references.check(lambda: session.connection, block) is not None:
            return blocks[:number]
    return blocks


def _statement_error(context: MySqlContext, session: BlockSession, block: Block, error: ParaplyError) -> ParaplyError:
    """Return the error of a block's statement that is not known to be committed."""
    if isinstance(error, ConnectionLost):
        return error
    if interrupted(error):
        return session.uncommitted(error, block)
    if isinstance(error, ServerError) and error.code == NO_SUCH_ROW and _PROGRESS in error.message:
        session.rollback()
        if session.is_taken_over():
            return context.store.taken_over()
        # The error is about the progress table or another table of that name. Applying the block by itself shows which.
        return TemporaryFailure(f"{error.message} (error {error.code})")
    return session.explained(error, block)


def _with_commits(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> BatchOutcome:
    """Apply each block with a text that begins with the commit of the block before."""
    try:
        texts = _texts(context, session, blocks)
    except ParaplyError:
        return BatchOutcome(0)  # the error is raised when the block is applied by itself
    if len(texts) < 2:
        return BatchOutcome(0)
    session.leaves(context.mode.end())
    context.sessions.note(blocks[: len(texts)], session.connection_id)
    first, others = context.mode.statements_before
    end = session.raw.commit_each(texts, 2, first, others, context.epoch)
    context.ledger.acknowledge_all(blocks[: end.done], session.slot)
    if end.done == len(texts):
        return BatchOutcome(end.done)
    return BatchOutcome(end.done, _text_error(context, session, blocks[end.done], end), end.committing)


def _texts(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> list[bytes]:
    """Return the texts of the fitting blocks: the commit of the block before, the statements to begin, and the rows."""
    mode, texts, form = context.mode, list[bytes](), b""
    for block in _fitting(context, session, blocks):
        begin = mode.start_again(block.first_gtid) if texts else mode.start(block.first_gtid)
        if not texts:
            session.send_format(block)
            form = format_statement(block)
        statements = list(row_statements(context, block))
        if len(statements) != 1 or len(begin) != mode.statements_before[bool(texts)] or format_statement(block) != form:
            break
        texts.append(b"; ".join([*(text.encode() for text in (*begin, context.store.fence())), statements[0]]))
        if sum(map(len, texts)) > min(_BATCH_BYTES, context.max_packet - _HEADROOM):
            del texts[-1]
            break
    return texts


def _text_error(context: MySqlContext, session: BlockSession, block: Block, end: BatchEnd) -> ParaplyError:
    """Return the error of a block of a batch that is not known to be committed."""
    error = end.error
    if error is None and (end.committing or len(end.results) < 2):
        error = TemporaryFailure("interrupted: not all statements of a text were run")
    if error is None:
        try:
            context.store.checked(end.results, context.epoch, session.raw, at=0)
        except ParaplyError as found:
            error = found
        else:
            error = TemporaryFailure("interrupted: the epoch was not found")
    if isinstance(error, ConnectionLost):
        return error
    return session.uncommitted(error, block) if end.committing else session.explained(error, block)
