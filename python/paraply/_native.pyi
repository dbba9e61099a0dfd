"""Types of the native module."""

from __future__ import annotations

from builtins import bytes as _Bytes  # noqa: N812 - Transaction has a property of that name
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, final

import pyarrow as pa

from paraply.errors import ParaplyError
from paraply.schema.model import Table

@final
class GtidSet:
    """Set of GTIDs, MySQL's (``uuid[:tag]:1-5``) or MariaDB's (``domain-server-sequence``).

    A set can be iterated (each GTID, in the order of its text), compared (``<=`` is "subset of"), and combined by ``|``, ``&`` and ``-``.

    Args:
        text: The set as text; empty for an empty set.

    Raises:
        UsageError: The text is no GTID set.

    >>> executed = GtidSet("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-3:7")
    >>> len(executed), "3e11fa47-71ca-11e1-9e33-c80aa9429562:2" in executed
    (4, True)
    >>> [gtid[-2:] for gtid in executed]
    [':1', ':2', ':3', ':7']
    >>> str(executed - GtidSet("3e11fa47-71ca-11e1-9e33-c80aa9429562:2-9"))
    '3e11fa47-71ca-11e1-9e33-c80aa9429562:1'
    """

    def __new__(cls, text: str = "") -> Self: ...
    def __contains__(self, key: str, /) -> bool: ...
    def __or__(self, value: GtidSet, /) -> GtidSet: ...
    def __and__(self, value: GtidSet, /) -> GtidSet: ...
    def __sub__(self, value: GtidSet, /) -> GtidSet: ...
    def __le__(self, value: GtidSet, /) -> bool: ...
    def __lt__(self, value: GtidSet, /) -> bool: ...
    def __ge__(self, value: GtidSet, /) -> bool: ...
    def __gt__(self, value: GtidSet, /) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def add(self, gtid: str) -> None:
        """Add one GTID.

        Raises:
            UsageError: The text is no GTID.
        """
    def update(self, other: GtidSet) -> None:
        """Add all GTIDs of another set."""
    def copy(self) -> GtidSet:
        """Return a copy; changes of one do not change the other."""

@final
class Statement:
    """Statement logged as text, with everything that its meaning depends on (R33)."""

    @property
    def sql(self) -> bytes: ...
    @property
    def database(self) -> str: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def context(self) -> dict[str, Any]:
        """Status variables by the names of StatementContext.

        For example ``sql_mode`` int, ``charset`` (client, connection, server) collation numbers, ``time_zone`` str, ``unknown`` list[int].
        """

class ServerVersion(NamedTuple):
    """Version of a server."""

    major: int
    minor: int
    patch: int

class MariadbGtid(NamedTuple):
    """GTID of MariaDB."""

    domain: int
    number: int
    server_id: int

class MariadbGtidRange(NamedTuple):
    """Range of MariaDB's GTIDs in one domain and of one server."""

    domain: int
    server_id: int
    first: int
    last: int

class SourceSession(NamedTuple):
    """Client session of a source; ``session`` is None for one that the log does not name."""

    server_id: int
    session: int | None

class TableName(NamedTuple):
    """Database and name of a table."""

    database: str
    table: str

class RowImages(NamedTuple):
    """Columns of a changed row before and after the change, by their index; None if there is no such row."""

    before: dict[int, Any] | None
    after: dict[int, Any] | None

class ColumnText(NamedTuple):
    """Name of a column, and its value as text; None for NULL."""

    column: str
    text: str | None

class FilePosition(NamedTuple):
    """Name of a file, and an offset in it."""

    file: str
    offset: int

class LogPosition(NamedTuple):
    """Index of a file among the given ones, and an offset in it."""

    file: int
    offset: int

class CommitTimes(NamedTuple):
    """Earliest and latest commit time, microseconds since 1970, UTC."""

    earliest: int
    latest: int

class Place(NamedTuple):
    """Boundary between transactions: its offset, the offset of the valid format description, and True for a relay log."""

    offset: int
    format: int
    relay_log: bool

class ScannedPiece(NamedTuple):
    """Part of a log between two boundaries: its start and the offset of its end, the number and the commit times of its transactions."""

    start: Place
    end: int
    transactions: int
    committed: CommitTimes | None

class ScannedStatements(NamedTuple):
    """Transaction with statements, without rows, and the number of its piece."""

    piece: int
    transaction: Transaction

class WriteSetFallback(NamedTuple):
    """Reason for a coarser write set, the table, and the number of write sets."""

    reason: str
    table: str
    number: int

class CopiedEvent(NamedTuple):
    """Event of a source's file: its offset, the offset after it, and its hash."""

    offset: int
    end: int
    hash: int

class FileHead(NamedTuple):
    """Bytes of a source's file up to its format description: their number and their hash."""

    size: int
    hash: int

class Stamps(NamedTuple):
    """Numbers of a transaction: it waits for ``last_committed``, and others wait for its ``sequence_number``."""

    last_committed: int
    sequence_number: int

class NumberRange(NamedTuple):
    """Numbers of MariaDB's GTIDs in one domain: the first, the last, and the server of the last."""

    first: int
    last: int
    server_id: int

class RaisedPosition(NamedTuple):
    """Position of MariaDB's GTIDs, and the ranges of numbers after a gap, for each domain."""

    low: GtidSet
    beyond: dict[int, list[NumberRange]]

class ResultSet(NamedTuple):
    """Result of a statement: its column names, its rows (None, int, float, bytes), and the number of affected rows."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    affected: int

class AppliedBlocks(NamedTuple):
    """Number of committed blocks, and the error of the next one."""

    done: int
    error: ParaplyError | None

class NumberQuery(NamedTuple):
    """Query that returns one number, and the expected number."""

    sql: str
    expected: int

class SkippedRow(NamedTuple):
    """Table, and key as text, of a row that was left out."""

    table: str
    key: str

class DumpPackets(NamedTuple):
    """Packets of a transaction, and the number of its bytes sent then; None when all are sent."""

    packets: bytes
    sent: int | None

class ListenAddress(NamedTuple):
    """Host and port on which a server listens."""

    host: str
    port: int

class NumberedFile(NamedTuple):
    """Log file with its number."""

    number: int
    path: Path

class TransactionKey(NamedTuple):
    """Index of a transaction, and hash of one of its keys."""

    transaction: int
    key: int

class KeyConflicts(NamedTuple):
    """Hash of a key, and the expected number of conflicts over it."""

    key: int
    conflicts: float

class ChainTransaction(NamedTuple):
    """Index of a transaction, and tag of the key for which it waits; None if it waits for no key."""

    transaction: int
    key: int | None

class ChainKey(NamedTuple):
    """Tag of a key, and the number of steps that wait for it."""

    key: int
    steps: int

class ChainLength(NamedTuple):
    """Length of a chain: nanoseconds and steps."""

    total_ns: int
    steps: int

class ExplainedLosses(NamedTuple):
    """Times of a schedule, and the time that it loses for each cause, each followed by its keys."""

    outcome: Outcome
    losses: list[Loss]

@final
class Format:
    """Format description under which a transaction was written."""

    @property
    def server_version(self) -> str: ...
    @property
    def version(self) -> ServerVersion: ...
    @property
    def mariadb(self) -> bool: ...
    @property
    def server_id(self) -> int: ...
    @property
    def created(self) -> int: ...

@final
class Transaction:
    """Transaction of a log."""

    @property
    def gtid(self) -> str | None: ...
    @property
    def kind(self) -> str:
        """``dml``, ``ddl``, ``empty``, ``view_change``, ``xa_prepare`` or ``xa_end``."""
    @property
    def server_id(self) -> int: ...
    @property
    def session(self) -> int | None: ...
    @property
    def committed_at(self) -> datetime | None:
        """Commit time on the original source, in UTC; None if not known, or after the year 9999."""
    @property
    def committed_us(self) -> int | None:
        """The same in microseconds since 1970."""
    @property
    def last_committed(self) -> int | None: ...
    @property
    def sequence_number(self) -> int | None: ...
    @property
    def tables(self) -> list[str]: ...
    @property
    def row_settings(self) -> dict[str, Any] | None:
        """Settings of the source's session for the rows, with the names of ``Statement.context``; None if the log has none, as MariaDB's.

        ``sql_mode`` int, ``time_zone`` str if a row depended on it, ``lc_time_names`` int if it is not 0.
        """
    @property
    def statements(self) -> list[Statement]: ...
    @property
    def xid(self) -> str | None: ...
    @property
    def rows(self) -> int: ...
    @property
    def filtered(self) -> bool:
        """True if a filter removed all its changes."""
    @property
    def own_left_out(self) -> bool:
        """True if changes of paraply's own tables were removed from it."""
    @property
    def skipped(self) -> bool:
        """True if it is left out by name."""
    @property
    def bytes(self) -> int: ...
    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def format(self) -> Format: ...
    def row_events(self) -> _Bytes:
        """Return its table maps and row events, joined, without checksums; for ``encode_transaction``."""
    def write_set(self, catalog: Catalog, *, scheme: str = "fine") -> TransactionKeys:
        """Return the write set."""

@final
class ColumnInfo:
    """Column as described by a table-map event."""

    @property
    def type_code(self) -> int: ...
    @property
    def metadata(self) -> int: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def unsigned(self) -> bool | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def collation_id(self) -> int | None: ...

@final
class TableMap:
    """Table-map event: the source's table at the time when its rows were written."""

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def columns(self) -> list[ColumnInfo]: ...
    @property
    def primary_key(self) -> list[int]:
        """Indexes of the primary key's columns; empty if the log does not have them."""
    @property
    def fingerprint(self) -> int:
        """Hash that is equal for events with the same content except the table id."""

