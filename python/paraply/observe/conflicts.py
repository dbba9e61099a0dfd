"""Counts of row changes that did not fit the target."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from paraply.runtime import runtime
from paraply.targets.conflicts import CONFLICT_TABLE
from paraply.wording import counted, table_for_people

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.targets.conflicts import Conflict

__all__ = ["ConflictCount", "ConflictTally", "conflict_lines", "conflicts_json", "joined"]


@dataclass(frozen=True, slots=True)
class ConflictCount:
    """Number of row changes of one kind that did not fit.

    Attributes:
        table: The table, as ``database.table``.
        operation: ``insert``, ``update`` or ``delete``.
        cause: ``missing row`` or ``duplicate key``.
        outcome: ``left``, ``replaced``, ``inserted`` or ``none``.
        count: The number.
    """

    table: str
    operation: str
    cause: str
    outcome: str
    count: int


class ConflictTally:
    """Counts of a run; any thread may add to them.

    >>> ConflictTally().counts()
    ()
    """

    def __init__(self) -> None:
        self._lock = runtime.lock()
        self._counts: dict[tuple[str, str, str, str], int] = {}
        self.total = 0
        """Number of all row changes that did not fit."""

    def add(self, conflicts: Iterable[Conflict]) -> None:
        """Count the conflicts of a transaction, once it is committed."""
        with self._lock:
            for one in conflicts:
                kind = (f"{one.database}.{one.table}", one.operation, one.cause, one.outcome)
                self._counts[kind] = self._counts.get(kind, 0) + 1
                self.total += 1

    def counts(self) -> tuple[ConflictCount, ...]:
        """Return the counts, sorted by table and kind."""
        with self._lock:
            return tuple(ConflictCount(*kind, count) for kind, count in sorted(self._counts.items()))


def joined(*parts: Sequence[ConflictCount]) -> tuple[ConflictCount, ...]:
    """Return the sums of several counts.

    >>> one = ConflictCount("shop.item", "delete", "missing row", "left", 2)
    >>> joined([one], [one])[0].count
    4
    """
    sums: dict[tuple[str, str, str, str], int] = {}
    for found in (found for part in parts for found in part):
        kind = (found.table, found.operation, found.cause, found.outcome)
        sums[kind] = sums.get(kind, 0) + found.count
    return tuple(ConflictCount(*kind, count) for kind, count in sorted(sums.items()))


def conflict_lines(counts: Sequence[ConflictCount]) -> list[str]:
    """Return the lines about conflicts for people: how many there are, and where to look.

    >>> print(conflict_lines([ConflictCount("shop.item", "delete", "missing row", "left", 2)])[1])
      shop.item: 2 x delete, missing row: left out
    """
    if not counts:
        return []
    total = sum(found.count for found in counts)
    lines = [f"{counted(total, 'row change')} did not fit the target (--on-conflict):"]
    words = {
        "left": "left out", "replaced": "the target's row was replaced", "inserted": "the row was inserted", "none": "nothing to do",
    }  # fmt: skip
    lines += [
        f"  {table_for_people(one.table)}: {one.count:,} x {one.operation}, {one.cause}: {words.get(one.outcome, one.outcome)}"
        for one in counts
    ]
    return [*lines, f"each of them is a row of {CONFLICT_TABLE} in the target"]


def conflicts_json(counts: Sequence[ConflictCount], mode: str) -> dict[str, Any] | None:
    """Return the JSON field ``conflicts``; None where a conflict stops the apply.

    >>> conflicts_json([], "log")
    {'mode': 'log', 'rows': 0, 'logged_in': 'paraply.conflict', 'tables': []}
    """
    if mode == "stop":
        return None
    total = sum(found.count for found in counts)
    return {"mode": mode, "rows": total, "logged_in": CONFLICT_TABLE, "tables": [asdict(found) for found in counts]}
