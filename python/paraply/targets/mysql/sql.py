"""Names and values as SQL text for MySQL and MariaDB, and the interface of a connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from paraply.errors import TemporaryFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply._native import AppliedBlocks, BatchEnd, Block, Ledger, ResultSet, RowEnds

__all__ = [
    "Connection",
    "bytes_literal",
    "identifier",
    "must_find",
    "name_literal",
    "plain_literal",
    "query_all",
    "query_each",
    "rows_of",
    "set_gtid",
    "settled",
    "text_literal",
    "to_int",
    "to_text",
]

#: Printable ASCII without the quote and the backslash, whose meaning depends on ``sql_mode``. An empty literal is NULL under
#: MariaDB's EMPTY_STRING_IS_NULL.
_PLAIN = re.compile(r"[ -&(-\[\]-~]+")

Opened = TypeVar("Opened", bound="Connection")


class Connection(Protocol):
    """The interface of ``paraply._native.MySqlConnection``."""

    @property
    def connection_id(self) -> int:
        """Number of this connection on the server."""

    @property
    def server_version(self) -> str:
        """The server's version as text."""

    def query(self, sql: bytes | str) -> list[ResultSet]:
        """Run one or several statements and return the result of each."""

    def commit_each(self, texts: Sequence[bytes], results: int, first: int, others: int, epoch: int) -> BatchEnd:
        """Run and commit transactions until one fails; see ``paraply._native.MySqlConnection``."""

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
        """Run transactions of one statement each until one fails; see ``paraply._native.MySqlConnection``."""

    @property
    def overdue(self) -> float:
        """Delay of the answer to the current query in seconds, minus one second for each megabyte sent; 0 without a query."""

    def close(self) -> None:
        """Close the connection."""


#: From MariaDB 10.3 on.
_IDLE = "idle_transaction_timeout=0, idle_write_transaction_timeout=0, idle_readonly_transaction_timeout=0"
#: Variables of expressions that no log holds, at the servers' defaults: generated columns are computed again with them.
EXPRESSION_VARIABLES = {
    "default_week_format": "0",
    "div_precision_increment": "4",
    "block_encryption_mode": "'aes-128-ecb'",
    "default_regex_flags": "''",
}
_WEEK, _DIGITS, _MODE, _REGEX = (f"{name}={value}" for name, value in EXPRESSION_VARIABLES.items())
_SETTLED = (
    f"SET SESSION {_WEEK}, {_DIGITS} /*!50700 , {_MODE} */ /*M!110201 , {_MODE} */ /*M!100011 , {_REGEX} */",
    "SET SESSION autocommit=1, completion_type='NO_CHAIN', sql_select_limit=18446744073709551615, sql_big_selects=1, sql_safe_updates=0",
    "SET SESSION sql_quote_show_create=1, sql_auto_is_null=0 /*!50708 , max_execution_time=0 */ /*M!100100 , max_statement_time=0 */",
    "SET SESSION max_sort_length=1024 /*!80030 , show_gipk_in_create_table_and_information_schema=1 */",
    # A worker may wait for the turn of its commit, with an open transaction, as long as an older transaction takes.
    f"SET SESSION wait_timeout=CAST(GREATEST(@@SESSION.wait_timeout, 28800) AS UNSIGNED) /*M!100300 , {_IDLE} */",
    "SET SESSION TRANSACTION READ WRITE",
)
"""Variables that limit, refuse or change paraply's own statements, at the servers' defaults. MariaDB passes over MySQL's comments here."""


def settled(connection: Opened) -> Opened:
    """Free a new session from the server's global values that would limit, refuse or change paraply's own statements; return it.

    A server's own replication threads are free from these as well. With ``sql_select_limit``, an answer would be cut without an error.
    """
    query_all(connection, _SETTLED)
    return connection


def query_all(connection: Connection, statements: Sequence[str | bytes]) -> list[ResultSet]:
    """Run several statements in one round trip; return the result of each, or raise an error.

    A KILL QUERY between two statements can end the text without an error. Statements without a result must not count as done.

    Raises:
        TemporaryFailure: Some of the statements were not run.
    """
    text = b"; ".join(statement.encode() if isinstance(statement, str) else statement for statement in statements)
    results = connection.query(text)
    if len(results) < len(statements):
        raise TemporaryFailure(f"interrupted after {len(results)} of {len(statements)} statements")
    return results


def query_each(connection: Connection, statements: Sequence[str]) -> list[ResultSet]:
    """Run statements like ``query_all``, but with one round trip for each; for a connection without a watchdog.

    MySQL 9.7 never ends its answer to a text if a KILL QUERY comes between two statements.
    """
    return [connection.query(statement)[0] for statement in statements]


def must_find(results: Iterable[ResultSet]) -> None:
    """Check that every UPDATE that must find a row found one, on a connection that counts found rows (``found_rows``).

    MariaDB 10.11 reports no found row, and no error, for an UPDATE that a KILL QUERY hits early.

    Raises:
        TemporaryFailure: A statement found no row.
    """
    if not all(found for _, _, found in results):
        raise TemporaryFailure("interrupted: a statement that changes a row found none")


def identifier(name: str) -> str:
    """Return a name in backticks.

    >>> identifier("odd`name")
    '`odd``name`'
    """
    return "`" + name.replace("`", "``") + "`"


def text_literal(value: str) -> str:
    """Return a text as a literal with the same meaning in every sql_mode and connection character set.

    >>> text_literal("it's")
    "CONVERT(X'69742773' USING utf8mb4)"
    """
    return f"CONVERT({bytes_literal(value.encode())} USING utf8mb4)"


def name_literal(name: str) -> str:
    """Return a name as a literal for comparison with names in information_schema, which uses the collation of that column.

    ``text_literal`` has a collation of its own, for which ``abc``, ``ABC`` and ``äbc`` are equal. With this literal, MySQL 9.7 and
    MariaDB 10.11 find a table without reading all tables.

    >>> name_literal("abc")
    "_utf8mb4 X'616263'"
    """
    return f"_utf8mb4 {bytes_literal(name.encode())}"


def plain_literal(value: str) -> str:
    r"""Return a text as a literal for a connection with character set utf8mb4: shorter than ``text_literal`` if nothing must be escaped.

    >>> plain_literal('{"low":"0-1-7"}'), plain_literal("it's")
    ('\'{"low":"0-1-7"}\'', "CONVERT(X'69742773' USING utf8mb4)")
    """
    return f"'{value}'" if _PLAIN.fullmatch(value) else text_literal(value)


def bytes_literal(value: bytes) -> str:
    """Return bytes as a hexadecimal literal."""
    return f"X'{value.hex()}'"


def rows_of(results: list[ResultSet], index: int = -1) -> list[tuple[Any, ...]]:
    """Return the rows of one of several results."""
    return results[index].rows


def to_text(value: Any) -> str:
    """Return a value of a result row as text; NULL is empty."""
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def set_gtid(gtid: str | None = None) -> str:
    """Return the SET of the next transaction's GTID; None lets the server choose again.

    The literal names its character set: a statement's own settings may give literals one with several bytes for each character, such as
    ``utf16``, in which the server reads no GTID (observed with MySQL 9.7: error 1774).

    >>> set_gtid("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:7")
    "SET gtid_next=_latin1'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:7'"
    """
    return f"SET gtid_next=_latin1'{gtid or 'AUTOMATIC'}'"


def to_int(value: Any) -> int:
    """Return a value of a result row as a number; NULL is 0."""
    return int(value) if value is not None else 0
