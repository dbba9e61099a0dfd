"""Large transactions spread over workers by row (P3 of WL#4648)."""

from __future__ import annotations

from paraply.applier.schedule.policy.dependency import DependencyPolicy

__all__ = ["RowPolicy"]


class RowPolicy(DependencyPolicy):
    """Transactions wait for exactly those that they conflict with; a large one is applied on several connections at the same time.

    What is spread, and how it is committed, is told in ``applier.split``: the rows of one transaction that share no key, committed in
    two phases.
    """

    name = "row"
    splits = True
    in_waves = False
