"""Parallelism along a log: mean numbers of busy workers, with the source's commit times where the log has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.analysis.analyze.result import OverTime
    from paraply.analysis.report.lanes import Sweep

__all__ = ["Along", "along", "bounds_of", "places"]

_GROUPS = 120


@dataclass(frozen=True, slots=True)
class Along:
    """Mean numbers of busy workers along the log.

    Attributes:
        places: Begin of each part of the log: a time in RFC 3339, or a number of transactions.
        timed: True if the places are times.
        series: Name and numbers of each applier.
    """

    places: tuple[str | int, ...]
    timed: bool
    series: tuple[tuple[str, tuple[float, ...]], ...]


def bounds_of(transactions: int) -> list[int]:
    """Return the ends of the parts of a log as numbers of transactions.

    >>> bounds_of(3), len(bounds_of(100_000))
    ([1, 2, 3], 120)
    """
    groups = min(_GROUPS, transactions)
    return [transactions * (place + 1) // groups for place in range(groups)]


def along(sweeps: Sequence[Sweep], bounds: Sequence[int], over_time: OverTime | None) -> Along:
    """Return the parallelism of schedules along the log."""
    begins = [0, *bounds[:-1]]
    at: tuple[str | int, ...] = tuple(begins) if over_time is None else tuple(places(over_time, begins))
    found = tuple((sweep.name, tuple(round(number, 2) for number in sweep.busy_workers())) for sweep in sweeps)
    return Along(at, over_time is not None, found)


def places(over_time: OverTime, numbers: Sequence[int]) -> list[str]:
    """Return the commit times of transactions by their numbers; inside a span of time they are spread evenly.

    >>> from paraply.analysis.analyze.result import OverTime
    >>> places(OverTime("2026-01-01T00:00:00.000000Z", 1.0, (10, 0, 10), (), ()), [0, 5, 10, 15])
    ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.500Z', '2026-01-01T00:00:02.000Z', '2026-01-01T00:00:02.500Z']
    """
    begin = datetime.fromisoformat(over_time.begin).astimezone(UTC)
    found: list[str] = []
    span = done = 0
    for number in numbers:
        while span < len(over_time.transactions) - 1 and number >= done + over_time.transactions[span]:
            done += over_time.transactions[span]
            span += 1
        part = min(1.0, (number - done) / max(1, over_time.transactions[span]))
        moment = begin + timedelta(seconds=over_time.seconds * (span + part))
        found.append(moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z")
    return found
