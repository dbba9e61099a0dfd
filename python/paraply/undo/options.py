"""Options and the report of an undo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from paraply._native import TableFilter
from paraply.logs.stop_point import moment_text

if TYPE_CHECKING:
    from paraply._native import SkippedRow
    from paraply.logs.transaction_set import TransactionSet
    from paraply.schema.model import Table
    from paraply.undo.history import EarlierUndo

__all__ = ["Dependent", "Dependents", "UndoOptions", "UndoReport", "everything"]

Dependents = Literal["stop", "include", "keep"]

OWN_DATABASE = "paraply"
"""Database of the progress of channels, which is never undone."""
NAMED = 1000
"""Most dependents, and most kept rows, that are listed; the others are counted."""


@dataclass(frozen=True, slots=True)
class UndoOptions:
    """Transactions to undo, and what to do about others.

    Attributes:
        transactions: GTIDs of the transactions; None with ``between``.
        between: Commit times from which and before which, microseconds since 1970; None with ``transactions``.
        tables: Tables whose changes are undone; None for all.
        dependents: ``stop``, ``include`` or ``keep``.
        channel: Channel of a PostgreSQL target, which holds the source's definitions.
        schema: Definitions valid at the start of the log, for tables that the target does not tell.
    """

    transactions: TransactionSet | None = None
    between: tuple[int, int] | None = None
    tables: TableFilter | None = None
    dependents: Dependents = "stop"
    channel: str = "default"
    schema: tuple[Table, ...] = ()

    @property
    def chosen(self) -> TableFilter:
        """Filter of the tables that are undone."""
        return self.tables or everything()


def everything() -> TableFilter:
    """Return the filter of all tables but paraply's own."""
    return TableFilter((), (), (OWN_DATABASE,))


@dataclass(frozen=True, slots=True)
class Dependent:
    """A later transaction that depends on an undone one.

    Attributes:
        gtid: Its GTID; None without one.
        committed_at: Commit time, microseconds since 1970.
        file: Its log file.
        position: Offset of its first event.
        tables: Tables that it changes.
        keys: Some of the keys that it has in common with undone transactions.
    """

    gtid: str | None
    committed_at: int | None
    file: str
    position: int
    tables: tuple[str, ...]
    keys: tuple[str, ...]

    def __str__(self) -> str:
        """Return the transaction and its keys for people."""
        who = self.gtid or f"{self.file}:{self.position}"
        when = f" of {moment_text(self.committed_at)}" if self.committed_at is not None else ""
        return f"{who}{when}: {'; '.join(self.keys) or 'rows of ' + ', '.join(self.tables)}"

    def as_json(self) -> dict[str, Any]:
        """Return the transaction as in the JSON object of the command."""
        return {
            "gtid": self.gtid,
            "committed_at": None if self.committed_at is None else moment_text(self.committed_at),
            "file": self.file,
            "position": self.position,
            "tables": list(self.tables),
            "keys": list(self.keys),
        }


@dataclass(slots=True)
class UndoReport:
    """Result of an undo.

    Attributes:
        transactions: Number of undone transactions, with dependents that are taken along.
        rows: Rows changed back, by table.
        dependents: The first dependents.
        dependent_count: Number of all dependents.
        kept_rows: Table and key of the first rows that stay as kept dependents left them.
        kept_count: Number of all such rows.
        applied: True if the target was changed.
        seconds: Duration of the target's transaction.
        earlier: Undos of the same transactions that the target holds already, newest first.
    """

    transactions: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    dependents: list[Dependent] = field(default_factory=list)
    dependent_count: int = 0
    kept_rows: list[SkippedRow] = field(default_factory=list)
    kept_count: int = 0
    applied: bool = False
    seconds: float = 0.0
    earlier: list[EarlierUndo] = field(default_factory=list)

    @property
    def row_count(self) -> int:
        """Number of rows changed back."""
        return sum(self.rows.values())

    def add_dependent(self, dependent: Dependent) -> None:
        """Count a dependent, and keep it if it is among the first."""
        self.dependent_count += 1
        if len(self.dependents) < NAMED:
            self.dependents.append(dependent)

    def add_kept(self, rows: list[SkippedRow]) -> None:
        """Count rows that stay, and keep the first."""
        self.kept_count += len(rows)
        self.kept_rows += rows[: NAMED - len(self.kept_rows)]

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the command's JSON object."""
        return {
            "transactions": self.transactions,
            "rows": self.row_count,
            "tables": dict(self.rows),
            "dependents": [dependent.as_json() for dependent in self.dependents],
            "dependent_count": self.dependent_count,
            "kept_rows": [row._asdict() for row in self.kept_rows],
            "kept_count": self.kept_count,
            "applied": self.applied,
            "undo_seconds": round(self.seconds, 3),
            "earlier_undos": [undo.as_json() for undo in self.earlier],
        }
