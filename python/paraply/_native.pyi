"""What the native module offers (types only)."""

from __future__ import annotations

from builtins import bytes as _Bytes  # noqa: N812 - Transaction has a property of that name
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self, final

import pyarrow as pa

from paraply.errors import ParaplyError
from paraply.schema.model import Table

@final
class GtidSet:
    """A set of GTIDs, MySQL's (``uuid[:tag]:1-5``) or MariaDB's (``domain-server-sequence``)."""

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
    def add(self, gtid: str) -> None: ...
    def update(self, other: GtidSet) -> None: ...
    def copy(self) -> GtidSet: ...

@final
class Statement:
    """A statement that stands in the log as text, with everything that its meaning depends on (R33)."""

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
        """Status variables that are set, by the names of StatementContext: ``sql_mode`` int, ``charset``
        (client, connection, server) collation numbers, ``time_zone`` str, ``unknown`` list[int], ..."""

@final
class Format:
    """The format description that a transaction was written under."""

    @property
    def server_version(self) -> str: ...
    @property
    def version(self) -> tuple[int, int, int]: ...
    @property
    def mariadb(self) -> bool: ...
    @property
    def server_id(self) -> int: ...
    @property
    def created(self) -> int: ...

@final
class Transaction:
    """One transaction of a log."""

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
    def committed_at(self) -> int | None:
        """Microseconds since 1970, UTC."""
    @property
    def last_committed(self) -> int | None: ...
    @property
    def sequence_number(self) -> int | None: ...
    @property
    def tables(self) -> list[str]: ...
    @property
    def statements(self) -> list[Statement]: ...
    @property
    def xid(self) -> str | None: ...
    @property
    def rows(self) -> int: ...
    @property
    def filtered(self) -> bool:
        """Whether a filter took everything out of it."""
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
        """Its table maps and row events, joined, without checksums; for ``encode_transaction``."""
    def write_set(self, catalog: Catalog, *, scheme: str = "fine") -> tuple[list[int], list[int], bool]:
        """Exclusive hashes, shared hashes, whether the transaction is a barrier."""

@final
class ColumnInfo:
    """One column as a table-map event describes it."""

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
    """A table-map event: what the source's table looked like when its rows were written."""

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def columns(self) -> list[ColumnInfo]: ...
    @property
    def fingerprint(self) -> int:
        """Equal for events that say the same; the table id does not count."""

@final
class Block:
    """Consecutive transactions that become one commit on the target; most methods release the GIL."""

    @property
    def id(self) -> int:
        """Dense from 1 in the source's order."""
    @property
    def kind(self) -> str:
        """``dml`` (one or more row transactions), else the kind of the one transaction that it holds."""
    @property
    def depends_on(self) -> list[int]:
        """Blocks that must be committed before this one may start; none of them is below the LWM given to ``plan``."""
    @property
    def depends_on_all(self) -> bool:
        """A barrier: every older block must be committed before it starts, and no younger one starts before it is committed."""
    @property
    def waves(self) -> list[int]:
        """Ids of older blocks, ascending: when everything up to one is committed, more of the rows may go in.

        Empty where all rows wait for the same. The first may be 0: nothing.
        """
    def wave(self, after: int | None, up_to: int) -> Block:
        """The block with those rows only that wait for a block behind ``after``, if that is given, and for none behind ``up_to``."""
    @property
    def transactions(self) -> list[Transaction]: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def skipped(self) -> int:
        """Transactions passed over right before this block, because they are applied already; they commit with it."""
    @property
    def filtered(self) -> int:
        """How many of the transactions a filter emptied: they are only recorded."""
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def gtids(self) -> GtidSet: ...
    @property
    def numbers(self) -> list[tuple[int, int, int]]:
        """Domain, number and server of the MariaDB GTIDs of its transactions, in their order; other GTIDs are not among them."""
    @property
    def sessions(self) -> list[tuple[int, int | None]]:
        """Server and session of the source of its transactions, each once; no session where the log does not tell it."""
    @property
    def executed(self) -> GtidSet:
        """Everything that is executed once this block and all older ones are committed."""
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
        """Position in the log of the last transaction: dense from 1 over all transactions read, skipped ones too."""
    @property
    def last_committed(self) -> int | None: ...
    @property
    def sequence_number(self) -> int | None: ...
    @property
    def committed_at(self) -> int | None:
        """When the source committed the last transaction, microseconds since 1970, UTC."""
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
        """Each table map once."""
    def changes(
        self, database: str, table: str, columns: Sequence[int], most: int
    ) -> list[tuple[dict[int, Any] | None, dict[int, Any] | None]]:
        """The first changed rows of a table: the wanted columns before and after the change, by their index.

        A column that an image lacks is left out. Numbers are int or float, ENUM, SET and BIT too; DECIMAL and times are text, a TIMESTAMP
        in seconds since 1970; all else is bytes.
        """
    @staticmethod
    def sums(blocks: Sequence[Block]) -> BlockSums:
        """What blocks are together."""
    def split(self) -> list[Block]:
        """One block for each transaction, same ``id``, to be applied and committed one after the other."""

