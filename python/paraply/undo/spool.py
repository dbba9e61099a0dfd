"""Statements of an undo on disk: written in the log's order, read from the newest transaction to the oldest."""

from __future__ import annotations

import json
import tempfile
from array import array
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import KeyCheck, RowStatement

__all__ = ["Change", "Check", "Spool", "open_spool"]


class Change(NamedTuple):
    """One statement.

    Attributes:
        gtid: GTID of its transaction, or an empty text.
        kind: ``insert``, ``update`` or ``delete``.
        table: The table.
        sql: The text.
        keys: The key of each row; as many rows must be affected.
        conditions: Conditions of the rows, if it changes several without ``fill``.
        fill: Statement before it that puts the rows into a table of the session; None if the text holds them.
        clear: Statement after it that empties that table.
        search: Query for the number of the first row that it would not find.
    """

    gtid: str
    kind: str
    table: str
    sql: str
    keys: list[str]
    conditions: list[str]
    fill: str | None = None
    clear: str | None = None
    search: str | None = None

    @property
    def texts(self) -> list[str]:
        """The statements to run, of which the one at ``place`` must affect the rows."""
        return [self.sql] if self.fill is None or self.clear is None else [self.fill, self.sql, self.clear]

    @property
    def place(self) -> int:
        """Index of the statement that must affect the rows."""
        return 0 if self.fill is None else 1


class Check(NamedTuple):
    """A query after all statements that returns a row if a foreign key is broken.

    Attributes:
        child: The child table.
        parent: The parent table.
        sql: The text.
    """

    child: str
    parent: str
    sql: str


@contextmanager
def open_spool() -> Iterator[Spool]:
    """Make a spool for a ``with`` block; its files have no name in the file system."""
    with ExitStack() as stack:
        yield Spool(*(stack.enter_context(tempfile.TemporaryFile(prefix="paraply-undo-")) for _ in range(2)))


class Spool:
    """Files of statements and checks. A transaction's statements are in the order in which they are run.

    Args:
        statements: An empty file for the statements.
        checks: An empty file for the checks.
    """

    def __init__(self, statements: IO[bytes], checks: IO[bytes]) -> None:
        self._statements = Records(statements)
        self._checks = Records(checks)
        self._starts = array("Q")

    @property
    def transactions(self) -> int:
        """Number of transactions with statements."""
        return len(self._starts)

    @property
    def has_checks(self) -> bool:
        """True if there are checks."""
        return self._checks.end > 0

    def begin(self, gtid: str | None) -> None:
        """Begin the next transaction."""
        self._starts.append(self._statements.end)
        self._statements.write(gtid or "")

    def add(self, statements: Sequence[RowStatement]) -> None:
        """Append statements of the transaction."""
        for found in statements:
            conditions = [condition.decode() for condition in found.conditions]
            fill = None if found.fill is None else found.fill.decode()
            record = (found.kind, found.table, found.sql.decode(), found.keys, conditions, fill, found.clear, found.search)
            self._statements.write(record)

    def add_checks(self, checks: Sequence[KeyCheck]) -> None:
        """Append checks."""
        for check in checks:
            self._checks.write((check.child, check.parent, check.sql.decode()))

    def backwards(self) -> Iterator[Change]:
        """Yield the statements, newest transaction first."""
        end = self._statements.end
        for start in reversed(self._starts):
            records = self._statements.read(start, end)
            gtid = next(records)
            for statement in records:
                yield Change(gtid, *statement)
            end = start

    def checks(self) -> Iterator[Check]:
        """Yield the checks."""
        for check in self._checks.read(0, self._checks.end):
            yield Check(*check)


class Records:
    """File of values, each with its length before it.

    Args:
        file: The empty file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.end = 0
        """Offset after the last value."""

    def write(self, value: Any) -> None:
        """Append a value."""
        data = json.dumps(value, ensure_ascii=False).encode()
        self._file.write(len(data).to_bytes(4, "big"))
        self._file.write(data)
        self.end += 4 + len(data)

    def read(self, start: int, end: int) -> Iterator[Any]:
        """Yield the values between two offsets; others may be read meanwhile."""
        place = start
        while place < end:
            self._file.seek(place)
            size = int.from_bytes(self._file.read(4), "big")
            yield json.loads(self._file.read(size))
            place += 4 + size
