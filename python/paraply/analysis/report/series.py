"""Parallelism along a log: mean numbers of busy workers, with the source's commit times where the log has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.analysis.analyze.result import OverTime, Totals
    from paraply.analysis.report.lanes import Sweep

__all__ = ["Along", "along", "bounds_of", "edges", "in_milliseconds", "places", "rates"]

_GROUPS = 120


@dataclass(frozen=True, slots=True)
class Along:
    """Mean numbers of busy workers along the log.

    Attributes:
        places: Begin of each part of the log, and the end of the last one: a time in RFC 3339, or a number of transactions.
        timed: True if the places are times.
        series: Name and numbers of each applier; the last number is there twice.
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


def along(sweeps: Sequence[Sweep], bounds: Sequence[int], totals: Totals) -> Along:
    """Return the parallelism of schedules along the log."""
    numbers, over_time = [0, *bounds] if bounds else [], totals.over_time
    at: Sequence[str | int] = numbers if over_time is None else places(edges(totals, over_time), over_time.transactions, numbers)
    found = tuple((sweep.name, twice_last(round(number, 2) for number in sweep.busy_workers())) for sweep in sweeps)
    return Along(tuple(at), over_time is not None, found)


def twice_last(numbers: Iterable[float]) -> tuple[float, ...]:
    """Return numbers with the last one repeated, so that a line of steps has its last step."""
    found = tuple(numbers)
    return (*found, *found[-1:])


def edges(totals: Totals, over_time: OverTime) -> list[datetime]:
    """Return the begin of each span of time and the end of the last one; the log covers only a part of the first and of the last."""
    begin, first, last = (
        datetime.fromisoformat(text or over_time.begin) for text in (over_time.begin, totals.first_time, totals.last_time)
    )
    length = timedelta(seconds=over_time.seconds)
    return [max(first, min(last, begin + place * length)) for place in range(len(over_time.transactions) + 1)]


def rates(totals: Totals, over_time: OverTime) -> list[tuple[float, float]]:
    """Return transactions and rows a second of each span of time."""
    at = edges(totals, over_time)
    found = []
    for place, (count, rows) in enumerate(zip(over_time.transactions, over_time.rows, strict=True)):
        covered = max((at[place + 1] - at[place]).total_seconds(), over_time.seconds / 20)
        found.append((count / covered, rows / covered))
    return found


def places(at: Sequence[datetime], counts: Sequence[int], numbers: Sequence[int]) -> list[str]:
    """Return the commit times of transactions by their numbers; inside a span of time they are spread evenly.

    Args:
        at: Begin of each span, and the end of the last one.
        counts: Transactions of each span.
        numbers: Numbers of transactions, increasing.

    >>> from datetime import UTC
    >>> at = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(3)]
    >>> [time[17:] for time in places(at, (10, 10), [0, 5, 10, 15, 20])]
    ['00.000Z', '00.500Z', '01.000Z', '01.500Z', '02.000Z']
    """
    found: list[str] = []
    span = done = 0
    for number in numbers:
        while span < len(counts) - 1 and number >= done + counts[span]:
            done += counts[span]
            span += 1
        part = min(1.0, (number - done) / max(1, counts[span]))
        found.append(in_milliseconds(at[span] + (at[span + 1] - at[span]) * part))
    return found


def in_milliseconds(moment: datetime) -> str:
    """Return a time in RFC 3339.

    >>> from datetime import UTC
    >>> in_milliseconds(datetime(2026, 1, 1, 0, 0, 0, 1500, tzinfo=UTC))
    '2026-01-01T00:00:00.001Z'
    """
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"