@final
class Block:
    """Block: consecutive transactions that become one commit on the target; most methods release the GIL."""

    @property
    def id(self) -> int:
        """Number of the block, dense from 1 in the source's order."""
    @property
    def kind(self) -> str:
        """``dml`` (one or more row transactions), else the kind of its only transaction."""
    @property
    def depends_on(self) -> list[int]:
        """Blocks that must be committed before this one may start, all above the low-water mark given to ``plan``."""
    @property
    def depends_on_all(self) -> bool:
        """True for a barrier: it starts after the commit of every older block, and every younger one starts after its commit."""
    @property
    def steps(self) -> list[int]:
        """Ids of older blocks, ascending: when all blocks up to one of them are committed, further rows of this block may be applied.

        Empty if all rows wait for the same blocks. The first id may be 0, for rows that wait for no block.
        """
    def step(self, after: int | None, up_to: int) -> Block:
        """Return the block with only the rows that wait for a block above ``after``, if given, and for none above ``up_to``."""
    def pieces(self) -> list[Block]:
        """Return the rows of a large block in pieces, each a block with some of them; empty if the block is not large.

        Raises:
            LogDamaged: A table map is damaged.
        """
    @property
    def transactions(self) -> list[Transaction]: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def skipped(self) -> int:
        """Number of transactions skipped right before this block, because they are already applied; they commit with it."""
    @property
    def filtered(self) -> int:
        """Number of its transactions that a filter left empty: they are only recorded."""
    @property
    def own_left_out(self) -> int:
        """Number of its transactions from which changes of paraply's own tables were removed."""
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def gtids(self) -> GtidSet: ...
    @property
    def numbers(self) -> list[MariadbGtid]:
        """Domain, number and server of the MariaDB GTIDs of its transactions, in order; other GTIDs are left out."""
    @property
    def sessions(self) -> list[SourceSession]:
        """Server and session of the source for its transactions, each once; None for a session that the log does not name."""
    @property
    def executed(self) -> GtidSet:
        """GTIDs that are executed once this block and all older ones are committed."""
    @property
    def first_gtid(self) -> str | None: ...
    @property
    def last_gtid(self) -> str | None: ...
    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def end_file(self) -> str: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def ordinal(self) -> int:
        """Position of the last transaction in the log: dense from 1 over all transactions read, including skipped ones."""
    @property
    def last_committed(self) -> int | None: ...
    @property
    def sequence_number(self) -> int | None: ...
    @property
    def committed_at(self) -> int | None:
        """Commit time of the last transaction on the source, microseconds since 1970, UTC."""
    @property
    def statement(self) -> Statement | None: ...
    @property
    def xid(self) -> str | None: ...
    @property
    def has_rows(self) -> bool: ...
    @property
    def format(self) -> Format: ...
    @property
    def no_foreign_key_checks(self) -> bool: ...
    def table_maps(self) -> list[TableMap]:
        """Return each table map once."""
    def changes(self, database: str, table: str, columns: Sequence[int], most: int) -> list[RowImages]:
        """Return the first changed rows of a table: the requested columns before and after the change, by their index.

        A column missing in an image is left out. Numbers, and ENUM, SET and BIT, are int or float; DECIMAL and times are text, a TIMESTAMP
        in seconds since 1970; all other values are bytes.
        """
    @staticmethod
    def sums(blocks: Sequence[Block]) -> BlockSums:
        """Return the sums over blocks."""
    def split(self) -> list[Block]:
        """Return one block for each transaction, with the same ``id``, to be applied and committed one after the other."""

def write_set_hash(key_name: str, database: str, table: str, *values: Any, collation: str | None = None) -> int:
    """Return the hash of one key of one row (R11): XXH64 over names and canonical values.

    Args:
        key_name: ``PRIMARY`` or the unique key's name.
        database: The table's database.
        table: The table.
        values: The key's parts: int, Decimal, str, bytes or bool.
        collation: The collation of the text parts; None hashes their bytes.

    Raises:
        UsageError: A value has another type, or the collation has no exact form.
    """

def write_set_hashes(key_name: str, database: str, table: str, columns: Sequence[Any], *, collation: str | None = None) -> pa.Array:
    """Compute ``write_set_hash`` of many rows over Arrow, as int64; null if a part of the key is null (R11).

    Args:
        key_name: ``PRIMARY`` or the unique key's name.
        database: The table's database.
        table: The table.
        columns: Anything with ``__arrow_c_array__``, one for each part of the key: integers, decimals, floats, bools, text, bytes, dates
            and timestamps (without a zone as DATETIME, with one as TIMESTAMP).
        collation: The collation of the text parts; None hashes their bytes.

    Raises:
        UsageError: A column has another type, columns differ in length, or the collation has no exact form.
    """

def collation_class(name: str, mariadb: bool | None = None) -> str:
    """Return the exactness of a collation's form: ``exact``, ``safe`` (coarser) or ``whole-key`` (R13).

    Args:
        name: The collation's full name.
        mariadb: Family of the name, for the few names with different collations in MySQL and MariaDB; None for a class valid in both.

    Raises:
        UsageError: The collation does not exist.
    """

NO_TEXT: Final[str]
"""Begin of a label of ENUM or SET that is no text, or has a NUL character; the hexadecimal digits of its bytes follow."""

def decode_text(charset: str, value: bytes) -> str | None:
    """Return the text of bytes in one of the servers' character sets; None if the bytes are not valid in it.

    Args:
        charset: Name of the character set.
        value: The bytes.

    Raises:
        UsageError: The character set does not exist.
    """

def equality_form(collation: str, value: bytes, mariadb: bool | None = None) -> bytes:
    """Return the bytes that are hashed in place of a value: the same for all values equal under the collation (R12).

    Args:
        collation: The collation's full name.
        value: Text in the collation's character set.
        mariadb: Family of the name, as for ``collation_class``.

    Raises:
        UsageError: The collation does not exist or is of class ``whole-key``, or the value is not text in its character set.
    """

def equality_hashes(collation: str, values: Any, mariadb: bool | None = None) -> pa.Array:
    """Return hashes of the equality forms of many values, as uint64; null if ``equality_form`` would raise for the value (R12).

    Args:
        collation: The collation's full name.
        values: Object with ``__arrow_c_array__`` that holds binary or large binary: the values in the collation's character set.
        mariadb: Family of the name, as for ``collation_class``.

    Raises:
        UsageError: The collation does not exist, or the values are not bytes.
    """

@final
class RowEnds:
    """Columns with the end of a row version, in the target's system-versioned tables. Thread-safe.

    MariaDB 11.5 changed the end of current rows. If log and target differ in this, the value is converted in the rows.

    Args:
        later: True if the target is MariaDB 11.5 or newer.
    """

    def __new__(cls, later: bool) -> Self: ...
    def note(self, fingerprint: int, column: int | None, fractions: Sequence[int | None]) -> None:
        """Note the column of a table, given by its table map's fingerprint; None for a table without versions.

        ``fractions`` are the fractional digits of its columns: for MariaDB's old temporal types the log does not contain them.
        """

def binlog_statements(
    block: Block,
    max_bytes: int | None = None,
    check: ReferenceCheck | None = None,
    row_ends: RowEnds | None = None,
    left_out: Sequence[tuple[str, str]] = ...,
) -> BinlogStatements:
    """Return ``BINLOG '...'`` statements with the block's row events, each with every table's map once, each made on request.

    Args:
        block: The block.
        max_bytes: Longest statement that the server accepts; a statement of a megabyte is not extended further.
        check: Rows whose foreign keys need no check by the server.
        row_ends: Columns of system-versioned tables that may have to be converted.
        left_out: Databases and names of tables whose rows are left out.

    Raises:
        ApplyFailed: A row is longer than the server accepts. Raised, like the next error, when its statement is requested.
        LogDamaged: A row event is damaged.
    """

def explain_values(
    catalog: Catalog,
    database: str,
    table: str,
    before: Any,
    after: Any,
    *,
    scheme: str = "fine",
    foreign_key_checks: bool = True,
    cascades_logged: bool = True,
) -> dict[str, Any]:
    """Return the write set of one row: ``table``, ``exclusive``, ``shared``, ``barrier``, ``reason``, ``keys`` and ``tables``.

    Raises:
        UsageError: The table is not defined, or a value does not fit its column.
    """

def explain_rows(transaction: Transaction, catalog: Catalog, *, scheme: str = "fine", rows: int = 100) -> list[dict[str, Any]]:
    """Return the contributions of the first rows of a transaction, as ``explain_values`` does.

    Raises:
        UsageError: The scheme is unknown.
        LogDamaged: A row event contradicts itself.
    """

def whole_statement(block: Block, executed: str, channel: str, slot: int, epoch: int, max_bytes: int) -> bytes | None:
    """Return the statement of a block of one transaction as ``MySqlConnection.apply_each`` sends it, with its row of progress."""

def set_most_in_memory(count: int) -> int:
    """Set the bytes of a transaction that are held in memory, and with it the other limits of large transactions; for tests.

    Returns:
        The number before.
    """

def stage_cpu() -> dict[str, float]:
    """Return the CPU seconds that this process has spent so far in each stage of an apply, over all its threads.

    The stages are ``read``, ``decode``, ``hash``, ``plan``, ``render`` and ``send``; each counts by itself, with what was added by
    ``spend_cpu``.
    """

def spend_cpu(stage: str, seconds: float) -> None:
    """Add CPU seconds to a stage of ``stage_cpu``. Any thread may call it.

    Raises:
        UsageError: There is no such stage, or the seconds are negative.
    """

def format_statement(block: Block) -> bytes:
    """Return ``BINLOG '...'`` with the block's format description event."""

@final
class RenderedStatement:
    """Statement that writes rows into PostgreSQL.

    Attributes:
        sql: The text.
        rows: Number of rows that it must affect; -1 for any number.
        table: The source's table.
        prepared: Name of the prepared statement that it executes; None for other text.
    """

    def __new__(cls, sql: bytes, rows: int, table: str, prepared: str | None = None) -> Self: ...
    @property
    def sql(self) -> bytes: ...
    @property
    def rows(self) -> int: ...
    @property
    def table(self) -> str: ...
    @property
    def prepared(self) -> str | None: ...

@final
class PostgresRenderer:
    """Renderer of the rows of blocks as PostgreSQL DML."""

    def __new__(cls) -> Self: ...
    def define(self, table: Table, mapping: Any) -> None:
        """Set the mapping of a table's columns: the source's definition, and its mapping by ``paraply.targets.postgres.types``."""
    @staticmethod
    def uncomputed(table: Table) -> list[str]:
        """Return the generated columns of a table whose values are not computed where a row image lacks them."""
    def forget(self, database: str, table: str) -> None: ...
    def render(self, block: Block, *, sets: bool) -> list[RenderedStatement]:
        """Return the statements of a block, in order.

        Args:
            block: The block.
            sets: True for few statements for many rows, False for statements in the log's order.
        """
    def preparation(self, name: str) -> bytes | None:
        """Return the statement that prepares the one of this name, or None if there is none."""
    def set_repeated(self, database: str, table: str) -> None:
        """Count a set of a table that failed where its rows, one after the other, did not; after some, sets leave it out."""

@final
class BatchEnd:
    """End of a batch of transactions.

    Attributes:
        done: Number of committed transactions.
        committing: True if the COMMIT of the next one was sent and not answered.
        results: Results of its statements from the guard on.
        error: Its error, if there is one.
    """

    @property
    def done(self) -> int: ...
    @property
    def committing(self) -> bool: ...
    @property
    def results(self) -> list[ResultSet]: ...
    @property
    def error(self) -> ParaplyError | None: ...

