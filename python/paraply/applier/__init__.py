"""The coordinator, its workers and ordered commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.applier.applier import Applier, default_workers
    from paraply.applier.commit_order import CommitOrder, RollbackRequested, Ticket, TicketState
    from paraply.applier.counters import ApplyReport, Counters, WorkerCounters
    from paraply.applier.dry_run import DryRun
    from paraply.applier.filters import Filters, parse_filters
    from paraply.applier.outline import Outline
    from paraply.applier.retry import RetryPolicy
    from paraply.applier.stop_point import StopPlace
    from paraply.applier.watchdog import Patience
else:
    from paraply._on_demand import names_on_demand

    __getattr__, __dir__ = names_on_demand(
        __name__,
        {
            "paraply.applier.applier": ("Applier", "default_workers"),
            "paraply.applier.commit_order": ("CommitOrder", "RollbackRequested", "Ticket", "TicketState"),
            "paraply.applier.counters": ("ApplyReport", "Counters", "WorkerCounters"),
            "paraply.applier.dry_run": ("DryRun",),
            "paraply.applier.filters": ("Filters", "parse_filters"),
            "paraply.applier.outline": ("Outline",),
            "paraply.applier.retry": ("RetryPolicy",),
            "paraply.applier.stop_point": ("StopPlace",),
            "paraply.applier.watchdog": ("Patience",),
        },
    )

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
