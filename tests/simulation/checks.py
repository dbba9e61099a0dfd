"""Checks after every commit, and at the end of every run of the applier."""

from __future__ import annotations

import random

from simulation.database import Commit, Database, Fault
from simulation.history import History, Place, Row, State, place_of
from simulation.target import Stored

__all__ = ["Watch"]


FIRST_COMMITS = 2
"""Commits of each run after which the progress is checked in any case, because they follow what an earlier run left."""


class Watch:
    """The states that readers of the target see, from the first commit on.

    Args:
        history: The source's transactions.
        chance: Decides which commits are checked in full.
        newest: True if the newest version of a row wins, whatever the order of commits is.
    """

    def __init__(self, history: History, chance: random.Random, *, newest: bool = False) -> None:
        self.history = history
        self._chance = chance
        self._newest = newest
        self._before = self._sessions(history)
        self.seen: set[int] = set()
        self.left: frozenset[int] = frozenset()
        """Transactions that earlier runs committed, perhaps with gaps."""
        self.ordered = True
        """True while commits must keep the source's order."""
        self.neighbours = False
        """True while a commit may only pass one that is applied and about to be sent."""
        self.applied: set[int] = set()
        self.database: Database | None = None
        self._low = 0
        self._fresh = FIRST_COMMITS

    @staticmethod
    def _sessions(history: History) -> dict[int, int]:
        """Return the transaction before each one in its session."""
        last: dict[tuple[int, int], int] = {}
        found: dict[int, int] = {}
        for transaction in history.transactions:
            found[transaction.number] = last.get(transaction.session, 0)
            last[transaction.session] = transaction.number
        return found

    def restart(self) -> None:
        """Take over what the database holds after a restart."""
        assert self.database is not None
        self.seen = set(self.database.committed())
        self.left = frozenset(self.seen)
        self._low = 0
        self._fresh = FIRST_COMMITS
        self.applied.clear()
        self._raise()

    def _raise(self) -> None:
        while self._low + 1 in self.seen:
            self._low += 1

    def committed(self, commit: Commit) -> None:
        """Check a commit at the moment when readers see it.

        Raises:
            Fault: It is not what was promised.
        """
        seen, numbers = self.seen, commit.numbers
        if numbers != sorted(set(numbers)):
            raise Fault(f"a commit holds {numbers}")
        if not seen.isdisjoint(numbers):
            raise Fault(f"committed twice: {sorted(seen.intersection(numbers))}")
        for number in numbers:
            if self.ordered and number != self._low + 1:
                raise Fault(f"{number} is committed before {self._low + 1}")
            if self.neighbours and (late := set(range(self._low + 1, number)) - seen - self.applied):
                raise Fault(f"{number} is committed before {sorted(late)[:5]}, which are not even applied")
            before = self._before[number]
            if before and before not in seen:
                raise Fault(f"{number} is committed before {before} of the same session")
            needed = self.history.transactions[number - 1]
            if missing := ({needed.statement} - {0} if self._newest else needed.needs) - seen:
                raise Fault(f"{number} is committed before {sorted(missing)}, on which it depends")
            seen.add(number)
            self._raise()
        self._fresh -= 1
        if self._fresh >= 0 or self._chance.random() < 0.05:
            self.check_progress()

    def check_progress(self) -> None:
        """Check that the stored progress is exactly what is committed.

        Raises:
            Fault: It is not.
        """
        assert self.database is not None
        if self.stored_numbers(Stored(self.database)) != self.seen:
            raise Fault(
                f"the progress says {sorted(self.stored_numbers(Stored(self.database)) ^ self.seen)} in another way than the commits"
            )

    def stored_numbers(self, stored: Stored) -> frozenset[int]:
        """Return the numbers of the transactions that a progress names.

        Raises:
            Fault: It names one that the history does not have.
        """
        if self.history.shape.gtids != "none":
            executed = stored.executed().gtids
            known = frozenset(one.number for one in self.history.transactions if one.gtid in executed)
            if len(executed) != len(known):
                raise Fault(f"the progress says {executed}, of which the history has {sorted(known)}")
            return known
        places, by_end = stored.places(), self.history.by_end
        low = by_end[places.offset] if places.offset else 0
        return frozenset((*range(1, low + 1), *(by_end[offset] for _, offset in places.done)))

    def check_snapshot(self, seen: frozenset[int]) -> None:
        """Check that a reader may see these transactions, and no others.

        Raises:
            Fault: The consistency level promises another state.
        """
        if self.ordered:
            low = next(number for number in range(1, len(self.history.transactions) + 2) if number not in seen) - 1
            if ahead := [number for number in seen if number > low and number not in self.left]:
                raise Fault(f"a reader sees {min(ahead)} without {low + 1}")
        for number in seen:
            if self._before[number] and self._before[number] not in seen:
                raise Fault(f"a reader sees {number} without {self._before[number]} of the same session")
            if missing := self.history.transactions[number - 1].needs - seen:
                raise Fault(f"a reader sees {number} without {sorted(missing)}, on which it depends")

    def _check_newest(self, rows: State) -> None:
        """Check rows whose newest version wins: a row that was never deleted is the newest one, and each is one that a writer left."""
        versions: dict[Place, list[Row | None]] = {}
        for number in sorted(self.seen):
            for change in self.history.transactions[number - 1].changes:
                row = change.after or change.before
                assert row is not None
                versions.setdefault(place_of(change.table, row), []).append(change.after)
        for place, written in versions.items():
            found = rows.get(place)
            if found not in written or (None not in written and found != written[-1]):
                raise Fault(f"{place} is {found}, and its writers left {written}")
        if strange := rows.keys() - versions.keys():
            raise Fault(f"rows that nobody wrote: {sorted(strange)[:5]}")

    def check_end(self, *, complete: bool) -> None:
        """Check rows, progress and locks after a run.

        Raises:
            Fault: They are not those of a serial apply.
        """
        database = self.database
        assert database is not None
        expected = self.history.serial(self.seen)
        rows = database.visible_rows()
        if complete and database.prepared:
            raise Fault(f"parts are left prepared: {list(database.prepared)}")
        if self._newest:
            self._check_newest(rows)
        elif rows != expected:
            differ = [place for place in {*rows, *expected} if rows.get(place) != expected.get(place)]
            raise Fault(f"rows differ from a serial apply: {sorted(differ)[:5]}")
        self.check_progress()
        if complete and len(self.seen) != len(self.history.transactions):
            raise Fault(f"lost: {sorted({*range(1, len(self.history.transactions) + 1)} - self.seen)[:9]}")
