"""Concurrent readers of the target: what they see after each commit must be what the consistency level promises."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from simulation.database import Fault
from simulation.target import Stored

from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.checks import Watch
    from simulation.database import Database
    from simulation.history import State
    from simulation.threads import Task

__all__ = ["Readers"]

MOST_PAUSE = 12
"""Most steps between a commit and a read."""


class Readers:
    """Threads that read the rows and the progress in one snapshot, again and again while the applier runs.

    At ``any-time`` a snapshot must be a prefix of the source's order, besides what an earlier run left behind a gap. At the weaker levels
    it must hold, with each transaction, all on which that depends and those before it in its session. Its progress must name exactly the
    transactions whose rows it has, and of one reader no snapshot holds less than the one before.

    Args:
        watch: What is known of the history and the level.
        database: The target.
        seed: Decides when they read.
        count: Number of readers.
    """

    def __init__(self, watch: Watch, database: Database, seed: int, count: int) -> None:
        self._watch = watch
        self._database = database
        self._seed = seed
        self._count = count
        self._waiting: list[Task] = []
        self._over = False
        self.reads = 0
        self._last: tuple[frozenset[int], State] = frozenset(), {}

    def during(self, run: Callable[[], None]) -> None:
        """Read while something runs."""
        if not self._count:
            run()
            return
        tasks = [runtime.thread(self._read_on, name=f"reader {number}", args=(number,)) for number in range(self._count)]
        self._database.readers = self._waiting
        for task in tasks:
            task.start()
        try:
            run()
        finally:
            self._over = True
            simulation = self._database.simulation
            if not simulation.abandoned:
                simulation.wake(self._waiting)
                for task in tasks:
                    task.join()
            self._database.readers = []

    def _read_on(self, number: int) -> None:
        chance = random.Random(self._seed * 8 + number)
        simulation, known = self._database.simulation, frozenset[int]()
        while not self._over:
            simulation.wait_in(self._waiting, "a commit", None)
            for _ in range(chance.randint(0, MOST_PAUSE)):
                simulation.step("read")
            known = self._read(known)

    def _read(self, known: frozenset[int]) -> frozenset[int]:
        """Check one snapshot; return the transactions in it."""
        seen = self._watch.stored_numbers(Stored(self._database))
        rows = self._database.visible_rows()
        self.reads += 1
        self._watch.check_snapshot(seen)
        if missing := known - seen:
            raise Fault(f"a reader no longer sees {sorted(missing)}")
        if rows != (expected := self._expected(seen)):
            differ = [place for place in {*rows, *expected} if rows.get(place) != expected.get(place)]
            raise Fault(f"a reader sees other rows than after {_short(seen)}: {sorted(differ)[:5]}")
        return seen

    def _expected(self, seen: frozenset[int]) -> State:
        """Return the rows after a serial apply of these, which begins where that of the last snapshot ended, if all new ones are newer."""
        known, state = self._last
        new = seen - known
        if known <= seen and (not known or not new or min(new) > max(known)):
            found = self._watch.history.serial(new, state)
        else:
            found = self._watch.history.serial(seen)
        self._last = seen, found
        return found


def _short(seen: frozenset[int]) -> str:
    return f"{min(seen, default=0)} to {max(seen, default=0)}, {len(seen)} transactions"
