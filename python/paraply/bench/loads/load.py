"""A load of a bench: a schema, initial rows, and transactions drawn by a session with a seed.

A transaction is a list of statements; its random choices depend only on the seed and the session's number. The server decides how
sessions interleave.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["DATABASE", "Load", "Session", "rows"]

DATABASE = "paraply_load"
_BLOCK = 500
_SPAN = 10_000_000


@dataclass(slots=True)
class Session:
    """A client session of a load.

    Attributes:
        number: Number from 1; each session gives its new rows numbers of its own.
        draw: Random number generator of the session.
        made: Number of rows that it has numbered.
    """

    number: int
    draw: random.Random
    made: int = 0

    @property
    def newest(self) -> int:
        """Number of its last new row; before the first one, an unused number."""
        return self.number * _SPAN + self.made

    def next(self) -> int:
        """Return a number for a new row."""
        self.made += 1
        return self.newest

    def own(self) -> int | None:
        """Return the number of a random row of the session; None before the first."""
        return self.number * _SPAN + self.draw.randint(1, self.made) if self.made else None


@dataclass(frozen=True, slots=True)
class Load:
    """A load: schema, initial rows, and the sessions' transactions.

    Attributes:
        name: Name in ``--loads``.
        title: Title in tables.
        share: Transactions of this load for each requested one; large transactions are fewer.
        schema: Statements that make the tables, separated by semicolons; ``{collation}`` stands for one that ignores case and accents.
        fill: Returns the statements that insert the initial rows, each a transaction.
        transaction: Returns a session's next transaction.
    """

    name: str
    title: str
    share: float
    schema: str
    fill: Callable[[], Iterator[str]]
    transaction: Callable[[Session], list[str]]

    def count(self, transactions: int) -> int:
        """Return the number of transactions of this load for a requested number.

        >>> Load("some", "some", 0.1, "", lambda: iter(()), lambda session: []).count(25_000)
        2500
        """
        return max(1, round(transactions * self.share))

    def session(self, number: int, seed: int) -> Iterator[list[str]]:
        """Yield the endless transactions of one session.

        >>> load = Load("some", "some", 1, "", lambda: iter(()), lambda session: [f"DELETE FROM t WHERE id={session.draw.randrange(9)}"])
        >>> next(load.session(1, seed=7)) == next(load.session(1, seed=7))
        True
        """
        session = Session(number, random.Random(seed * 1000 + number))
        while True:
            yield self.transaction(session)


def rows(table: str, values: Sequence[str]) -> Iterator[str]:
    """Yield inserts in portions.

    >>> list(rows("t", ["(1)", "(2)"]))
    ['INSERT INTO t VALUES (1),(2)']
    """
    for first in range(0, len(values), _BLOCK):
        yield f"INSERT INTO {table} VALUES {','.join(values[first : first + _BLOCK])}"
