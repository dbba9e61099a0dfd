"""Statements that change tables, as rows beside the row changes of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from paraply.logs.statement_text import decode_logged
from paraply.schema.ddl.change import (
    AlterTable,
    CreateTable,
    DropDatabase,
    DropTable,
    RenameTable,
    TruncateTable,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Transaction
    from paraply.analysis.carried.plan import TablePlan
    from paraply.analysis.table_versions import LogPlace
    from paraply.logs.feed import FeedItem
    from paraply.schema.ddl.change import SchemaChange

__all__ = [
    "OPERATIONS",
    "ChosenTables",
    "PlannedTable",
    "StatementRow",
    "TableChoice",
    "changed_tables",
    "statement_rows",
    "statement_text",
    "tables_in",
]

OPERATIONS = ("create", "alter", "rename", "truncate", "drop", "drop database", "unknown")
"""Operations of statements."""


@dataclass(frozen=True, slots=True)
class StatementRow:
    """Change of one table by a statement.

    Attributes:
        position: Position of the transaction.
        transaction: The transaction.
        row: Number of the change in its transaction.
        database: The database.
        table: The table; of a rename the old name; empty if all tables of the database may be concerned.
        operation: One of ``OPERATIONS``.
        statement: Text of the transaction's statements.
    """

    position: int
    transaction: Transaction
    row: int
    database: str
    table: str
    operation: str
    statement: str

    def values(self) -> dict[str, Any]:
        """Return the values of the columns of a row change."""
        of = self.transaction
        return {
            "position": self.position, "gtid": of.gtid or "", "committed_at": of.committed_at, "server_id": of.server_id,
            "session": of.session, "database": self.database, "table": self.table, "operation": self.operation, "row": self.row,
            "file": of.file, "offset": of.offset, "transaction_offset": of.offset, "absent": [], "statement": self.statement,
        }  # fmt: skip


def statement_text(transaction: Transaction) -> str:
    """Return the text of a transaction's statements, with semicolons between them."""
    return "; ".join(decode_logged(statement, transaction) for statement in transaction.statements)


def changed_tables(changes: Sequence[SchemaChange]) -> list[tuple[str, str, str]]:
    """Return database, table and operation of each changed table.

    A change of foreign keys that follows from another table's change is left out.

    >>> changed_tables([TruncateTable("shop", "orders"), DropTable("shop", "tag")])
    [('shop', 'orders', 'truncate'), ('shop', 'tag', 'drop')]
    """
    found: list[tuple[str, str, str]] = []
    for change in changes:
        match change:
            case CreateTable(table=table):
                found.append((table.database, table.name, "create"))
            case AlterTable(old=old, new=new, consequence=False):
                found.append((old.database, old.name, "alter"))
                if (old.database, old.name) != (new.database, new.name):
                    found.append((old.database, old.name, "rename"))
            case RenameTable(old_database=database, old_name=name):
                found.append((database, name, "rename"))
            case DropTable(database=database, name=name):
                found.append((database, name, "drop"))
            case TruncateTable(database=database, name=name):
                found.append((database, name, "truncate"))
            case DropDatabase(database=database):
                found.append((database, "", "drop database"))
            case Unknown(tables=tables, databases=databases, everything=everything):
                found += [(database, name, "unknown") for database, name in tables]
                found += [(database, "", "unknown") for database in (("",) if everything else databases)]
            case _:
                pass
    return found


def tables_in(changes: Sequence[SchemaChange]) -> list[str]:
    """Return ``database.table`` of each table that a statement changes, under its old and its new name.

    >>> tables_in([DropTable("shop", "tag")])
    ['shop.tag']
    """
    names = [f"{database}.{table}" for database, table, _ in changed_tables(changes) if table]
    for change in changes:
        if isinstance(change, RenameTable):
            names.append(change.table.full_name)
        elif isinstance(change, AlterTable) and not change.consequence:
            names.append(change.new.full_name)
    return list(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class ChosenTables:
    """Databases and tables by name; all if none is named.

    Attributes:
        databases: Whole databases.
        tables: Single tables, as database and table.
    """

    databases: frozenset[str] = frozenset()
    tables: frozenset[tuple[str, str]] = frozenset()

    def chooses(self, database: str, table: str) -> bool:
        """Return True if a statement about a table is about a chosen one; without names, it may be about any table.

        >>> chosen = ChosenTables(tables=frozenset({("shop", "tag")}))
        >>> chosen.chooses("shop", "tag"), chosen.chooses("shop", "orders"), chosen.chooses("shop", ""), chosen.chooses("hr", "")
        (True, False, True, False)
        """
        if not (self.databases or self.tables) or database in self.databases or not database:
            return True
        return (database, table) in self.tables or (not table and any(database == of for of, _ in self.tables))


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """The only table of a plan, at one statement.

    Attributes:
        plan: The plan.
        place: Place of the statement.
    """

    plan: TablePlan
    place: LogPlace

    def chooses(self, database: str, table: str) -> bool:
        """Return True if the statement is about this table, and not about another one that has, or had, one of its names."""
        spans = [span for span in self.plan.spans if span.holds(self.place)]
        return not database or any(database == span.name[0] and table in ("", span.name[1]) for span in spans)


class TableChoice(Protocol):
    """Choice of tables at a statement."""

    def chooses(self, database: str, table: str) -> bool:
        """Return True if a statement about a table is about a chosen one."""


def statement_rows(item: FeedItem, tables: TableChoice) -> Iterator[StatementRow]:
    """Yield the changes of chosen tables by the statement at the end of a batch.

    A statement that may concern any table of a database, or of all, is of every chosen table.

    Args:
        item: The batch, with the changes of its last transaction.
        tables: The chosen tables.
    """
    if not item.changes:
        return
    last = len(item.batch) - 1
    transaction, position = item.batch[last], item.batch.positions[last]
    chosen = [change for change in changed_tables(item.changes) if tables.chooses(*change[:2])]
    if not chosen:
        return
    text = statement_text(transaction)
    for row, (database, table, operation) in enumerate(chosen):
        yield StatementRow(position, transaction, row, database, table, operation, text)
