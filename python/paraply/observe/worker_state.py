"""Names for the states of a worker."""

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
"""Reason why a worker is idle: no job, no job that may start, or the concurrency limit."""

IDLE_STATES: dict[Wait, str] = {"input": IDLE, "dependency": WAITING_DEPENDENCY, "rest": RESTING}