def write_set_hash(key_name: str, database: str, table: str, *values: Any, collation: str | None = None) -> int:
    """The hash of one key of one row (R11): XXH64 over names and canonical values.

    Args:
        key_name: ``PRIMARY`` or the unique key's name.
        database: The table's database.
        table: The table.
        values: The key's parts: int, Decimal, str, bytes or bool.
        collation: The collation of the text parts; None hashes their bytes.

    Raises:
        UsageError: A value of another type, or a collation without an exact form.
    """

def write_set_hashes(key_name: str, database: str, table: str, columns: Sequence[Any], *, collation: str | None = None) -> pa.Array:
    """``write_set_hash`` of many rows over Arrow, as int64; null where a part of the key is (R11).

    Args:
        key_name: ``PRIMARY`` or the unique key's name.
        database: The table's database.
        table: The table.
        columns: Anything with ``__arrow_c_array__``, one for each part of the key: integers, decimals, floats, bools, text, bytes, dates
            and timestamps (without a zone as DATETIME, with one as TIMESTAMP).
        collation: The collation of the text parts; None hashes their bytes.

    Raises:
        UsageError: A column of another type, columns of different lengths, or a collation without an exact form.
    """

def collation_class(name: str, mariadb: bool | None = None) -> str:
    """How well a collation's equality is known: ``exact``, ``safe`` (coarser) or ``whole-key`` (R13).

    Args:
        name: The collation's full name.
        mariadb: Whose name it is, for the few that MySQL and MariaDB give to different collations; None takes what holds for both.

    Raises:
        UsageError: There is no such collation.
    """

def decode_text(charset: str, value: bytes) -> str | None:
    """Return the text of bytes in one of the servers' character sets; None where some of them are no character.

    Args:
        charset: The character set's name.
        value: The bytes.

    Raises:
        UsageError: There is no such character set.
    """

def equality_form(collation: str, value: bytes, mariadb: bool | None = None) -> bytes:
    """The bytes that a key is hashed with in place of a value: the same for all values that the collation calls equal (R12).

    Args:
        collation: The collation's full name.
        value: Text in the collation's character set.
        mariadb: Whose name it is, as for ``collation_class``.

    Raises:
        UsageError: There is no such collation, it is of class ``whole-key``, or the value is no text in its character set.
    """

def equality_hashes(collation: str, values: Any, mariadb: bool | None = None) -> pa.Array:
    """Hashes of the equality forms of many values, as uint64; null where ``equality_form`` would raise for the value (R12).

    Args:
        collation: The collation's full name.
        values: Anything with ``__arrow_c_array__`` that holds binary or large binary: the values in the collation's character set.
        mariadb: Whose name it is, as for ``collation_class``.

    Raises:
        UsageError: There is no such collation, or the values are not bytes.
    """

@final
class RowEnds:
    """Which column of each of the target's system-versioned tables is the end of a row version. Thread-safe.

    MariaDB 11.5 changed the end of current rows. Where a log is of the other time than the target, the value is exchanged in the rows.

    Args:
        later: The target is a MariaDB of 11.5 or newer.
    """

    def __new__(cls, later: bool) -> Self: ...
    def note(self, fingerprint: int, column: int | None, fractions: Sequence[int | None]) -> None:
        """Notes the column of a table, given by its table map's fingerprint; None for a table without versions.

        ``fractions`` are the digits of a second of its columns: the log does not say them of MariaDB's old temporal columns.
        """

def binlog_statements(
    block: Block,
    max_bytes: int | None = None,
    check: ReferenceCheck | None = None,
    row_ends: RowEnds | None = None,
    left_out: Sequence[tuple[str, str]] = ...,
) -> BinlogStatements:
    """``BINLOG '...'`` statements with the block's row events, each with every table's map once, each made when it is asked for.

    Args:
        block: The block.
        max_bytes: What the server takes; a statement of a megabyte is not made longer than it has to be.
        left_out: Databases and names of tables whose rows are left out.

    Raises:
        ApplyFailed: One row is longer than the server takes. Raised, like the next one, when its statement is asked for.
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
    """What one row adds to a write set: ``table``, ``exclusive``, ``shared``, ``barrier``, ``reason``, ``keys`` and ``tables``.

    Raises:
        UsageError: The table is not defined, or a value does not fit its column.
    """

def explain_rows(transaction: Transaction, catalog: Catalog, *, scheme: str = "fine", rows: int = 100) -> list[dict[str, Any]]:
    """The same of the first rows of a transaction.

    Raises:
        UsageError: The scheme is not known.
        LogDamaged: A row event contradicts itself.
    """

def whole_statement(block: Block, executed: str, channel: str, slot: int, epoch: int, max_bytes: int) -> bytes | None:
    """A block of one transaction as ``MySqlConnection.apply_each`` sends it, with what its row of progress is to say."""

def format_statement(block: Block) -> bytes:
    """``BINLOG '...'`` with the block's format description event."""

@final
class PostgresRenderer:
    """Renders the rows of blocks as PostgreSQL DML."""

    def __new__(cls) -> Self: ...
    def define(self, table: Table, mapping: Any) -> None:
        """Says how a table's columns are written: the source's definition and target.pg_types' mapping of it."""
    @staticmethod
    def uncomputed(table: Table) -> list[str]:
        """Return the generated columns of a table whose values are not computed where a row image leaves them out."""
    def forget(self, database: str, table: str) -> None: ...
    def render(self, block: Block) -> list[tuple[bytes, int, str]]:
        """Statements in order: SQL text, the number of rows that it must affect, the table."""

