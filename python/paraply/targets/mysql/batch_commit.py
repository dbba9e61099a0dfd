"""Several transactions of one session, one after the other (``SeriesSession``).

Where the progress is a row of ours, a transaction is one statement: a ``BINLOG`` of its rows behind the row event that changes its
session's row of ``paraply.progress``. Under autocommit a server commits all of that or nothing, so it takes one round trip, and one
answer, in place of those of a begin, the progress, the rows and a commit. The row is found by its key, which holds the epoch: a
session that was fenced off finds none (R25a).

In mode ``preserve`` there is no such row, and the epoch is read. There the commit of each goes along with the next one's statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paraply._native import format_statement
from paraply.errors import ConnectionLost, ParaplyError, ServerError, TemporaryFailure
from paraply.targets.batch import SeriesOutcome
from paraply.targets.mysql.errors import NO_SUCH_ROW, interrupted
from paraply.targets.mysql.rows.sequences import row_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block
    from paraply.targets.mysql.context import MySqlContext
    from paraply.targets.mysql.sql import Connection, Result

__all__ = ["apply_and_commit"]

#: A statement's text; the rest of max_allowed_packet is left to what stands before it.
_HEADROOM = 64 * 1024
#: All texts of a series that are made before it begins.
_SERIES_BYTES = 128 * 1024
#: How the servers name our table where a row event does not find its row.
_PROGRESS = "'progress'"


class BlockSession(Protocol):
    """The session that applies a series."""

    slot: int

    @property
    def connection_id(self) -> int:
        """The server's number of the connection."""

    @property
    def connection(self) -> Connection:
        """The connection, fit for any statement."""

    @property
    def raw(self) -> Connection:
        """The connection as the last transaction left it."""

    def leaves(self, end: list[str]) -> None:
        """Note that a transaction begins after which these statements are due, before any other kind."""

    def send_format(self, block: Block) -> None:
        """Hand the log's format description over, where the server has not got it yet."""

    def check_tables(self, block: Block, source: Block) -> None:
        """Check the tables of a block that have not been checked yet."""

    def rollback(self) -> None:
        """Roll back."""

    def uncommitted(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """Return what the error of a COMMIT means."""

    def explained(self, error: ParaplyError, block: Block | None) -> ParaplyError:
        """Return the exception of a cause's own class; the block is rolled back."""

    def is_taken_over(self) -> bool:
        """Return True if another process has taken over this channel."""


def apply_and_commit(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> SeriesOutcome:
    """Applies and commits blocks one after the other; ends at the first one that fails or does not fit.

    Args:
        context: The target.
        session: Its session; nothing is open on it.
        blocks: Blocks of one transaction each.
    """
    return _by_statements(context, session, blocks) if context.mode.writes_progress else _behind_commits(context, session, blocks)


def _by_statements(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> SeriesOutcome:
    """Each is one statement."""
    try:
        fitting = _fitting(context, session, blocks)
        if not fitting:
            return SeriesOutcome(0)
        session.send_format(fitting[0])
    except ParaplyError:
        return SeriesOutcome(0)  # told where the block is applied by itself
    context.sessions.note(fitting, session.connection_id)
    ledger = context.ledger
    progress = ledger.native or [mark.executed for mark in ledger.marks(fitting, session.slot)]
    limit = max(0, context.max_packet - _HEADROOM)
    place, ends = (context.store.channel, session.slot, context.epoch), context.checker.row_ends
    done, error = session.raw.apply_each(fitting, progress, *place, limit, ends)
    if ledger.native is None:
        ledger.acknowledge_all(fitting[:done], session.slot)
    if error is None:
        return SeriesOutcome(done)
    error = _statement_error(context, session, fitting[done], error)
    return SeriesOutcome(done, error, isinstance(error, ConnectionLost))


def _fitting(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks up to the first one that needs more than its rows; their tables are checked."""
    references, known = context.references, context.checker.known
    looked_at = known.leading(blocks) if context.row_privileges.everything else 0
    if references is None and looked_at == len(blocks):
        return blocks
    for number, block in enumerate(blocks):
        if number >= looked_at:
            if block.kind != "dml":
                return blocks[:number]
            session.check_tables(block, block)
            if context.checker.sequences_of(block):
                return blocks[:number]
            known.add(block)
        if references is not None and references.check(lambda: session.connection, block) is not None:
            return blocks[:number]
    return blocks


def _statement_error(context: MySqlContext, session: BlockSession, block: Block, error: ParaplyError) -> ParaplyError:
    """Why a block's statement is not known to be committed."""
    if isinstance(error, ConnectionLost):
        return error
    if interrupted(error):
        return session.uncommitted(error, block)
    if isinstance(error, ServerError) and error.code == NO_SUCH_ROW and _PROGRESS in error.message:
        session.rollback()
        if session.is_taken_over():
            return context.store.taken_over()
        # Of our table or of another one of that name: the block is applied by itself now, which tells.
        return TemporaryFailure(f"{error.message} (error {error.code})")
    return session.explained(error, block)


def _behind_commits(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> SeriesOutcome:
    """The commit of each begins the text of the next one."""
    try:
        texts = _texts(context, session, blocks)
    except ParaplyError:
        return SeriesOutcome(0)  # told where the block is applied by itself
    if len(texts) < 2:
        return SeriesOutcome(0)
    session.leaves(context.mode.end())
    context.sessions.note(blocks[: len(texts)], session.connection_id)
    first, others = context.mode.statements_before
    done, committing, results, error = session.raw.commit_each(texts, 2, first, others, context.epoch)
    context.ledger.acknowledge_all(blocks[:done], session.slot)
    if done == len(texts):
        return SeriesOutcome(done)
    return SeriesOutcome(done, _text_error(context, session, blocks[done], results, error, committing=committing), committing)


def _texts(context: MySqlContext, session: BlockSession, blocks: Sequence[Block]) -> list[bytes]:
    """The texts of as many blocks as fit, up to their rows, each behind the commit of the one before."""
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
        if sum(map(len, texts)) > min(_SERIES_BYTES, context.max_packet - _HEADROOM):
            del texts[-1]
            break
    return texts


def _text_error(
    context: MySqlContext, session: BlockSession, block: Block, results: list[Result], error: ParaplyError | None, *, committing: bool
) -> ParaplyError:
    """Why a block of a series is not known to be committed."""
    if error is None and (committing or len(results) < 2):
        error = TemporaryFailure("interrupted: not all statements of a text were run")
    if error is None:
        try:
            context.store.checked(results, context.epoch, session.raw, at=0)
        except ParaplyError as found:
            error = found
        else:
            error = TemporaryFailure("interrupted: the epoch was not found")
    if isinstance(error, ConnectionLost):
        return error
    return session.uncommitted(error, block) if committing else session.explained(error, block)
