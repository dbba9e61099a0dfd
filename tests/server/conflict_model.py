"""A plain model of ``--on-conflict``: one table, its changes on the source, and what a target that differs becomes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["TABLE", "Change", "History", "Row", "Target", "values"]

TABLE = "CREATE TABLE shop.item (id INT NOT NULL PRIMARY KEY, sku INT NULL UNIQUE, name VARCHAR(20) NOT NULL)"


class Row(NamedTuple):
    """A row of the table."""

    id: int
    sku: int | None
    name: str


class Change(NamedTuple):
    """A row before and after a change."""

    before: Row | None
    after: Row | None

    @property
    def sql(self) -> str:
        """The statement of the source."""
        if self.before is None:
            assert self.after is not None
            return f"INSERT INTO shop.item VALUES {values(self.after)}"
        if self.after is None:
            return f"DELETE FROM shop.item WHERE id={self.before.id}"
        new = self.after
        sku = "NULL" if new.sku is None else str(new.sku)
        return f"UPDATE shop.item SET id={new.id}, sku={sku}, name='{new.name}' WHERE id={self.before.id}"


def values(row: Row) -> str:
    """Return a row as SQL."""
    return f"({row.id}, {'NULL' if row.sku is None else row.sku}, '{row.name}')"


def fits(rows: dict[int, Row], new: Row, *, instead_of: int | None) -> bool:
    """Return True if the row can be in the table in place of another one."""
    others = [row for row in rows.values() if row.id != instead_of]
    return all(row.id != new.id and (row.sku is None or row.sku != new.sku) for row in others)


@dataclass
class History:
    """Random transactions on the source."""

    seed: int
    first: list[Row] = field(default_factory=list)
    transactions: list[list[Change]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the transactions."""
        draw = random.Random(self.seed)
        rows = {number: Row(number, number + 100, f"first {number}") for number in range(1, 25)}
        self.first = list(rows.values())
        for _ in range(40):
            changes: list[Change] = []
            while len(changes) < draw.choice([1, 1, 2, 3, 5]):
                change = self._change(draw, rows, f"{self.seed}.{len(self.transactions)}.{len(changes)}")
                if change is not None:
                    changes.append(change)
            self.transactions.append(changes)

    @staticmethod
    def _change(draw: random.Random, rows: dict[int, Row], name: str) -> Change | None:
        number = draw.randrange(1, 40)
        old = rows.get(number)
        sku = draw.choice([None, draw.randrange(100, 145)])
        if old is None:
            new = Row(number, sku, name)
        elif draw.random() < 0.3:
            del rows[number]
            return Change(old, None)
        else:
            new = Row(draw.choice([number, number, number, draw.randrange(1, 40)]), draw.choice([old.sku, sku]), name)
        if new == old or not fits(rows, new, instead_of=number if old is not None else None):
            return None
        rows.pop(number, None)
        rows[new.id] = new
        return Change(old, new)


class Target:
    """A target that someone has changed.

    Args:
        first: The source's rows at the start of the log.
        seed: Seed of the changes by others; None for none.
    """

    def __init__(self, first: list[Row], seed: int | None = None) -> None:
        self.rows = {row.id: row for row in first}
        self.conflicts: list[tuple[str, str, str, int]] = []
        """Operation, cause, outcome and key of each conflict."""
        if seed is not None:
            self._differ(random.Random(seed))

    def _differ(self, draw: random.Random) -> None:
        for _ in range(14):
            number = draw.randrange(1, 40)
            kind = draw.choice(["delete", "change", "add"])
            if kind == "delete":
                self.rows.pop(number, None)
                continue
            new = Row(number, draw.choice([None, draw.randrange(100, 145)]), f"other {number}")
            if (kind == "change") == (number in self.rows) and fits(self.rows, new, instead_of=number):
                self.rows[number] = new

    def apply(self, transactions: list[list[Change]], mode: str) -> None:
        """Apply transactions one after the other."""
        for change in (change for transaction in transactions for change in transaction):
            self._apply(change, overwrite=mode == "overwrite")

    def _apply(self, change: Change, *, overwrite: bool) -> None:
        old, new = change
        if old is None:
            assert new is not None
            if fits(self.rows, new, instead_of=None):
                self.rows[new.id] = new
            else:
                self._note("insert", "duplicate key", self._put(new, "replaced") if overwrite else "left", new)
        elif old.id not in self.rows:
            if new is None:
                self._note("delete", "missing row", "none" if overwrite else "left", old)
            else:
                self._note("update", "missing row", self._put(new, "inserted") if overwrite else "left", old)
        elif new is None:
            del self.rows[old.id]
        elif fits(self.rows, new, instead_of=old.id):
            del self.rows[old.id]
            self.rows[new.id] = new
        else:
            self._note("update", "duplicate key", "left", old)

    def _put(self, new: Row, done: str) -> str:
        if not fits(self.rows, new, instead_of=new.id):
            return "left"
        done = "replaced" if new.id in self.rows else done
        self.rows[new.id] = new
        return done

    def _note(self, operation: str, cause: str, outcome: str, row: Row) -> None:
        self.conflicts.append((operation, cause, outcome, row.id))