@final
class MySqlConnection:
    """A connection to MySQL or MariaDB; every call releases the GIL.

    With ``found_rows`` an UPDATE counts the rows that it found, and not only those that it changed.
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
    def query(self, sql: bytes | str) -> list[tuple[list[str], list[tuple[Any, ...]], int]]:
        """Runs one or several statements; for each: column names, rows (None, int, float, bytes), affected rows.

        Raises MySqlError-derived exceptions of paraply.errors with ``code`` and ``sqlstate``.
        """
    def commit_each(
        self, texts: Sequence[bytes], results: int, first: int, others: int, epoch: int
    ) -> tuple[int, bool, list[tuple[list[str], list[tuple[Any, ...]], int]], ParaplyError | None]:
        """Runs and commits transactions until one fails.

        Args:
            texts: The statements of each up to its rows, from the second one on behind the COMMIT of the one before.
            results: How many results a text has from its guard on; with fewer it is not committed.
            first: How many statements stand before the guard in the first text.
            others: How many do in the others.
            epoch: What the guard must find as its row.

        Returns:
            How many are committed. Of the next one, whether its COMMIT was sent and not answered, what its statements found from the
            guard on, and the error.
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
    ) -> tuple[int, ParaplyError | None]:
        """Runs transactions that are a statement each, under autocommit, until one fails or is none.

        The statement is a BINLOG with the row event that changes the session's row of ``paraply.progress``, which it finds by channel,
        slot and epoch, and the block's own rows. A block that needs more than one statement is left to the caller, and so are those
        behind it, and blocks of another log format than the first one's, which the server must have been given.

        Args:
            blocks: One transaction each.
            progress: Knows what the row is to say of each once it is committed, and is told which were; or those texts.
            channel: Part of the row's key.
            slot: Likewise.
            epoch: Likewise.
            max_bytes: Of a statement.
            row_ends: The columns of system-versioned tables that may have to be converted.

        Returns:
            How many are committed, and the error of the next one.
        """
    @property
    def overdue(self) -> float:
        """Seconds that the answer to the query under way is late, not counting one for each megabyte sent; 0 if there is none."""
    def close(self) -> None: ...

@final
class Ledger:
    """The GTIDs whose commits were acknowledged, and what a session's row says of them; see ``paraply.targets.progress.gtid_ledger``.

    Args:
        executed: What is committed at the start.
        low: What of it has no gap before it, where MariaDB's numbers may have gaps; None where a set's text says all.
        beyond: The numbers ahead of a gap: first, last, and the server of the last, by domain.
        most_pieces: Pieces ahead of a gap that a row holds before it takes over those of all rows.
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
        """What to write in transactions that a session commits one after the other, each of which knows of those before it."""
    def acknowledge(self, blocks: Sequence[Block], slot: int | None = None) -> None:
        """Notes that blocks' commits were acknowledged."""
    def executed(self) -> GtidSet:
        """What is acknowledged."""

def progress_text(low: GtidSet, beyond: Mapping[int, Sequence[tuple[int, int, int]]]) -> str:
    """A position, and the numbers that are committed ahead of it, as the progress says them: JSON where there are such numbers."""

def raise_position(
    low: GtidSet, numbers: Mapping[int, Sequence[tuple[int, int, int]]]
) -> tuple[GtidSet, dict[int, list[tuple[int, int, int]]]]:
    """Raises a position of MariaDB's GTIDs by the numbers that follow it without a gap; gives it, and the ranges ahead of the gap."""

@final
class KnownTables:
    """Table maps that were looked at. Thread-safe."""

    def __new__(cls) -> Self: ...
    def add(self, block: Block) -> None:
        """Those of a block were."""
    def clear(self) -> None:
        """None were."""
    def leading(self, blocks: Sequence[Block]) -> int:
        """How many blocks, from the first one on, have rows and nothing but known tables."""

@final
class DelayingProxy:
    """A proxy on a loopback port that holds every request to a server back for a while; answers pass at once.

    Args:
        port: Where it listens; 0 for any free port.
        host: The server, or the path of its socket.
        server_port: Its port; of no use with a path.
        seconds: How long each request is held back.

    Raises:
        OSError: The port is taken.
    """

    def __new__(cls, port: int, host: str, server_port: int, seconds: float) -> Self: ...
    @property
    def port(self) -> int:
        """Where it listens."""
    def serve(self) -> None:
        """Passes on what comes and what becomes due for a tenth of a second, without the GIL; to be called again and again."""

