"""Transactions that are left out by name, and what the tables of the source are because of statements among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, SchemaMismatch
from paraply.logs.statement_text import decode_logged
from paraply.schema.advance import advance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import TableMap, Transaction, TransactionBatch
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Column, Table

__all__ = ["Diverged", "SkipResult", "Skipping"]

TableKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Diverged:
    """A table whose definition in the log and in the target differ since a statement was skipped.

    Attributes:
        database: Database of the table.
        table: Name of the table.
        gtid: GTID of the skipped statement.
    """

    database: str
    table: str
    gtid: str


@dataclass(frozen=True, slots=True)
class _Difference:
    """A difference of a table, in words; empty where the table's definition in the log is not known."""

    text: str
    gtid: str


@dataclass(frozen=True, slots=True)
class SkipResult:
    """Outcome of ``--skip``.

    Attributes:
        asked: The GTIDs of the option.
        transactions: Number of transactions that this run left out.
        missing: GTIDs that are in none of the logs, as far as they were read; empty if there are none.
    """

    asked: str
    transactions: int
    missing: str = ""

    @property
    def missing_note(self) -> str:
        """Note about the missing GTIDs."""
        return f"--skip names transactions that are in none of the logs, as far as they were read: {self.missing}"

    def as_json(self) -> dict[str, object]:
        """Return the JSON object."""
        return {"asked": self.asked, "transactions": self.transactions, "missing": self.missing or None}


class Skipping:
    """Decisions about transactions that are left out by name.

    The definitions of the reader stage follow the statements that run, as the target does. From the first skipped statement on, this class
    follows all statements, as the source did. Rows of a table whose two definitions differ are refused: without column names in the log,
    they would go into the wrong columns. A table whose definition on the source is not known takes rows only if the log names the columns,
    because the target then compares the names.

    Args:
        passed: Returns True if a transaction is already applied.
        leaves_xa: Returns True if a part of an XA transaction is left out.
        recorded: Tables that differ since a statement that an earlier run skipped.
    """

    def __init__(
        self,
        passed: Callable[[Transaction], bool],
        leaves_xa: Callable[[Transaction], bool] | None = None,
        recorded: Iterable[Diverged] = (),
    ) -> None:
        self._passed = passed
        self._leaves_xa = leaves_xa
        self._recorded = tuple(recorded)
        self._source: SchemaCatalog | None = None
        self._differences: dict[TableKey, _Difference] = {}
        self._last = ""
        self._changed = False

    def take_change(self) -> list[Diverged] | None:
        """Return the tables that differ now, if they are others than at the last call; else None."""
        if not self._changed:
            return None
        self._changed = False
        return [Diverged(*key, difference.gtid) for key, difference in sorted(self._differences.items())]

    def look_at(self, batch: TransactionBatch, schema: SchemaCatalog) -> TransactionBatch:
        """Return the batch, emptied if its only transaction is left out.

        Args:
            batch: The next batch.
            schema: Definitions before it, as the target has them.

        Raises:
            ParaplyError: One half of an XA transaction is left out.
        """
        count = len(batch)
        if self._recorded and count and not self._passed(batch[count - 1]):
            self.start(schema)
        if count != 1:
            return batch
        transaction = batch[0]
        if transaction.kind in ("xa_prepare", "xa_end"):
            return batch.emptied() if self._leaves_xa is not None and self._leaves_xa(transaction) else batch
        if not transaction.skipped or not transaction.statements:
            return batch
        if not self._passed(transaction):
            self.leave_out(transaction, schema)
        return batch.emptied()

    def start(self, schema: SchemaCatalog) -> None:
        """Take over the tables of earlier runs, before the first transaction that is not applied yet.

        Args:
            schema: Definitions of the target.
        """
        if self._recorded:
            self._begin(schema)

    def leave_out(self, transaction: Transaction, schema: SchemaCatalog) -> None:
        """Follow a skipped statement, which the target does not run."""
        self._begin(schema)
        self._last = transaction.gtid or ""
        self.follow(transaction, schema)

    def follow(self, transaction: Transaction, schema: SchemaCatalog) -> None:
        """Follow a statement.

        Args:
            transaction: The statement's transaction.
            schema: Definitions that the target has after it.
        """
        if self._source is None:
            return
        log = transaction.format
        for statement in transaction.statements:
            try:
                sql = decode_logged(statement, transaction)
            except LogNotUnderstood:  # only a skipped statement gets here: it may have changed anything
                self._source.forget_everything()
                continue
            advance(self._source, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version)
        self._compare(schema)

    def settled(self, table: Table) -> None:
        """Take over a definition that the log's table maps have completed."""
        if self._source is not None and (table.database, table.name) not in self._differences:
            self._source.put(table)

    def reread(self, schema: SchemaCatalog) -> None:
        """Take over the definitions read from the target after a statement that was not understood; tables that differed stay so."""
        if self._source is None:
            return
        for table in schema:
            self.settled(table)
        for table in self._source:
            if schema.table(table.database, table.name) is None and (table.database, table.name) not in self._differences:
                self._source.remove(table.database, table.name)
        self._compare(schema)

    def refused(self, batch: TransactionBatch) -> tuple[int, SchemaMismatch] | None:
        """Return the index of the first transaction whose rows cannot be applied, with the reason; None if there is none."""
        if not self._differences:
            return None
        maps = [table for table in batch.table_maps() if (table.database, table.table) in self._differences]
        if not maps:
            return None
        for index in range(len(batch)):
            error = self.refusal(batch[index], maps)
            if error is not None:
                return index, error
        return None

    def refusal(self, transaction: Transaction, maps: Sequence[TableMap]) -> SchemaMismatch | None:
        """Return the reason why a transaction's rows cannot be applied; None if they can.

        Args:
            transaction: The transaction.
            maps: Table maps of the transactions around it.
        """
        if not self._differences or transaction.skipped or self._passed(transaction):
            return None
        names = set(transaction.tables)
        for table in maps:
            name = f"{table.database}.{table.table}"
            difference = self._differences.get((table.database, table.table))
            if difference is None or name not in names or (not difference.text and _names_columns(table)):
                continue
            what = difference.text or (
                "the log does not tell the table's columns after it, and its rows name none, so that they might go into other columns"
            )
            message = (
                f"--skip left out the statement {difference.gtid}, which changed this table: {what}; give the target's table the columns"
                " that it has on the source, and go on from here with --start-after on a new --channel, or leave the table out with"
                " --exclude-table there"
            )
            return SchemaMismatch(message, table=name, gtid=transaction.gtid, file=transaction.file, position=transaction.offset)
        return None

    def _begin(self, schema: SchemaCatalog) -> None:
        """Follow the source's definitions from here on."""
        if self._source is not None:
            return
        self._source = schema.copy()
        for table in self._recorded:
            self._source.forget(table.database, table.table)
            self._differences[table.database, table.table] = _Difference("", table.gtid)
        self._recorded = ()

    def _compare(self, schema: SchemaCatalog) -> None:
        """Find the tables that differ."""
        source = self._source
        if source is None:
            return
        found: dict[TableKey, _Difference] = {}
        known = {(table.database, table.name): None for table in (*source, *schema)}
        for key in (*known, *self._differences):
            text = _difference(source, schema, key, before=key in self._differences)
            if text is not None:
                gtid = self._differences[key].gtid if key in self._differences else self._last
                found[key] = _Difference(text, gtid)
        self._changed = self._changed or found.keys() != self._differences.keys()
        self._differences = found


