"""What a target offers that can commit one transaction on several connections (policy ``row``).

One of the connections is the leader. It applies its part in an ordinary transaction together with the progress, and with the note
that the transaction's branches are decided. The others prepare theirs: a prepared branch outlives its connection and the
server, and waits for its end. The leader's commit decides: until then every branch can only be rolled back, from then on only be
committed. A run that finds branches of an earlier one therefore knows what to do with them (R25).
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paraply.errors import AlreadyRunning
from paraply.targets.protocol import Session, Target

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["Branch", "BranchSession", "BranchTarget", "branch_prefix", "wait_for_branches"]

_PREFIX = "paraply"
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a transaction that is committed in two phases.

    Attributes:
        split: The name that all branches of the transaction share.
        number: From 1.
    """

    split: str
    number: int


def branch_prefix(channel: str) -> str:
    """What the names of all branches of a channel begin with; short, because servers limit names of branches.

    >>> branch_prefix("default")
    'paraply-37a8eec1ce19-'
    """
    return f"{_PREFIX}-{hashlib.sha256(channel.encode()).hexdigest()[:12]}-"


class BranchSession(Session, Protocol):
    """A session that can apply a part of a transaction."""

    def apply_part(self, block: Block, part: Block, split: str) -> None:
        """As ``apply``, but with the rows of one part; ``commit`` then decides that the branches of ``split`` are committed.

        Args:
            block: The whole transaction, for the progress.
            part: Some of its rows.
            split: What the branches with the other rows are called.
        """

    def prepare(self, part: Block, branch: Branch) -> None:
        """Applies a part's rows without any progress, and prepares them.

        Raises:
            ParaplyError: As ``apply`` does; ``end_branch`` then makes the session usable again.
        """

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        """Commits a prepared branch, or rolls one back however far it came.

        Raises:
            ConnectionLost: The connection is gone; ask ``BranchTarget.end_branch`` to do it.
        """


def wait_for_branches(deadline: float, channel: str, how: str) -> None:
    """Waits a moment for a branch of an earlier run that is still under way.

    Args:
        deadline: On the monotonic clock.
        channel: Whose branch it is.
        how: How its connection can be ended, for the message.

    Raises:
        AlreadyRunning: The time is over.
    """
    if time.monotonic() > deadline:
        raise AlreadyRunning(
            f"a part of a transaction of an earlier apply of channel {channel} is still under way on the target; wait for it, or end {how},"
            " and start again"
        )
    time.sleep(_PAUSE_SECONDS)


class BranchTarget(Target, Protocol):
    """A target whose sessions are ``BranchSession``; opened with ``ApplyPlan.two_phase``."""

    def session(self) -> BranchSession:
        """Opens a session that can apply parts."""

    def new_split(self) -> str:
        """A name for a transaction's branches, never used before on this channel."""

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """Ends a branch in place of the session that lost its connection, after that has ended on the server."""