@final
class MySqlConnection:
    """Connection to MySQL or MariaDB; every call releases the GIL.

    With ``found_rows`` an UPDATE counts the matched rows, not only the changed ones.
    """

    def __new__(
        cls,
        host: str,
        port: int,
        user: str,
        password: str | None = None,
        *,
        database: str | None = None,
        socket: str | None = None,
        tls: Mapping[str, str] | None = None,
        connect_timeout: float = 10.0,
        read_timeout: float | None = None,
        found_rows: bool = False,
    ) -> Self: ...
    @property
    def connection_id(self) -> int: ...
    @property
    def server_version(self) -> str: ...
    def query(self, sql: bytes | str) -> list[ResultSet]:
        """Run one or several statements, and return their results.

        Raises ServerError, with ``code`` and ``sqlstate``, if the server reports an error.
        """
    def commit_each(self, texts: Sequence[bytes], results: int, first: int, others: int, epoch: int) -> BatchEnd:
        """Run and commit transactions until one fails.

        Args:
            texts: Statements of each transaction up to its rows; from the second one on they begin with the COMMIT of the previous one.
            results: Number of results of a text from its guard on; with fewer the transaction is not committed.
            first: Number of statements before the guard in the first text.
            others: Number of statements before the guard in the other texts.
            epoch: Row that the guard must find.
        """
    def apply_each(
        self,
        blocks: Sequence[Block],
        progress: Ledger | Sequence[str],
        channel: str,
        slot: int,
        epoch: int,
        max_bytes: int,
        row_ends: RowEnds | None = None,
    ) -> AppliedBlocks:
        """Run transactions of one statement each, under autocommit, until one fails or needs more statements.

        The statement is a BINLOG with two parts: the row event that changes the session's row of ``paraply.progress``, which it finds by
        channel, slot and epoch; and the block's own rows. A block that needs more than one statement is left to the caller, with all later
        blocks. So are blocks of another log format than the first one's, which the server must know already.

        Args:
            blocks: Blocks of one transaction each.
            progress: Ledger that supplies the text of each row of progress, and records the commits; or the texts.
            channel: First part of the row's key.
            slot: Second part of the row's key.
            epoch: Third part of the row's key.
            max_bytes: Most bytes of a statement.
            row_ends: Columns of system-versioned tables that may have to be converted.

        Returns:
            The number of committed blocks, and the error of the next one.
        """
    @property
    def overdue(self) -> float:
        """Seconds by which the answer to the present query is late, less one for each megabyte sent; 0 if it is not late."""
    def close(self) -> None: ...

@final
class Ledger:
    """Acknowledged GTIDs, and the text of a session's row about them; see ``paraply.targets.progress.gtid_ledger``.

    Args:
        executed: GTIDs committed at the start.
        low: Part without a gap before it, if MariaDB's numbers may have gaps; None if a set's text is complete.
        beyond: Numbers after a gap: first, last, and the server of the last, by domain.
        most_pieces: Most pieces after a gap in one row before it takes over those of all rows.
    """

    def __new__(
        cls,
        executed: GtidSet,
        *,
        low: GtidSet | None = None,
        beyond: Mapping[int, Sequence[tuple[int, int, int]]] | None = None,
        most_pieces: int | None = None,
    ) -> Self: ...
    def texts(self, blocks: Sequence[Block], slot: int | None = None) -> list[str]:
        """Return the texts to write in transactions that a session commits one after the other; each includes the earlier ones."""
    def acknowledge(self, blocks: Sequence[Block], slot: int | None = None) -> None:
        """Note that the commits of blocks were acknowledged."""
    def executed(self) -> GtidSet:
        """Return the acknowledged GTIDs."""

def progress_text(low: GtidSet, beyond: Mapping[int, Sequence[tuple[int, int, int]]]) -> str:
    """Return the text of a position and of the numbers committed after it; it is JSON if there are such numbers."""

def raise_position(low: GtidSet, numbers: Mapping[int, Sequence[tuple[int, int, int]]]) -> RaisedPosition:
    """Raise a position of MariaDB's GTIDs by the numbers that follow it without a gap; return it, and the ranges after the gap."""

@final
class KnownTables:
    """Set of checked table maps. Thread-safe."""

    def __new__(cls) -> Self: ...
    def add(self, block: Block) -> None:
        """Add the table maps of a block."""
    def clear(self) -> None:
        """Remove all table maps."""
    def leading(self, blocks: Sequence[Block]) -> int:
        """Return the number of blocks, from the first one on, that have rows and only known tables."""

@final
class DelayingProxy:
    """Proxy on a loopback port that delays every request to a server; answers are not delayed.

    Args:
        port: Port to listen on; 0 for any free port.
        host: Host of the server, or the path of its socket.
        server_port: Port of the server; ignored with a path.
        seconds: Delay of each request.

    Raises:
        OSError: The port is in use.
    """

    def __new__(cls, port: int, host: str, server_port: int, seconds: float) -> Self: ...
    @property
    def port(self) -> int:
        """Port on which it listens."""
    def serve(self) -> None:
        """Forward data for a tenth of a second, without the GIL; call it again and again."""

@final
class ReplicaConnection:
    """Connection that receives a source's log; every call releases the GIL."""

    def __new__(
        cls,
        host: str,
        port: int,
        user: str,
        password: str | None = None,
        *,
        socket: str | None = None,
        tls: Mapping[str, str] | None = None,
        connect_timeout: float = 10.0,
        read_timeout: float | None = None,
    ) -> Self: ...
    @property
    def connection_id(self) -> int: ...
    @property
    def server_version(self) -> str: ...
    def execute(self, sql: str) -> None:
        """Run one statement without result rows.

        Raises:
            ServerError: The source refuses the statement.
        """
    def receive(
        self,
        relay: RelayLog,
        server_id: int,
        *,
        behind: GtidSet | None = None,
        file: str = "",
        position: int = 4,
        semi_sync: bool = False,
        report_host: str = "",
        report_port: int = 0,
    ) -> None:
        """Register as a replica and receive into a relay log, until ``relay.stop_receiving``; after that the connection is unusable.

        Args:
            relay: The relay log to append to; every whole transaction is published at once.
            server_id: Server id of this replica.
            behind: MySQL: receive everything that is not in this set. None: from a file and position, or (MariaDB, with
                ``slave_connect_state`` set) with an empty name.
            file: File of the source's log.
            position: Offset of an event in it.
            semi_sync: True if the session has agreed on semi-synchronous replication: transactions that the source waits for are synced to
                disk and acknowledged.
            report_host: Host of this replica in the source's list of replicas.
            report_port: Port of this replica in that list; 0 for none.

        Raises:
            ConnectionLost: The source ended the connection, or was silent for longer than ``read_timeout``.
            ServerError: The source refuses the request.
            LogDamaged: An event contradicts itself.
            RelayLogError: The relay log cannot be written.
        """
    def copy_log(self, copy: LogCopy, server_id: int, *, most: int | None = None) -> None:
        """Register as a replica and receive the source's files into a copy, until ``copy.stop``; after that the connection is unusable.

        Args:
            copy: The copy, which names the file and the position to start at.
            server_id: Server id of this replica.
            most: Number of copied or compared events after which the call returns.

        Raises:
            ConnectionLost: The source ended the connection, or was silent for longer than ``read_timeout``.
            ServerError: The source refuses the request.
            LogDamaged: An event contradicts itself, does not follow the one before it, or differs from the known one.
            LogNotUnderstood: The source encrypts its files, so that they cannot be copied as they are.
        """
    def close(self) -> None: ...

@final
class LogCopy:
    """Copy of a source's files, byte for byte, that one thread fills and another one empties; its calls release the GIL.

    Args:
        file: Name of the source's file to start with.
        known: Offset of the last copied event in it, the offset after that event, and its hash: the source must have the same event there.
            None for the file's start.
        piece_bytes: Size of a piece; the receiver waits while twice as many bytes are not taken.
    """

    def __new__(cls, file: str, *, known: tuple[int, int, int] | None = None, piece_bytes: int = 16777216) -> Self: ...
    @property
    def heard_at(self) -> int | None:
        """Time when the source was heard last, microseconds since 1970, UTC."""
    def append(self, event: bytes) -> None:
        """Append one event as a source sends it; wait while too many bytes are not taken.

        Raises:
            LogDamaged: The event contradicts itself, does not follow the one before it, or differs from the known one.
            LogNotUnderstood: The source encrypts its files.
        """
    def stop(self) -> None:
        """End the receiver in another thread at the next event or heartbeat."""
    def take(self, seconds: float) -> LogPiece | None:
        """Wait for a whole piece, for so long or until ``stop``; return what there is, up to the last whole transaction."""

@final
class LogPiece:
    """Consecutive bytes of a source's file."""

    @property
    def file(self) -> str: ...
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def whole(self) -> int:
        """Offset after the file's last whole transaction."""
    @property
    def data(self) -> bytes: ...
    @property
    def last(self) -> CopiedEvent:
        """The last event."""
    @property
    def head(self) -> FileHead | None:
        """The file's bytes up to its format description, if they are in the piece."""
    @property
    def previous_gtids(self) -> GtidSet | None:
        """GTIDs executed before the file, if the event that states them is in the piece."""
    @property
    def gtids(self) -> GtidSet:
        """GTIDs of the transactions that end in the piece."""
    @property
    def transactions(self) -> int: ...
    @property
    def committed(self) -> CommitTimes | None:
        """Earliest and latest commit time, microseconds since 1970, UTC."""
    @property
    def closed(self) -> bool:
        """True if the file has ended."""
    @property
    def next_file(self) -> str | None:
        """Name of the next file, if the file ends with it."""

@final
class Dump:
    """Packets of a source for a replica: a log's transactions with other stamps, as events of a log of its own.

    Args:
        server_id: Server id of the source.
        replica_id: Server id of the replica, which skips events with its own id; such events get the source's.
        packet: Number of the first packet.
    """

    def __new__(cls, server_id: int, replica_id: int, packet: int) -> Self: ...
    def transactions(self, block: Block, last_committed: int, sequence_number: int, sent: int) -> DumpPackets:
        """Return packets of a block's only transaction, read from its log again; a large one comes in parts.

        Args:
            block: The block.
            last_committed: Number of the transaction that it waits for.
            sequence_number: Its own number.
            sent: Number of its bytes sent before.

        Returns:
            The packets, and the number of bytes sent then; None when all are sent.

        Raises:
            LogDamaged: The log has changed since it was first read.
            LogUnreadable: The log cannot be read any more.
        """
    def heartbeat(self) -> bytes:
        """Return a packet with the position in the log; empty before the first transaction."""
    def refusal(self, message: str) -> bytes:
        """Return a packet with an error, with which the replica's receiver stops."""

