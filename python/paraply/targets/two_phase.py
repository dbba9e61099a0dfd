"""The interface of a target that can commit one transaction on several connections (policy ``row``).

One of the connections is the leader. It applies its part in an ordinary transaction, together with the progress and a record of
the decision about the branches. The other connections prepare their parts as branches. A prepared branch survives its connection
and a restart of the server. The leader's commit is the decision: before it, every branch can only be rolled back; after it, only
committed. A run that finds branches of an earlier run therefore knows whether to commit them or to roll them back (R25).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paraply.errors import AlreadyRunning
from paraply.runtime import runtime
from paraply.targets.protocol import Session, Target

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["Branch", "BranchSession", "BranchTarget", "branch_prefix", "wait_for_branches"]

_PREFIX = "paraply"
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Branch:
    """One part of a transaction that is committed in two phases.

    Attributes:
        split: Name that all branches of the transaction share.
        number: Number of the branch, from 1.
    """

    split: str
    number: int


def branch_prefix(channel: str) -> str:
    """Return the common prefix of the branch names of a channel; short, because servers limit the length of branch names.

    >>> branch_prefix("default")
    'paraply-37a8eec1ce19-'
    """
    return f"{_PREFIX}-{hashlib.sha256(channel.encode()).hexdigest()[:12]}-"


class BranchSession(Session, Protocol):
    """A session that can apply a part of a transaction."""

    def apply_part(self, block: Block, part: Block, split: str) -> None:
        """Apply the rows of one part like ``apply``. The following ``commit`` decides that the branches of ``split`` are committed.

        Args:
            block: The whole transaction, for the progress.
            part: Some of its rows.
            split: Name of the branches with the other rows.
        """

    def prepare(self, part: Block, branch: Branch) -> None:
        """Apply the rows of a part without any progress, and prepare the branch.

        Raises:
            ParaplyError: As ``apply`` does; ``end_branch`` then makes the session usable again.
        """

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        """Commit a prepared branch, or roll back a branch in any state.

        Raises:
            ConnectionLost: The connection broke; the caller uses ``BranchTarget.end_branch`` instead.
        """


def wait_for_branches(deadline: float, channel: str, how: str) -> None:
    """Wait a moment for a branch of an earlier run that is still active.

    Args:
        deadline: End of the waiting time by the monotonic clock.
        channel: Channel of the branch.
        how: Name of the connection to end, for the message.

    Raises:
        AlreadyRunning: The deadline has passed.
    """
    if runtime.monotonic() > deadline:
        raise AlreadyRunning(
            f"a part of a transaction of an earlier apply of channel {channel} is still under way on the target; wait for it, or end {how},"
            " and start again"
        )
    runtime.sleep(_PAUSE_SECONDS)


class BranchTarget(Target, Protocol):
    """A target with sessions of type ``BranchSession``; opened with ``ApplyPlan.two_phase``."""

    def session(self) -> BranchSession:
        """Return a new session that can apply parts."""

    def new_split(self) -> str:
        """Return a new name for the branches of a transaction, unique on this channel."""

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """End a branch for a session that lost its connection, after that connection has ended on the server."""