@final
class ReplicaConnection:
    """A connection that a source's log is received on; every call releases the GIL."""

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
        """Runs one statement that gives no rows.

        Raises:
            ServerError: The source refuses.
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
        """Registers as a replica and receives into a relay log, until ``relay.stop_receiving``; the connection then is of no other use.

        Args:
            relay: Where what comes is appended; every whole transaction is published at once.
            server_id: Under which the source knows this replica.
            behind: MySQL: everything that is not in this set. None: from a file and position, or (MariaDB, with
                ``slave_connect_state`` set) with an empty name.
            file: The source's file.
            position: The offset of an event in it.
            semi_sync: The session has agreed on semi-synchronous replication: what the source waits for is synced to the disk and
                acknowledged.
            report_host: What the source's list of replicas shows as the host.
            report_port: Likewise the port; 0 for none.

        Raises:
            ConnectionLost: The source ended the connection, or was silent for longer than ``read_timeout``.
            ServerError: The source refuses.
            LogDamaged: What came contradicts itself.
            RelayLogError: The relay log cannot be written.
        """
    def close(self) -> None: ...

@final
class Dump:
    """What a source sends to a replica: a log's transactions with other stamps, as events of a log of its own, in packets.

    Args:
        server_id: The source's number.
        replica_id: The replica's, which passes over events with its own; such ones get the source's.
        packet: Number of the first packet.
    """

    def __new__(cls, server_id: int, replica_id: int, packet: int) -> Self: ...
    def transactions(self, block: Block, last_committed: int, sequence_number: int, sent: int) -> tuple[bytes, int | None]:
        """Packets of a block's one transaction, read from its log again; a large one comes in parts.

        Args:
            block: The block.
            last_committed: What it waits for.
            sequence_number: Its own number.
            sent: Bytes of it that were sent before.

        Returns:
            The packets, and how many bytes are sent then; None for all of it.

        Raises:
            LogDamaged: The log is not what it was when it was read first.
            LogUnreadable: It cannot be read any more.
        """
    def heartbeat(self) -> bytes:
        """A packet that says where the log stands; empty before the first transaction."""

@final
class BinlogStatements:
    """What ``binlog_statements`` gives."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...

@final
class ReferenceChecker:
    """Finds out what the rows of a block refer to (MySQL 9.6 and later).

    Args:
        catalog: The target's own tables, all of them; later changes of it are not seen.
    """

    def __new__(cls, catalog: Catalog) -> Self: ...
    def check(self, block: Block) -> ReferenceCheck | None:
        """Which rows need no check by the server; None where it is not worth it. Releases the GIL.

        Raises:
            LogDamaged: A row event contradicts itself.
        """

@final
class ReferenceCheck:
    """Row events of a block that go in without the server's check of foreign keys, and what must be asked instead."""

    @property
    def questions(self) -> list[tuple[str, int]]:
        """Statements that give one number each, to be run when all rows are in, and the numbers that must come back."""

@final
class Catalog:
    """Table definitions for hashing, as they hold at one position of the log."""

    def __new__(cls) -> Self: ...
    def put(self, table: Table) -> None: ...
    def remove(self, database: str, table: str) -> None:
        """Forgets a table and what it was before."""
    def retire(self, database: str, table: str) -> None:
        """Takes a table out whose name is gone; rows that were written before may still come."""
    def __len__(self) -> int: ...

@final
class LogReader:
    """Streams the transactions of log files in order.

    Args:
        paths: The files.
        verify_checksums: Compare the checksums of all events.
        executed: Transactions whose rows are not looked at, because they were applied before: ``rows`` is 0, write sets are empty.
        after: The same for transactions without GTID: index of the file, and offset in it.
        tables: Takes the row changes of other tables out; a statement then stands in a batch of its own.
        stop_time: End before the first transaction that was not committed before this time, microseconds since 1970, UTC.
        stop_before: End before this GTID.
        stop_after: End behind this GTID.
        stop_view_change: End behind a view change of a group that is not among these.
        piece: Where in the only file to begin (offset, offset of the format description, whether it is a relay log) and to end; the end
            is None where it is the file's.
        position: Transactions before the first one.
        selection: What is wanted; beside that only transactions with statements are given.
        count_rows: Count the rows of each transaction, and find damaged ones before they are handed out; else ``rows`` is 0.
        sizes: Bytes of each file that are read, as if it ended there; none for all.
    """
    def __new__(
        cls,
        paths: Sequence[str],
        *,
        verify_checksums: bool = True,
        executed: GtidSet | None = None,
        after: tuple[int, int] | None = None,
        tables: TableFilter | None = None,
        stop_time: int | None = None,
        stop_before: str | None = None,
        stop_after: str | None = None,
        stop_view_change: GtidSet | None = None,
        piece: tuple[tuple[int, int, bool], int | None] | None = None,
        position: int = 0,
        selection: Selection | None = None,
        count_rows: bool = True,
        sizes: Sequence[int] = ...,
    ) -> Self: ...
    @property
    def files(self) -> list[str]: ...
    @property
    def stopped(self) -> tuple[str, int, str | None, int | None, bool] | None:
        """The transaction at which the log was left: file, offset, GTID, commit time, and whether it is still applied."""
    def stop(self) -> None:
        """Ends a reader that follows a relay log, from any thread; nothing to do for one of files."""
    def next_batch(self, max_transactions: int = 1024, max_bytes: int = 16777216) -> TransactionBatch | None:
        """The next transactions; a batch ends after a transaction with a statement, so that the schema can be advanced.

        A reader that follows a relay log waits up to a tenth of a second for more, and then gives an empty batch.

        An error of the log is raised only after the transactions before it were handed out.
        """

