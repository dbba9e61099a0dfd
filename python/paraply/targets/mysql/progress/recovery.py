"""Statements and parts of XA transactions that an earlier run began without recording their end (R25b and R35)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.targets.mysql.context import ChannelContext, MySqlContext, session_settings
from paraply.targets.mysql.ddl.statement import StatementRunner, decide_pending
from paraply.targets.mysql.sql import query_each
from paraply.targets.mysql.xa.runner import came_through, progress_of, write_checked
from paraply.targets.mysql.xa.store import PREPARED, PREPARING
from paraply.targets.progress.file_ledger import PositionRow
from paraply.targets.progress.gtid_ledger import read_executed

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.targets.mysql.progress.store import PendingDdl, StoredProgress
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.xa.store import XaPart
    from paraply.targets.protocol import ApplyPlan

__all__ = ["settle_at_start", "settle_block"]


def settle_at_start(
    context: ChannelContext, control: Connection, stored: StoredProgress, plan: ApplyPlan
) -> tuple[StoredProgress, list[str]]:
    """Decide the outcome of everything that earlier runs began; return the updated progress, and notes for the user."""
    notes: list[str] = []
    pending = stored.pending_ddl
    if pending is not None:
        plan.answer.close()  # it is about this statement
        done = decide_pending(control, pending, plan.ddl_decision, logged=context.logs_hold(control, pending))
        if done:
            stored = _count_as_done(context, control, stored, plan, pending)
        control.query(context.store.end_ddl())
        stored = replace(stored, pending_ddl=None)
        notes.append(f"the statement before {pending.file}:{pending.position} counts as {'done' if done else 'not done'}")
    for part in context.xa.read(control):
        if part.in_progress:
            done = came_through(context, control, part)
            if done:
                stored = _count_as_done(context, control, stored, plan, part)
            write_checked(context, control, [_row_after(context, part, done=done)])
            verb = "XA PREPARE" if part.state == PREPARING else "end"
            notes.append(f"the {verb} of {part.xid} before {part.file}:{part.position} counts as {'done' if done else 'not done'}")
    return stored, notes


def settle_block(context: MySqlContext, connection: Connection, block: Block, stored: StoredProgress) -> bool | None:
    """Decide the outcome of a block of this run after its connection broke and has ended; write its progress if it is done.

    Returns:
        True if the block is done; None if there is no record of the block.
    """
    pending = stored.pending_ddl
    parts = [part for part in context.xa.read(connection) if part.in_progress and part.ordinal == block.ordinal]
    if (pending is None or pending.ordinal != block.ordinal) and not parts:
        return None
    query_each(connection, session_settings(hidden=context.mode.keeps_out))
    if pending is not None and pending.ordinal == block.ordinal:
        return StatementRunner(context, connection, context.take_slot(connection)).settle(block, pending)
    part = parts[0]
    done = came_through(context, connection, part)
    if done:
        gone = part.state != PREPARING
        slot = context.take_slot(connection)
        write_checked(context, connection, progress_of(context, slot, block, replace(part, state=PREPARED), gone=gone))
    else:
        write_checked(context, connection, [_row_after(context, part, done=False)])
    return done


def _row_after(context: ChannelContext, part: XaPart, *, done: bool) -> str:
    """Return the statement for the row of a decided part: the part is either prepared, or its row is deleted."""
    if done == (part.state == PREPARING):
        return context.xa.put(replace(part, state=PREPARED))
    return context.xa.drop(part.xid)


def _count_as_done(
    context: ChannelContext, control: Connection, stored: StoredProgress, plan: ApplyPlan, pending: PendingDdl | XaPart
) -> StoredProgress:
    """Write the progress with the pending statement or part into the channel's row, and return it."""
    executed = [*stored.executed, pending.gtid] if pending.gtid else stored.executed
    stored = replace(stored, executed=executed, file=pending.file, position=pending.position, ordinal=pending.ordinal)
    text = read_executed(executed, GtidSet).text() if plan.has_gtids else ""
    context.store.consolidate(control, stored, text)
    return replace(stored, kept=PositionRow("", pending.file, pending.position, 0), rows=())
