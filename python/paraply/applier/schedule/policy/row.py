"""Policy ``row``: large transactions spread over workers by row (P3 of WL#4648)."""

from __future__ import annotations

from paraply.applier.schedule.policy.dependency import DependencyPolicy

__all__ = ["RowPolicy"]


class RowPolicy(DependencyPolicy):
    """Policy ``dependency`` in which a large transaction is applied on several connections at the same time.

    See ``applier.execute.split``: rows of one transaction that share no key are spread, and committed in two phases.
    """

    name = "row"
    splits = True
    early_rows = False