@final
class BinlogStatements:
    """Iterator over the statements of ``binlog_statements``."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...

@final
class ReferenceChecker:
    """Finder of the rows that the rows of a block refer to (MySQL 9.6 and later).

    Args:
        catalog: All of the target's tables; later changes of it have no effect.
    """

    def __new__(cls, catalog: Catalog) -> Self: ...
    def check(self, block: Block) -> ReferenceCheck | None:
        """Return the rows that need no check by the server; None if that would not pay. Releases the GIL.

        Raises:
            LogDamaged: A row event contradicts itself.
        """

@final
class ReferenceCheck:
    """Row events of a block that need no foreign-key check by the server, and the queries that replace it."""

    @property
    def questions(self) -> list[NumberQuery]:
        """Statements that return one number each, to run after all rows are written, and the expected numbers."""

@final
class Catalog:
    """Table definitions for hashing, valid at one position of the log."""

    def __new__(cls) -> Self: ...
    def put(self, table: Table) -> None: ...
    def remove(self, database: str, table: str) -> None:
        """Forget a table and its earlier definitions."""
    def retire(self, database: str, table: str) -> None:
        """Remove a table whose name is gone; rows written before may still follow."""
    def copy(self) -> Catalog:
        """Return a catalog with the same definitions, which later changes leave alone."""
    def follow(self, other: Catalog) -> None:
        """Take over the definitions of a copy of the same catalog; the memory for hashing is kept."""
    def __len__(self) -> int: ...

@final
class ReaderStop:
    """Transaction at which reading stopped.

    Attributes:
        file: Name of the file, as given.
        offset: Offset of its first event.
        gtid: Its GTID, if there is one.
        committed_at: Commit time, microseconds since 1970, UTC.
        included: True if it was still returned.
    """

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def gtid(self) -> str | None: ...
    @property
    def committed_at(self) -> int | None: ...
    @property
    def included(self) -> bool: ...

@final
class StopCondition:
    """Condition at which a ``LogReader`` ends; of several the first one that is met in the log counts.

    Args:
        time: End before the first transaction whose commit time is not earlier, microseconds since 1970, UTC.
        before: End before this GTID.
        after: End after this GTID.
        view_change: End after a view change of a group that is not in this set.
        position: End before the first transaction that does not begin before this place: base name of a file, and offset. In a relay log
            that is still written it is a place of the source's log.

    Raises:
        UsageError: A text is no GTID.
    """

    def __new__(
        cls,
        *,
        time: int | None = None,
        before: str | None = None,
        after: str | None = None,
        view_change: GtidSet | None = None,
        position: tuple[str, int] | None = None,
    ) -> Self: ...
    @property
    def time(self) -> int | None: ...

@final
class LogReader:
    """Reader of the transactions of log files, in order.

    Args:
        paths: The files.
        verify_checksums: Compare the checksums of all events.
        executed: Applied transactions, whose rows are not decoded: ``rows`` is 0, write sets are empty.
        after: The same for transactions without GTID: index of the file, and offset in it.
        tables: Filter that removes the row changes of other tables; a statement is then in a batch of its own.
        stop: Condition at which reading ends; None for the logs' end.
        skip: Transactions that are left out by name: they keep only their identity. A statement, or a part of an XA transaction, is
            returned whole and in a batch of its own instead, with ``skipped`` set.
        piece: Start and end in the only file. The start is an offset, the offset of the format description, and True for a relay log; the
            end is None for the file's end.
        position: Number of transactions before the first one.
        selection: Conditions for transactions; others are returned only if they have statements.
        count_rows: True to count the rows of each transaction, and find damaged rows before it is returned; else ``rows`` is 0.
        sizes: Number of bytes to read from each file, as if it ended there; empty for all.
        passes_statements: True to pass over changes in statement format, for a look at a log that is not applied; else only those of
            applied transactions, and of databases that the filter leaves out for certain, are passed over.
    """
    def __new__(
        cls,
        paths: Sequence[str],
        *,
        verify_checksums: bool = True,
        executed: GtidSet | None = None,
        after: tuple[int, int] | None = None,
        tables: TableFilter | None = None,
        stop: StopCondition | None = None,
        skip: SkipList | None = None,
        piece: tuple[tuple[int, int, bool], int | None] | None = None,
        position: int = 0,
        selection: Selection | None = None,
        count_rows: bool = True,
        sizes: Sequence[int] = ...,
        passes_statements: bool = False,
    ) -> Self: ...
    @property
    def files(self) -> list[str]: ...
    @property
    def stopped(self) -> ReaderStop | None:
        """Transaction at which reading stopped; None if it did not."""
    @property
    def begins(self) -> list[FilePosition]:
        """File and offset of the starts of the last two transactions read; only with a stop ``position``, and in the log that it names."""
    @property
    def skipped(self) -> SkipList:
        """Transactions found so far that are left out by name."""
    def stop(self) -> None:
        """End a reader that follows a relay log; no effect for files. May be called from any thread."""
    def next_batch(self, max_transactions: int = 1024, max_bytes: int = 16777216) -> TransactionBatch | None:
        """Return the next transactions; a batch ends after a transaction with a statement, so that the schema can be advanced.

        A reader that follows a relay log waits up to a tenth of a second for more, and then returns an empty batch.

        An error of the log is raised only after the transactions before it were returned.
        """

def own_table_names() -> list[str]:
    """Return the names of the tables in which paraply keeps its own state in MySQL and MariaDB."""

@final
class LoggedXaPart:
    """Part of an XA transaction that is prepared and ended apart (R35).

    Attributes:
        file: Name of the file, as given.
        offset: Start of the part.
        end: Index of the file, and offset after the part.
        gtid: Its GTID, if there is one.
        xid: Name of the XA transaction.
        ends: True for XA COMMIT and XA ROLLBACK, False for XA PREPARE.
        tables: Tables of its row events; an end has none.
    """

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def end(self) -> LogPosition: ...
    @property
    def gtid(self) -> str | None: ...
    @property
    def xid(self) -> str: ...
    @property
    def ends(self) -> bool: ...
    @property
    def tables(self) -> list[TableName]: ...

@final
class LoggedRowStatement:
    """Row change in statement format (R27).

    Attributes:
        file: Name of the file, as given.
        offset: Start of its transaction.
        end: Index of the file, and offset after the statement.
        gtid: GTID of its transaction, if there is one.
        position: Start of the statement.
        table: Name of the first table in the statement; else its first word.
        sql: Text of the statement; empty after the first statements of many.
    """

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def end(self) -> LogPosition: ...
    @property
    def gtid(self) -> str | None: ...
    @property
    def position(self) -> int: ...
    @property
    def table(self) -> str: ...
    @property
    def sql(self) -> bytes: ...

@final
class LookAhead:
    """Facts of logs that must be known before anything is written.

    Attributes:
        xa_parts: Parts of XA transactions, in order.
        statements: Row changes in statement format, in order.
        unmatched_databases: Databases that the filter names and no event has; none if a file could not be read to its end.
        unmatched_tables: Tables, with their databases, that the filter names and no event has.
    """

    @property
    def xa_parts(self) -> list[LoggedXaPart]: ...
    @property
    def statements(self) -> list[LoggedRowStatement]: ...
    @property
    def unmatched_databases(self) -> list[str]: ...
    @property
    def unmatched_tables(self) -> list[TableName]: ...

def look_ahead(paths: Sequence[str], tables: TableFilter | None = None) -> LookAhead:
    """Return the parts of XA transactions (R35), the row changes in statement format (R27), and the names of the filter that no event has.

    Damage ends the scan of a file without an error: the reader reports it.

    Args:
        paths: The files, in order.
        tables: The filter; None for all tables.
    """

@final
class ServedEnd:
    """End of a log that is served.

    Attributes:
        file: The newest file.
        offset: Offset after its last whole transaction.
        failure: Damage that ends the log; None if there is none.
    """

    @property
    def file(self) -> Path: ...
    @property
    def offset(self) -> int: ...
    @property
    def failure(self) -> str | None: ...

@final
class ServeNotice:
    """Event of a server of logs.

    Attributes:
        at: Time, microseconds since 1970, UTC.
        kind: ``replica``, ``ended``, ``refused`` or ``failed``.
        address: The peer's address; empty for the log itself.
        text: Description of the event.
    """

    @property
    def at(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def text(self) -> str: ...

@final
class ReplicaAccess:
    """User that may connect to a ``LogServer``, with TLS and limits of its connections.

    Args:
        user: The one user who may read.
        password: The user's password; never empty.
        tls: Files of certificate and key; TLS is then required.
        most_connections: Connections at the same time.
        most_strangers: Connections at the same time that have not logged in.
        login_seconds: Time for a login.

    Raises:
        UsageError: The time is negative or too long.
    """

    def __new__(
        cls,
        user: str,
        password: str,
        *,
        tls: tuple[str | PathLike[str], str | PathLike[str]] | None = None,
        most_connections: int = 256,
        most_strangers: int = 16,
        login_seconds: float = 10.0,
    ) -> Self: ...

@final
class LogServer:
    """Source for replicas of MySQL, which serves log files to several at once until it is stopped.

    Args:
        logs: The files, in order.
        host: Address to listen on.
        port: Port to listen on; 0 for a free one.
        access: User, TLS and limits of connections.
        server_id: Server id of the source, which no replica may have.
        server_uuid: UUID of the source.
        follow: True to serve later files of the last one's series too.
        stamped: True to send a transaction only once a ``LogNumberer`` gave it numbers, and with these.
        records_replicas: True to send a replica nothing before ``recorded`` names its connection.

    Raises:
        UsageError: The address cannot be listened on, or TLS cannot be used, or a log is of MariaDB.
        LogError: A log cannot be read.
    """

    def __new__(
        cls,
        logs: Sequence[str | PathLike[str]],
        host: str,
        port: int,
        *,
        access: ReplicaAccess,
        server_id: int,
        server_uuid: str,
        follow: bool = False,
        stamped: bool = False,
        records_replicas: bool = False,
    ) -> Self: ...
    @property
    def address(self) -> ListenAddress:
        """Host and port on which it listens."""
    @property
    def server_version(self) -> str:
        """Version that replicas see: that of the server that wrote the log."""
    @property
    def has_gtids(self) -> bool:
        """True unless the log's first transaction has no GTID."""
    def files(self) -> list[NumberedFile]:
        """Return the log files with their numbers, oldest first."""
    def end(self) -> ServedEnd:
        """Return the end of the log."""
    def check(self) -> None:
        """Raise the error of a damaged log.

        Raises:
            LogError: The log is damaged.
        """
    def reader(self) -> LogReader:
        """Return a reader of the transactions that are served, as they are written."""
    def numberer(self, workers: int, first_number: int | None = None, source_file: str | None = None) -> LogNumberer:
        """Return the giver of new numbers; there must be one only.

        Args:
            workers: Most workers of a replica; no number is further back.
            first_number: Number of the first transaction; None for the log's own.
            source_file: File of the source's log in which a relay log begins; None if not known.
        """
    def replicas(self) -> list[dict[str, Any]]:
        """Return the state of each replica that reads."""
    def left(self) -> list[dict[str, Any]]:
        """Return the last state of each replica that has ever come and is not connected."""
    def recorded(self, connections: Sequence[int]) -> None:
        """Send to replicas that have come and were written down, where ``records_replicas`` holds them back.

        Args:
            connections: Numbers of their connections.
        """
    def totals(self) -> dict[str, int]:
        """Return the totals since the start."""
    def take_notices(self) -> list[ServeNotice]:
        """Return the events since the last call."""
    def stop(self) -> None:
        """End all connections and threads."""