def look_ahead(
    paths: Sequence[str],
) -> tuple[
    list[tuple[str, int, tuple[int, int], str | None, str, bool, list[tuple[str, str]]]],
    list[tuple[str, int, tuple[int, int], str | None, int, str, bytes]],
]:
    """Return the parts of XA transactions that are prepared and ended apart (R35), and the row changes in statement format (R27), in order.

    Of a part: file, offset, index of the file with the offset behind the part, GTID, XID, whether it is an end (XA COMMIT or XA
    ROLLBACK), and the tables of its row events. Of a change: file, offset of its transaction, index of the file with the offset behind
    the statement, GTID, offset of the statement, the table that it names first (else its first word), and its text. A damaged place
    ends the scan of its file without an error: the reader tells it.
    """

@final
class RelayLog:
    """A relay log: one writer, any number of readers, and no lock between them (R28).

    The format is MySQL's binlog. Readers see whole transactions only, as soon as they are published. Opening a log cuts what a
    crash left of a transaction. The received set and the source's position stand in the log itself.

    Args:
        folder: Where the files are; made if it is not there.
        name: What the files' names begin with.
        max_bytes: A file is followed by the next one behind the transaction that makes it so large.
        server_id: Stands in the events that the receiver writes itself.

    Raises:
        RelayLogError: The folder cannot be written, or does not hold what its index says.
        LogError: A file cannot be read.
    """

    def __new__(cls, folder: str | PathLike[str], *, name: str = "relay-bin", max_bytes: int = 268435456, server_id: int = 0) -> Self: ...
    @property
    def folder(self) -> Path: ...
    @property
    def files(self) -> list[str]:
        """The files, oldest first. There is none before the first format description came."""
    @property
    def cut(self) -> tuple[str, int, int, str] | None:
        """What was cut when the log was opened: the file, where its last whole transaction ends, how many bytes, why."""
    def status(self) -> RelayStatus:
        """What was received, as last published; never waits, and makes nobody wait (R29)."""
    @property
    def heard_at(self) -> int | None:
        """When the source was heard last, microseconds since 1970, UTC."""
    @property
    def idle_at(self) -> int | None:
        """When the source said last that it has nothing more, microseconds since 1970, UTC."""
    @property
    def heartbeats(self) -> int:
        """How often the source said that it has nothing more."""
    @property
    def acknowledgements(self) -> int:
        """How often the source was told that what it sent is on the disk here."""
    def stop_receiving(self) -> None:
        """Ends a receiver in another thread at the next event or heartbeat; none can begin any more."""
    def hold(self, gtids: GtidSet) -> None:
        """Counts transactions as received that came another way; files begun from now on say so."""
    def append(self, events: bytes, *, checksums: bool = False) -> None:
        """Appends whole events and publishes the whole transactions among them.

        Args:
            events: One or several events as a source sends them; the first one of a new log is a format description.
            checksums: Whether they end with a checksum, which is then verified.

        Raises:
            LogDamaged: An event contradicts itself.
            RelayLogError: The disk is full, or the log is closed.
        """
    def sync(self) -> None:
        """Publishes, and brings everything to the disk."""
    def interrupted(self) -> None:
        """Takes back what came of an unfinished transaction: it will come again from its beginning."""
    def flush(self) -> None:
        """Ends the current file and begins the next one.

        Raises:
            UsageError: A transaction is being received.
        """
    def purge(self, before: str | PathLike[str]) -> list[Path]:
        """Removes the files before this one, and gives their paths; nothing if the file is not part of the log."""
    def reader(
        self,
        *,
        executed: GtidSet | None = None,
        after: tuple[int, int] | None = None,
        tables: TableFilter | None = None,
        stop_time: int | None = None,
        stop_before: str | None = None,
        stop_after: str | None = None,
        stop_view_change: GtidSet | None = None,
    ) -> LogReader:
        """A reader of its own descriptor, from the oldest file on, that follows what is appended; arguments as of ``LogReader``."""
    def close(self) -> None:
        """Publishes, syncs and ends the log: readers end behind what is there."""

@final
class RelayStatus:
    """What a relay log has received: one moment's view, from a transaction boundary."""

    @property
    def received(self) -> GtidSet:
        """Everything received, and what was held before."""
    @property
    def source_file(self) -> str:
        """The source's file; empty where the source did not name one."""
    @property
    def source_position(self) -> int: ...
    @property
    def relay_file(self) -> str: ...
    @property
    def relay_position(self) -> int: ...
    @property
    def transactions(self) -> int:
        """Transactions since the log was opened."""
    @property
    def bytes(self) -> int:
        """Bytes since the log was opened."""
    @property
    def last_gtid(self) -> str | None: ...
    @property
    def committed_at(self) -> int | None:
        """When the last transaction was committed on its original source, microseconds since 1970, UTC."""

def relay_event(type_code: int, body: bytes, *, server_id: int = 1, timestamp: int = 0, flags: int = 0) -> bytes:
    """One event without a checksum, as a source would send it."""

def relay_format(server_version: str = "9.7.0", *, server_id: int = 1, created: int = 0) -> bytes:
    """A format description event of MySQL 8.0 or later."""

