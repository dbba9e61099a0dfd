"""Names and values as SQL text for MySQL and MariaDB, and the small interface of a connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from paraply.errors import TemporaryFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply._native import Block, Ledger, RowEnds
    from paraply.errors import ParaplyError

__all__ = [
    "Connection",
    "Result",
    "bytes_literal",
    "identifier",
    "must_find",
    "name_literal",
    "plain_literal",
    "query_all",
    "query_each",
    "rows_of",
    "text_literal",
    "to_int",
    "to_text",
]

#: Printable ASCII but for the quote and the backslash, which means something else in each ``sql_mode``.
_PLAIN = re.compile(r"[ -&(-\[\]-~]*")

Result = tuple[list[str], list[tuple[Any, ...]], int]
"""Column names, rows, affected rows."""


class Connection(Protocol):
    """What ``paraply._native.MySqlConnection`` offers."""

    @property
    def connection_id(self) -> int:
        """The server's number of this connection."""

    @property
    def server_version(self) -> str:
        """The server's version as text."""

    def query(self, sql: bytes | str) -> list[Result]:
        """Runs one or several statements and gives the result of each."""

    def commit_each(
        self, texts: Sequence[bytes], results: int, first: int, others: int, epoch: int
    ) -> tuple[int, bool, list[Result], ParaplyError | None]:
        """Runs and commits transactions until one fails; see ``paraply._native.MySqlConnection`` for all of it."""

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
        """Runs transactions that are a statement each until one fails; see ``paraply._native.MySqlConnection`` for all of it."""

    @property
    def overdue(self) -> float:
        """Seconds that the answer to the query under way is late, not counting one for each megabyte sent; 0 if there is none."""

    def close(self) -> None:
        """Closes the connection."""


def query_all(connection: Connection, statements: Sequence[str | bytes]) -> list[Result]:
    """Runs several statements in one round trip; gives the result of each of them, or an error.

    A KILL QUERY that comes between two statements can end the text without an error: what is missing must not count as done.

    Raises:
        TemporaryFailure: Some of them were not run.
    """
    text = b"; ".join(statement.encode() if isinstance(statement, str) else statement for statement in statements)
    results = connection.query(text)
    if len(results) < len(statements):
        raise TemporaryFailure(f"interrupted after {len(results)} of {len(statements)} statements")
    return results


def query_each(connection: Connection, statements: Sequence[str]) -> list[Result]:
    """As ``query_all``, in a round trip for each: for a connection that nobody watches.

    MySQL 9.7 does not end the answer to a text that a KILL QUERY hits between two statements.
    """
    return [connection.query(statement)[0] for statement in statements]


def must_find(results: Iterable[Result]) -> None:
    """Makes sure that every UPDATE found a row, where each has one to find, on a connection that counts those (``found_rows``).

    MariaDB 10.11 answers an UPDATE that a KILL QUERY hits early as one that finds no row, without an error.

    Raises:
        TemporaryFailure: One found none.
    """
    if not all(found for _, _, found in results):
        raise TemporaryFailure("interrupted: a statement that changes a row found none")


def identifier(name: str) -> str:
    """A name in backticks.

    >>> identifier("odd`name")
    '`odd``name`'
    """
    return "`" + name.replace("`", "``") + "`"


def text_literal(value: str) -> str:
    """A text as a literal that means the same in every sql_mode and connection character set.

    >>> text_literal("it's")
    "CONVERT(X'69742773' USING utf8mb4)"
    """
    return f"CONVERT({bytes_literal(value.encode())} USING utf8mb4)"


def name_literal(name: str) -> str:
    """A name, to be compared with the names in information_schema: by the rules of that column, which are those of the server's names.

    ``text_literal`` brings a collation of its own along, for which ``abc``, ``ABC`` and ``äbc`` are one. MySQL 9.7 and MariaDB 10.11
    find a table by this literal without looking through all of them.

    >>> name_literal("abc")
    "_utf8mb4 X'616263'"
    """
    return f"_utf8mb4 {bytes_literal(name.encode())}"


def plain_literal(value: str) -> str:
    r"""As ``text_literal``, for a connection whose character set is utf8mb4: shorter where nothing in the text could end it.

    >>> plain_literal('{"low":"0-1-7"}'), plain_literal("it's")
    ('\'{"low":"0-1-7"}\'', "CONVERT(X'69742773' USING utf8mb4)")
    """
    return f"'{value}'" if _PLAIN.fullmatch(value) else text_literal(value)


def bytes_literal(value: bytes) -> str:
    """Bytes as a hexadecimal literal."""
    return f"X'{value.hex()}'"


def rows_of(results: list[Result], index: int = -1) -> list[tuple[Any, ...]]:
    """The rows of one of several results."""
    return results[index][1]


def to_text(value: Any) -> str:
    """A value of a result row as text; NULL is empty."""
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def to_int(value: Any) -> int:
    """A value of a result row as a number; NULL is 0."""
    return int(value) if value is not None else 0
