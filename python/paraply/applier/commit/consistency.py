"""When a commit may be sent (R20)."""

from __future__ import annotations

import enum

__all__ = ["Consistency"]


class Consistency(enum.Enum):
    """What readers of the target may see while logs are applied; the value is what ``--consistency`` names."""

    ANY_TIME = "any-time"
    """A commit is sent when the older one's is acknowledged: every state was a state of the source."""
    MOST_OF_THE_TIME = "most-of-the-time"
    """A commit is sent when the older one's has been sent: the server can commit several as a group, and may swap neighbours."""
    EVENTUAL = "eventual"
    """A commit is sent when its rows are in."""

    @property
    def keeps_order(self) -> bool:
        """Whether commits happen exactly in the source's order, so that no gap can be left behind a commit."""
        return self is Consistency.ANY_TIME
