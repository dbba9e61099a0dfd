"""Row changes of logs, for a lake: decoded with types, table by table, in parts that end between transactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply._native import Catalog, LogReader, RowDecoder, TableFilter
from paraply.analysis.dates import cast_image
from paraply.errors import LogNotUnderstood, SchemaMismatch
from paraply.lake.columns import LakeColumns, lake_columns
from paraply.lake.selection import wants
from paraply.logs.feed import Feed, FeedItem, FeedLimits, FeedRules
from paraply.logs.stop_point import native_stop
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.rules import logs_cascades
from paraply.schema.readers.table_map import mismatch
from paraply.wording import table_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from paraply._native import GtidSet, Transaction, TransactionBatch, WriteSets
    from paraply.applier.selection.filters import Filters
    from paraply.logs.stop_point import StopPoint
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table

__all__ = ["ChangeReader", "Part"]

_MOST_BYTES = 16 << 20
_MOST_TRANSACTIONS = 4096
_COLUMNS = ("position", "operation", "before", "after")


@dataclass(slots=True)
class Part:
    """Consecutive transactions, and the schema changes at their end.

    Attributes:
        transactions: The transactions.
        rows: Number of row changes in the log, of all tables.
        changes: Schema changes of the statement that the last one is.
        late: True if the rows come after the schema changes, as in CREATE TABLE ... SELECT.
        first: Position of the first transaction.
        reader: The reader, which decodes the rows.
    """

    transactions: list[Transaction]
    rows: int
    changes: list[SchemaChange]
    late: bool
    first: int
    reader: ChangeReader = field(repr=False)

    def tables(self) -> Iterator[tuple[Table, LakeColumns, Iterator[pa.Table]]]:
        """Yield each changed table with its definition and its changes: columns ``operation``, ``before`` and ``after``."""
        last = self.first + len(self.transactions) - 1
        yield from self.reader.rows(self.transactions, self.first, last)


class ChangeReader:
    """Reader of the row changes of logs.

    Args:
        paths: The logs.
        filters: Filters by database and table.
        definitions: Definitions at the start of the logs.
        executed: Transactions that the lake holds.
        kept: Definitions after these; None for a new lake.
        batch_rows: Row changes after which a part ends.
        batch_bytes: Bytes of the log that are read at once, at most.
        stop: Point up to which the logs are read; None for their end.
    """

    def __init__(
        self,
        paths: Sequence[str],
        filters: Filters,
        definitions: Sequence[Table],
        executed: GtidSet,
        kept: Sequence[Table] | None,
        batch_rows: int,
        batch_bytes: int,
        stop: StopPoint | None = None,
    ) -> None:
        self._filters = filters
        self._executed = executed
        self._batch_rows = batch_rows
        self._schema = SchemaCatalog()
        self._position = 0
        self._since = 0  # row changes since the last part that filled a batch
        self.skipped = 0
        """Transactions that were passed over, as the lake holds them."""
        self._now: tuple[TransactionBatch, Catalog, SchemaCatalog] | None = None
        self._native = Catalog()
        self._numbers: dict[str, int] = {}
        self._compared: set[tuple[int, str]] = set()
        rules = FeedRules(
            "none",
            on_hashed=self._begin,
            wants=lambda transaction: wants(filters, transaction),
            corrects=True,
            tables=filters.native(),
            kept=None if kept is None else (kept, self._is_executed),
        )
        reader = LogReader(paths, executed=executed.copy(), tables=filters.native(), stop=native_stop(stop))
        limits = FeedLimits(min(_MOST_TRANSACTIONS, max(16, batch_rows)), min(_MOST_BYTES, batch_bytes))
        self._feed = Feed(reader, self._schema, self._native, rules, threaded=False, limits=limits)
        self._feed.seed(definitions)

    @property
    def read_bytes(self) -> int:
        """Bytes of the transactions that were read."""
        return self._feed.read_bytes

    def definition(self, database: str, table: str) -> Table | None:
        """Return the definition of a table after the transactions that were read."""
        return self._schema.table(database, table)

    def __iter__(self) -> Iterator[Part]:
        """Yield the parts of the log that the lake does not hold yet.

        Raises:
            LogNotUnderstood: A transaction has no GTID, or is a part of an XA transaction.
            LogError: The log is damaged or not understood; after the parts before.
        """
        for item in self._feed:
            yield from self._parts(item)

    def _begin(self, batch: TransactionBatch, _: WriteSets, catalog: Catalog) -> None:
        self._now = (batch, catalog.copy(), self._schema.copy())

    def _is_executed(self, transaction: Transaction) -> bool:
        return transaction.gtid is not None and transaction.gtid != "" and transaction.gtid in self._executed

    def _parts(self, item: FeedItem) -> Iterator[Part]:
        transactions = list(item.batch)
        base = self._position + 1
        self._position += len(transactions)
        start, rows = 0, 0
        for index, transaction in enumerate(transactions):
            self._check_order(transaction)
            if self._is_executed(transaction):
                if index > start:
                    yield Part(transactions[start:index], rows, [], False, base + start, self)
                start, rows = index + 1, 0
                self.skipped += 1
                continue
            self._check(transaction)
            last = index == len(transactions) - 1
            changes = item.changes if last else []
            late = bool(changes) and bool(transaction.rows)
            if late and index > start:
                yield Part(transactions[start:index], rows, [], False, base + start, self)
                start, rows = index, 0
            rows += transaction.rows
            self._since += transaction.rows
            if late:
                self._now = (item.batch, self._native.copy(), self._schema.copy())
            if self._since >= self._batch_rows or last:
                self._since = 0 if self._since >= self._batch_rows else self._since
                yield Part(transactions[start : index + 1], rows, changes, late, base + start, self)
                start, rows = index + 1, 0

    def _check_order(self, transaction: Transaction) -> None:
        """Refuse numbers of MariaDB that decrease, because its GTID sets have no gaps."""
        gtid = transaction.gtid
        if not gtid or not transaction.format.mariadb:
            return
        domain, _, number = gtid.split("-")
        if int(number) < self._numbers.get(domain, 0):
            raise LogNotUnderstood(
                f"the number of {gtid} is lower than that of the transaction before it in its domain, so a GTID set cannot say what the"
                " lake holds; set gtid_strict_mode=ON on the source, and start a new lake after it",
                file=transaction.file, position=transaction.offset, gtid=gtid,
            )  # fmt: skip
        self._numbers[domain] = int(number)

    @staticmethod
    def _check(transaction: Transaction) -> None:
        """Refuse a transaction that a lake cannot follow."""
        reason = ""
        if transaction.kind in ("xa_prepare", "xa_end"):
            reason = "an XA transaction, whose rows count from its XA COMMIT on; start a new lake after it"
        elif not transaction.gtid and transaction.kind not in ("empty", "view_change"):
            reason = "a transaction without a GTID: set gtid_mode=ON on the source, and begin with a log that it writes then"
        if reason:
            raise LogNotUnderstood(f"the log has {reason}", file=transaction.file, position=transaction.offset, gtid=transaction.gtid)

    def rows(self, transactions: Sequence[Transaction], first: int, last: int) -> Iterator[tuple[Table, LakeColumns, Iterator[pa.Table]]]:
        """Yield the changed tables of transactions, given by their positions too."""
        if self._now is None:
            return
        batch, catalog, schema = self._now
        changed = {name for transaction in transactions if transaction.rows for name in transaction.tables}
        place = transactions[0]
        seen: dict[tuple[str, str], Table] = {}
        for table_map in batch.table_maps():
            key = (table_map.database, table_map.table)
            if f"{key[0]}.{key[1]}" not in changed or not self._filters.chooses(*key):
                continue
            table = schema.table(*key)
            if table is None:
                raise LogNotUnderstood(
                    f"the definition of table {key[0]}.{key[1]} is not known, as the logs do not begin with its CREATE TABLE; give it with"
                    f" --schema or --schema-from and name what the lake holds with --start-after, or leave it out with"
                    f" {table_option('--exclude-table', key)}",
                    file=place.file, position=place.offset, gtid=place.gtid, table=f"{key[0]}.{key[1]}",
                )  # fmt: skip
            self._compare(table, table_map, place)
            seen[key] = table
        for key, table in seen.items():
            columns = lake_columns(table)
            decoder = RowDecoder(_COLUMNS, tables=TableFilter((), [key]), values=columns.wanted, whole=True)
            decoder.begin(batch, catalog)
            yield table, columns, self._decoded(decoder, table, columns, schema, place, first, last)

    def _compare(self, table: Table, table_map: Any, place: Transaction) -> None:
        """Compare a definition with the log's rows, once."""
        known = (table_map.fingerprint, repr(table))
        if known in self._compared:
            return
        reason = mismatch(table, table_map, mariadb=place.format.mariadb)
        if reason is not None:
            raise SchemaMismatch(
                f"the definition of {table.full_name} is not that of the log's rows: {reason}; give the definitions at the start of the"
                " logs with --schema or --schema-from",
                file=place.file, position=place.offset, gtid=place.gtid, table=table.full_name,
            )  # fmt: skip
        self._compared.add(known)

    def _decoded(
        self,
        decoder: RowDecoder,
        table: Table,
        columns: LakeColumns,
        schema: SchemaCatalog,
        place: Transaction,
        first: int,
        last: int,
    ) -> Iterator[pa.Table]:
        """Yield the changes of a table between two positions, with the types of the lake."""
        import pyarrow as pa

        image = pa.struct(list(columns.schema))
        cascades = None if logs_cascades(place.format.version, mariadb=place.format.mariadb) else _cascades(table, schema, self._filters)
        while (batch := decoder.next_batch()) is not None:
            positions = batch.column("position").to_numpy()
            low, high = positions.searchsorted(first), positions.searchsorted(last, "right")
            if low < high:
                part = pa.Table.from_batches([batch.slice(low, high - low)]).drop_columns("position")
                for index, name in ((1, "before"), (2, "after")):
                    part = part.set_column(index, name, cast_image(part[name], image))
                if cascades is not None:
                    cascades.check(part, place)
                yield part
            if positions[-1] > last:
                return