@final
class TransactionBatch:
    """Some transactions."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> Transaction: ...
    def __iter__(self) -> Iterator[Transaction]: ...
    @property
    def bytes(self) -> int: ...
    def emptied(self) -> TransactionBatch:
        """A batch of one transaction with nothing left but its identity: a filter left it out."""
    def corrected(self, catalog: Catalog, tables: TableFilter | None = None) -> TransactionBatch | None:
        """Return the batch as its server changed the rows, where a MySQL that logs cascades wrote it otherwise; None if nothing differs.

        Args:
            catalog: The definitions in force.
            tables: The filter that the batch was read with.

        Raises:
            LogDamaged: A row event is damaged.
        """
    def table_maps(self) -> list[TableMap]:
        """Each table map once."""
    def write_sets(self, catalog: Catalog, *, scheme: str = "fine", bytewise: bool = False, by_event: bool = False) -> WriteSets:
        """Hashes the rows (R11 to R15).

        Args:
            catalog: The definitions in force; it also keeps what hashing remembers between the batches of a log.
            scheme: ``fine``, the applier's, ``group``, the server's certifier's, ``writeset``, its tracker's (R16),
                or ``none``: nothing is hashed.
            bytewise: Hash text without its collation; wrong on purpose, for proving tests.
            by_event: Also keep what each row event touches, for a planner that lets rows in by waves.
        """
    def split_rows(self, index: int, catalog: Catalog, most: int) -> list[Block]:
        """The parts of one transaction that may be applied apart from each other (R21a), at most so many; none if it stays whole.

        Row events stay together if they have a hash in common which one of them takes exclusively, and all of them do if something
        of what they touch is not known (R13).

        Raises:
            IndexError: The batch has no such transaction.
            LogDamaged: A row event is damaged.
        """

@final
class TableFilter:
    """Which databases and tables are applied; what is excluded never is, and where something is named only that is."""

    def __new__(
        cls,
        databases: Sequence[str] = ...,
        tables: Sequence[tuple[str, str]] = ...,
        exclude_databases: Sequence[str] = ...,
        exclude_tables: Sequence[tuple[str, str]] = ...,
    ) -> Self: ...
    def chooses(self, database: str, table: str) -> bool: ...

@final
class LogHead:
    """What a log file tells of itself by its first events and by its last."""

    @property
    def mariadb(self) -> bool: ...
    @property
    def server_version(self) -> str: ...
    @property
    def server_id(self) -> int: ...
    @property
    def begun(self) -> int:
        """When the file was begun, seconds since 1970."""
    @property
    def relay_log(self) -> bool: ...
    @property
    def previous_gtids(self) -> GtidSet | None:
        """What was executed before the file; None where it does not say."""
    @property
    def has_transactions(self) -> bool: ...
    @property
    def first_gtid(self) -> str | None: ...
    @property
    def first_committed_at(self) -> int | None:
        """Microseconds since 1970, UTC."""
    @property
    def next_file(self) -> str | None:
        """The name of the file behind it, if it ends with that."""
    @property
    def closed(self) -> bool:
        """Whether it ends as a file does that nothing is written to any more."""
    @property
    def size(self) -> int: ...

def log_head(path: str) -> LogHead:
    """Reads the head and the tail of a log file, whatever its size."""

def log_gtids(path: str) -> GtidSet:
    """The GTIDs of a log file's transactions; walks over its events without decoding them."""

@final
class WriteSets:
    """The write sets of a batch."""

    def __len__(self) -> int: ...
    @property
    def key_count(self) -> int:
        """Hashes of all transactions together."""
    def items(self, index: int) -> tuple[list[int], list[int], bool]:
        """Exclusive hashes, shared hashes, whether the transaction is a barrier."""
    @property
    def fallbacks(self) -> list[tuple[str, str, int]]:
        """(reason, table, count)."""

