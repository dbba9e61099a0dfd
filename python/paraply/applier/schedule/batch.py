"""Batches of jobs for one worker, each of which stays a commit of its own.

Where commits need not be in order, an unmerged transaction needs most of its interpreter time between two transactions: to take a job,
to ask for a turn, to count a commit. Each time other threads wait for the interpreter. A worker with a batch does this once for all its
jobs, and the commit of one job goes to the target together with the rows of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.applier.commit.consistency import Consistency
from paraply.targets.batch import SMALL_BLOCK

if TYPE_CHECKING:
    from paraply.applier.schedule.job_list import Job
    from paraply.targets.protocol import Target

__all__ = ["batch_options", "fits"]

_MOST = 8
_IN_PROGRESS = 256
"""Limit over all workers: with many workers batches are shorter, because unfinished jobs delay those that depend on them."""


def batch_options(target: Target, consistency: Consistency, workers: int) -> dict[str, Any]:
    """Return a job list's arguments for batches: only at level ``eventual``, and only if the target's sessions accept batches."""
    if consistency is not Consistency.EVENTUAL or not target.capabilities.takes_batches:
        return {}
    return {"batch_size": min(_MOST, max(2, _IN_PROGRESS // max(1, workers))), "fits": fits}


def fits(job: Job) -> bool:
    """Return True if a job may be part of a batch: a small transaction with rows."""
    block = job.block
    return block.transaction_count == 1 and block.bytes <= SMALL_BLOCK and block.kind == "dml"
