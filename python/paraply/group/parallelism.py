"""Parallelism that the numbers in a relay log allow its applier."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Parallelism", "parallelism_of", "relay_parallelism"]


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Parallelism that a log allows.

    Attributes:
        transactions: Number of transactions.
        steps: Least number of steps to apply them: the length of the longest chain of dependent transactions.
    """

    transactions: int
    steps: int

    @property
    def average(self) -> float:
        """Average number of transactions in a step."""
        return self.transactions / self.steps if self.steps else 0.0


def parallelism_of(numbers: Iterable[tuple[int, int]]) -> Parallelism:
    """Return the parallelism of pairs of ``last_committed`` and ``sequence_number``; a start waits for all up to ``last_committed``.

    >>> parallelism_of([(1, 2), (1, 3), (2, 4), (1, 5), (1, 6), (6, 7), (1, 8), (1, 9)])
    Parallelism(transactions=8, steps=3)
    >>> parallelism_of([(1, 2), (0, 0), (1, 3)]).steps
    3
    """
    seen: list[int] = []
    through: list[int] = []
    transactions = floor = top = 0
    for last_committed, number in numbers:
        transactions += 1
        if number <= 0 or (seen and number <= seen[-1]):
            floor = top
            seen, through = [], []
        place = bisect_right(seen, last_committed)
        step = 1 + max(floor, through[place - 1] if place else 0)
        top = max(top, step)
        if number <= 0:
            floor = top
        else:
            seen.append(number)
            through.append(max(step, through[-1] if through else 0))
    return Parallelism(transactions, top)


def relay_parallelism(paths: Sequence[str | Path]) -> Parallelism:
    """Return the parallelism of log files, in order."""
    from paraply.logs import open_log

    transactions = (transaction for path in paths for transaction in open_log(path))
    return parallelism_of((transaction.last_committed or 0, transaction.sequence_number or 0) for transaction in transactions)
