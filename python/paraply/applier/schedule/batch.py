"""When a worker takes several jobs at once, each of which stays a commit of its own.

Where commits need not be in order, most of what an unmerged transaction takes from the interpreter is between two of them: a job is
taken, a turn asked for, a commit noted, and each time others wait for the interpreter. A worker that takes several jobs which may all
start does that once for all of them, and the commit of one goes to the target together with the rows of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.applier.commit.consistency import Consistency
from paraply.targets.batch import SMALL_BLOCK

if TYPE_CHECKING:
    from paraply.applier.schedule.job_list import Job
    from paraply.targets.protocol import Target

__all__ = ["fits", "series_of"]

_MOST = 8
_UNDER_WAY = 256
"""With many workers series are shorter: what is under way holds up those that depend on it."""


def series_of(target: Target, consistency: Consistency, workers: int) -> dict[str, Any]:
    """What a job list is made with where its workers take series: at level ``eventual``, into a target whose sessions take them."""
    if consistency is not Consistency.EVENTUAL or not target.capabilities.takes_batches:
        return {}
    return {"series": min(_MOST, max(2, _UNDER_WAY // max(1, workers))), "fits": fits}


def fits(job: Job) -> bool:
    """Whether a job may be one of several: a small transaction with rows."""
    block = job.block
    return block.transaction_count == 1 and block.bytes <= SMALL_BLOCK and block.kind == "dml"
