"""The first reading of a log: which transactions are chosen, and which statements come after them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply._native import LogReader, look_ahead
from paraply.applier.selection.filters import Filters, names_not_in_logs
from paraply.errors import UndoRefused, UsageError
from paraply.logs.statement_text import decode_statement
from paraply.logs.stop_point import moment_text
from paraply.logs.transaction_set import TransactionSet
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, TruncateTable, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply._native import Transaction
    from paraply.undo.options import UndoOptions

__all__ = ["CHOSEN", "WHOLE", "Choice", "LoggedStatement", "choose"]

CHOSEN = 1
"""Mark of a transaction of which the chosen tables are undone."""
WHOLE = 2
"""Mark of a transaction that is undone with all its tables."""

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement after the first chosen transaction.

    Attributes:
        text: Its beginning.
        gtid: GTID of its transaction.
        committed_at: Commit time, microseconds since 1970.
        file: The log file.
        position: Offset of its transaction.
        tables: Tables that it changes.
        databases: Databases of which it may change every table.
        everything: True if it may change any table.
    """

    text: str
    gtid: str | None
    committed_at: int | None
    file: str
    position: int
    tables: frozenset[tuple[str, str]]
    databases: frozenset[str]
    everything: bool

    def changes(self, table: tuple[str, str]) -> bool:
        """Return True if it may change a table."""
        return self.everything or table in self.tables or table[0] in self.databases


@dataclass(slots=True)
class Choice:
    """Chosen transactions of a log.

    Attributes:
        marks: A mark for each transaction of the log, in order.
        first: File and offset of the first chosen transaction; None without one.
        statements: Statements after it.
        gtids: GTIDs of the chosen transactions.
    """

    marks: bytearray = field(default_factory=bytearray)
    first: tuple[str, int] | None = None
    statements: list[LoggedStatement] = field(default_factory=list)
    gtids: TransactionSet = field(default_factory=TransactionSet)

    def refuse_changed(self, tables: Iterable[tuple[str, str]]) -> None:
        """Refuse tables that a later statement changed.

        Raises:
            UndoRefused: There is such a statement; the message names it.
        """
        for table in tables:
            found = next((statement for statement in self.statements if statement.changes(table)), None)
            if found is not None:
                when = f" of {moment_text(found.committed_at)}" if found.committed_at is not None else ""
                raise UndoRefused(
                    f"a later statement{when} changed the table itself, so that its rows cannot be changed back: {found.text};"
                    " undo what is after the statement, or restore the table beside it",
                    table=".".join(table),
                    gtid=found.gtid,
                    file=found.file,
                    position=found.position,
                )


def choose(paths: Sequence[str], options: UndoOptions) -> Choice:
    """Read a log once, and find the chosen transactions.

    Raises:
        UsageError: There is none, or the log lacks one of the GTIDs, or a named table or database.
        UndoRefused: A chosen transaction is a statement, or part of an XA transaction.
        LogError: The log is damaged or not understood.
    """
    choice = Choice()
    reader = LogReader(list(paths), count_rows=False)
    while (batch := reader.next_batch(4096)) is not None:
        for transaction in batch:
            chosen = _is_chosen(transaction, options)
            choice.marks.append(CHOSEN if chosen else 0)
            if chosen:
                if choice.first is None:
                    choice.first = (transaction.file, transaction.offset)
                if transaction.gtid:
                    choice.gtids.add(transaction.gtid)
            if choice.first is not None and transaction.statements and not chosen:
                choice.statements += _statements(transaction)
    if options.transactions is not None and (missing := options.transactions.missing(choice.gtids)):
        raise UsageError(f"these logs do not hold {missing}: name the logs from the first of these transactions on")
    if options.tables is not None:
        ahead = look_ahead(list(paths), options.tables)
        if notes := names_not_in_logs(Filters(), ahead.unmatched_databases, ahead.unmatched_tables):
            raise UsageError(f"{'; '.join(notes)}; nothing was changed")
    if choice.first is None:
        raise UsageError("these logs hold no transaction of that time that changed rows of the chosen tables")
    return choice


def _is_chosen(transaction: Transaction, options: UndoOptions) -> bool:
    if options.transactions is not None:
        if not transaction.gtid or transaction.gtid not in options.transactions:
            return False
    elif options.between is not None:
        since, until = options.between
        if transaction.committed_us is None or not since <= transaction.committed_us < until or transaction.kind == "ddl":
            return False
    chosen = options.chosen
    tables = [name for name in transaction.tables if chosen.chooses(*name.split(".", 1))]
    if options.transactions is None and not tables:
        return False
    if transaction.kind not in ("dml", "empty"):
        what = "a statement that is no change of rows" if transaction.kind == "ddl" else "part of an XA transaction or of a group's view"
        raise UndoRefused(
            f"the transaction is {what}, which cannot be undone: leave it out of the set",
            gtid=transaction.gtid,
            file=transaction.file,
            position=transaction.offset,
        )
    return True


def _statements(transaction: Transaction) -> list[LoggedStatement]:
    log = transaction.format
    found = []
    for statement in transaction.statements:
        sql = decode_statement(statement, mariadb=log.mariadb, file=transaction.file)
        tables: set[tuple[str, str]] = set()
        databases: set[str] = set()
        everything = False
        for change in advance(SchemaCatalog(), sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version):
            match change:
                case CreateTable(table=table):
                    tables.add((table.database, table.name))
                case AlterTable(old=old, new=new):
                    tables |= {(old.database, old.name), (new.database, new.name)}
                case RenameTable(old_database=database, old_name=name, table=table):
                    tables |= {(database, name), (table.database, table.name)}
                case DropTable(database=database, name=name) | TruncateTable(database=database, name=name):
                    tables.add((database, name))
                case DropDatabase(database=database):
                    databases.add(database)
                case Unknown(tables=touched, databases=owners, everything=whole):
                    tables |= set(touched)
                    databases |= set(owners)
                    everything = everything or whole
                case _:
                    pass
        text = " ".join(sql.split())
        shown = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
        where = (transaction.gtid, transaction.committed_us, transaction.file, transaction.offset)
        found.append(LoggedStatement(shown, *where, frozenset(tables), frozenset(databases), everything))
    return found
