"""Row changes of logs for people: filtered, and in order, as dictionaries or as SQL statements."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply._native import Catalog, LogReader, RowStatements, Selection, TableFilter
from paraply.analysis.parts import LogPart
from paraply.analysis.rows import RowSource
from paraply.applier.selection.filters import Filters
from paraply.errors import ParaplyError, UsageError
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from paraply._native import Transaction, TransactionBatch, WriteSets
    from paraply.logs.transaction_set import TransactionSet
    from paraply.schema.model import Table

__all__ = ["IMAGES", "ChangeFilter", "SqlSource", "TransactionStarts", "batches", "changes", "column_names", "parse_keys", "takes"]

COLUMNS = ("position", "gtid", "committed_at", "database", "table", "operation", "key", "before", "after", "file", "offset")
IMAGES = ("key", "before", "after")
_SLICE = 2048
"""Rows of a record batch that become Python objects at once."""
_FIRST_COLUMN = "@1"
"""Name of a first column whose name is not known."""
_STATEMENT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Conditions for row changes, all of which must hold.

    Attributes:
        filters: The databases and tables.
        since: Earliest commit time, microseconds since 1970.
        until: Commit time before which the changes are; later ones are left out.
        gtids: The transactions; None for all.
        keys: Values of columns, as text.
    """

    filters: Filters = field(default_factory=Filters)
    since: int | None = None
    until: int | None = None
    gtids: TransactionSet | None = None
    keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> TableFilter | None:
        """Filter of the tables; None for all."""
        chosen = self.filters
        if not chosen:
            return None
        return TableFilter(chosen.databases, chosen.tables, chosen.exclude_databases, chosen.exclude_tables)

    @property
    def selection(self) -> Selection | None:
        """Conditions that the reader checks; None without any."""
        if self.since is None and self.until is None:
            return None
        return Selection(committed=(self.since, None if self.until is None else self.until - 1))

    def takes_gtid(self, gtid: str | None) -> bool:
        """Return True if a transaction is among those that are asked for."""
        return self.gtids is None or (gtid is not None and gtid != "" and gtid in self.gtids)

    def takes_key(self, change: Mapping[str, Any]) -> bool:
        """Return True if the row has the values that are asked for, before or after its change.

        >>> ChangeFilter(keys={"id": "7"}).takes_key({"key": {"id": "7"}, "before": None, "after": {"id": "7"}})
        True
        """
        images = [change[name] for name in IMAGES if change[name] is not None]
        return all(any(image.get(name) == value for image in images) for name, value in self.keys.items())


def parse_keys(texts: Sequence[str]) -> dict[str, str]:
    """Return the columns and values of ``COLUMN=VALUE`` texts.

    Raises:
        UsageError: A text has no equals sign.

    >>> parse_keys(["id=7"])
    {'id': '7'}
    """
    keys = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--key {text}: give a column and its value, such as id=7")
        keys[name] = value
    return keys


def batches(paths: Sequence[str], wanted: ChangeFilter, tables: Sequence[Table] = (), columns: Sequence[str] = COLUMNS) -> RowSource:
    """Return the row changes as Arrow record batches; conditions on GTIDs and keys are not checked.

    Args:
        paths: The log files.
        wanted: Conditions for the changes.
        tables: Definitions valid at the start of the logs.
        columns: The columns of the batches.
    """
    part = LogPart(list(paths), tables=list(tables))
    return RowSource(part, columns=columns, tables=wanted.tables, selection=wanted.selection)


def changes(paths: Sequence[str], wanted: ChangeFilter, tables: Sequence[Table] = ()) -> Iterator[dict[str, Any]]:
    """Yield the row changes in order: a dictionary of ``COLUMNS`` for each, whose images are dictionaries of values as text.

    Args:
        paths: The log files.
        wanted: Conditions for the changes.
        tables: Definitions valid at the start of the logs.
    """
    last, taken = None, False
    for batch in batches(paths, wanted, tables):
        for change in dictionaries(batch):
            if change["position"] != last:
                last, taken = change["position"], wanted.takes_gtid(change["gtid"])
            if taken and wanted.takes_key(change):
                yield change


