"""The binlogs of a source: their names, the present end, and a comparison with copied ones."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import GtidSet, LogCopy
from paraply.errors import LogError, LogNotUnderstood, ReceiveFailed, ServerError
from paraply.replication.source import query_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import ReplicaConnection
    from paraply.logs.archived.manifest import ArchivedFile
    from paraply.replication.source import Source

__all__ = ["SourceEnd", "open_connection", "same_content", "source_end", "source_files"]

_ENDS = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
_SYNTAX = 1064
_LOWEST_ID = 1_000_000_000
_ALL_EVENTS_KNOWN = "SET @source_binlog_checksum='CRC32', @master_binlog_checksum='CRC32'"
_FATAL = 1236
ENCRYPTED = 2


@dataclass(frozen=True, slots=True)
class SourceEnd:
    """Present end of a source's binlogs.

    Attributes:
        file: The file that the source writes.
        position: Its size.
    """

    file: str
    position: int


def source_files(source: Source) -> list[str]:
    """Return the names of the source's binlogs, oldest first.

    Raises:
        ConnectionFailed: The source cannot be reached.
        ServerError: The user may not ask for them.
        LogNotUnderstood: A binlog is encrypted.
    """
    return names_of(query_source(source, "SHOW BINARY LOGS"))


def names_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names in the answer to ``SHOW BINARY LOGS``. Its third column, of MySQL, is ``Yes`` for an encrypted file.

    Raises:
        LogNotUnderstood: A binlog is encrypted: a source sends its events decrypted, so that the file cannot be copied as it is.

    >>> names_of([("binlog.000001", "157", "No"), ("binlog.000002", "157", "No")])
    ['binlog.000001', 'binlog.000002']
    """
    encrypted = [row[0] for row in rows if len(row) > ENCRYPTED and row[ENCRYPTED] == "Yes"]
    if encrypted:
        raise LogNotUnderstood(
            f"the source encrypts its binlog {encrypted[0]}, and sends the events decrypted, so that the file cannot be copied as it is;"
            " copy the encrypted files and their keys with the tools of the file system",
            file=encrypted[0],
        )
    return [row[0] for row in rows]


def source_end(source: Source) -> SourceEnd:
    """Return the present end of the source's binlogs.

    Raises:
        ConnectionFailed: The source cannot be reached.
        ServerError: The user may not ask for it.
        ReceiveFailed: The source has no binlog.
    """
    for statement in _ENDS:
        try:
            rows = query_source(source, statement)
        except ServerError as error:
            if error.code == _SYNTAX and statement != _ENDS[-1]:
                continue
            raise
        if rows:
            return SourceEnd(rows[0][0], int(rows[0][1]))
    raise ReceiveFailed(f"the source {source.url} writes no binlog: start it with log_bin")


def open_connection(source: Source, archive: str) -> ReplicaConnection:
    """Return a connection that is ready to send every event of the source's files as it is.

    Raises:
        ConnectionFailed: The source cannot be reached, or refuses the login.
    """
    connection = source.connect()
    source.prepare(connection, Path("/paraply-archive") / archive.replace("/", "_"), None)
    connection.execute(_ALL_EVENTS_KNOWN)
    return connection


def replica_id(archive: str) -> int:
    """Return the server id with which the archive registers at the source, far from common ones."""
    return _LOWEST_ID + zlib.crc32(archive.encode()) % _LOWEST_ID


def same_content(source: Source, archive: str, file: ArchivedFile) -> bool:
    """Return True if the source's file of this name begins like the archived one and has its last event at the same place.

    Two MariaDB servers with one server id write the same format description within a second. What is known before the first transaction
    tells their files apart.

    Raises:
        ConnectionFailed: The source cannot be reached.
        ServerError: The source does not send the file.
    """
    if file.head is None or file.last_event is None:
        return True
    start = LogCopy(file.name)
    if not compared(source, archive, start, events=1 if file.gtids_before is None else 2):
        return False
    piece = start.take(0.0)
    if piece is None or piece.head != file.head:
        return False
    if file.gtids_before is not None and piece.previous_gtids != GtidSet(file.gtids_before):
        return False
    return compared(source, archive, LogCopy(file.name, known=file.last_event))


def compared(source: Source, archive: str, copy: LogCopy, *, events: int = 1) -> bool:
    """Receive so many events; return False if the source has another one there, or none."""
    connection = open_connection(source, archive)
    try:
        connection.copy_log(copy, replica_id(archive), most=events)
    except LogError:
        return False
    except ServerError as error:
        if error.code != _FATAL:
            raise
        return False
    finally:
        connection.close()
    return True
