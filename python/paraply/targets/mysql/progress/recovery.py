"""What an earlier run began and did not record the end of: a statement, or a part of an XA transaction (rules R25b and R35)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import paraply._native as _native
from paraply.targets.mysql.ddl.statement import StatementRunner, decide_pending
from paraply.targets.mysql.session import session_settings
from paraply.targets.mysql.sql import query_each
from paraply.targets.mysql.xa.runner import came_through, progress_of, write_checked
from paraply.targets.mysql.xa.store import PREPARED, PREPARING
from paraply.targets.progress.file_ledger import PlaceRow
from paraply.targets.progress.gtid_ledger import read_executed

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.targets.mysql.progress.store import PendingDdl, StoredProgress
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.target import MySqlTarget
    from paraply.targets.mysql.xa.store import XaPart
    from paraply.targets.protocol import ApplyPlan

__all__ = ["settle_at_start", "settle_block"]


def settle_at_start(target: MySqlTarget, control: Connection, stored: StoredProgress, plan: ApplyPlan) -> tuple[StoredProgress, list[str]]:
    """Decides about everything that earlier runs began; gives the progress with it, and what is to be said of it."""
    notes: list[str] = []
    pending = stored.pending_ddl
    if pending is not None:
        done = decide_pending(control, pending, plan.ddl_decision, logged=target.logs_hold(control, pending))
        if done:
            stored = _count_as_done(target, control, stored, plan, pending)
        control.query(target.store.end_ddl())
        stored = replace(stored, pending_ddl=None)
        notes.append(f"the statement before {pending.file}:{pending.position} counts as {'done' if done else 'not done'}")
    for part in target.xa.read(control):
        if part.under_way:
            done = came_through(target, control, part)
            if done:
                stored = _count_as_done(target, control, stored, plan, part)
            write_checked(target, control, [_row_after(target, part, done=done)])
            verb = "XA PREPARE" if part.state == PREPARING else "end"
            notes.append(f"the {verb} of {part.xid} before {part.file}:{part.position} counts as {'done' if done else 'not done'}")
    return stored, notes


def settle_block(target: MySqlTarget, connection: Connection, block: Block, stored: StoredProgress) -> bool | None:
    """The same about a block of this run whose connection broke and has ended; writes its progress if it is done.

    Returns:
        None if nothing stands recorded of it.
    """
    pending = stored.pending_ddl
    parts = [part for part in target.xa.read(connection) if part.under_way and part.ordinal == block.ordinal]
    if (pending is None or pending.ordinal != block.ordinal) and not parts:
        return None
    query_each(connection, session_settings(hidden=target.mode.keeps_out))
    if pending is not None and pending.ordinal == block.ordinal:
        return StatementRunner(target, connection, target.take_slot(connection)).settle(block, pending)
    part = parts[0]
    done = came_through(target, connection, part)
    if done:
        gone = part.state != PREPARING
        slot = target.take_slot(connection)
        write_checked(target, connection, progress_of(target, slot, block, replace(part, state=PREPARED), gone=gone))
    else:
        write_checked(target, connection, [_row_after(target, part, done=False)])
    return done


def _row_after(target: MySqlTarget, part: XaPart, *, done: bool) -> str:
    """The row of a part that is decided: prepared, or not there."""
    if done == (part.state == PREPARING):
        return target.xa.put(replace(part, state=PREPARED))
    return target.xa.drop(part.xid)


def _count_as_done(
    target: MySqlTarget, control: Connection, stored: StoredProgress, plan: ApplyPlan, pending: PendingDdl | XaPart
) -> StoredProgress:
    """The progress with what is pending, written into the channel's row."""
    executed = [*stored.executed, pending.gtid] if pending.gtid else stored.executed
    stored = replace(stored, executed=executed, file=pending.file, position=pending.position, ordinal=max(stored.ordinal, pending.ordinal))
    text = read_executed(executed, _native.GtidSet).text() if plan.has_gtids else ""
    target.store.consolidate(control, stored, text)
    return replace(stored, kept=PlaceRow("", pending.file, pending.position, 0), rows=())
