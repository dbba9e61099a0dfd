"""The coordinator, its workers and ordered commit."""

from __future__ import annotations

from paraply.applier.applier import Applier, default_workers
from paraply.applier.commit_order import CommitOrder, RollbackRequested, Ticket, TicketState
from paraply.applier.counters import ApplyReport, Counters, WorkerCounters
from paraply.applier.dry_run import DryRun
from paraply.applier.filters import Filters, parse_filters
from paraply.applier.outline import Outline
from paraply.applier.retry import RetryPolicy
from paraply.applier.stop_point import StopPlace
from paraply.applier.watchdog import Patience

__all__ = [
    "Applier",
    "ApplyReport",
    "CommitOrder",
    "Counters",
    "DryRun",
    "Filters",
    "Outline",
    "Patience",
    "RetryPolicy",
    "RollbackRequested",
    "StopPlace",
    "Ticket",
    "TicketState",
    "WorkerCounters",
    "default_workers",
    "parse_filters",
]
