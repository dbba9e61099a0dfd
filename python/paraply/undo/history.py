"""Undos that a target holds already: the rows of its table ``paraply.undo_history``."""

from __future__ import annotations

import getpass
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from paraply.errors import UsageError
from paraply.logs.stop_point import moment_text
from paraply.logs.transaction_set import TransactionSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["HISTORY_TABLE", "EarlierUndo", "HistoryRow", "earlier_undos", "earlier_words", "writer_name"]

HISTORY_TABLE = "paraply.undo_history"
"""Table of the undos, in the target."""

NEWEST = 1000
"""Most rows of the table that are read, newest first."""


class HistoryRow(NamedTuple):
    """A row of the table.

    Attributes:
        id: Its number.
        undone_at: Time of the undo, microseconds since 1970.
        undone_by: User and machine; None in a row of an earlier paraply.
        transactions: The undone transactions as text.
    """

    id: int
    undone_at: int
    undone_by: str | None
    transactions: str


@dataclass(frozen=True, slots=True)
class EarlierUndo:
    """An undo that has transactions in common with the present one.

    Attributes:
        row: Its row in the table.
        common: The transactions that both undo.
    """

    row: HistoryRow
    common: TransactionSet

    def __str__(self) -> str:
        """Return the undo for people."""
        by = f" by {self.row.undone_by}" if self.row.undone_by else ""
        return f"row {self.row.id}, {moment_text(self.row.undone_at)}{by}"

    def as_json(self) -> dict[str, Any]:
        """Return the undo as in the JSON object of the command."""
        return {
            "id": self.row.id,
            "undone_at": moment_text(self.row.undone_at),
            "undone_by": self.row.undone_by,
            "transactions": str(self.common),
        }


def writer_name() -> str:
    """Return the user and the machine of this process, for the table."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container without this user
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def earlier_undos(rows: Iterable[HistoryRow], undone: TransactionSet) -> list[EarlierUndo]:
    """Return the undos that have transactions in common with a set, newest first.

    >>> rows = [HistoryRow(7, 0, None, "0-1-4-6,0-1-9"), HistoryRow(6, 0, None, "2 transactions from ('binlog.000001', 4)")]
    >>> [(found.row.id, str(found.common)) for found in earlier_undos(rows, TransactionSet.parse("", "0-1-5-9"))]
    [(7, '0-1-5-6,0-1-9')]
    """
    found = []
    for row in rows:
        try:
            before = TransactionSet.parse(HISTORY_TABLE, row.transactions)
        except UsageError:  # transactions without GTIDs, or a very long set of which the end is missing
            continue
        if common := before.common(undone):
            found.append(EarlierUndo(row, common))
    return found


def earlier_words(found: Sequence[EarlierUndo]) -> str:
    """Return a sentence about the newest of some undos.

    >>> both = TransactionSet.parse("", "0-1-5")
    >>> earlier_words([EarlierUndo(HistoryRow(7, 0, "ann@db1", "0-1-5"), both)])
    'paraply.undo_history holds an undo of 0-1-5 already (row 7, 1970-01-01T00:00:00.000000Z by ann@db1)'
    """
    newest = found[0]
    names = str(newest.common)
    names = names if len(names) <= 100 else f"{names[:100]}..."
    more = f", and {len(found) - 1} earlier" if len(found) > 1 else ""
    return f"{HISTORY_TABLE} holds an undo of {names} already ({newest}{more})"