@dataclass(frozen=True, slots=True)
class _Cascades:
    """Foreign keys of other tables by which the server changes rows that it does not log.

    Attributes:
        table: The parent.
        child: Name of a child.
        on_delete: True if a deletion changes rows of a child.
        on_update: Columns whose change does.
    """

    table: str
    child: str
    on_delete: bool
    on_update: frozenset[str]

    def check(self, part: pa.Table, place: Transaction) -> None:
        """Refuse changes of the parent that change rows of a child."""
        import pyarrow.compute as pc

        operation = part["operation"]
        deletes = self.on_delete and pc.any(pc.equal(operation, "delete")).as_py()
        if deletes or (self.on_update and self._moves(part)):
            raise LogNotUnderstood(
                f"rows of {self.table} are {'deleted' if deletes else 'changed'}, and by a foreign key the server changes rows of"
                f" {self.child}, which this source does not log; leave {self.child} out with --exclude-table {self.child}",
                file=place.file, position=place.offset, gtid=place.gtid, table=self.table,
            )  # fmt: skip

    def _moves(self, part: pa.Table) -> bool:
        import pyarrow.compute as pc

        updates = part.filter(pc.equal(part["operation"], "update"))
        if not updates.num_rows:
            return False
        before, after = updates["before"].combine_chunks(), updates["after"].combine_chunks()
        names = [field.name for field in before.type if field.name.lower() in self.on_update]
        return any(pc.any(pc.not_equal(pc.struct_field(before, name), pc.struct_field(after, name))).as_py() for name in names)


def _cascades(table: Table, schema: SchemaCatalog, filters: Filters) -> _Cascades | None:
    """Return the foreign keys of chosen children that change rows with those of this table; None without any."""
    found = [
        (child, key)
        for child in schema.children(table.database, table.name)
        for key in child.foreign_keys
        if (key.parent_database.lower(), key.parent_table.lower()) == (table.database.lower(), table.name.lower())
        and filters.chooses(child.database, child.name)
        and (key.on_delete != "refuse" or key.on_update != "refuse")
    ]
    if not found:
        return None
    moved = {name.lower() for _, key in found if key.on_update != "refuse" for name in key.parent_columns}
    return _Cascades(table.full_name, found[0][0].full_name, any(key.on_delete != "refuse" for _, key in found), frozenset(moved))
