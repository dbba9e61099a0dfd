"""Tables whose transactions hold each other up although they share no key, and are better applied one after the other (R24).

InnoDB locks more than the rows that a transaction changes: at the check for duplicates in a secondary unique index, and at entries
that are marked as deleted, also what stands next to them, and that up to the commit and even at READ COMMITTED. A younger transaction that
has gone in first then keeps an older one out while it waits for its own turn to commit. Each such meeting costs the time until it is
noticed, a rollback and another try. Which values are neighbours in an index cannot be told from the log, so it is learnt by table.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """What is known of one table.

    Attributes:
        first: The block at which the first of the counted meetings was.
        meetings: How many there were since.
        span: For how many blocks it was kept in order last; 0 for never.
        until: The block up to which its width holds, or held.
    """

    first: int = 0
    meetings: int = 0
    span: int = 0
    until: int = 0


class Contention:
    """Decides which tables are kept in order, and for how long.

    A table is kept in order after several meetings within a few blocks, for some blocks. Then it is tried again with two of its
    transactions at once, then with four, then with all. Where a meeting comes soon, one is enough, and the time is twice as long.

    Args:
        meetings: Meetings within ``window`` blocks after which a table is kept in order.
        window: See there.
        first: Blocks for which it is kept in order the first time.
        longest: Most blocks.

    >>> contention = Contention(first=256)
    >>> contention.met(["d.t"], 10), contention.met(["d.t"], 12), contention.widths
    (False, True, {'d.t': 1})
    >>> contention.relax(12 + 256), contention.relax(12 + 257), contention.widths
    (False, True, {'d.t': 2})
    >>> contention.met(["d.t"], 300), contention.widths, contention.relax(300 + 513), contention.widths
    (True, {'d.t': 1}, True, {'d.t': 2})
    """

    def __init__(self, meetings: int = _MEETINGS, window: int = _WINDOW, first: int = _FIRST, longest: int = _LONGEST) -> None:
        self._mutex = threading.Lock()
        self._meetings = meetings
        self._window = window
        self._first = first
        self._longest = longest
        self._tables: dict[str, _Table] = {}
        self.widths: dict[str, int] = {}
        """How many transactions of a table are applied at once now, of tables where that is bounded; another object at each change."""

    def met(self, tables: Iterable[str], number: int) -> bool:
        """Count that a transaction of these tables had to be rolled back because of a lock; any thread may call it.

        Args:
            tables: The tables.
            number: The newest block that was handed out.

        Returns:
            Whether ``widths`` has changed.
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
        """Widen the tables whose time is over.

        Args:
            number: The block that is the oldest one under way.

        Returns:
            Whether ``widths`` has changed.
        """
        if not self.widths:
            return False
        with self._mutex:
            over = {name: width * 2 for name, width in self.widths.items() if self._tables[name].until < number}
            for name in over:
                self._tables[name].until = number + _TRIAL
            self.widths = {name: width for name, width in (self.widths | over).items() if width <= _WIDEST}
            return bool(over)
