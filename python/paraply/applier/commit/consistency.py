"""Consistency levels: conditions for sending a commit (R20)."""

from __future__ import annotations

import enum

__all__ = ["Consistency"]


class Consistency(enum.Enum):
    """States that readers of the target may see during an apply; the values are those of ``--consistency``."""

    ANY_TIME = "any-time"
    """A commit is sent after the older one's acknowledgement: every state was a state of the source."""
    MOST_OF_THE_TIME = "most-of-the-time"
    """A commit is sent after the older one was sent: the server can commit several as a group, and may swap neighbours."""
    EVENTUAL = "eventual"
    """A commit is sent as soon as its rows are written."""

    @property
    def keeps_order(self) -> bool:
        """True if commits happen exactly in the source's order, so that no commit leaves a gap before it."""
        return self is Consistency.ANY_TIME
