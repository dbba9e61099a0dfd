"""The XA transactions of a log on a MySQL or MariaDB target: the server's own list, and ``paraply.xa`` (R35).

``paraply.xa`` has one row for each XA transaction that is prepared and not yet ended. The row is written before XA PREPARE, and again
before XA COMMIT or XA ROLLBACK, so that a later run can determine how far an earlier run came. It cannot be written inside the XA
transaction: its locks would last until the XA transaction ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import ServerError, UsageError
from paraply.targets.mysql.sql import Connection, rows_of, text_literal, to_int, to_text
from paraply.targets.xid import xid_of_parts

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["COMMITTING", "LEFT_OUT", "PREPARED", "PREPARING", "ROLLING_BACK", "XaPart", "XaStore", "held_xids", "prepared_xids"]

PREPARING, PREPARED, LEFT_OUT = "preparing", "prepared", "left out"
COMMITTING, ROLLING_BACK = "committing", "rolling back"
_IN_PROGRESS = (PREPARING, COMMITTING, ROLLING_BACK)

_SCHEMA = """CREATE TABLE IF NOT EXISTS paraply.xa (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'name of the channel',
  xid VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'name of an XA transaction of the log',
  state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'preparing, prepared, left out, committing or rolling back',
  ordinal BIGINT UNSIGNED NOT NULL COMMENT 'number of its last part in the source',
  gtid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'GTID of that part',
  file VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'log file of that part',
  position BIGINT UNSIGNED NOT NULL COMMENT 'offset behind that part',
  PRIMARY KEY (channel, xid)
) ENGINE=InnoDB"""
_EXISTS = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='xa'"


@dataclass(frozen=True, slots=True)
class XaPart:
    """A row of ``paraply.xa``.

    Attributes:
        xid: Name of the XA transaction.
        state: State of the XA transaction.
        ordinal: Number of its last part in the source.
        gtid: GTID of the last part, or None.
        file: Log file of the last part.
        position: Offset after the last part.
    """

    xid: str
    state: str
    ordinal: int
    gtid: str | None
    file: str
    position: int

    @classmethod
    def of(cls, block: Block, xid: str, state: str) -> XaPart:
        """Return the row for the part in a block."""
        return cls(xid, state, block.ordinal, block.first_gtid, block.end_file, block.end_offset)

    @property
    def in_progress(self) -> bool:
        """True if the part was begun and is not known to have ended."""
        return self.state in _IN_PROGRESS


class XaStore:
    """The rows of one channel. It holds no connection."""

    def __init__(self, channel: str) -> None:
        self._name = text_literal(channel)
        self._there = False

    def create(self, connection: Connection) -> None:
        """Create the table if it is missing."""
        if not self._there and not to_int(rows_of(connection.query(_EXISTS))[0][0]):
            connection.query(_SCHEMA)
        self._there = True

    def read(self, connection: Connection) -> list[XaPart]:
        """Return all rows; empty if the table does not exist."""
        if not self._there and not to_int(rows_of(connection.query(_EXISTS))[0][0]):
            return []
        sql = f"SELECT xid, state, ordinal, gtid, file, position FROM paraply.xa WHERE channel={self._name}"
        parts = (
            XaPart(to_text(xid), to_text(state), to_int(ordinal), to_text(gtid) or None, to_text(file), to_int(position))
            for xid, state, ordinal, gtid, file, position in rows_of(connection.query(sql))
        )
        return sorted(parts, key=lambda part: part.ordinal)

    def put(self, part: XaPart) -> str:
        """Return the statement that writes a row."""
        gtid = "NULL" if part.gtid is None else text_literal(part.gtid)
        return (
            "REPLACE INTO paraply.xa (channel, xid, state, ordinal, gtid, file, position)"
            f" VALUES ({self._name}, {text_literal(part.xid)}, '{part.state}', {part.ordinal}, {gtid}, {text_literal(part.file)},"
            f" {part.position})"
        )

    def drop(self, xid: str) -> str:
        """Return the statement that deletes a row."""
        return f"DELETE FROM paraply.xa WHERE channel={self._name} AND xid={text_literal(xid)}"


def held_xids(connection: Connection, store: XaStore) -> frozenset[str]:
    """Return the XIDs of the transactions that the server holds prepared, and of the ones that an earlier run left out or did not finish.

    Raises:
        UsageError: The user lacks the privilege to list them.
    """
    return prepared_xids(connection) | {part.xid for part in store.read(connection) if part.state != PREPARED}


def prepared_xids(connection: Connection) -> frozenset[str]:
    """Return the XIDs of the transactions that the server holds prepared.

    Raises:
        UsageError: The user lacks the privilege to list them.
    """
    try:
        rows = rows_of(connection.query("XA RECOVER"))
    except ServerError as error:
        if error.code not in (1401, 1227):
            raise
        raise UsageError(
            "the log has XA transactions, and after a crash it must be found out which of them the target holds prepared:"
            f" grant the user XA_RECOVER_ADMIN ({error.message})"
        ) from None
    return frozenset(
        xid_of_parts(to_int(format_id), to_int(gtrid), to_int(bqual), data if isinstance(data, bytes) else str(data).encode())
        for format_id, gtrid, bqual, data in rows
    )
