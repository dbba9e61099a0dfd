"""Commits that a target acknowledged, and that it must still hold when it is connected to again (R25).

A server that does not force each commit to disk forgets the last ones when it is killed (``innodb_flush_log_at_trx_commit``,
``sync_binlog``, ``synchronous_commit``). So does a replica that takes the place of a failed server. Its tables and its progress then fit
each other, and a later run continues correctly. The running one must not go on after commits that are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paraply.errors import CommitsLost

if TYPE_CHECKING:
    from paraply._native import GtidSet

__all__ = ["Acknowledged", "commits_lost"]

_LONGEST = 100
"""Most characters of a GTID set in a message."""


class Positions(Protocol):
    """Positions in logs without GTIDs that a target holds (``FilePositions``)."""

    @property
    def ordinal(self) -> int:
        """Number of the last block before the first gap."""

    @property
    def done(self) -> frozenset[tuple[str, int]]:
        """End of each block after a gap."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Commits that were acknowledged up to a moment.

    Attributes:
        gtids: GTIDs of these commits, and those that the target held at the start.
        newest: In a log without GTIDs, number and end of the newest blocks.
    """

    gtids: GtidSet
    newest: tuple[tuple[int, tuple[str, int]], ...] = ()

    def check(self, executed: GtidSet, positions: Positions) -> None:
        """Check that a target holds these commits.

        Args:
            executed: GTIDs that it holds, read later than these commits were acknowledged.
            positions: In a log without GTIDs, the positions that it holds, likewise.

        Raises:
            CommitsLost: It does not hold one of them.
        """
        gone = [end for ordinal, end in self.newest if ordinal > positions.ordinal and end not in positions.done]
        lost = self.gtids - executed
        if lost:
            raise commits_lost(str(lost))
        if gone:
            raise commits_lost(f"before {gone[-1][0]}:{gone[-1][1]}")


def commits_lost(what: str) -> CommitsLost:
    """Return the error of a target that does not hold commits any more.

    Args:
        what: The lost transactions.
    """
    shown = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}..."
    return CommitsLost(
        f"the target does not hold transactions any more that it had committed ({shown}): it was restarted without having forced them to"
        " disk, or another server has taken its place; run the same command again, which continues from what the target holds"
    )
