"""Parallel apply of a log: coordinator, workers and ordered commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.applier.applier import Applier, default_workers
    from paraply.applier.commit.commit_order import CommitOrder, RollbackRequested, Ticket, TicketState
    from paraply.applier.execute.lock_watchdog import Patience
    from paraply.applier.execute.retry import RetryPolicy
    from paraply.applier.preflight.dry_run import DryRun
    from paraply.applier.preflight.plan import RunPlan
    from paraply.applier.selection.filters import Filters, parse_filters
    from paraply.logs.stop_point import StopPlace
    from paraply.observe.counters import ApplyReport, Counters, WorkerCounters
else:
    from paraply._on_demand import names_on_demand

    __getattr__, __dir__ = names_on_demand(
        __name__,
        {
            "paraply.applier.applier": ("Applier", "default_workers"),
            "paraply.applier.commit.commit_order": ("CommitOrder", "RollbackRequested", "Ticket", "TicketState"),
            "paraply.observe.counters": ("ApplyReport", "Counters", "WorkerCounters"),
            "paraply.applier.preflight.dry_run": ("DryRun",),
            "paraply.applier.selection.filters": ("Filters", "parse_filters"),
            "paraply.applier.preflight.plan": ("RunPlan",),
            "paraply.applier.execute.retry": ("RetryPolicy",),
            "paraply.logs.stop_point": ("StopPlace",),
            "paraply.applier.execute.lock_watchdog": ("Patience",),
        },
    )

__all__ = [
    "Applier",
    "ApplyReport",
    "CommitOrder",
    "Counters",
    "DryRun",
    "Filters",
    "Patience",
    "RetryPolicy",
    "RollbackRequested",
    "RunPlan",
    "StopPlace",
    "Ticket",
    "TicketState",
    "WorkerCounters",
    "default_workers",
    "parse_filters",
]
