"""The meaning of a server's error numbers for an apply, with advice for the user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paraply.errors import (
    ApplyFailed,
    ConnectionFailed,
    ConnectionLost,
    ParaplyError,
    PrivilegeMissing,
    RowNotFound,
    SchemaMismatch,
    ServerError,
    TargetUnable,
    TemporaryFailure,
)
from paraply.schema.ddl.rules import logs_cascades

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply._native import Format

__all__ = [
    "DUPLICATE_KEY",
    "LOCK_WAIT_TIMEOUT",
    "NO_SUCH_ROW",
    "QUERY_INTERRUPTED",
    "cascade_hint",
    "connect_error",
    "explain",
    "interrupted",
    "names_a_row",
    "table_of",
]

LOCK_WAIT_TIMEOUT = 1205
NO_SUCH_ROW = 1032
#: A row with the same key exists already.
DUPLICATE_KEY = frozenset({1022, 1062, 1586, 1859})
QUERY_INTERRUPTED = 1317

#: A KILL QUERY, which MySQL answers with the unknown error 1105 when it hits rows of a BINLOG statement, and with 3100 (a hook failed)
#: when it hits a commit and Group Replication is installed; 1969 is a statement timeout.
_INTERRUPTED = frozenset({QUERY_INTERRUPTED, 1105, 1969, 3100})
#: Lock waits and deadlocks: 1020 is MariaDB's "record has changed since last read", 1412 a DDL in between, 1614 a deadlock met by XA,
#: 3058/3572 lock services and NOWAIT, 3101 a conflict found by the group that the target is a member of.
_TEMPORARY = frozenset({LOCK_WAIT_TIMEOUT, 1213, 1020, 1412, 1614, 3058, 3572, 3101}) | _INTERRUPTED
#: The server closed the connection: shutdown, KILL, idle timeout.
_LOST = frozenset({1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 2055, 3169, 4031})
_SCHEMA = {
    1049: "the database is missing on the target: create it, or start the log where it is created",
    1054: "a column is missing on the target: bring its tables to the state that they had where the log begins",
    1146: "the table is missing on the target: bring its tables to the state that they had where the log begins",
    1532: "the table's columns on the target differ from the log's: bring its tables to the state that they had where the log begins",
    1677: "a column's type on the target differs from the log's: bring its tables to the state that they had where the log begins",
}
_DISK_FULL = "free disk space on the target's server, then run the same command again"
_LEFT_FILE = (
    "the server has a data file of that name and no table for it: a MariaDB that is killed while its disk is full leaves such files;"
    " move the table's .ibd file out of the database's folder, then run the same command again"
)
_FAILED = {
    1021: _DISK_FULL,
    1028: "free disk space for the server's temporary files, then run the same command again",
    1044: "the user lacks a privilege on this database",
    1062: "a row with this key is there already: the target was changed by someone else, or the replay began too early",
    3100: "a plugin of the target's server refused it: see its error log, and for a member of a group whether it is ONLINE",
    1105: "the server gives no reason; a user without INSERT, UPDATE or DELETE on the table is one possible reason",
    1114: _DISK_FULL,
    1142: "the user lacks a privilege on this table",
    1153: "raise max_allowed_packet on the target's server",
    1227: "the user lacks a privilege: see the how-to on privileges of the target's user",
    1290: "the target is read only (set read_only off, on MySQL super_read_only too), or another option that the message names forbids it",
    1451: "a row that others refer to cannot go: the target was changed by someone else, or the replay began too early",
    1452: "the row refers to one that is missing: a filter leaves its table out, someone changed the target, or the replay began too early",
    1813: _LEFT_FILE,
    1836: "the target is read only: set read_only off, on MySQL super_read_only too",
    1824: "the table that a foreign key refers to is missing on the target: a filter may leave it out; select both tables or none",
    3648: "the target's document is another one than the source's, and the log has only the differences between the source's documents"
    " (binlog_row_value_options=PARTIAL_JSON): copy the source's document into the target, then run the same command again",
    3819: "the row violates a CHECK of the target's table",
    4025: "the row violates a CHECK of the target's table",
}
#: The user lacks a privilege; 1143 is about a column, 1370 about a routine.
_PRIVILEGE = frozenset({1044, 1142, 1143, 1227, 1370})
#: The server is read only, or its disk or a limit of its memory is full.
_UNABLE = frozenset({1021, 1028, 1114, 1290, 1836})
#: Errors that contain another error number in their text: a table cannot be created, a file cannot be written or created.
_OF_ANOTHER = frozenset({1, 3, 1004, 1005, 1026, 1030})
#: Advice for that other number: an error of the system, or from 120 on of a storage engine.
_INNER = {28: _DISK_FULL, 135: _DISK_FULL, 184: _LEFT_FILE}
#: Errors about one row: it is missing, exists already, has no parent, has children, or does not fit the table.
_OF_A_ROW = frozenset({1022, 1032, 1048, 1062, 1216, 1217, 1264, 1265, 1292, 1364, 1366, 1406, 1451, 1452, 1526, 1586, 1690, 1859, 3819,
                       4025})  # fmt: skip
_MISFITS = DUPLICATE_KEY | {NO_SUCH_ROW}
_REFERENCES = frozenset({1216, 1217, 1451, 1452})
_CASCADED = _REFERENCES | {NO_SUCH_ROW}
_CONNECT = {
    1040: "the server has no connection left: use fewer workers or raise max_connections",
    1044: "the user may not use this database",
    1045: "user or password is wrong, or the user may not come from this host; a password can be given in PARAPLY_PASSWORD",
    1049: "the database does not exist",
    1129: "the server blocks this host after too many connection errors: run FLUSH HOSTS there",
    1130: "the server refuses connections from this host: the host part of the user must match",
    1698: "user or password is wrong, or the user may only log in over the unix socket",
    3159: "the server wants TLS: add ?tls=required to the URL",
}


#: Message of the client library for an unknown login method; MySQL names a random method for users that do not exist.
_DECOY = "Unknown authentication protocol"
_CERTIFICATE = "invalid peer certificate"
_NO_TLS = "does not offer TLS"


def explain(
    error: ParaplyError,
    *,
    file: str | None = None,
    position: int | None = None,
    gtid: str | None = None,
    table: str | None = None,
    key: str | None = None,
) -> ParaplyError:
    """Return the exception for a server's error, of the class for its cause and with the position in the log.

    Args:
        error: Exception of the native connection. If it is no ``ServerError``, it is returned with the position filled in.
        file: Log file of the transaction concerned.
        position: Offset of that transaction.
        gtid: GTID of that transaction.
        table: The table, if known.
        key: Key of the row, if known.

    >>> explain(ServerError("Deadlock found when trying to get lock", 1213, "40001"))
    TemporaryFailure('Deadlock found when trying to get lock (error 1213)')
    """
    place = {"file": file, "gtid": gtid, "table": table}
    if not isinstance(error, ServerError):
        for name, value in (place | {"position": position}).items():
            if getattr(error, name) is None:
                setattr(error, name, value)
        return error
    kind, hint = _kind(error.code, error.message)
    message = f"{error.message} (error {error.code})" + (f"; {hint}" if hint else "")
    found = kind(message, file=file, position=position, gtid=gtid, table=table, key=key)
    if isinstance(found, ApplyFailed):
        found.misfit = error.code in _MISFITS
    return found


def interrupted(error: ParaplyError) -> bool:
    """Return True if a user or a time limit ended the statement. Unlike after a deadlock, the statement's effect is unknown.

    >>> interrupted(ServerError("Query execution was interrupted", 1317)), interrupted(ServerError("Deadlock found", 1213))
    (True, False)
    """
    return error.code in _INTERRUPTED if isinstance(error, ServerError) else isinstance(error, TemporaryFailure)


def names_a_row(code: int) -> bool:
    """Return True if an error is about one row, so that its key should be searched for."""
    return code in _OF_A_ROW


def cascade_hint(code: int, log: Format, tables: int) -> str:
    """Return a hint at a faulty log of MySQL 9.6 or later for an error of a foreign key or a missing row; else an empty text.

    Args:
        code: The server's error number.
        log: The log's format.
        tables: Number of tables that the transaction changes. A row can only be deleted twice if there are at least two tables.
    """
    if not logs_cascades(log.version, mariadb=log.mariadb) or code not in (_CASCADED if tables > 1 else _REFERENCES):
        return ""
    return (
        "; or the source, a MySQL 9.6 or later, logged a cascade otherwise than it happened (bugs 102586 and 80821 of bugs.mysql.com):"
        " then apply up to this transaction with --stop-before, copy its rows by hand, and go on with --start-after on a new --channel"
    )


def _kind(code: int, message: str) -> tuple[type[ParaplyError], str]:
    if code in _TEMPORARY:
        return TemporaryFailure, _FAILED.get(code, "")
    if code in _LOST:
        return ConnectionLost, ""
    if code == NO_SUCH_ROW:
        return RowNotFound, "the row to change is not there: the target was changed by someone else, or the replay began too early"
    if code in _SCHEMA:
        return SchemaMismatch, _SCHEMA[code]
    # MariaDB: (errno: 184 "Tablespace already exists"), MySQL: (OS errno 28 - No space left on device); the words differ by language.
    inner = re.search(r'\b(\d+)(?: "| - )', message) if code in _OF_ANOTHER else None
    hint = _FAILED.get(code, "") or (_INNER.get(int(inner[1]), "") if inner else "")
    if code in _PRIVILEGE:
        return PrivilegeMissing, hint
    return TargetUnable if code in _UNABLE or hint is _DISK_FULL else ApplyFailed, hint


def table_of(message: str, tables: Iterable[tuple[str, str]]) -> str | None:
    """Return the table that a server's message names without its database, or None if it may be several of the tables.

    >>> table_of("Can't find record in 'item'", [("shop", "item"), ("shop", "orders")])
    'shop.item'
    >>> table_of("Duplicate entry '3' for key 'item.PRIMARY'", [("shop", "item"), ("old", "item")])
    """
    found = {f"{database}.{table}" for database, table in tables if f"'{table}'" in message or f"'{table}." in message}
    return found.pop() if len(found) == 1 else None


def connect_error(error: ParaplyError, url: str, *, tls: bool = True) -> ParaplyError:
    """Return the exception for a failed connection attempt.

    Args:
        error: Exception of the native connection.
        url: The target without its password.
        tls: True if TLS was tried.
    """
    if isinstance(error, ServerError):
        hint = _CONNECT.get(error.code, "")
        if error.code == 1045 and not tls:  # the server gives the same error for a user that must use TLS
            hint += "; or the user must use TLS: add ?tls=required to the URL"
        return ConnectionFailed(f"{url} refuses the login: {error.message} (error {error.code})" + (f"; {hint}" if hint else ""))
    if _DECOY in error.message:
        return ConnectionFailed(
            f"{url} refuses the login: user or password is wrong, or the user logs in by a method other than caching_sha2_password, "
            f"mysql_native_password or ed25519 ({error.message})"
        )
    if _CERTIFICATE in error.message:
        return ConnectionFailed(
            f"{url} has a certificate that is not trusted: {error.message.partition(_CERTIFICATE)[2].strip(': `').rstrip(chr(39))};"
            " give the certificate of its authority in tls-ca; tls=verify-ca does not compare the host name, tls=required compares nothing"
        )
    if _NO_TLS in error.message:
        return ConnectionFailed(f"{url} offers no TLS, and the option tls requires it")
    return ConnectionFailed(f"{url} cannot be reached: {error.message}; check host, port and socket, and that the server is running")
