"""The reader stage: batches of transactions with their write sets, ahead of the applier, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.logs.bounded_queue import BoundedQueue
from paraply.logs.statement_text import decode_statement
from paraply.schema.advance import ASSUMED_COLLATION, advance
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, SchemaChange, Unknown
from paraply.schema.readers.table_map import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paraply._native import Catalog, LogReader, TableFilter, Transaction, TransactionBatch, WriteSets
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Table

__all__ = ["Feed", "FeedItem", "FeedLimits", "FeedRules"]


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """How far the reader runs ahead.

    Attributes:
        batch_transactions: Most transactions of one batch.
        batch_bytes: Bytes after which a batch is full. The first ones are smaller, so that there is soon something to apply.
        queue_batches: Most batches in the queue.
        queue_bytes: Most bytes in the queue.
    """

    batch_transactions: int = 1024
    batch_bytes: int = 16 * 1024 * 1024
    queue_batches: int = 8
    queue_bytes: int = 64 * 1024 * 1024


_FIRST_BATCH_BYTES = 1024 * 1024
"""A few blocks; from one batch to the next it becomes twice as much, up to the limit."""


@dataclass(slots=True, eq=False)
class FeedItem:
    """A batch, its write sets, and what its last transaction does to the schema.

    Attributes:
        batch: Transactions in order; only the last may be a statement.
        write_sets: One for each transaction.
        transactions: How many.
        bytes: Bytes of the log that they take.
        changes: What the statement at the end changes, to be told to the target.
        schema: The definitions after those changes, if there are any.
        reread: The statement was not understood: once it is applied, the reader waits for ``Feed.resume`` with the tables
            that stand in the target then.
    """

    batch: TransactionBatch
    write_sets: WriteSets
    transactions: int
    bytes: int
    changes: list[SchemaChange] = field(default_factory=list)
    schema: SchemaCatalog | None = None
    reread: bool = False


@dataclass(frozen=True, slots=True)
class FeedRules:
    """How transactions are prepared.

    Attributes:
        scheme: Which write sets.
        bytewise: Hash text without its collation; wrong on purpose, for proving tests.
        passed: Whether a transaction is applied already and its statements are in the seeded definitions; None if the seed stands
            at the log's start.
        kept: Definitions as they stood behind what is applied already, and whether a transaction is. With the first one that is not,
            they take the place of what the log has told so far: the DDL before may be in files that are gone.
        rereads: Whether somebody answers ``FeedItem.reread``; else tables touched by what is not understood stay unknown (R13).
        wants: Whether a filter lets a transaction's statements through; the reader then gives each in a batch of its own.
        by_event: Whether the write sets tell what each row event touches.
        on_hashed: Called in the reader's thread with each batch, its write sets and the definitions in force.
        corrects: Whether the rows are to be applied: where a server's log says of cascades what the server did not do, it is corrected.
        tables: The filter of the reader, for those corrections.
    """

    scheme: str = "fine"
    bytewise: bool = False
    passed: Callable[[Transaction], bool] | None = None
    kept: tuple[Sequence[Table], Callable[[Transaction], bool]] | None = None
    rereads: bool = False
    wants: Callable[[Transaction], bool] | None = None
    by_event: bool = False
    on_hashed: Callable[[TransactionBatch, WriteSets, Catalog], None] | None = None
    corrects: bool = False
    tables: TableFilter | None = None


class Feed:
    """Reads, hashes and follows the schema; iterate over it to get the items.

    An error of the log is raised by the iterator behind the transactions that stand before it.

    Args:
        reader: The log.
        schema: Follows DDL.
        catalog: The native definitions for hashing.
        rules: How the transactions are prepared.
        threaded: Whether to read ahead in a thread.
        limits: How far.
    """

    def __init__(
        self,
        reader: LogReader,
        schema: SchemaCatalog,
        catalog: Catalog,
        rules: FeedRules | None = None,
        *,
        threaded: bool = True,
        limits: FeedLimits | None = None,
    ) -> None:
        self._rules = rules = rules or FeedRules()
        self._reader = reader
        self._schema = schema
        self._catalog = catalog
        self._kept = rules.kept
        self._limits = limits or FeedLimits()
        self._known: dict[tuple[str, str], Table] = {}
        self._unsettled: set[tuple[str, str]] = set()
        self._queue: BoundedQueue[FeedItem] | None = None
        if threaded:
            self._queue = BoundedQueue(self._limits.queue_batches, self._limits.queue_bytes)
        self._thread: threading.Thread | None = None
        self._resumed = threading.Event()
        self._reread_tables: Sequence[Table] | None = None
        self._stopped = False
        self.exhausted = False
        """Whether the log was read to its end."""
        self.read = 0
        """Transactions read."""
        self.read_bytes = 0
        """Bytes of those."""
        self.handed_on = 0
        """Transactions that the consumer took."""
        self.wait_seconds = 0.0
        """How long the consumer waited for the reader."""
        self._fallbacks: Counter[tuple[str, str]] = Counter()

    @property
    def backlog(self) -> int:
        """Transactions read and not taken."""
        return self.read - self.handed_on

    @property
    def fallbacks(self) -> list[tuple[str, str, int]]:
        """(reason, table, count) of coarser write sets (R13), most frequent first."""
        return [(reason, table, count) for (reason, table), count in self._fallbacks.copy().most_common()]

    def seed(self, tables: Sequence[Table]) -> None:
        """Makes tables known before the first batch is read."""
        for table in tables:
            self._schema.put(table)
            self._define(table)

    def __iter__(self) -> Iterator[FeedItem]:
        produce = self._produce() if self._queue is None else self._consume(self._queue)
        while True:
            asked = time.perf_counter()
            item = next(produce, None)
            self.wait_seconds += time.perf_counter() - asked
            if item is None:
                self.exhausted = not self._stopped
                return
            self.handed_on += item.transactions
            yield item

    def resume(self, tables: Sequence[Table]) -> None:
        """Answers ``FeedItem.reread``: the statement is applied, and these tables stand in the target now."""
        self._reread_tables = tables
        self._resumed.set()

    def stop(self) -> None:
        """Reads no further; the iterator ends. May be called from any thread."""
        self._stopped = True
        self._reader.stop()
        if self._queue is not None:
            self._resumed.set()
            self._queue.close()

    def join(self) -> None:
        """Waits for the reader's thread to end, after ``stop`` or at the end of the log."""
        if self._thread is not None:
            self._thread.join()

    def _consume(self, queue: BoundedQueue[FeedItem]) -> Iterator[FeedItem]:
        self._thread = threading.Thread(target=self._fill, args=(queue,), name="paraply-reader", daemon=True)
        self._thread.start()
        while (item := queue.get()) is not None:
            yield item

    def _fill(self, queue: BoundedQueue[FeedItem]) -> None:
        try:
            for item in self._produce():
                if not queue.put(item, item.bytes):
                    return
            queue.end()
        except BaseException as error:  # whatever it is, the consumer must hear of it
            queue.end(error)

    def _produce(self) -> Iterator[FeedItem]:
        limits = self._limits
        most = min(_FIRST_BATCH_BYTES, limits.batch_bytes)
        while not self._stopped:
            batch = self._reader.next_batch(limits.batch_transactions, most)
            most = min(2 * most, limits.batch_bytes)
            if batch is None:
                return
            if not len(batch):  # a relay log that is still written has nothing more for the moment
                continue
            if self._rules.wants is not None and len(batch) == 1 and batch[0].statements and not self._rules.wants(batch[0]):
                batch = batch.emptied()
            item = self._prepare(batch)
            yield item
            if item.reread:
                self._wait_reread()

    def _prepare(self, batch: TransactionBatch) -> FeedItem:
        """Hashes under the schema before the batch, then follows the statement at its end."""
        if self._kept is not None and len(batch):
            self._adopt(batch[len(batch) - 1], *self._kept)
        if self._unsettled:
            self._settle(batch)
        if self._rules.corrects:
            batch = batch.corrected(self._catalog, self._rules.tables) or batch
        rules = self._rules
        write_sets = batch.write_sets(self._catalog, scheme=rules.scheme, bytewise=rules.bytewise, by_event=rules.by_event)
        for reason, table, count in write_sets.fallbacks:
            self._fallbacks[reason, table] += count
        if self._rules.on_hashed is not None:
            self._rules.on_hashed(batch, write_sets, self._catalog)
        size = batch.bytes
        count = len(batch)
        item = FeedItem(batch, write_sets, count, size)
        if count:
            self._follow(batch[count - 1], item)
        self.read += count
        self.read_bytes += size
        return item

    def _adopt(self, last: Transaction, tables: Sequence[Table], applied: Callable[[Transaction], bool]) -> None:
        """Takes the kept definitions over before the first batch of which something is to be applied."""
        if not applied(last):
            self.seed(tables)
            self._kept = None

    def _settle(self, batch: TransactionBatch) -> None:
        """Confirms assumed collations by the table maps of the first rows (R13)."""
        mariadb = batch[0].format.mariadb
        for table_map in batch.table_maps():
            key = (table_map.database, table_map.table)
            if key in self._unsettled and key in self._known:
                table = settle(self._known[key], table_map, mariadb=mariadb)
                self._schema.put(table)
                self._define(table)

    def _follow(self, transaction: Transaction, item: FeedItem) -> None:
        statements = transaction.statements
        if not statements or (self._rules.passed is not None and self._rules.passed(transaction)):
            return
        log = transaction.format
        for statement in statements:
            sql = decode_statement(statement, mariadb=log.mariadb, file=transaction.file)
            for change in advance(self._schema, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version):
                item.changes.append(change)
                self._take_over(change)
                item.reread = item.reread or (self._rules.rereads and isinstance(change, Unknown))
        if item.changes:
            item.schema = self._schema.copy()

    def _take_over(self, change: SchemaChange) -> None:
        """Brings one change into the native definitions; what is unknown is removed, and so becomes a barrier (R13)."""
        match change:
            case CreateTable(table=table):
                self._define(table)
            case AlterTable(old=old, new=new):
                if (old.database, old.name) != (new.database, new.name):
                    self._retire(old.database, old.name)
                self._define(new)
            case RenameTable(old_database=database, old_name=name, table=table):
                self._retire(database, name)
                self._define(table)
            case DropTable(database=database, name=name):
                self._retire(database, name)
            case DropDatabase(database=database):
                self._forget(lambda owner, _: owner == database)
            case Unknown(tables=tables, databases=databases, everything=everything):
                for database, name in tables:
                    self._drop(database, name)
                self._forget(lambda owner, _: everything or owner in databases)
            case _:
                pass

    def _define(self, table: Table) -> None:
        key = (table.database, table.name)
        self._catalog.put(table)
        self._known[key] = table
        if ASSUMED_COLLATION in table.options:
            self._unsettled.add(key)
        else:
            self._unsettled.discard(key)

    def _retire(self, database: str, name: str) -> None:
        """A name is gone, but rows that were written before may still come."""
        self._catalog.retire(database, name)
        self._lose(database, name)

    def _drop(self, database: str, name: str) -> None:
        self._catalog.remove(database, name)
        self._lose(database, name)

    def _lose(self, database: str, name: str) -> None:
        self._known.pop((database, name), None)
        self._unsettled.discard((database, name))

    def _forget(self, concerned: Callable[[str, str], bool]) -> None:
        for database, name in [key for key in self._known if concerned(*key)]:
            self._drop(database, name)

    def _wait_reread(self) -> None:
        self._resumed.wait()
        self._resumed.clear()
        tables, self._reread_tables = self._reread_tables, None
        if tables is None or self._stopped:
            return
        standing = {(table.database, table.name) for table in tables}
        for table in self._schema:
            if (table.database, table.name) not in standing:
                self._schema.remove(table.database, table.name)
        self._forget(lambda _database, _name: True)
        self.seed(tables)
