"""Tables whose transactions block each other although they share no key, and are better applied one after the other (R24).

InnoDB locks more than the rows that a transaction changes. The check for duplicates in a secondary unique index, and entries marked
as deleted, also lock neighbouring entries, up to the commit and even at READ COMMITTED. A younger transaction that has written its rows
first then blocks an older one while it waits for its own turn to commit. Each such conflict costs the time until it is noticed, a
rollback and another try. Neighbours in an index cannot be derived from the log, so conflicts are counted for each table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply._native import Block

__all__ = ["Contention", "tables_of"]

_MEETINGS = 2
_WINDOW = 64
_FIRST = 512
_LONGEST = 8192
_TRIAL = 64
_WIDEST = 4


def tables_of(block: Block) -> frozenset[str]:
    """Return the names of the tables that a block changes, with their databases."""
    return frozenset(table for transaction in block.transactions for table in transaction.tables)


@dataclass(slots=True)
class _Table:
    """Conflict history of one table.

    Attributes:
        first: Block of the first counted conflict.
        meetings: Number of conflicts since then.
        span: Length in blocks of its last period in order; 0 for never.
        until: Last block of the present or last period.
    """

    first: int = 0
    meetings: int = 0
    span: int = 0
    until: int = 0


class Contention:
    """Choice of the tables to keep in order, and of the time.

    A table is kept in order for some blocks after several conflicts within a few blocks. Then two of its transactions are tried at
    once, then four, then all. If a conflict follows soon, one is enough, and the period doubles.

    Args:
        meetings: Conflicts within ``window`` blocks after which a table is kept in order.
        window: Length in blocks of the period in which conflicts are counted.
        first: Length in blocks of the first period in order.
        longest: Most blocks of a period.

    >>> contention = Contention(first=256)
    >>> contention.met(["d.t"], 10), contention.met(["d.t"], 12), contention.widths
    (False, True, {'d.t': 1})
    >>> contention.relax(12 + 256), contention.relax(12 + 257), contention.widths
    (False, True, {'d.t': 2})
    >>> contention.met(["d.t"], 300), contention.widths, contention.relax(300 + 513), contention.widths
    (True, {'d.t': 1}, True, {'d.t': 2})
    """

    def __init__(self, meetings: int = _MEETINGS, window: int = _WINDOW, first: int = _FIRST, longest: int = _LONGEST) -> None:
        self._mutex = runtime.lock()
        self._meetings = meetings
        self._window = window
        self._first = first
        self._longest = longest
        self._tables: dict[str, _Table] = {}
        self.widths: dict[str, int] = {}
        """Limits for the number of a table's transactions applied at once, for limited tables; replaced by a new object at each change."""

    def met(self, tables: Iterable[str], number: int) -> bool:
        """Count a rollback of a transaction of these tables because of a lock; may be called from any thread.

        Args:
            tables: The tables.
            number: The newest block that was handed out.

        Returns:
            True if ``widths`` has changed.
        """
        with self._mutex:
            found = [table for table in tables if self.widths.get(table) != 1 and self._is_enough(table, number)]
            self.widths = self.widths | dict.fromkeys(found, 1)
            return bool(found)

    def _is_enough(self, name: str, number: int) -> bool:
        table = self._tables.setdefault(name, _Table())
        if number - table.first > self._window:
            table.first, table.meetings = number, 0
        table.meetings += 1
        again = table.span > 0 and number - table.until <= table.span
        if not again and table.meetings < self._meetings:
            return False
        table.span = min(self._longest, table.span * 2) if again else self._first
        table.until, table.meetings = number + table.span, 0
        return True

    def relax(self, number: int) -> bool:
        """Raise the limit of each table whose period is over.

        Args:
            number: The oldest unfinished block.

        Returns:
            True if ``widths`` has changed.
        """
        if not self.widths:
            return False
        with self._mutex:
            over = {name: width * 2 for name, width in self.widths.items() if self._tables[name].until < number}
            for name in over:
                self._tables[name].until = number + _TRIAL
            self.widths = {name: width for name, width in (self.widths | over).items() if width <= _WIDEST}
            return bool(over)
