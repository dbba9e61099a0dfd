"""Words and numbers in which an analysis is shown: on a terminal and in a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.analysis.analyze.result import Curve

__all__ = ["APPLIERS", "curve_name", "duration", "scheduler_name", "short", "times"]

APPLIERS = {"mysql": "MySQL", "change_stream": "Change Stream*", "mariadb": "MariaDB optimistic", "paraply": "paraply"}
"""Names of the appliers; the asterisk marks the one that is not validated."""

_NUMBERS = {("mysql", "fine"): " with keys' numbers"}
_FEW = 10


def curve_name(curve: Curve) -> str:
    """Return the name of a simulated applier."""
    return scheduler_name(curve.applier, curve.numbers) + ("" if curve.ordered else ", no order")


def scheduler_name(applier: str, numbers: str) -> str:
    """Return the name of an applier and of its numbers, if they are not the log's.

    >>> scheduler_name("mysql", "stamped"), scheduler_name("mysql", "fine")
    ('MySQL', "MySQL with keys' numbers")
    """
    return APPLIERS[applier] + _NUMBERS.get((applier, numbers), "")


def times(factor: float) -> str:
    """Return a factor with two or three digits.

    >>> times(3.14159), times(31.4159), times(3141.59)
    ('3.1x', '31x', '3,142x')
    """
    return f"{factor:.1f}x" if factor < _FEW else f"{factor:,.0f}x"


def short(seconds: float) -> str:
    """Return seconds with three digits.

    >>> short(0.01234), short(1.234), short(123.4), short(0)
    ('0.0123', '1.23', '123', '0')
    """
    if seconds <= 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(seconds)))
    return f"{seconds:,.{min(digits, 4)}f}"


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(0.5), duration(75), duration(7300)
    ('0.500 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{short(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
