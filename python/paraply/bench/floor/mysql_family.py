"""The family of MySQL and MariaDB, for the client of the floor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paraply._native import format_statement
from paraply.errors import ApplyFailed
from paraply.targets.mysql.target import MySqlTarget
from paraply.targets.mysql.target import connect as connect_mysql
from paraply.targets.protocol import ApplyPlan
from paraply.targets.url import DatabaseUrl, parse_url

if TYPE_CHECKING:
    from paraply._native import Block, ResultSet
    from paraply.bench.floor.family import FloorConnection
    from paraply.bench.floor.recording import Tape
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.protocol import Target

__all__ = ["MySqlFamily"]

_BEGIN = b"START TRANSACTION; "
_PROGRESS = re.compile(rb"\ASTART TRANSACTION; UPDATE paraply\.progress SET .*? AND epoch=\d+(?=; |\Z)", re.DOTALL)
_OWN = re.compile(rb"\bparaply\.(channel|progress)\b|\A(SELECT|SHOW)\b")


class MySqlFamily:
    """MySQL and MariaDB.

    Args:
        url: URL of the server.
        mariadb: True if it is a MariaDB, as the log's.
    """

    def __init__(self, url: str, *, mariadb: bool) -> None:
        self._url = parse_url(url)
        self._mariadb = mariadb
        self.plan = ApplyPlan("floor", "floor", 1, "record", mariadb=mariadb)

    def target(self, tape: Tape | None = None) -> Target:
        """Return the target."""
        if tape is None:
            return MySqlTarget(self._url)
        return MySqlTarget(self._url, lambda url: _TapedMySql(url, tape))

    def connect(self, target: Target) -> FloorConnection:
        """Return a connection with the settings of a session."""
        if not isinstance(target, MySqlTarget):
            raise TypeError("the target is of another family")
        return _MySqlFloorConnection(target.context.fresh())

    def needs(self, block: Block, sent: list[list[bytes]]) -> tuple[bytes, ...]:
        """Return the log's format description, without which the server takes no rows."""
        del sent
        return (format_statement(block), *([] if self._mariadb else [b"SET gtid_next='AUTOMATIC'"]))

    def begins(self, statements: list[bytes]) -> bool:
        """Return True if a text begins the transaction of a block with rows."""
        return statements[0].startswith(_BEGIN)

    def rows(self, statements: list[bytes]) -> bytes:
        """Return a text of a transaction with rows, without the progress; empty if nothing is left.

        Raises:
            ApplyFailed: The text begins a transaction in another way than expected.
        """
        (text,) = statements
        if not text.startswith(_BEGIN):
            return text
        found = _PROGRESS.match(text)
        if found is None:
            raise ApplyFailed(f"the text of a block begins in an unknown way: {text[:120]!r}")
        rest = text[found.end() :]
        return b"START TRANSACTION" + rest if rest else b""

    def statement(self, statements: list[bytes]) -> bytes:
        """Return a text of a DDL, without the progress and without questions."""
        (text,) = statements
        return b"" if _OWN.search(text) or text.startswith(_BEGIN) else text


class _TapedMySql:
    """A connection to MySQL or MariaDB that records its texts; everything else is the connection's own."""

    def __init__(self, url: DatabaseUrl, tape: Tape) -> None:
        self._connection = connect_mysql(url)
        self._tape = tape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def query(self, sql: bytes | str) -> list[ResultSet]:
        """Run a text, and record it if it was run: a session tries some that may fail, such as ``USE`` before ``CREATE DATABASE``."""
        results = self._connection.query(sql)
        self._tape.note([sql.encode() if isinstance(sql, str) else sql])
        return results


class _MySqlFloorConnection:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, text: bytes) -> None:
        self._connection.query(text)

    def close(self) -> None:
        self._connection.close()
