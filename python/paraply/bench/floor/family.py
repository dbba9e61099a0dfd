"""The interface of a family of targets, for the client of the floor: its texts and its connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paraply.bench.floor.recording import StatementReader, Tape
from paraply.targets.protocol import ApplyPlan

if TYPE_CHECKING:
    from paraply.targets.protocol import Target

__all__ = ["Family", "FloorConnection"]


class FloorConnection(Protocol):
    """A connection of the client."""

    def send(self, text: bytes) -> None:
        """Run a text, and wait for all its answers.

        Raises:
            TemporaryFailure: A deadlock, or a lock that was not available in time.
            ParaplyError: Any other error.
        """

    def close(self) -> None:
        """Close the connection."""


class Family(StatementReader, Protocol):
    """A family of targets: the texts of its sessions, and connections with the settings of its sessions.

    Attributes:
        plan: The plan with which the target is opened.
    """

    plan: ApplyPlan

    def target(self, tape: Tape | None = None) -> Target:
        """Return the target; with a tape, its sessions' texts are recorded."""

    def connect(self, target: Target) -> FloorConnection:
        """Return a connection with the settings of a session of the open target."""