@final
class RelayCut:
    """Data that was removed from a relay log when it was opened.

    Attributes:
        file: The file.
        position: End of its last whole transaction.
        bytes: Number of bytes removed.
        reason: Description of the damage.
    """

    @property
    def file(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def reason(self) -> str: ...

@final
class RelayLog:
    """Relay log: one writer, any number of readers, and no lock between them (R28).

    The format is MySQL's binlog. Readers get whole transactions only, as soon as they are published. Opening a log removes an incomplete
    transaction after a crash. The received set and the source's position are part of the log itself.

    Args:
        folder: Folder of the files; made if missing.
        name: Prefix of the files' names.
        max_bytes: Size at which a new file begins, after the present transaction.
        server_id: Server id in the events that the receiver writes itself.

    Raises:
        RelayLogError: The folder cannot be written, or does not match its index.
        LogError: A file cannot be read.
    """

    def __new__(cls, folder: str | PathLike[str], *, name: str = "relay-bin", max_bytes: int = 268435456, server_id: int = 0) -> Self: ...
    @property
    def folder(self) -> Path: ...
    @property
    def files(self) -> list[str]:
        """Files, oldest first; none before the first format description."""
    @property
    def cut(self) -> RelayCut | None:
        """Data removed when the log was opened; None if there was none."""
    def status(self) -> RelayStatus:
        """Return the received transactions, as last published; never waits, and makes no other thread wait (R29)."""
    @property
    def heard_at(self) -> int | None:
        """Time of the last data from the source, microseconds since 1970, UTC."""
    @property
    def idle_at(self) -> int | None:
        """Time of the last heartbeat of the idle source, microseconds since 1970, UTC."""
    @property
    def heartbeats(self) -> int:
        """Number of heartbeats of the idle source."""
    @property
    def acknowledgements(self) -> int:
        """Number of acknowledgements sent to the source, for data synced to disk."""
    def stop_receiving(self) -> None:
        """End a receiver in another thread at the next event or heartbeat; none can begin any more."""
    def hold(self, gtids: GtidSet) -> None:
        """Count transactions as received that the target holds from elsewhere; files begun from now on include them."""
    def append(self, events: bytes, *, checksums: bool = False) -> None:
        """Append whole events, and publish the whole transactions among them.

        Args:
            events: One or several events as sent by a source; the first one of a new log is a format description.
            checksums: True if they end with a checksum, which is then verified.

        Raises:
            LogDamaged: An event contradicts itself.
            RelayLogError: The disk is full, or the log is closed.
        """
    def sync(self) -> None:
        """Publish everything, and sync it to disk."""
    def interrupted(self) -> None:
        """Remove the received part of an unfinished transaction, which the source will send again from its beginning."""
    def flush(self) -> None:
        """End the current file and begin the next one.

        Raises:
            UsageError: A transaction is being received.
        """
    def purge(self, before: str | PathLike[str]) -> list[Path]:
        """Remove the files before this one, and return their paths; remove none if the file is not part of the log."""
    def reader(
        self,
        *,
        executed: GtidSet | None = None,
        after: tuple[int, int] | None = None,
        tables: TableFilter | None = None,
        stop: StopCondition | None = None,
        skip: SkipList | None = None,
    ) -> LogReader:
        """Return a reader with a descriptor of its own, from the oldest file on, that follows the log; arguments as for ``LogReader``."""
    def close(self) -> None:
        """Publish and sync everything, and end the log: readers end after the present data."""

@final
class RelayStatus:
    """Transactions received by a relay log, at a transaction boundary."""

    @property
    def received(self) -> GtidSet:
        """Received transactions, and those held before."""
    @property
    def source_file(self) -> str:
        """File of the source's log; empty if the source did not name one."""
    @property
    def source_position(self) -> int: ...
    @property
    def relay_file(self) -> str: ...
    @property
    def relay_position(self) -> int: ...
    @property
    def transactions(self) -> int:
        """Number of transactions since the log was opened."""
    @property
    def bytes(self) -> int:
        """Number of bytes since the log was opened."""
    @property
    def last_gtid(self) -> str | None: ...
    @property
    def committed_at(self) -> datetime | None:
        """Commit time of the last transaction on its original source, in UTC."""
    @property
    def committed_us(self) -> int | None:
        """The same in microseconds since 1970."""

def purge_relay_log(folder: str | PathLike[str], before: str | PathLike[str]) -> list[Path]:
    """Remove the files of a relay log before this one, and return their paths. Another process may be writing the log.

    Raises:
        RelayLogError: The name is none of a relay log's files, or the index cannot be written.
    """

def relay_event(type_code: int, body: bytes, *, server_id: int = 1, timestamp: int = 0, flags: int = 0) -> bytes:
    """Return one event without a checksum, as a source would send it."""

def relay_format(server_version: str = "9.7.0", *, server_id: int = 1, created: int = 0) -> bytes:
    """Return a format description event of MySQL 8.0 or later."""

@final
class RowEvents:
    """Iterator over the blocks of ``row_events``."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Block: ...

def row_events(block: Block) -> RowEvents:
    """Return an iterator over the row events of a block, each as a block of its own.

    Raises:
        LogDamaged: A row event is damaged.
    """

@final
class SingleRow:
    """One changed row of a block.

    Attributes:
        database: The database.
        table: The table.
        operation: ``insert``, ``update`` or ``delete``.
        before: Columns and values as text before the change, in order; a value is None for NULL. None for an insert.
        after: The same after the change; None for a deletion.
        missing: Columns that the image after the change lacks, or holds only as differences.
    """

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def before(self) -> list[ColumnText] | None: ...
    @property
    def after(self) -> list[ColumnText] | None: ...
    @property
    def missing(self) -> list[str]: ...
    @property
    def block(self) -> Block:
        """The change as a block of its own."""
    @property
    def overwriting(self) -> Block | None:
        """The change for a target whose row differs: for an insert an update of the row with its key, for an update an insert.

        None for a deletion, and where the log has only the differences of a document.
        """

def single_rows(block: Block, catalog: Catalog) -> list[SingleRow]:
    """Return the rows of a block in order.

    Args:
        block: The block.
        catalog: Definitions of its tables, for the names and types of columns that the log does not describe.

    Raises:
        LogDamaged: A row event is damaged.
    """

@final
class TransactionBatch:
    """Batch of transactions."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> Transaction: ...
    def __iter__(self) -> Iterator[Transaction]: ...
    @property
    def positions(self) -> list[int]:
        """Position of each transaction in the log, from 1."""
    @property
    def wanted(self) -> list[bool]:
        """True for each wanted transaction; others are there because their statements change tables."""
    def choosing(self, index: int) -> TransactionBatch:
        """Return the batch with one more transaction that is wanted."""
    @property
    def bytes(self) -> int: ...
    def emptied(self, *, own: bool = False) -> TransactionBatch:
        """Return a batch of one transaction with only its identity, after a filter has left it out.

        Args:
            own: True if it was left out because it is about paraply's own tables.
        """
    def with_statements(self, statements: Sequence[tuple[_Bytes, str]]) -> TransactionBatch:
        """Return a batch of one transaction with other statements: the text and the default database of each."""
    def before(self, index: int) -> TransactionBatch:
        """Return a batch of the transactions before an index."""
    def corrected(self, catalog: Catalog, tables: TableFilter | None = None) -> TransactionBatch | None:
        """Return the batch with all rows changed by its server, if a MySQL that logs cascades wrote it otherwise; None if nothing differs.

        Args:
            catalog: The valid definitions.
            tables: Filter that was used to read the batch.

        Raises:
            LogDamaged: A row event is damaged.
        """
    def table_maps(self) -> list[TableMap]:
        """Return each table map once."""
    def write_sets(
        self, catalog: Catalog, *, scheme: str = "fine", bytewise: bool = False, by_event: bool = False, bounded: bool = False
    ) -> WriteSets:
        """Hash the rows (R11 to R15).

        Args:
            catalog: The valid definitions; it also keeps the state of hashing between the batches of a log.
            scheme: ``fine``, the applier's, ``group``, the server's certifier's, ``writeset``, its tracker's (R16),
                or ``none``: nothing is hashed.
            bytewise: True to hash text without its collation; wrong on purpose, for tests.
            by_event: True to keep the hashes of each row event too, for a planner of early rows.
            bounded: True to make a transaction with very many keys a barrier instead of keeping their hashes.
        """
    def split_rows(self, index: int, catalog: Catalog, most: int) -> list[Block]:
        """Return the parts of one transaction that may be applied separately (R21a), at most ``most``; none if it stays whole.

        Row events stay together if they have a common hash that one of them takes exclusively. All of them stay together if a key is
        unknown (R13).

        Raises:
            IndexError: The batch has no such transaction.
            LogDamaged: A row event is damaged.
        """

@final
class SkipList:
    """Transactions that are left out by name.

    Args:
        gtids: A GTID set.
        ranges: Single GTIDs of MariaDB, as domain, server, first and last sequence number.
    """

    def __new__(cls, gtids: GtidSet, ranges: Sequence[tuple[int, int, int, int]] = ...) -> Self: ...
    @property
    def gtids(self) -> GtidSet:
        """The GTID set."""
    @property
    def ranges(self) -> list[MariadbGtidRange]:
        """The ranges of MariaDB's GTIDs."""

@final
class TableFilter:
    """Filter by database and table: an excluded one is never applied, and if some are named, only those are."""

    def __new__(
        cls,
        databases: Sequence[str] = ...,
        tables: Sequence[tuple[str, str]] = ...,
        exclude_databases: Sequence[str] = ...,
        exclude_tables: Sequence[tuple[str, str]] = ...,
        *,
        rename_databases: Sequence[tuple[str, str]] = ...,
        rename_tables: Sequence[tuple[tuple[str, str], tuple[str, str]]] = ...,
        leaves_own_out: bool = ...,
    ) -> Self: ...
    def chooses(self, database: str, table: str) -> bool: ...
    def chooses_on_target(self, database: str, table: str) -> bool:
        """Return True if a table of the target gets changes of an applied table, whose name in the log may be another one."""

@final
class LogHead:
    """Information in a log file's first and last events."""

    @property
    def mariadb(self) -> bool: ...
    @property
    def server_version(self) -> str: ...
    @property
    def server_id(self) -> int: ...
    @property
    def begun(self) -> int:
        """Creation time of the file, seconds since 1970."""
    @property
    def relay_log(self) -> bool: ...
    @property
    def previous_gtids(self) -> GtidSet | None:
        """GTIDs executed before the file; None if it does not contain them."""
    @property
    def has_transactions(self) -> bool: ...
    @property
    def first_gtid(self) -> str | None: ...
    @property
    def first_committed_at(self) -> int | None:
        """Commit time of the first transaction, microseconds since 1970, UTC."""
    @property
    def next_file(self) -> str | None:
        """Name of the next file, if the file ends with it."""
    @property
    def closed(self) -> bool:
        """True if the file ends like one that is complete."""
    @property
    def size(self) -> int: ...

def log_head(path: str) -> LogHead:
    """Read the head and the tail of a log file of any size."""

def log_gtids(path: str) -> GtidSet:
    """Return the GTIDs of a log file's transactions; scans its events without decoding them."""

@final
class Decrypter:
    """Reader of an encrypted log of MySQL or MariaDB, which gives the log as the server sends it.

    Args:
        path: The file.
        keys: Keys by their name: the key id of MySQL's keyring, or the number in MariaDB's key file.

    Raises:
        LogNotUnderstood: It is no encrypted log, or its key is missing or does not fit.
        LogDamaged: The file is damaged or, as ``LogTruncated``, cut off.
    """

    def __new__(cls, path: str | PathLike[str], keys: Mapping[str, _Bytes]) -> Decrypter: ...
    def next_piece(self) -> _Bytes | None:
        """Return the next plain bytes; None at the end."""

def is_encrypted(start: _Bytes) -> bool:
    """Return True if the first bytes of a file, about a kilobyte, are those of an encrypted log."""

@final
class Unpacker:
    """Reader of a compressed file, as far as Python's standard library has none.

    Args:
        path: The file.
        compression: ``zst`` or ``lz4``.

    Raises:
        OSError: The file cannot be opened; when reading, it is damaged.
        EOFError: When reading: the file is cut off.
    """

    def __new__(cls, path: str | PathLike[str], compression: str) -> Unpacker: ...
    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; none at the end."""

    def close(self) -> None:
        """Close the file; nothing more can be read."""

def zstd_pack(data: bytes, level: int = 3) -> bytes:
    """Return bytes as one Zstandard frame with a checksum."""

def zstd_unpack(data: bytes) -> bytes:
    """Return the contents of Zstandard frames.

    Raises:
        OSError: The frames are damaged.
        EOFError: The frames are cut off.
    """

@final
class TransactionKeys:
    """Write set of one transaction.

    Attributes:
        exclusive: Hashes of keys that it writes.
        shared: Hashes of keys that it only depends on.
        barrier: True if it waits for all before it, and all after it wait.
    """

    def __eq__(self, other: object, /) -> bool: ...
    @property
    def exclusive(self) -> list[int]: ...
    @property
    def shared(self) -> list[int]: ...
    @property
    def barrier(self) -> bool: ...

@final
class WriteSets:
    """Write sets of a batch."""

    def __len__(self) -> int: ...
    @property
    def key_count(self) -> int:
        """Number of hashes of all transactions together."""
    def items(self, index: int) -> TransactionKeys:
        """Return the write set of a transaction of the batch."""
    @property
    def fallbacks(self) -> list[WriteSetFallback]:
        """Coarser write sets."""

@final
class BlockSums:
    """Sums over blocks: transactions, those left empty by filters, those skipped, and rows.

    Attributes:
        named: Transactions left out by name, which are among the skipped ones.
        own_left_out: Transactions from which changes of paraply's own tables were removed.
        merged: Transactions of blocks with several, without those left empty by filters.
    """

    @property
    def transactions(self) -> int: ...
    @property
    def filtered(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def named(self) -> int: ...
    @property
    def own_left_out(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def merged(self) -> int: ...
    @property
    def gtids(self) -> GtidSet: ...

@final
class Planner:
    """Planner that splits batches into blocks and finds their dependencies.

    Args:
        executed: Applied transactions, which are skipped.
        after: The same for transactions without GTID: index of the file, and offset in it.
        gathers_filtered: True to let transactions left empty by a filter join any block.
        early_rows: True to allow early rows (``Block.steps``); needs commits in order, and write sets made ``by_event``.
    """

    def __new__(
        cls,
        *,
        executed: GtidSet | None = None,
        after: tuple[int, int] | None = None,
        gathers_filtered: bool = False,
        early_rows: bool = False,
    ) -> Self: ...
    @property
    def ordinal(self) -> int:
        """Number of transactions seen."""
    @property
    def trailing_skipped(self) -> int:
        """Number of transactions skipped since the last block."""
    def plan(self, batch: TransactionBatch, write_sets: WriteSets, *, merge: int, max_bytes: int, committed: int) -> list[Block]:
        """Return the next blocks.

        Raises:
            LogNotUnderstood: A transaction follows the position of its MariaDB domain in the log, and has no higher number.
        """

@final
class Certified:
    """Answer of the certifier."""

    @property
    def committed(self) -> bool: ...
    @property
    def last_committed(self) -> int | None: ...
    @property
    def sequence_number(self) -> int | None: ...
    @property
    def gtid(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...

@final
class Certifier:
    """Certifier of transactions, which stamps them with ``last_committed`` and ``sequence_number`` (WL#8440, rules R1 to R10).

    Args:
        collection_burns_number: True to let a collection use up one number, as in MySQL 5.7.
        first_remote_alone: True to stamp the first remote transaction with (0, 0), like a started member.
        group: Name of the group, a UUID: transactions that name their member get GTIDs from its blocks (R10).
        block_size: Number of GTIDs in a block.
    """

    def __new__(
        cls,
        *,
        collection_burns_number: bool = False,
        first_remote_alone: bool = True,
        group: str | None = None,
        block_size: int = 1_000_000,
    ) -> Self: ...
    def certify(
        self,
        write_set: Sequence[int],
        *,
        snapshot: GtidSet | None = None,
        gtid: str | None = None,
        member: int | None = None,
        local: bool = False,
        barrier: bool = False,
    ) -> Certified:
        """Certify one transaction.

        Args:
            write_set: Its hashes; without any it is a barrier.
            snapshot: GTIDs that its member had executed before it; None to skip the search for conflicts.
            gtid: GTID that it brings.
            member: Member whose block gives it a GTID, if it brings none and the certifier knows the group's name.
            local: True if it began on this member.
            barrier: True to make it a barrier whatever its write set.
        """
    def certify_batch(self, transactions: Any) -> pa.RecordBatch | pa.Table:
        """Certify transactions over Arrow, in order.

        Args:
            transactions: Object with ``__arrow_c_array__`` or ``__arrow_c_stream__``: column ``write_set`` (list of 64-bit integers), and
                optionally ``snapshot`` and ``gtid`` (text), ``local`` and ``barrier`` (bool).

        Returns:
            ``committed``, ``last_committed``, ``sequence_number``, ``gtid``; a record batch for an array, a table for a stream.
        """
    def collect_garbage(self, stable: GtidSet) -> bool:
        """Remove the items that every member has executed (R7, R8); return False if the stable set has not grown."""
    def view_change(self) -> Stamps:
        """Return the numbers of a view change; the rest of the members' blocks of GTIDs is withdrawn."""
    def commit(self, gtids: GtidSet) -> None:
        """Record that these GTIDs are committed (R10)."""
    def export(self) -> pa.RecordBatch:
        """Return the certification info for a joining member (R9)."""
    @staticmethod
    def joined(
        exported: Any,
        *,
        collection_burns_number: bool = False,
        first_remote_alone: bool = True,
        group: str | None = None,
        block_size: int = 1_000_000,
    ) -> Certifier:
        """Return the certifier of a joining member (R9); arguments as for a new one."""
    @property
    def last_committed_global(self) -> int: ...
    @property
    def next_sequence_number(self) -> int: ...
    @property
    def memory(self) -> int:
        """Size of the certification info in bytes."""
    def __len__(self) -> int: ...

def encode_rows(
    catalog: Catalog,
    collations: Mapping[str, int],
    server_id: int,
    committed_at: int,
    changes: Sequence[tuple[str, str, Mapping[str, Any] | None, Mapping[str, Any] | None]],
) -> bytes:
    """Return table maps and row events: the inner part of a transaction, which is the same in every log.

    Args:
        catalog: The tables.
        collations: Numbers of the collations of their text columns.
        server_id: Server id of the member where the transaction began.
        committed_at: Commit time at that member, microseconds since 1970, UTC.
        changes: Database, table, row before and row after, with all columns.

    Raises:
        UsageError: A table is unknown, a type cannot be written, or a value does not fit.
    """

def encode_transaction(front: tuple[str, int, int, int, int, int], rows: bytes) -> bytes:
    """Return the events of a transaction of rows, joined, without checksums and positions.

    Args:
        front: GTID, last_committed, sequence_number, server id, session, commit time in microseconds since 1970, UTC.
        rows: Result of ``encode_rows`` or ``Transaction.row_events``.
    """

def encode_statement(front: tuple[str, int, int, int, int, int], database: str, sql: str) -> bytes:
    """Return the events of a DDL statement."""

def encode_view_change(front: tuple[str, int, int, int, int, int], view_id: str, number: int) -> bytes:
    """Return the events of a view change."""

def trace_schema() -> pa.Schema:
    """Return the schema of the trace."""

def trace_batch(batch: TransactionBatch, write_sets: WriteSets, *, reads: bool = True) -> pa.RecordBatch:
    """Return the requested transactions of a batch and their write sets as rows of the trace.

    Args:
        batch: The transactions.
        write_sets: Write sets of the batch.
        reads: True if the scheme has shared keys; else the column is null.
    """

@final
class Selection:
    """Conditions for transactions, all of which must hold; arguments left out add no condition.

    Args:
        positions: First and last position.
        committed: Earliest and latest commit time, microseconds since 1970, UTC.
        kinds: Kinds, of which it must have one.
        gtids: GTIDs, of which it must have one.
        server_ids: Server ids, of which it must have one.
        tables: Tables; it must change rows of one.
        named: Transactions by their GTIDs, as sets and ranges, of which it must be one.
    """

    def __new__(
        cls,
        *,
        positions: tuple[int | None, int | None] = ...,
        committed: tuple[int | None, int | None] = ...,
        kinds: Sequence[str] | None = None,
        gtids: Sequence[str] | None = None,
        server_ids: Sequence[int] | None = None,
        tables: TableFilter | None = None,
        named: SkipList | None = None,
    ) -> Self: ...

@final
class LogScan:
    """Result of ``scan_log``."""

    @property
    def pieces(self) -> list[ScannedPiece]:
        """The pieces in order."""
    @property
    def statements(self) -> list[ScannedStatements]:
        """Transactions with statements, each with the number of its piece, without rows."""
    @property
    def end(self) -> Place:
        """Position after the last whole transaction, at which a later scan continues."""
    @property
    def failure(self) -> Exception | None:
        """Error that ended the scan before the file's end."""

def scan_log(
    path: str, split: int, *, start: tuple[int, int, bool] | None = None, cuts: Sequence[int] = ..., events: bool = False
) -> LogScan:
    """Scan a log once, without its rows and checksums, and divide it at transaction boundaries.

    Args:
        path: The file.
        split: Size of a piece in bytes.
        start: Position at which to begin, as in ``LogScan.end``.
        cuts: Further offsets at which to divide, if they are boundaries.
        events: True to read only the GTID events that begin transactions.
    """

def row_schema(values: Sequence[tuple[str, bool]] | None = None) -> pa.Schema:
    """Return the schema of rows; with columns (name, and True for bytes) the images are structs of these."""

@final
class RowDecoder:
    """Decoder of the rows of transactions into Arrow.

    Args:
        columns: The requested columns, in order.
        tables: The requested tables.
        operations: The requested operations: ``insert``, ``update``, ``delete``.
        values: Columns of one table (name, and True for bytes), if images are structs.
        whole: True to refuse an after image that lacks one of these columns, where it would be null.
    """

    def __new__(
        cls,
        columns: Sequence[str],
        *,
        tables: TableFilter | None = None,
        operations: Sequence[str] | None = None,
        values: Sequence[tuple[str, bool]] | None = None,
        whole: bool = False,
    ) -> Self: ...
    def begin(self, batch: TransactionBatch, catalog: Catalog) -> None:
        """Begin with transactions, under the definitions valid now."""
    def next_batch(self) -> pa.RecordBatch | None:
        """Return the next rows of these transactions; None after the last one."""

def event_schema() -> pa.Schema:
    """Return the schema of events."""

@final
class EventReader:
    """Reader of the events of a log, which decodes only their headers.

    Args:
        path: The file.
        piece: Start and end, as for ``LogReader``.
        verify_checksums: Compare the checksums of all events.
        size: Number of bytes to read, as if the file ended there; None for all.
    """

    def __new__(
        cls,
        path: str,
        *,
        piece: tuple[tuple[int, int, bool], int | None] | None = None,
        verify_checksums: bool = True,
        size: int | None = None,
    ) -> Self: ...
    def next_batch(self, max_events: int = 65536) -> pa.RecordBatch | None:
        """Return the next events; None at the end. An error is raised after the events before it."""

@final
class ChunkReport:
    """Report of a chunk.

    Attributes:
        first: Position of its first transaction.
        last: Position of its last transaction.
        numbers: Count of numbers used.
        barrier: Number of the last barrier.
        rows: Its transactions, for ``chunk_numbers``.
        edges: Uses of keys that other chunks may depend on, for each part of the keys.
    """

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def numbers(self) -> int: ...
    @property
    def barrier(self) -> int: ...
    @property
    def rows(self) -> bytes: ...
    @property
    def edges(self) -> list[bytes]: ...

@final
class KeyAnswer:
    """Dependencies of a chunk on the chunks before it, for one part of the keys.

    Attributes:
        base: Numbers used by the chunks before.
        floor: Number of the last barrier before.
        crossings: The dependencies.
    """

    @property
    def base(self) -> int: ...
    @property
    def floor(self) -> int: ...
    @property
    def crossings(self) -> bytes: ...

@final
class PathLength:
    """Length of the longest chain of dependencies.

    Attributes:
        transactions: Number of transactions.
        barriers: Number of transactions that run alone.
        steps: Steps of the longest chain.
    """

    @property
    def transactions(self) -> int: ...
    @property
    def barriers(self) -> int: ...
    @property
    def steps(self) -> int: ...

@final
class ChunkResolver:
    """Resolver of a chunk of a trace, which also reports the uses of keys that other chunks may depend on.

    Args:
        parts: Number of parts of the report, by key; 0 if the chunk is the whole trace.
        shared_counts_as_exclusive: True for the server's own rules, which have no shared keys.
    """

    def __new__(cls, parts: int, *, shared_counts_as_exclusive: bool = False) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, transactions: Any) -> None:
        """Add a record batch in ascending order of its ``position``.

        Columns: ``position`` int64, ``role`` int8 (0 rows, 1 barrier, 2 local, 3 view change), ``write_set`` list<int64>, and optionally
            ``reads`` list<int64> and ``session`` int64.
        """
    def finish(self) -> ChunkReport:
        """End the chunk and begin the next; return its report."""

@final
class CriticalPath:
    """Longest chain of dependencies among transactions, each of which takes one step."""

    def __new__(cls) -> Self: ...
    def add(self, transactions: Any) -> None:
        """Add a record batch in order, with the columns of ``ChunkResolver``."""
    def finish(self) -> PathLength:
        """End the path and begin the next; return its length."""

@final
class KeyResolver:
    """Finder of the dependencies across chunks, for one part of the keys."""

    def __new__(cls) -> Self: ...
    def add(self, first: int, last: int, numbers: int, barrier: int, edges: bytes) -> KeyAnswer:
        """Add the report of the next chunk; return its dependencies, for ``chunk_numbers``.

        Args:
            first: Position of its first transaction.
            last: Position of its last transaction.
            numbers: Count of numbers used.
            barrier: Number of the last barrier.
            edges: Its uses of keys, for this part.

        Raises:
            UsageError: Chunks overlap or arrive in the wrong order.
        """

def chunk_numbers(rows: bytes, answers: Sequence[tuple[int, int, bytes]], collections: Sequence[int]) -> pa.RecordBatch:
    """Return the numbers of a chunk's transactions.

    Args:
        rows: Result of ``ChunkResolver.finish``.
        answers: Base, floor and crossings of each ``KeyAnswer``, one for every part of the keys; empty if the chunk is the whole trace.
        collections: Numbers after which a collection ran, ascending (R7).

    Returns:
        ``position``, ``computed_last_committed``, ``computed_sequence_number``.
    """

@final
class Comparison:
    """Result of a verifier."""

    @property
    def transactions(self) -> int: ...
    @property
    def different(self) -> int: ...
    @property
    def missed(self) -> int:
        """Number of different transactions whose computed ``last_committed`` is smaller than the server's."""
    @property
    def gc_after(self) -> list[int]: ...
    @property
    def first_difference(self) -> dict[str, Any] | None: ...
    @property
    def differences(self) -> list[dict[str, Any]]:
        """The first thousand differences, each like ``first_difference``."""

@final
class StampVerifier:
    """Verifier that computes the numbers of a group member's relay log and compares them with the log's own."""

    def __new__(cls, *, infer_gc: bool = False, burn_on_collection: bool = False, local_server_id: int | None = None) -> Self: ...
    def add_stamps(self, batch: TransactionBatch) -> None: ...
    @property
    def stamps_ahead(self) -> int: ...
    def observe(self, batch: TransactionBatch, write_sets: WriteSets) -> None: ...
    def finish(self) -> Comparison: ...
    @property
    def transactions(self) -> int: ...

@final
class TransactionServer:
    """Source for replicas of MySQL whose transactions are made while they are sent.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0 for a free one.
        begin: Called in a thread of its own with the transactions that a replica has, and the number of the first packet. It returns an
            iterator over packets, which ends when nothing more may be sent on that connection.
        on_error: Called with an error of that iterator.
        version: Version that replicas see.
        user: The one user who may read.
        password: The user's password; never empty.
        server_id: Server id of the source, which no replica may have.
        server_uuid: UUID of the source.

    Raises:
        UsageError: The address cannot be listened on.
    """

    def __new__(
        cls,
        host: str,
        port: int,
        begin: Callable[[GtidSet, int], Iterator[bytes]],
        on_error: Callable[[BaseException], None],
        *,
        version: str,
        user: str,
        password: str,
        server_id: int,
        server_uuid: str,
    ) -> Self: ...
    @property
    def port(self) -> int:
        """Port on which it listens."""
    @property
    def dumps(self) -> int:
        """Number of times that a replica has begun to read."""
    def stop(self) -> None:
        """End all connections and threads."""

@final
class BegunFile:
    """Log file that was begun.

    Attributes:
        number: Its number.
        path: Its path.
        first_number: Number of its first transaction; None if the counters start over.
        source_file: File of the source's log in which it begins; None if not known.
    """

    @property
    def number(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def first_number(self) -> int | None: ...
    @property
    def source_file(self) -> str | None: ...

@final
class LogNumberer:
    """Giver of new numbers to the transactions of a log that is served (R37); from ``LogServer.numberer``."""

    def write(self, batch: TransactionBatch, write_sets: WriteSets) -> list[BegunFile]:
        """Give numbers to the next transactions of the log, and let replicas have them.

        Returns:
            Log files that were begun before the batch's last transaction.

        Raises:
            LogError: A transaction has no numbers that could be changed, or the log cannot be read.
        """
    def publish(self) -> list[BegunFile]:
        """Let replicas have what is after the last transaction.

        Returns:
            Log files that were begun since the last call.

        Raises:
            LogError: The log cannot be read.
        """
    def end(self, reason: str | None = None, file: str = "", position: int = 0) -> None:
        """End with the log: nothing more gets numbers. Replicas get the log's damage, or this reason and its place."""
    @property
    def transactions(self) -> int:
        """Number of transactions."""
    @property
    def changed(self) -> int:
        """Transactions that got other numbers than they had."""
    @property
    def barriers(self) -> int:
        """Transactions that wait for all before them, and for which all after them wait."""
    @property
    def parallel_before(self) -> int:
        """Transactions that may start while the one before them is applied, by the log's own numbers."""
    @property
    def parallel_after(self) -> int:
        """The same by the new numbers."""

@final
class LogStamper:
    """Writer of logs with new numbers (R37). A log is written again as it is, but for its numbers and what follows from them.

    Args:
        files: Each log, the bytes of it to read, and the file to write, which must not exist.
        workers: Most workers of the replica; no number is further back.
    """

    def __new__(cls, files: Sequence[tuple[str, int, str]], workers: int) -> Self: ...
    def write(self, batch: TransactionBatch, write_sets: WriteSets) -> None:
        """Write the next transactions of the log, and everything before them.

        Raises:
            UsageError: A MariaDB server wrote the log.
            LogNotUnderstood: A transaction has no numbers, or is cut off and repeated later.
            OSError: The file cannot be written.
        """
    def finish(self) -> None:
        """Write the rest of all files; then they are durable.

        Raises:
            LogError: The rest of a log is damaged.
            OSError: A file cannot be written.
        """
    @property
    def transactions(self) -> int: ...
    @property
    def changed(self) -> int:
        """Number of transactions that got other numbers than they had."""
    @property
    def barriers(self) -> int:
        """Number of transactions that wait for all before them, and for which all after them wait."""
    @property
    def parallel_before(self) -> int:
        """Number of transactions that may start while the one before them is applied, by the log's own numbers."""
    @property
    def parallel_after(self) -> int:
        """The same number by the new numbers."""
    @property
    def overflows(self) -> int:
        """Number of times that keys were forgotten for lack of memory."""
    @property
    def written(self) -> int:
        """Bytes written."""

@final
class DependencyVerifier:
    """Verifier that computes what each transaction depends on, and finds numbers below that (R37)."""

    def __new__(cls) -> Self: ...
    def observe(self, batch: TransactionBatch, write_sets: WriteSets) -> None: ...
    def finish(self) -> Comparison: ...
    @property
    def transactions(self) -> int: ...

@final
class TrackerVerifier:
    """Verifier that computes the numbers of a source's own binary log (R16) and compares them with the log's own.

    Args:
        version: Version of the server, for its rules and its default history size.
        history_size: ``binlog_transaction_dependency_history_size``.
        tracking: ``writeset``, ``writeset-session`` or ``commit-order``.
        sessions: ``auto`` (as logged), ``single`` or ``many``.

    Raises:
        UsageError: An option is unknown.
    """

    def __new__(
        cls, *, version: tuple[int, int], history_size: int | None = None, tracking: str = "writeset", sessions: str = "auto"
    ) -> Self: ...
    def observe(self, batch: TransactionBatch, write_sets: WriteSets) -> None: ...
    def finish(self) -> Comparison: ...
    @property
    def transactions(self) -> int: ...
    @property
    def exact(self) -> int:
        """Number of transactions with only one possible pair of numbers."""

@final
class Costs:
    """Cost model of the simulation in integers; what is not given has its default."""

    def __new__(
        cls,
        *,
        transaction_ns: int | None = None,
        row_ns: int | None = None,
        byte_ps: int | None = None,
        commit_ns: int | None = None,
        ddl_ns: int | None = None,
    ) -> Self: ...
    @property
    def transaction_ns(self) -> int: ...
    @property
    def row_ns(self) -> int: ...
    @property
    def byte_ps(self) -> int: ...
    @property
    def commit_ns(self) -> int: ...
    @property
    def ddl_ns(self) -> int: ...

@final
class Predicted:
    """Expected certification conflicts.

    Attributes:
        conflicts: Their number.
        transactions: Number of transactions that were looked at.
        keys: Keys with most conflicts, each with its number of them.
    """

    @property
    def conflicts(self) -> float: ...
    @property
    def transactions(self) -> int: ...
    @property
    def keys(self) -> list[KeyConflicts]: ...

@final
class SpanLoad:
    """Load of a span of time."""

    @property
    def transactions(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...

@final
class LogTotals:
    """Totals of a recorded log."""

    @property
    def transactions(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def barriers(self) -> int:
        """Number of transactions that run alone."""
    @property
    def sessions(self) -> int:
        """Number of client sessions."""
    @property
    def times(self) -> CommitTimes | None:
        """Earliest and latest commit time, microseconds since 1970, UTC."""
    @property
    def whole_seconds(self) -> bool:
        """True if no commit time has a part of a second."""
    @property
    def spans_begin(self) -> int:
        """Start of the first span of time, microseconds since 1970, UTC."""
    @property
    def span_length(self) -> int:
        """Length of each span, microseconds."""
    @property
    def spans(self) -> list[SpanLoad]:
        """Load of each span."""

@final
class NamedKey:
    """Key that was found by its hash."""

    @property
    def hash(self) -> int: ...
    @property
    def table(self) -> str: ...
    @property
    def key(self) -> str:
        """Name of the key; empty for a whole table."""
    @property
    def values(self) -> list[str]: ...
    @property
    def cause(self) -> str | None:
        """Cause of conflicts over it; None for an ordinary key."""

def name_keys(transaction: Transaction, catalog: Catalog, scheme: str, hashes: Sequence[int]) -> list[NamedKey]:
    """Return the names of those keys that the rows of a transaction have."""

@final
class LogRecorder:
    """Recorder of what each transaction of a log has to wait for.

    Args:
        costs: Cost model, for the prediction of conflicts.
        version: Version of the source.
        history: Size of the source's history of write sets; None for its version's, at most 2,000,000.
        primaries: Number of primaries of a group for which conflicts are predicted; 0 for none.
        latency_us: Latency of the group's messages in microseconds.
    """

    def __new__(
        cls,
        costs: Costs,
        *,
        version: tuple[int, int] = ...,
        history: int | None = None,
        primaries: int = 0,
        latency_us: int = 0,
    ) -> Self: ...
    def __len__(self) -> int: ...
    def observe(self, batch: TransactionBatch, fine: WriteSets, group: WriteSets | None = None) -> list[TransactionKey]:
        """Add a batch; return index and hash of each key whose name is to be found in it."""
    def observe_trace(self, transactions: Any) -> None:
        """Add a record batch of a trace."""
    def set_cause(self, key: int, cause: str) -> None:
        """Set the cause of conflicts over a key."""
    def totals(self) -> LogTotals:
        """Return the totals so far."""
    def predicted(self, most: int) -> Predicted:
        """Return the expected certification conflicts, with the keys that have most of them."""
    def finish(self) -> Recording:
        """Return the recording; nothing can be added any more."""

@final
class Setup:
    """One simulation.

    Args:
        applier: ``mysql``, ``change_stream``, ``mariadb`` or ``paraply``.
        workers: Number of workers.
        costs: The cost model.
        numbers: Numbers by which MySQL's coordinator schedules: ``stamped``, ``writeset``, ``group`` or ``fine``.
        ordered: True if commits keep the log's order.
        merge: Most transactions of a commit of paraply; 0 for as many as it would choose itself.
        without: Causes that are left out.
        without_key: Tag of a key whose conflicts are left out.
    """

    def __new__(
        cls,
        applier: str,
        workers: int,
        costs: Costs,
        *,
        numbers: str = "stamped",
        ordered: bool = True,
        merge: int = 0,
        without: Sequence[str] = ...,
        without_key: int | None = None,
    ) -> Self: ...

@final
class Outcome:
    """Times of a simulated schedule."""

    @property
    def total_ns(self) -> int: ...
    @property
    def busy_ns(self) -> int: ...
    @property
    def commits(self) -> int: ...
    @property
    def retries(self) -> int: ...

@final
class Loss:
    """Time lost for a cause, or for one of its keys."""

    @property
    def cause(self) -> str: ...
    @property
    def key(self) -> int | None:
        """Tag of the key; None for the cause as a whole."""
    @property
    def seconds(self) -> float: ...

@final
class ScheduleSlot:
    """Transaction or block of a schedule; times in nanoseconds."""

    @property
    def first(self) -> int:
        """Index of its first transaction."""
    @property
    def count(self) -> int:
        """Number of transactions."""
    @property
    def worker(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def applied(self) -> int: ...
    @property
    def commit(self) -> int: ...
    @property
    def end(self) -> int: ...

@final
class RecordedTransaction:
    """Transaction as it was recorded."""

    @property
    def index(self) -> int: ...
    @property
    def gtid(self) -> str | None: ...
    @property
    def file(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...

@final
class Chain:
    """Longest chain of transactions that wait for one another."""

    @property
    def total_ns(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def largest(self) -> list[ChainTransaction]:
        """Indexes of its largest transactions, and tags of the keys for which they wait."""
    @property
    def keys(self) -> list[ChainKey]:
        """Tags of the keys for which most of its steps wait, and numbers of steps."""

@final
class Recording:
    """Recorded log."""

    def __len__(self) -> int: ...
    @property
    def has_stamps(self) -> bool:
        """True if the transactions carry numbers of a source or a certifier."""
    @property
    def has_recomputed(self) -> bool:
        """True if the numbers of a source and of a certifier were computed."""
    @property
    def memory(self) -> int:
        """Bytes in use."""
    def time_of(self, costs: Costs, index: int) -> int:
        """Return the nanoseconds of one transaction, with its commit."""
    def work(self, costs: Costs) -> int:
        """Return the nanoseconds of one worker that applies everything."""
    def simulate(self, setup: Setup) -> Outcome:
        """Return the times of a schedule."""
    def explain(self, setup: Setup, most: int, most_keys: int) -> ExplainedLosses:
        """Divide the time that a schedule loses against ``most`` workers that are always busy: each cause, and after it its keys."""
    def schedule(self, setup: Setup, first: int, most: int) -> list[ScheduleSlot]:
        """Return a part of a schedule."""
    def span(self, costs: Costs, numbers: str, merge: int = 1) -> ChainLength:
        """Return nanoseconds and steps of the longest chain under numbers, or of blocks."""
    def critical_path(self, costs: Costs, most: int) -> Chain:
        """Return the longest chain under exact dependencies."""
    def transaction(self, index: int) -> RecordedTransaction:
        """Return the record of a transaction."""

@final
class RowStatements:
    """Writer of row changes as SQL statements, each with the exact row that it must find.

    Args:
        backwards: True for the statements that take the changes back, the last change first.
        postgres: Renderer that knows the tables of a PostgreSQL; None for statements for MySQL and MariaDB.
        tables: Tables whose rows are written; None for all.
        kept: Finder whose kept dependents' rows are left as they are.
        staged: By database and name of a table, the name of the session's table through which many of its rows are changed, as SQL.
    """

    def __new__(
        cls,
        *,
        backwards: bool,
        postgres: PostgresRenderer | None = None,
        tables: TableFilter | None = None,
        kept: DependentFinder | None = None,
        staged: Mapping[tuple[str, str], str] | None = None,
    ) -> Self: ...
    def begin(self, batch: TransactionBatch, index: int, catalog: Catalog) -> None:
        """Begin a transaction of a batch."""
    def next(self, max_bytes: int) -> list[RowStatement] | None:
        """Return the next statements of the transaction; None after the last one.

        Raises:
            LogDamaged: A row event is damaged.
            SchemaMismatch: The definition of a table is unknown, or is not the log's.
            ApplyFailed: A change cannot be written: an image lacks columns, or a foreign key changed rows that the log does not hold.
        """
    def take_skipped(self) -> list[SkippedRow]:
        """Return table and key of the rows that kept dependents use, and forget them."""
    def take_checks(self, last: bool) -> list[KeyCheck]:
        """Return the checks of foreign keys that the statements so far need after the last one, and forget them.

        Args:
            last: True after the last statement; before it, only checks of many values are returned.
        """

@final
class RowStatement:
    """Statement that changes rows, and must affect as many as it has keys.

    Attributes:
        kind: ``insert``, ``update`` or ``delete``.
        table: The source's table.
        sql: The text.
        keys: The key of each row.
        conditions: The condition of each row, if it changes several without ``fill``.
        fill: Statement that puts the rows into a table of the session first; None if the text holds them.
        clear: Statement that empties that table again.
        search: Query for the number of the first row that ``sql`` would not find.
    """

    @property
    def kind(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def sql(self) -> bytes: ...
    @property
    def keys(self) -> list[str]: ...
    @property
    def conditions(self) -> list[bytes]: ...
    @property
    def fill(self) -> bytes | None: ...
    @property
    def clear(self) -> str | None: ...
    @property
    def search(self) -> str | None: ...

@final
class KeyCheck:
    """Query for values of a foreign key that have no parent.

    Attributes:
        child: The child table.
        parent: The parent table.
        sql: The text. It returns a row if the foreign key is broken.
    """

    @property
    def child(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def sql(self) -> bytes: ...

@final
class Dependent:
    """Transaction that depends on undone ones.

    Attributes:
        index: Its index in the batch.
        hashes: Hashes of some common keys.
        unknown: True if its keys are not known.
    """

    @property
    def index(self) -> int: ...
    @property
    def hashes(self) -> list[int]: ...
    @property
    def unknown(self) -> bool: ...

@final
class DependentFinder:
    """Finder of the transactions that depend on undone ones (R38).

    Args:
        tables: Tables whose rows are undone; None for all.
        keep: True if dependents are not undone, so that nothing depends on them.
    """

    def __new__(cls, tables: TableFilter | None = None, *, keep: bool = False) -> Self: ...
    def observe(self, batch: TransactionBatch, write_sets: WriteSets, catalog: Catalog, chosen: Set[int]) -> list[Dependent]:
        """Look at the next batch; return its dependents.

        Args:
            batch: The transactions.
            write_sets: Their write sets of scheme ``fine``.
            catalog: The valid definitions.
            chosen: Indexes of the transactions to undo.

        Raises:
            LogDamaged: A row event is damaged.
            SchemaMismatch: The keys of a table that is undone are unknown.
        """
    @property
    def affected(self) -> dict[TableName, int]:
        """Databases and names of the tables that are undone, and the numbers of their row changes."""
