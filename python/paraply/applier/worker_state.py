"""What a worker does, as its state says it."""

from __future__ import annotations

from paraply.applier.commit_order import TicketState

__all__ = ["APPLYING", "BACKING_OFF", "COMMITTING", "IDLE", "RECONNECTING", "STEPPING_BACK", "WAITING_DEPENDENCY", "WAITING_TURN"]

IDLE = "Waiting for a job"
WAITING_DEPENDENCY = "Waiting for a dependency to commit"
APPLYING = "Applying"
COMMITTING = "Committing"
WAITING_TURN = TicketState.WAITING.value
BACKING_OFF = "Waiting before another try"
STEPPING_BACK = "Rolled back for an older transaction"
RECONNECTING = "Connecting again"
