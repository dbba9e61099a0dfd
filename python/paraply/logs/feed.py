"""The reader stage: it reads batches of transactions and their write sets ahead of the applier, in its own thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply._native import WriteSetFallback
from paraply.cpu_time import thread_counted
from paraply.logs.bounded_queue import BoundedQueue
from paraply.logs.statement_text import decode_logged
from paraply.runtime import runtime
from paraply.schema.advance import ASSUMED_COLLATION, advance
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, SchemaChange, Unknown
from paraply.schema.readers.table_map import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paraply._native import Catalog, LogReader, Statement, TableFilter, Transaction, TransactionBatch, WriteSets
    from paraply.errors import ParaplyError
    from paraply.logs.skipping import Diverged, Skipping
    from paraply.runtime import Thread
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Table

__all__ = ["Feed", "FeedItem", "FeedLimits", "FeedRules"]


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """Limits for reading ahead.

    Attributes:
        batch_transactions: Most transactions of one batch.
        batch_bytes: Bytes after which a batch is full. The first batches are smaller, so that the applier can start soon.
        queue_batches: Most batches in the queue.
        queue_bytes: Most bytes in the queue.
    """

    batch_transactions: int = 1024
    batch_bytes: int = 16 * 1024 * 1024
    queue_batches: int = 8
    queue_bytes: int = 64 * 1024 * 1024


_FIRST_BATCH_BYTES = 1024 * 1024
"""Size of the first batch, for a few blocks; it doubles with each batch, up to the limit."""


@dataclass(slots=True, eq=False)
class FeedItem:
    """A batch, its write sets, and the schema changes of its last transaction.

    Attributes:
        batch: Transactions in order; only the last may be a statement.
        write_sets: One for each transaction.
        transactions: Number of transactions.
        bytes: Size of the transactions in the log.
        changes: Schema changes of the statement at the end, for the target.
        schema: The definitions after these changes; None without changes.
        reread: True if the statement was not understood. Once it is applied, the reader waits for ``Feed.resume`` with the current
            tables of the target.
        diverged: Tables whose definitions in the log and in the target differ from here on, because of skipped statements; None if they
            are the same as before.
    """

    batch: TransactionBatch
    write_sets: WriteSets
    transactions: int
    bytes: int
    changes: list[SchemaChange] = field(default_factory=list)
    schema: SchemaCatalog | None = None
    reread: bool = False
    diverged: list[Diverged] | None = None


@dataclass(frozen=True, slots=True)
class FeedRules:
    """Rules for the preparation of transactions.

    Attributes:
        scheme: Name of the scheme for write sets.
        bytewise: True to hash text without its collation, which is wrong; only for tests that must detect it.
        passed: Returns True if a transaction is already applied and its statements are included in the seeded definitions; None if the
            seed is of the log's start.
        kept: Definitions after the transactions that are already applied, and a function that returns True for such a transaction. The
            definitions replace the ones from the log before the first other transaction, because earlier DDL may be in deleted files.
        rereads: True if ``FeedItem.reread`` is answered; otherwise, tables touched by a statement that is not understood stay
            unknown (R13).
        wants: Returns True if the filters keep the statements of a transaction. With it, the reader returns each such transaction in a
            batch of its own.
        names_own: Returns True if a transaction that the filters do not keep may be about paraply's own tables.
        renamed: Returns the batch of such a transaction with the target's names in its statements.
        by_event: True if the write sets have details for each row event.
        bounded: True if a transaction with very many keys becomes a barrier, so that their hashes take no memory.
        on_hashed: Called in the reader's thread with each batch, its write sets and the definitions in force.
        corrects: True to correct logged cascades that differ from the server's actual changes; needed if the rows are applied.
        tables: The filter of the reader, for these corrections.
        skips: Decisions about transactions that are left out by name; None if there are none.
        decode: Returns the text of a statement; its errors name the way on.
    """

    scheme: str = "fine"
    bytewise: bool = False
    passed: Callable[[Transaction], bool] | None = None
    kept: tuple[Sequence[Table], Callable[[Transaction], bool]] | None = None
    rereads: bool = False
    wants: Callable[[Transaction], bool] | None = None
    names_own: Callable[[Transaction], bool] | None = None
    renamed: Callable[[TransactionBatch], TransactionBatch] | None = None
    by_event: bool = False
    bounded: bool = False
    on_hashed: Callable[[TransactionBatch, WriteSets, Catalog], None] | None = None
    corrects: bool = False
    tables: TableFilter | None = None
    skips: Skipping | None = None
    decode: Callable[[Statement, Transaction], str] = decode_logged


class Feed:
    """The reader stage, which reads, hashes and follows the schema; iterate over it to get the items.

    The iterator raises an error of the log after the transactions before it.

    Args:
        reader: The log.
        schema: Catalog that executes the log's DDL.
        catalog: The native definitions for hashing.
        rules: Rules for the preparation of transactions.
        threaded: True to read ahead in a thread.
        limits: Limits for reading ahead.
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
        self._thread: Thread | None = None
        self._resumed = runtime.event()
        self._reread_tables: Sequence[Table] | None = None
        self._stopped = False
        self.exhausted = False
        """True if the log was read to its end."""
        self.read = 0
        """Number of transactions read."""
        self.read_bytes = 0
        """Size of the transactions read, in bytes."""
        self.handed_on = 0
        """Number of transactions that the consumer took."""
        self.wait_seconds = 0.0
        """Time that the consumer waited for the reader, in seconds."""
        self._fallbacks: Counter[tuple[str, str]] = Counter()

    @property
    def backlog(self) -> int:
        """Number of transactions that were read and not taken."""
        return self.read - self.handed_on

    @property
    def fallbacks(self) -> list[WriteSetFallback]:
        """Reasons for coarser write sets (R13), most frequent first."""
        return [WriteSetFallback(reason, table, number) for (reason, table), number in self._fallbacks.copy().most_common()]

    def seed(self, tables: Sequence[Table]) -> None:
        """Add table definitions before the first batch is read."""
        for table in tables:
            self._schema.put(table)
            self._define(table)

    def __iter__(self) -> Iterator[FeedItem]:
        produce = self._produce() if self._queue is None else self._consume(self._queue)
        while True:
            asked = runtime.perf_counter()
            item = next(produce, None)
            self.wait_seconds += runtime.perf_counter() - asked
            if item is None:
                self.exhausted = not self._stopped
                return
            self.handed_on += item.transactions
            yield item

    def resume(self, tables: Sequence[Table]) -> None:
        """Answer ``FeedItem.reread`` with the current tables of the target, after the statement was applied."""
        self._reread_tables = tables
        self._resumed.set()

    def stop(self) -> None:
        """Stop reading and end the iterator. May be called from any thread."""
        self._stopped = True
        self._reader.stop()
        if self._queue is not None:
            self._resumed.set()
            self._queue.close()

    def join(self) -> None:
        """Wait for the reader's thread to end, after ``stop`` or at the end of the log."""
        if self._thread is not None:
            self._thread.join()

    def _consume(self, queue: BoundedQueue[FeedItem]) -> Iterator[FeedItem]:
        self._thread = runtime.thread(self._fill, args=(queue,), name="paraply-reader")
        self._thread.start()
        while (item := queue.get()) is not None:
            yield item

    def _fill(self, queue: BoundedQueue[FeedItem]) -> None:
        with thread_counted("reader"):
            try:
                for item in self._produce():
                    if not queue.put(item, item.bytes):
                        return
                queue.end()
            except BaseException as error:  # the consumer must get every error
                queue.end(error)

    def _produce(self) -> Iterator[FeedItem]:
        limits = self._limits
        most = min(_FIRST_BATCH_BYTES, limits.batch_bytes)
        while not self._stopped:
            batch = self._reader.next_batch(limits.batch_transactions, most)
            most = min(2 * most, limits.batch_bytes)
            if batch is None:
                return
            if not len(batch):  # a relay log that is still being written has no more transactions at the moment
                continue
            if self._kept is not None:
                self._adopt(batch[len(batch) - 1], *self._kept)
            batch, refusal = self._selected(batch)
            if len(batch):
                item = self._prepare(batch)
                yield item
                if item.reread:
                    self._wait_reread()
            if refusal is not None:
                raise refusal

    def _selected(self, batch: TransactionBatch) -> tuple[TransactionBatch, ParaplyError | None]:
        """Return a batch as it is to be applied, up to a transaction that must not be, and the error of that one.

        A skipped statement needs not be one that the filters can divide, but its tables need the target's names.
        """
        skips, renames = self._rules.skips, self._rules.renamed is not None
        if skips is not None and not renames:
            batch = skips.look_at(batch, self._schema)
        batch = self._chosen(batch)
        if skips is None:
            return batch, None
        if renames:
            batch = skips.look_at(batch, self._schema)
        refused = skips.refused(batch)
        return (batch, None) if refused is None else (batch.before(refused[0]), refused[1])

    def _chosen(self, batch: TransactionBatch) -> TransactionBatch:
        """Return a batch without a statement that the filters leave out, or with the target's names in its statement."""
        rules = self._rules
        if (rules.wants is None and rules.renamed is None) or len(batch) != 1 or not batch[0].statements:
            return batch
        if rules.wants is not None and not rules.wants(batch[0]):
            return batch.emptied(own=rules.names_own is not None and rules.names_own(batch[0]))
        return batch if rules.renamed is None else rules.renamed(batch)

    def _prepare(self, batch: TransactionBatch) -> FeedItem:
        """Hash a batch under the schema before it, then execute the statement at its end."""
        if self._unsettled:
            self._settle(batch)
        if self._rules.corrects:
            batch = batch.corrected(self._catalog, self._rules.tables) or batch
        rules = self._rules
        write_sets = batch.write_sets(
            self._catalog, scheme=rules.scheme, bytewise=rules.bytewise, by_event=rules.by_event, bounded=rules.bounded
        )
        for fallback in write_sets.fallbacks:
            self._fallbacks[fallback.reason, fallback.table] += fallback.number
        if self._rules.on_hashed is not None:
            self._rules.on_hashed(batch, write_sets, self._catalog)
        size = batch.bytes
        count = len(batch)
        item = FeedItem(batch, write_sets, count, size)
        if count:
            self._follow(batch[count - 1], item)
        if rules.skips is not None:
            item.diverged = rules.skips.take_change()
        self.read += count
        self.read_bytes += size
        return item

    def _adopt(self, last: Transaction, tables: Sequence[Table], applied: Callable[[Transaction], bool]) -> None:
        """Take over the kept definitions before the first batch with a transaction to apply."""
        if not applied(last):
            self.seed(tables)
            self._kept = None

    def _settle(self, batch: TransactionBatch) -> None:
        """Confirm assumed collations by the table maps of the first rows (R13)."""
        mariadb = batch[0].format.mariadb
        for table_map in batch.table_maps():
            key = (table_map.database, table_map.table)
            if key in self._unsettled and key in self._known:
                table = settle(self._known[key], table_map, mariadb=mariadb)
                self._schema.put(table)
                self._define(table)
                if self._rules.skips is not None:
                    self._rules.skips.settled(table)

    def _follow(self, transaction: Transaction, item: FeedItem) -> None:
        statements = transaction.statements
        if not statements or (self._rules.passed is not None and self._rules.passed(transaction)):
            return
        log = transaction.format
        for statement in statements:
            sql = self._rules.decode(statement, transaction)
            for change in advance(self._schema, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version):
                item.changes.append(change)
                self._take_over(change)
                item.reread = item.reread or (self._rules.rereads and isinstance(change, Unknown))
        if item.changes:
            item.schema = self._schema.copy()
        if self._rules.skips is not None:
            self._rules.skips.follow(transaction, self._schema)

    def _take_over(self, change: SchemaChange) -> None:
        """Apply one change to the native definitions. Unknown tables are removed, so that transactions on them become barriers (R13)."""
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
        """Remove a name, but keep its definition for rows that were written before."""
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
        if self._rules.skips is not None:
            self._rules.skips.reread(self._schema)
