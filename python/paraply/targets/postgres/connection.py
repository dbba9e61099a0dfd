"""A connection to PostgreSQL that runs many statements in one round trip and returns the affected rows of each."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import generators
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus, TransactionStatus

from paraply._native import spend_cpu
from paraply.errors import ApplyFailed, ConnectionFailed, ParaplyError, UsageError
from paraply.targets.postgres.errors import SqlError, connection_lost
from paraply.targets.url import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg.pq.abc import PGresult

__all__ = ["PgConnection", "StatementFailed", "connection_parameters", "is_local"]

_SETTINGS = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "default_transaction_isolation": "read committed",
    "search_path": "pg_catalog",
    "statement_timeout": "0",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "client_min_messages": "warning",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
"""Settings that affect the meaning of literals and statements. The durability (synchronous_commit) is left to the server.

The last five keep the plan of a set the same while its table grows: each row is found by its key, if there is an index on it. Without them
a plan that was made for an empty table would read the whole table for every set, until the server analyzes it.
"""

_NO_LIMITS = (
    "SELECT set_config(name, '0', false) FROM pg_settings"
    " WHERE name IN ('idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')"
)
"""Time limits that a server, a database or a role may set, as far as the server has them.

A worker may wait for the turn of its commit, with an open transaction, as long as an older transaction takes.
"""

_DONE = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.EMPTY_QUERY})


class StatementFailed(Exception):
    """A failed statement of a batch; the statements before it were executed.

    Attributes:
        index: Index of the statement in the batch.
        error: The server's error.
    """

    def __init__(self, index: int, error: SqlError) -> None:
        super().__init__(error.message)
        self.index = index
        self.error = error


def connection_parameters(uri: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the parameters of a connection by libpq's names; a missing password is taken from ``PARAPLY_PASSWORD``.

    Raises:
        UsageError: The URL cannot be parsed. The message never contains the password.

    >>> connection_parameters("postgresql://app@db.example.org/shop", {"PARAPLY_PASSWORD": "secret"})["password"]
    'secret'
    """
    advice = "write postgresql://user@host:port/database; special characters in a password in percent form, for example %40 for @"
    try:
        parameters = {name: str(value) for name, value in conninfo_to_dict(uri).items()}
    except psycopg.Error as error:
        reason = str(error).strip().partition(" in URI")[0]  # the rest may contain the password
        raise UsageError(f"the postgresql URL cannot be read: {reason if '@' not in reason else 'a special character'}; {advice}") from None
    if "@" in parameters.get("host", "") and not parameters["host"].startswith("@"):
        raise UsageError(f"the postgresql URL has a host that cannot be read; {advice}")
    if not all(port.isdecimal() or not port for port in parameters.get("port", "").split(",")):
        raise UsageError(f"the postgresql URL has a port that is not a number; {advice}")
    password = (os.environ if environment is None else environment).get("PARAPLY_PASSWORD")
    return parameters if "password" in parameters or not password else {**parameters, "password": password}


def is_local(uri: str) -> bool:
    """Return True if all hosts of the URL are this machine.

    >>> is_local("postgresql://app@/shop?host=/run/postgresql"), is_local("postgresql://db.example.org/shop")
    (True, False)
    """
    parameters = connection_parameters(uri)
    hosts = (parameters.get("hostaddr") or parameters.get("host", "")).split(",")
    return all(not host or host.startswith(("/", "@")) or host in LOOPBACK for host in hosts)


def place(parameters: Mapping[str, str]) -> str:
    """Return the URL without its password."""
    user, host, port = (parameters.get(name, "") for name in ("user", "host", "port"))
    return f"postgresql://{user}{'@' if user else ''}{host or 'localhost'}{':' if port else ''}{port}/{parameters.get('dbname', '')}"


def refused(error: psycopg.Error, parameters: Mapping[str, str]) -> ConnectionFailed:
    """Return the exception for a failed connection attempt."""
    reason = "; ".join(line.strip() for line in str(error).splitlines() if line.strip() and not line[0].isspace())
    if "FATAL" in reason:
        advice = "check user and database in the URL; a password can be given in PARAPLY_PASSWORD"
        return ConnectionFailed(f"{place(parameters)} refuses the login: {reason}; {advice}")
    if "certificate" in reason or "SSL" in reason:
        advice = "give the authority's certificate in sslrootcert, or another sslmode"
        return ConnectionFailed(f"{place(parameters)} cannot be reached over TLS: {reason}; {advice}")
    return ConnectionFailed(f"{place(parameters)} cannot be reached: {reason}; check host, port and socket, and that the server is running")


