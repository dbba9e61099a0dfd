"""Transactions of which some rows do not fit the target, in a run that may treat them (``--on-conflict``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from paraply.errors import (
    ApplyFailed,
    DdlUndecided,
    ParaplyError,
    PrecedingFailed,
    SchemaMismatch,
    TypeNotMapped,
    UsageError,
    ValueNotStorable,
)
from paraply.targets.conflicts import CONFLICT_TABLE, OnConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.schedule.job_list import Job
    from paraply.targets.conflicts import Conflict

__all__ = ["check_on_conflict", "count_conflicts", "end_run", "may_resolve", "name_treatment"]

_log = logging.getLogger("paraply.applier")

_OTHER_CAUSES = (DdlUndecided, PrecedingFailed, SchemaMismatch, TypeNotMapped, ValueNotStorable)
"""Errors that are not about the rows of the target."""


def may_resolve(mode: OnConflict | None, block: Block, error: ParaplyError) -> bool:
    """Return True if a failed block of one transaction is to be applied row by row.

    The rows of an XA transaction, and of a statement such as CREATE TABLE ... SELECT, stop the apply.
    """
    treats = mode in (OnConflict.LOG, OnConflict.OVERWRITE)
    return treats and block.kind == "dml" and isinstance(error, ApplyFailed) and not isinstance(error, _OTHER_CAUSES)


def check_on_conflict(mode: OnConflict, *, by_replication: bool, keeps_order: bool, allow_nontransactional: bool) -> None:
    """Check the options that go with ``--on-conflict``.

    Args:
        mode: Its value.
        by_replication: True if the target's own replication applies.
        keeps_order: True if transactions commit in the source's order.
        allow_nontransactional: True if tables without transactions are accepted.

    Raises:
        UsageError: An option does not go with it; the message has the reason.

    >>> check_on_conflict(OnConflict.LOG, by_replication=False, keeps_order=True, allow_nontransactional=False)
    """
    if mode is OnConflict.STOP:
        return
    name = f"--on-conflict {mode.value}"
    if by_replication:
        raise UsageError(f"{name}: with --via replication the target's own replication applies the rows: use --via sessions")
    if not keeps_order:
        raise UsageError(
            f"{name} needs commits in the source's order, because rows fit or do not fit what older transactions left:"
            " use --consistency any-time"
        )
    if allow_nontransactional:
        raise UsageError(
            f"{name} takes rows back that do not fit, which tables without transactions cannot: leave out --allow-nontransactional"
        )


def name_treatment(error: ParaplyError, block: Block, mode: OnConflict | None, *, by_replication: bool = False) -> None:
    """Add the way on with ``--on-conflict`` to an error about a row that is missing or exists already.

    Args:
        error: The error.
        block: The failed block of one transaction.
        mode: The treatment of the run; None if the option is not offered.
        by_replication: True if the target's own replication applies.
    """
    if mode is OnConflict.STOP and block.kind == "dml" and isinstance(error, ApplyFailed) and error.misfit:
        sessions = "--via sessions " if by_replication else ""
        error.message += (
            f"; or go on with {sessions}--on-conflict log, which leaves changes out that do not fit, or overwrite, which makes the rows as"
            f" they are on the source: {CONFLICT_TABLE} then has each of them"
        )


def count_conflicts(run: RunState, block: Block, conflicts: Sequence[Conflict]) -> None:
    """Count the conflicts of a committed block; report the first ones of the run."""
    if conflicts and not run.conflicts.total:
        place = block.first_gtid or f"at {block.file}:{block.offset}"
        _log.warning("row changes do not fit the target, the first ones in transaction %s: see %s there", place, CONFLICT_TABLE)
    run.conflicts.add(conflicts)


def end_run(run: RunState, job: Job, block: Block, error: ParaplyError) -> None:
    """End the run with the block's error, after all older blocks have committed (R18).

    Raises:
        ParaplyError: The error.
    """
    name_treatment(error, block, run.on_conflict)
    if error.gtid is None:
        error.gtid = block.first_gtid
    if error.file is None:
        error.file, error.position = block.file, block.offset
    run.order.wait_for(job.ticket, job.number - 1)
    run.order.wait_turn(job.ticket)
    run.order.finish(job.ticket, error)
    run.abort(error)
    raise error
