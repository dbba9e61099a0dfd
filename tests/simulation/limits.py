"""Limits of the applier that only long logs reach, made small for short histories."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from paraply.applier import applier
from paraply.applier.execute.retry import StormGuard
from paraply.applier.execute.split import parts
from paraply.applier.schedule import contention, session_order
from paraply.applier.schedule.contention import Contention

__all__ = ["SmallLimits", "in_force"]


@dataclass(frozen=True, slots=True)
class SmallLimits:
    """The limits of a run.

    Attributes:
        ahead: Most jobs above the low-water mark.
        storm: Commits that are judged together for a storm of retries, and the first and longest serial period.
        periods: Window, first and longest period of tables that are applied in order, and the length of a trial.
        sessions: Known sessions above which old ones are forgotten.
        split: Bytes of a transaction from which on policy ``row`` splits it.
    """

    ahead: int
    storm: tuple[int, int, int]
    periods: tuple[int, int, int, int]
    sessions: int
    split: int

    @classmethod
    def draw(cls, chance: random.Random) -> SmallLimits:
        """Return random limits, some of them as large as those in force."""
        return cls(
            ahead=chance.choice((2, 5, 20, 1024)),
            storm=chance.choice(((4, 3, 8), (8, 6, 30), (32, 64, 4096))),
            periods=chance.choice(((16, 4, 16, 3), (64, 20, 40, 8), (64, 512, 8192, 64))),
            sessions=chance.choice((2, 4096)),
            split=chance.choice((100, 100, 300, 1 << 18)),
        )


@contextmanager
def in_force(limits: SmallLimits) -> Iterator[None]:
    """Let these limits hold for runs inside the block."""
    window, first, longest, trial = limits.periods
    places: list[tuple[Any, str, object]] = [
        (applier, "MOST_AHEAD", limits.ahead),
        (applier, "MOST_POSITIONS_AHEAD", limits.ahead),
        (StormGuard.__init__, "__defaults__", limits.storm),
        (Contention.__init__, "__defaults__", (2, window, first, longest)),
        (contention, "_TRIAL", trial),
        (session_order, "_KEPT", limits.sessions),
        (parts, "SPLIT_BYTES", limits.split),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    try:
        for owner, name, value in places:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