@final
class BlockSums:
    """What some blocks are together: counts of transactions, those that filters emptied, those skipped before, and rows.

    Attributes:
        merged: Transactions of blocks that hold several, those that filters emptied not counted.
    """

    @property
    def transactions(self) -> int: ...
    @property
    def filtered(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def merged(self) -> int: ...
    @property
    def gtids(self) -> GtidSet: ...

@final
class Planner:
    """Cuts batches into blocks and finds what each depends on.

    Args:
        executed: What is skipped: transactions that are in.
        after: The same for those without GTID: index of the file, and offset in it.
        gathers_filtered: Transactions that a filter emptied join any block.
        in_waves: The rows of a block may go in by waves (``Block.waves``); for commits in order, and write sets made ``by_event``.
    """

    def __new__(
        cls,
        *,
        executed: GtidSet | None = None,
        after: tuple[int, int] | None = None,
        gathers_filtered: bool = False,
        in_waves: bool = False,
    ) -> Self: ...
    @property
    def ordinal(self) -> int:
        """Transactions seen."""
    @property
    def trailing_skipped(self) -> int:
        """Transactions skipped since the last block."""
    def plan(self, batch: TransactionBatch, write_sets: WriteSets, *, merge: int, max_bytes: int, committed: int) -> list[Block]: ...

@final
class Certified:
    """The certifier's answer."""

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
    """Certifies transactions and stamps them with ``last_committed`` and ``sequence_number`` (WL#8440, rules R1 to R10).

    Args:
        collection_burns_number: A collection uses up one number, as in MySQL 5.7.
        first_remote_alone: The first remote transaction is stamped (0, 0), as by a member that has just started.
        group: The group's name, a UUID: transactions that name their member get GTIDs from its blocks (R10).
        block_size: GTIDs of a block.
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
        """Certifies one transaction.

        Args:
            write_set: Its hashes; none makes it a barrier.
            snapshot: What its member had executed before it; None: conflicts are not looked for.
            gtid: A GTID that it brings.
            member: Else whose block gives it one, if the certifier knows the group's name.
            local: Whether it began on this member.
            barrier: A barrier whatever its write set.
        """
    def certify_batch(self, transactions: Any) -> pa.RecordBatch | pa.Table:
        """Certifies transactions over Arrow, in order.

        Args:
            transactions: Anything with ``__arrow_c_array__`` or ``__arrow_c_stream__``: column ``write_set`` (list of 64-bit integers),
                and where there are such columns ``snapshot`` and ``gtid`` (text), ``local`` and ``barrier`` (bool).

        Returns:
            ``committed``, ``last_committed``, ``sequence_number``, ``gtid``; a record batch for one, a table for a stream.
        """
    def collect_garbage(self, stable: GtidSet) -> bool:
        """Removes what every member has executed (R7, R8); False if the stable set has not grown."""
    def view_change(self) -> tuple[int, int]:
        """The numbers of a view change; what is left of the members' blocks of GTIDs is taken back."""
    def commit(self, gtids: GtidSet) -> None:
        """These GTIDs are committed (R10)."""
    def export(self) -> pa.RecordBatch:
        """The certification info for a joining member (R9)."""
    @staticmethod
    def joined(
        exported: Any,
        *,
        collection_burns_number: bool = False,
        first_remote_alone: bool = True,
        group: str | None = None,
        block_size: int = 1_000_000,
    ) -> Certifier:
        """The certifier of a member that joins (R9); arguments as for a new one."""
    @property
    def last_committed_global(self) -> int: ...
    @property
    def next_sequence_number(self) -> int: ...
    @property
    def memory(self) -> int:
        """Bytes that the certification info takes."""
    def __len__(self) -> int: ...

def encode_rows(
    catalog: Catalog,
    collations: Mapping[str, int],
    server_id: int,
    committed_at: int,
    changes: Sequence[tuple[str, str, Mapping[str, Any] | None, Mapping[str, Any] | None]],
) -> bytes:
    """Table maps and row events: the inner part of a transaction, which is the same in every log.

    Args:
        catalog: The tables.
        collations: The numbers of the collations of their text columns.
        server_id: Where the transaction began.
        committed_at: When it was committed there, microseconds since 1970, UTC.
        changes: Database, table, row before and row after; all columns must be there.

    Raises:
        UsageError: A table is not known, a type cannot be written, or a value does not fit.
    """

def encode_transaction(front: tuple[str, int, int, int, int, int], rows: bytes) -> bytes:
    """The events of a transaction of rows, joined, without checksums and positions.

    Args:
        front: GTID, last_committed, sequence_number, server id, session, commit time in microseconds since 1970, UTC.
        rows: From ``encode_rows`` or ``Transaction.row_events``.
    """

def encode_statement(front: tuple[str, int, int, int, int, int], database: str, sql: str) -> bytes:
    """The events of a DDL statement."""

def encode_view_change(front: tuple[str, int, int, int, int, int], view_id: str, number: int) -> bytes:
    """The events of a view change."""

def trace_schema() -> pa.Schema:
    """The schema of the trace."""

def trace_batch(batch: TransactionBatch, write_sets: WriteSets, *, reads: bool = True) -> pa.RecordBatch:
    """The wanted transactions of a batch and their write sets as rows of the trace.

    Args:
        batch: The transactions.
        write_sets: Theirs.
        reads: Whether the scheme knows shared keys; else the column is null.
    """

@final
class Selection:
    """Conditions that a transaction must meet, all of them; what is not said is not asked.

    Args:
        positions: First and last position.
        committed: Earliest and latest commit time, microseconds since 1970, UTC.
        kinds: Any of these kinds.
        gtids: Any of these GTIDs.
        server_ids: Any of these servers.
        tables: Tables of which it must change rows.
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
    ) -> Self: ...

@final
class LogScan:
    """What ``scan_log`` found."""

    @property
    def pieces(self) -> list[tuple[tuple[int, int, bool], int, int, tuple[int, int] | None]]:
        """Where each piece begins and ends, its transactions, their earliest and latest commit time."""
    @property
    def statements(self) -> list[tuple[int, Transaction]]:
        """Transactions with statements, each with the number of its piece; their rows are left out."""
    @property
    def end(self) -> tuple[int, int, bool]:
        """Behind the last whole transaction: where a later scan goes on."""
    @property
    def failure(self) -> Exception | None:
        """What ended the scan before the file's end."""

def scan_log(
    path: str, split: int, *, start: tuple[int, int, bool] | None = None, cuts: Sequence[int] = ..., events: bool = False
) -> LogScan:
    """Looks through a log once, without its rows and checksums, and cuts it at transaction boundaries.

    Args:
        path: The file.
        split: Bytes behind which it is cut.
        start: Where to begin, as ``LogScan.end`` says it.
        cuts: Offsets at which it is cut, too, where they are boundaries.
        events: Understand nothing but where GTID events begin transactions.
    """

def row_schema(values: Sequence[tuple[str, bool]] | None = None) -> pa.Schema:
    """The schema of rows; with columns (name, whether it holds bytes) the images are structs of these."""

@final
class RowDecoder:
    """Decodes the rows of transactions into Arrow.

    Args:
        columns: The columns that are wanted, in order.
        tables: The tables that are wanted.
        operations: The operations that are wanted: ``insert``, ``update``, ``delete``.
        values: Columns of one table (name, whether it holds bytes), where images are structs.
    """

    def __new__(
        cls,
        columns: Sequence[str],
        *,
        tables: TableFilter | None = None,
        operations: Sequence[str] | None = None,
        values: Sequence[tuple[str, bool]] | None = None,
    ) -> Self: ...
    def begin(self, batch: TransactionBatch, catalog: Catalog) -> None:
        """Takes transactions in, under the definitions of this moment."""
    def next_batch(self) -> pa.RecordBatch | None:
        """The next rows of these transactions; None behind the last one."""

def event_schema() -> pa.Schema:
    """The schema of events."""

@final
class EventReader:
    """Reads the events of a log, no further than their headers.

    Args:
        path: The file.
        piece: Where to begin and to end, as for ``LogReader``.
        verify_checksums: Compare the checksums of all events.
        size: Bytes of the file that are read, as if it ended there; None for all.
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
        """The next events; None at the end. An error is raised behind the events that stand before it."""

@final
class ChunkResolver:
    """Resolves a chunk of a trace inside itself, and reports the touches that other chunks may depend on.

    Args:
        parts: Parts that the report is split into by key; 0 where the chunk is the whole trace.
        shared_counts_as_exclusive: The server's own rules, which know no shared keys.
    """

    def __new__(cls, parts: int, *, shared_counts_as_exclusive: bool = False) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, transactions: Any) -> None:
        """Adds a record batch in ascending order of its ``position``.

        Columns: ``position`` int64, ``role`` int8 (0 rows, 1 barrier, 2 local, 3 view change), ``write_set`` list<int64>, and where there
        are such columns ``reads`` list<int64> and ``session`` int64.
        """
    def finish(self) -> tuple[tuple[int, int, int, int], bytes, list[bytes]]:
        """Ends the chunk and begins the next.

        Returns:
            First and last position, numbers used up and number of the last barrier; the rows; the report for each part of the keys.
        """

@final
class CriticalPath:
    """The longest chain of dependencies among transactions, each of which takes one step."""

    def __new__(cls) -> Self: ...
    def add(self, transactions: Any) -> None:
        """Adds a record batch in order, with the columns that ``ChunkResolver`` takes."""
    def finish(self) -> tuple[int, int, int]:
        """Transactions, barriers among them, and steps of the longest chain; the next path begins."""

@final
class KeyResolver:
    """Finds the dependencies that reach over chunks, for one part of the keys."""

    def __new__(cls) -> Self: ...
    def add(self, header: tuple[int, int, int, int], edges: bytes) -> tuple[int, int, bytes]:
        """Takes the report of the next chunk; gives what ``chunk_numbers`` needs of it.

        Raises:
            UsageError: Chunks overlap or come in the wrong order.
        """

def chunk_numbers(rows: bytes, answers: Sequence[tuple[int, int, bytes]], collections: Sequence[int]) -> pa.RecordBatch:
    """The numbers of a chunk's transactions.

    Args:
        rows: From ``ChunkResolver.finish``.
        answers: From ``KeyResolver.add`` for every part of the keys; none where the chunk is the whole trace.
        collections: Numbers behind which a collection ran, ascending (R7).

    Returns:
        ``position``, ``computed_last_committed``, ``computed_sequence_number``.
    """

@final
class Comparison:
    """What a verifier found in the end."""

    @property
    def transactions(self) -> int: ...
    @property
    def different(self) -> int: ...
    @property
    def missed(self) -> int:
        """Of the different ones, those whose recomputed ``last_committed`` is smaller than the server's."""
    @property
    def gc_after(self) -> list[int]: ...
    @property
    def first_difference(self) -> dict[str, Any] | None: ...
    @property
    def differences(self) -> list[dict[str, Any]]:
        """The first thousand, each like ``first_difference``."""

@final
class StampVerifier:
    """Recomputes the numbers of a group member's relay log and compares them with the log's own."""

    def __new__(cls, *, infer_gc: bool = False, burn_on_collection: bool = False, local_server_id: int | None = None) -> Self: ...
    def add_stamps(self, batch: TransactionBatch) -> None: ...
    @property
    def stamps_ahead(self) -> int: ...
    def observe(self, batch: TransactionBatch, write_sets: WriteSets) -> None: ...
    def finish(self) -> Comparison: ...
    @property
    def transactions(self) -> int: ...

@final
class TrackerVerifier:
    """Recomputes the numbers of a source's own binary log (rule R16) and compares them with the log's own.

    Args:
        version: The server's version, for its rules and its default history size.
        history_size: ``binlog_transaction_dependency_history_size``.
        tracking: ``writeset``, ``writeset-session`` or ``commit-order``.
        sessions: ``auto`` (as logged), ``single`` or ``many``.

    Raises:
        UsageError: An option is not known.
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
        """Transactions that had only one possible pair of numbers."""
