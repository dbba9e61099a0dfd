"""What the native module offers (types only)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from paraply.schema.model import Table

@final
class GtidSet:
    """A set of GTIDs, MySQL's (``uuid[:tag]:1-5``) or MariaDB's (``domain-server-sequence``)."""

    def __init__(self, text: str = "") -> None: ...
    def __contains__(self, gtid: str) -> bool: ...
    def __or__(self, other: GtidSet) -> GtidSet: ...
    def __and__(self, other: GtidSet) -> GtidSet: ...
    def __sub__(self, other: GtidSet) -> GtidSet: ...
    def __le__(self, other: GtidSet) -> bool: ...
    def __lt__(self, other: GtidSet) -> bool: ...
    def __ge__(self, other: GtidSet) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def add(self, gtid: str) -> None: ...
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
    def bytes(self) -> int: ...
    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def format(self) -> Format: ...

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
    def transactions(self) -> list[Transaction]: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def skipped(self) -> int:
        """Transactions passed over right before this block (already applied or filtered); they commit with it."""
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def gtids(self) -> GtidSet: ...
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
    def statement(self) -> Statement | None: ...
    @property
    def xid(self) -> str | None: ...
    @property
    def format(self) -> Format: ...
    @property
    def no_foreign_key_checks(self) -> bool: ...
    def table_maps(self) -> list[TableMap]:
        """Each table map once."""
    def split(self) -> list[Block]:
        """One block for each transaction, same ``id``, to be applied and committed one after the other."""

def binlog_statements(block: Block, max_events: int | None = None, max_bytes: int | None = None) -> list[bytes]:
    """``BINLOG '...'`` statements with the block's raw events, cut only where a statement's rows end (STMT_END_F)."""

def format_statement(block: Block) -> bytes:
    """``BINLOG '...'`` with the block's format description event."""

@final
class PostgresRenderer:
    """Renders the rows of blocks as PostgreSQL DML."""

    def __init__(self) -> None: ...
    def define(self, table: Table, mapping: Any) -> None:
        """Says how a table's columns are written: the source's definition and target.pg_types' mapping of it."""
    def forget(self, database: str, table: str) -> None: ...
    def render(self, block: Block) -> list[tuple[bytes, int, str]]:
        """Statements in order: SQL text, the number of rows that it must affect, the table."""

@final
class MySqlConnection:
    """A connection to MySQL or MariaDB; every call releases the GIL."""

    def __init__(self, host: str, port: int, user: str, password: str | None, *, database: str | None = None, socket: str | None = None,
                 tls: Mapping[str, str] | None = None, connect_timeout: float = 10.0) -> None: ...
    @property
    def connection_id(self) -> int: ...
    @property
    def server_version(self) -> str: ...
    def query(self, sql: bytes | str) -> list[tuple[list[str], list[tuple[Any, ...]], int]]:
        """Runs one or several statements; for each: column names, rows (None, int, float, bytes), affected rows.

        Raises MySqlError-derived exceptions of paraply.errors with ``code`` and ``sqlstate``.
        """
    def close(self) -> None: ...

@final
class Catalog:
    """Table definitions for hashing, as they hold at one position of the log."""

    def __init__(self) -> None: ...
    def put(self, table: Table) -> None: ...
    def remove(self, database: str, table: str) -> None: ...
    def __len__(self) -> int: ...

@final
class LogReader:
    """Streams the transactions of log files in order."""

    def __init__(self, paths: Sequence[str], *, verify_checksums: bool = True) -> None: ...
    def next_batch(self, max_transactions: int = 1024, max_bytes: int = 16777216) -> TransactionBatch | None:
        """The next transactions; a batch ends after a transaction with a statement, so that the schema can be advanced.

        An error of the log is raised only after the transactions before it were handed out.
        """

@final
class TransactionBatch:
    """Some transactions."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Transaction: ...
    def __iter__(self) -> Iterator[Transaction]: ...
    def write_sets(self, catalog: Catalog, *, scheme: str = "fine") -> WriteSets: ...

@final
class WriteSets:
    """The write sets of a batch."""

    def __len__(self) -> int: ...
    def items(self, index: int) -> tuple[list[int], list[int], bool]:
        """Exclusive hashes, shared hashes, whether the transaction is a barrier."""
    @property
    def fallbacks(self) -> list[tuple[str, str, int]]:
        """(reason, table, count)."""

@final
class Planner:
    """Cuts batches into blocks and finds what each depends on."""

    def __init__(self, *, executed: GtidSet | None = None, after: tuple[int, int] | None = None) -> None: ...
    def plan(self, batch: TransactionBatch, write_sets: WriteSets, *, merge: int, max_bytes: int, committed: int) -> list[Block]: ...
