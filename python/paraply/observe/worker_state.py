"""What a worker does, as its state says it."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "APPLYING",
    "BACKING_OFF",
    "COMMITTING",
    "IDLE",
    "IDLE_STATES",
    "RECONNECTING",
    "RESTING",
    "STEPPING_BACK",
    "WAITING_DEPENDENCY",
    "WAITING_TURN",
    "Wait",
]

IDLE = "Waiting for a job"
WAITING_DEPENDENCY = "Waiting for a dependency to commit"
RESTING = "Resting while others keep the target busy"
APPLYING = "Applying"
COMMITTING = "Committing"
WAITING_TURN = "Waiting for preceding transaction to commit"
BACKING_OFF = "Waiting before another try"
STEPPING_BACK = "Rolled back for an older transaction"
RECONNECTING = "Connecting again"

Wait = Literal["input", "dependency", "rest"]
"""What an idle worker waits for: for a job, for one that may start, or for fewer others that are at work."""

IDLE_STATES: dict[Wait, str] = {"input": IDLE, "dependency": WAITING_DEPENDENCY, "rest": RESTING}