def column_names(paths: Sequence[str], wanted: ChangeFilter, tables: Sequence[Table] = ()) -> tuple[set[str], set[str]]:
    """Return the names of the columns of the row changes, and the tables whose columns have numbers instead, such as ``@1``.

    Conditions on GTIDs and keys are not checked.

    Args:
        paths: The log files.
        wanted: Conditions for the changes.
        tables: Definitions valid at the start of the logs.
    """
    names: set[str] = set()
    unnamed: set[str] = set()
    for batch in batches(paths, wanted, tables, ("database", "table", "before", "after")):
        found = {name for image in ("before", "after") for name in batch.column(image).keys.unique().to_pylist()}
        names |= found
        if _FIRST_COLUMN in found:
            rows = zip(batch.column("database").to_pylist(), batch.column("table").to_pylist(), dictionaries(batch), strict=True)
            unnamed |= {f"{database}.{table}" for database, table, row in rows if _FIRST_COLUMN in (row["after"] or row["before"])}
    return names, unnamed


def dictionaries(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record batch; only a part of it becomes objects at once."""
    for start in range(0, batch.num_rows, _SLICE):
        for row in batch.slice(start, _SLICE).to_pylist():
            for name in IMAGES:
                if row.get(name) is not None:
                    row[name] = dict(row[name])
            yield row


def takes(batch: pa.RecordBatch, wanted: ChangeFilter) -> list[bool]:
    """Return True for each row of a record batch that meets the conditions on GTIDs and keys."""
    gtids = batch.column("gtid").to_pylist()
    if not wanted.keys:
        return [wanted.takes_gtid(gtid) for gtid in gtids]
    rows = dictionaries(batch.select(IMAGES))
    return [wanted.takes_gtid(gtid) and wanted.takes_key(row) for gtid, row in zip(gtids, rows, strict=True)]


class TransactionStarts:
    """Offsets at which the transactions of row changes begin, by a second look at the logs.

    Args:
        paths: The log files.
        wanted: Conditions for the changes.
    """

    def __init__(self, paths: Sequence[str], wanted: ChangeFilter) -> None:
        self._found = self._starts(paths, wanted)
        self._last = (0, 0)

    def of(self, change: Mapping[str, Any]) -> int:
        """Return the offset of a change's transaction; changes must be asked for in order.

        It is the offset of the change's own event if the log cannot be read up to there as one to apply.
        """
        while self._last[0] < change["position"]:
            self._last = next(self._found, (change["position"], change["offset"]))
        position, offset = self._last
        return offset if position == change["position"] else int(change["offset"])

    @staticmethod
    def _starts(paths: Sequence[str], wanted: ChangeFilter) -> Iterator[tuple[int, int]]:
        with suppress(ParaplyError):
            reader = LogReader(list(paths), selection=wanted.selection, count_rows=False, passes_statements=True)
            while (batch := reader.next_batch()) is not None:
                yield from zip(batch.positions, (transaction.offset for transaction in batch), strict=True)


class SqlSource:
    """Row changes as SQL statements for MySQL and MariaDB; iterate over it to get transactions with their statements.

    Args:
        paths: The log files.
        wanted: Conditions for the changes.
        tables: Definitions valid at the start of the logs.
    """

    def __init__(self, paths: Sequence[str], wanted: ChangeFilter, tables: Sequence[Table] = ()) -> None:
        self.rows = 0
        """Number of row changes so far."""
        self._wanted = wanted
        self._statements = RowStatements(backwards=False, tables=wanted.tables)
        self._now: tuple[TransactionBatch, Catalog] | None = None
        reader = LogReader(list(paths), selection=wanted.selection, count_rows=False)
        limits = FeedLimits(batch_transactions=4096)
        self._feed = Feed(reader, SchemaCatalog(), Catalog(), FeedRules("none", on_hashed=self._begin), threaded=False, limits=limits)
        self._feed.seed(tables)
        self._selects = wanted.selection is not None

    def __iter__(self) -> Iterator[tuple[Transaction, Iterator[tuple[bytes, int]]]]:
        for _ in self._feed:
            if self._now is None:
                continue
            batch, catalog = self._now
            for index, transaction in enumerate(batch):
                if self._takes(transaction):
                    self._statements.begin(batch, index, catalog)
                    yield transaction, self._texts()

    def _begin(self, batch: TransactionBatch, _: WriteSets, catalog: Catalog) -> None:
        self._now = (batch, catalog.copy())

    def _takes(self, transaction: Transaction) -> bool:
        if not transaction.tables or not self._wanted.takes_gtid(transaction.gtid):
            return False
        at = transaction.committed_us
        if not self._selects:
            return True
        since, until = self._wanted.since, self._wanted.until
        return at is not None and (since is None or at >= since) and (until is None or at < until)

    def _texts(self) -> Iterator[tuple[bytes, int]]:
        while (found := self._statements.next(_STATEMENT_BYTES)) is not None:
            for statement in found:
                self.rows += len(statement.keys)
                yield statement.sql, len(statement.keys)
