"""One connection to PostgreSQL: many statements in one round trip, and the affected rows of each."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
from psycopg import generators
from psycopg.pq import ExecStatus, TransactionStatus

from paraply.errors import ConnectionFailed, UsageError
from paraply.target.pg_errors import SqlError, connection_lost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.pq.abc import PGresult

__all__ = ["PgConnection", "StatementFailed"]

_SETTINGS = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "search_path": "pg_catalog",
    "statement_timeout": "0",
    "client_min_messages": "warning",
}
"""What the meaning of literals and statements depends on. The durability (synchronous_commit) stays the server's."""

_DONE = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.EMPTY_QUERY})


class StatementFailed(Exception):
    """A statement of a batch failed; the ones before it were executed.

    Attributes:
        index: The statement's place in the batch.
        error: What the server said.
    """

    def __init__(self, index: int, error: SqlError) -> None:
        super().__init__(error.message)
        self.index = index
        self.error = error


class PgConnection:
    """A connection with settled session variables.

    Args:
        uri: Where to connect.
        lock_timeout_ms: How long a statement waits for a lock.
        name: The application name that the server's views show.

    Raises:
        ConnectionFailed: The server cannot be reached or does not let us in.
        UsageError: The database's encoding is not UTF8.
    """

    def __init__(self, uri: str, *, lock_timeout_ms: int = 1000, name: str = "paraply") -> None:
        try:
            self.raw = psycopg.connect(uri, autocommit=True, connect_timeout=10, application_name=name)
            settings = {**_SETTINGS, "lock_timeout": f"{lock_timeout_ms}ms"}
            self.raw.execute("; ".join(f"SET {name} TO '{value}'" for name, value in settings.items()).encode())
        except psycopg.Error as error:
            raise ConnectionFailed(f"cannot connect to PostgreSQL: {str(error).strip()}") from error
        self.raw.prepare_threshold = None
        encoding = self.raw.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            self.close()
            raise UsageError(f"the database's encoding is {encoding}, paraply needs UTF8: create it with ENCODING 'UTF8'")
        self.backend_pid = self.raw.info.backend_pid

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open (or failed, and not rolled back yet)."""
        return self.raw.pgconn.transaction_status not in {TransactionStatus.IDLE, TransactionStatus.UNKNOWN}

    def run(self, statements: Sequence[bytes]) -> list[PGresult]:
        """Runs statements in one round trip and returns the result of each.

        Raises:
            StatementFailed: One of them failed; the rest was not executed.
            ConnectionLost: The connection broke.
        """
        pgconn = self.raw.pgconn
        try:
            pgconn.send_query(b";".join(statements))
            results: list[PGresult] = self.raw.wait(generators.execute(pgconn))
        except psycopg.Error as error:
            raise connection_lost(error) from error
        for index, result in enumerate(results):
            if result.status not in _DONE:
                failed = SqlError.of_result(result)
                if self.broken:
                    raise connection_lost(failed.message)
                raise StatementFailed(index, failed)
        return results

    @property
    def broken(self) -> bool:
        """Whether the connection is gone."""
        return bool(self.raw.broken or self.raw.closed)

    def cancel(self) -> None:
        """Ends the statement under way, from any thread; nothing happens where there is none."""
        with suppress(psycopg.Error):
            self.raw.cancel_safe(timeout=5.0)

    def close(self) -> None:
        """Closes; never raises."""
        with suppress(psycopg.Error, OSError):
            self.raw.close()