def refuse_read_only(connection: psycopg.Connection[Any], parameters: Mapping[str, str]) -> None:
    """Refuse a read-only database.

    Raises:
        ApplyFailed: The server is a standby, or its transactions are read only by default.
    """
    if connection.info.parameter_status("in_hot_standby") == "on":
        raise ApplyFailed(f"{place(parameters)} is a standby and read only: name the primary")
    if connection.info.parameter_status("default_transaction_read_only") == "on":
        raise ApplyFailed(
            f"{place(parameters)} is read only (default_transaction_read_only is on): set it off for the server, the database or the user"
        )


class PgConnection:
    """A connection with fixed session settings.

    Args:
        uri: URL of the database.
        lock_timeout_ms: Time limit for waiting for a lock, in milliseconds.
        name: Application name in the server's views.

    Raises:
        ConnectionFailed: The server cannot be reached or refuses the login.
        ApplyFailed: The server or the database is read only.
        UsageError: The URL cannot be parsed, or the encoding of the database is not UTF8.
    """

    def __init__(self, uri: str, *, lock_timeout_ms: int = 1000, name: str = "paraply") -> None:
        parameters = connection_parameters(uri)
        try:
            conninfo = make_conninfo("", **{"connect_timeout": "10", "application_name": name, **parameters})
            self.raw = psycopg.connect(conninfo, autocommit=True)
        except psycopg.Error as error:
            raise refused(error, parameters) from None
        try:
            refuse_read_only(self.raw, parameters)
            settings = {**_SETTINGS, "lock_timeout": f"{lock_timeout_ms}ms"}
            statements = [*(f"SET {name} TO '{value}'" for name, value in settings.items()), _NO_LIMITS]
            self.raw.execute("; ".join(statements).encode())
        except psycopg.Error as error:
            self.close()
            raise refused(error, parameters) from error
        except ParaplyError:
            self.close()
            raise
        self.raw.prepare_threshold = None
        encoding = self.raw.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            self.close()
            raise UsageError(f"the database's encoding is {encoding}, paraply needs UTF8: create it with ENCODING 'UTF8'")
        self.backend_pid = self.raw.info.backend_pid
        self.lock_timeout_ms = lock_timeout_ms

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open, or has failed without being rolled back."""
        return self.raw.pgconn.transaction_status not in {TransactionStatus.IDLE, TransactionStatus.UNKNOWN}

    def set_lock_timeout(self, milliseconds: int) -> None:
        """Set the time limit for waiting for a lock.

        Raises:
            ConnectionLost: The connection broke.
        """
        self.run([f"SET lock_timeout TO '{milliseconds}ms'".encode()])

    def run(self, statements: Sequence[bytes]) -> list[PGresult]:
        """Run statements in one round trip and return the result of each.

        Raises:
            StatementFailed: A statement failed; the rest was not executed.
            ConnectionLost: The connection broke.
        """
        pgconn = self.raw.pgconn
        started = time.thread_time()
        try:
            pgconn.send_query(b";".join(statements))
            results: list[PGresult] = self.raw.wait(generators.execute(pgconn))
        except psycopg.Error as error:
            raise connection_lost(error) from error
        finally:
            spend_cpu("send", max(0.0, time.thread_time() - started))
        for index, result in enumerate(results):
            if result.status not in _DONE:
                failed = SqlError.of_result(result)
                if self.broken:
                    raise connection_lost(failed.message)
                raise StatementFailed(index, failed)
        return results

    @property
    def broken(self) -> bool:
        """True if the connection is broken or closed."""
        return bool(self.raw.broken or self.raw.closed)

    def cancel(self) -> None:
        """Cancel the running statement from any thread; do nothing if none is running."""
        with suppress(psycopg.Error):
            self.raw.cancel_safe(timeout=5.0)

    def close(self) -> None:
        """Close the connection; never raise."""
        with suppress(psycopg.Error, OSError):
            self.raw.close()
