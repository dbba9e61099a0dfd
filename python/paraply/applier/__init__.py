"""The coordinator, its workers and ordered commit."""

from __future__ import annotations

from paraply.applier.applier import Applier, default_workers
from paraply.applier.commit_order import CommitOrder, RollbackRequested, Ticket, TicketState
from paraply.applier.counters import ApplyReport, Counters, WorkerCounters
from paraply.applier.retry import RetryPolicy
from paraply.applier.watchdog import Patience

__all__ = [
    "Applier",
    "ApplyReport",
    "CommitOrder",
    "Counters",
    "Patience",
    "RetryPolicy",
    "RollbackRequested",
    "Ticket",
    "TicketState",
    "WorkerCounters",
    "default_workers",
]