def _difference(source: SchemaCatalog, schema: SchemaCatalog, key: TableKey, *, before: bool) -> str | None:
    """Return the difference between the source's and the target's definition of a table; None if there is none, empty if not known."""
    in_source, in_target = source.table(*key), schema.table(*key)
    if in_source is None:
        return "" if source.is_unknown(*key) and (before or in_target is not None) else None
    if in_target is None:
        return "" if schema.is_unknown(*key) else "the target has no table of this name"
    if len(in_source.columns) != len(in_target.columns):
        return f"it has {len(in_source.columns)} columns on the source and {len(in_target.columns)} in the target"
    for number, (one, other) in enumerate(zip(in_source.columns, in_target.columns, strict=True), 1):
        if _form(one) != _form(other):
            return f"column {number} is {_described(one)} on the source and {_described(other)} in the target"
    return None


def _form(column: Column) -> tuple[object, ...]:
    """Return all that decides about the meaning of a column's values."""
    charset = "utf8mb3" if column.charset == "utf8" else column.charset
    return (
        column.name.lower(),
        column.type,
        column.length,
        column.scale,
        column.unsigned,
        column.nullable,
        charset,
        column.labels,
        column.generated,
    )


def _described(column: Column) -> str:
    size = "" if column.length is None else f"({column.length})" if column.scale is None else f"({column.length},{column.scale})"
    words = [f"{column.name} {column.type}{size}", "unsigned" if column.unsigned else "", "" if column.nullable else "not null"]
    words += [f"charset {column.charset}" if column.charset else "", f"labels {', '.join(column.labels)}" if column.labels else ""]
    return " ".join(word for word in words if word)


def _names_columns(table: TableMap) -> bool:
    return all(column.name is not None for column in table.columns)
