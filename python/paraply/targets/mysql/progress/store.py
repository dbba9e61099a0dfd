"""Progress and fencing in SQL on MySQL and MariaDB (R25, R25a, R25b).

``paraply.channel`` has one row for each channel, with its epoch and the transactions that earlier runs applied. ``paraply.progress`` has
one row for each session of the running apply, with the epoch as the last part of its key.

A transaction that applies rows updates its session's row, by a statement or by a row event (``batch_commit``). The update only finds
the row if the epoch is unchanged. A transaction without such an update holds a shared lock on the channel's row instead. Raising the
epoch changes all these rows. It therefore waits until every older transaction has ended, even one whose client was killed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply._native import GtidSet
from paraply.errors import AlreadyRunning, ServerError, TemporaryFailure, UsageError
from paraply.targets.mysql.errors import LOCK_WAIT_TIMEOUT, QUERY_INTERRUPTED
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.sql import (
    Connection,
    bytes_literal,
    must_find,
    plain_literal,
    query_each,
    rows_of,
    text_literal,
    to_int,
    to_text,
)
from paraply.targets.progress.file_ledger import FilePositions, PositionRow, newest_row, read_positions
from paraply.targets.progress.mismatch import other_arguments

if TYPE_CHECKING:
    from paraply._native import ResultSet
    from paraply.targets.progress.gtid_ledger import Mark

__all__ = ["PendingDdl", "ProgressStore", "StoredProgress"]

_TRIES = 3
_UNKNOWN_COLUMN, _UNKNOWN_TABLE, _UNKNOWN_DATABASE = 1054, 1146, 1049
_SCHEMA = (
    "CREATE DATABASE IF NOT EXISTS paraply",
    """CREATE TABLE IF NOT EXISTS paraply.channel (
  name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY COMMENT 'name of the channel',
  epoch BIGINT UNSIGNED NOT NULL COMMENT 'raised by every start; a session with an older one may not write',
  fingerprint VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'sources, filters and start of the apply',
  executed LONGTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'GTIDs that earlier runs applied',
  file VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'log file of the last of them',
  position BIGINT UNSIGNED NULL COMMENT 'offset behind the last of them',
  ordinal BIGINT UNSIGNED NOT NULL COMMENT 'transactions of the source that are through',
  state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'incomplete or complete',
  ddl_ordinal BIGINT UNSIGNED NULL COMMENT 'a statement that was begun and is not known to have ended',
  ddl_gtid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'its GTID',
  ddl_file VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'its log file',
  ddl_position BIGINT UNSIGNED NULL COMMENT 'offset behind it',
  ddl_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'the database of what it makes or drops',
  ddl_table VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'the table that it makes or drops',
  ddl_existed TINYINT NULL COMMENT 'whether that stood there before',
  gtid_mode VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'the GTID mode of the last run'
) ENGINE=InnoDB""",
    """CREATE TABLE IF NOT EXISTS paraply.progress (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'name of the channel',
  slot INT UNSIGNED NOT NULL COMMENT 'one for each session',
  epoch BIGINT UNSIGNED NOT NULL COMMENT 'the epoch of the run that may write it',
  executed LONGTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'GTIDs known as applied when its last transaction committed',
  file VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'log file of that transaction',
  position BIGINT UNSIGNED NULL COMMENT 'offset behind that transaction',
  ordinal BIGINT UNSIGNED NOT NULL COMMENT 'number of that transaction in the source',
  PRIMARY KEY (channel, slot, epoch)
) ENGINE=InnoDB""",
)


@dataclass(frozen=True, slots=True)
class PendingDdl:
    """A statement that an earlier run began without recording its end.

    Attributes:
        ordinal: Number of its transaction in the source.
        gtid: GTID of its transaction, or None.
        file: Log file of the statement.
        position: Offset after the statement.
        database: Database of the CREATE or DROP; None for other statements.
        table: Table of the CREATE or DROP; None if it creates or drops a database.
        existed: True if the table or database existed before the statement.
    """

    ordinal: int
    gtid: str | None
    file: str
    position: int
    database: str | None = None
    table: str | None = None
    existed: bool = False


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """The stored progress of a channel."""

    epoch: int
    executed: list[str]
    file: str | None
    position: int | None
    ordinal: int
    complete: bool
    resumed: bool
    pending_ddl: PendingDdl | None
    kept: PositionRow | None = None
    rows: tuple[PositionRow, ...] = ()

    def places(self) -> FilePositions:
        """Return the committed positions of a log without GTIDs."""
        return read_positions(self.kept, self.rows)


class ProgressStore:
    """The stored progress of one channel, for reading and writing. It holds no connection."""

    def __init__(self, channel: str) -> None:
        self._name = text_literal(channel)
        self._channel = channel
        # Names of locks are limited to 64 characters and compared without case.
        self._lock = "paraply." + hashlib.sha256(channel.encode()).hexdigest()[:40]

    @property
    def channel(self) -> str:
        """Name of the channel."""
        return self._channel

    def create_schema(self, connection: Connection) -> None:
        """Create missing tables."""
        # A query of COLUMNS would need a temporary file, which a full disk does not allow.
        exists = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name IN ('channel','progress')"
        if to_int(rows_of(connection.query(exists))[0][0]) < 2:
            query_each(connection, _SCHEMA)
        if not _has_column(connection, "progress", "epoch"):
            _alter(connection, "ADD COLUMN epoch BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER slot")
        if not _has_column(connection, "channel", "gtid_mode"):
            _alter(connection, "ADD COLUMN gtid_mode VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL", "channel")
        in_key = "table_schema='paraply' AND table_name='progress' AND index_name='PRIMARY' AND column_name='epoch'"
        if not to_int(rows_of(connection.query(f"SELECT COUNT(*) FROM information_schema.statistics WHERE {in_key}"))[0][0]):
            _alter(connection, "DROP PRIMARY KEY, ADD PRIMARY KEY (channel, slot, epoch)")

    def open(self, connection: Connection, fingerprint: str, *, wait: int = 20) -> StoredProgress:
        """Raise the epoch and return the progress. After this, no older session can commit.

        Args:
            connection: A connection with autocommit on and the isolation level READ COMMITTED.
            fingerprint: Identity of sources, filters and start.
            wait: Time limit in seconds for the end of an earlier run's transactions.

        Raises:
            ConfigurationMismatch: The channel belongs to other sources, filters or start.
            AlreadyRunning: Transactions of an earlier run did not end in time.
        """
        self._check_fingerprint(connection, fingerprint)
        connection.query(
            f"INSERT IGNORE INTO paraply.channel (name, epoch, fingerprint, executed, ordinal, state)"
            f" VALUES ({self._name}, 0, {text_literal(fingerprint)}, {plain_literal('')}, 0, 'incomplete')"
        )
        if not self.lock_statements(connection, wait):
            raise AlreadyRunning(
                f"a statement of an earlier apply of channel {self._channel} is still running on the target;"
                " wait for it, or end its connection, and start again"
            )
        try:
            self._raise_epoch(connection, wait)
            self._check_fingerprint(connection, fingerprint)
            return self.read(connection)
        finally:
            self.unlock_statements(connection)

    def kept_mode(self, connection: Connection) -> tuple[bool, str | None]:
        """Return True if the channel exists, and the GTID mode of its last run; None if that is not known."""
        try:
            rows = rows_of(connection.query(f"SELECT gtid_mode FROM paraply.channel WHERE name={self._name}"))
        except ServerError as error:
            if error.code in (_UNKNOWN_TABLE, _UNKNOWN_DATABASE, *ACCESS_DENIED):
                return False, None
            if error.code != _UNKNOWN_COLUMN:
                raise
            return bool(rows_of(connection.query(f"SELECT 1 FROM paraply.channel WHERE name={self._name}"))), None
        return bool(rows), (to_text(rows[0][0]) or None) if rows else None

    def keep_mode(self, connection: Connection, mode: str, epoch: int) -> None:
        """Store the GTID mode of this run."""
        connection.query(f"UPDATE paraply.channel SET gtid_mode={text_literal(mode)} WHERE name={self._name} AND epoch={epoch}")

    def look(self, connection: Connection, fingerprint: str) -> StoredProgress | None:
        """Return the progress without writing anything; None if the channel has none.

        Raises:
            ConfigurationMismatch: The channel belongs to other sources, filters or start.
        """
        exists = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name IN ('channel','progress')"
        if to_int(rows_of(connection.query(exists))[0][0]) < 2:
            return None
        self._check_fingerprint(connection, fingerprint)
        if not rows_of(connection.query(f"SELECT epoch FROM paraply.channel WHERE name={self._name}")):
            return None
        return self.read(connection)

    def read(self, connection: Connection) -> StoredProgress:
        """Return the committed progress."""
        statements = [
            (
                "SELECT epoch, executed, file, position, ordinal, state, ddl_ordinal, ddl_gtid, ddl_file, ddl_position, ddl_database,"
                f" ddl_table, ddl_existed FROM paraply.channel WHERE name={self._name}"
            ),
            f"SELECT executed, file, position, ordinal FROM paraply.progress WHERE channel={self._name}",
        ]
        results = query_each(connection, statements)
        epoch, executed, file, position, ordinal, state, *ddl = rows_of(results, 0)[0]
        slots = sorted(rows_of(results, 1), key=lambda slot: to_int(slot[3]))
        kept = _place_row(executed, file, position, ordinal)
        placed = [_place_row(*slot) for slot in slots]
        newest = newest_row(kept, placed) or kept
        texts = [to_text(text) for text in (executed, *(slot[0] for slot in slots))]
        return StoredProgress(
            epoch=to_int(epoch),
            executed=[text for text in texts if text],
            file=newest.file,
            position=newest.offset,
            ordinal=newest.ordinal,
            complete=to_text(state) == "complete",
            resumed=to_int(epoch) > 1,
            pending_ddl=_pending(ddl),
            kept=kept,
            rows=tuple(placed),
        )

    def consolidate(self, connection: Connection, progress: StoredProgress, executed: str, state: str = "incomplete") -> None:
        """Move the progress of the sessions' rows into the channel's row; the epoch must be that of this run."""
        position = "NULL" if progress.position is None else str(progress.position)
        values = f"executed={bytes_literal(executed.encode())}, file={_nullable(progress.file)}, position={position}"
        where = f"name={self._name} AND epoch={progress.epoch}"
        statements = [
            "START TRANSACTION",
            self.fence(),
            f"UPDATE paraply.channel SET {values}, ordinal={progress.ordinal}, state='{state}' WHERE {where}",
            f"DELETE FROM paraply.progress WHERE channel={self._name}",
        ]
        results = query_each(connection, statements)
        self.checked(results, progress.epoch, connection, at=1)
        must_find(results[2:3])  # the rows may only be deleted if the channel's row was updated
        connection.query("COMMIT")

    def owns_channel(self, connection: Connection, epoch: int) -> bool:
        """Return True if the epoch is still that of this run."""
        rows = rows_of(connection.query(f"SELECT epoch FROM paraply.channel WHERE name={self._name}"))
        return bool(rows) and to_int(rows[0][0]) == epoch

    def take_slot(self, connection: Connection, slot: int, epoch: int) -> None:
        """Create the progress row of a session.

        Raises:
            AlreadyRunning: Another apply has taken over the channel, and may use the row itself.
            TemporaryFailure: The same as for ``checked``.
        """
        made = connection.query(
            f"REPLACE INTO paraply.progress (channel, slot, epoch, executed, ordinal)"
            f" SELECT name, {slot}, epoch, {plain_literal('')}, 0 FROM paraply.channel WHERE name={self._name} AND epoch={epoch}"
            " LOCK IN SHARE MODE"
        )
        self.checked(made, epoch, connection, at=0)

    def fence(self) -> str:
        """Return the query whose row must hold the epoch of this run; it keeps a shared lock until the transaction ends."""
        return f"SELECT epoch FROM paraply.channel WHERE name={self._name} LOCK IN SHARE MODE"

    def write(self, slot: int, mark: Mark, epoch: int) -> str:
        """Return the statement that writes a session's progress. It finds and locks its row only if the epoch is still that of this run."""
        return (
            f"UPDATE paraply.progress SET executed={plain_literal(mark.executed)}, file={plain_literal(mark.file)},"
            f" position={mark.offset}, ordinal={mark.ordinal} WHERE channel={self._name} AND slot={slot} AND epoch={epoch}"
        )

    def checked(self, results: list[ResultSet], epoch: int, connection: Connection, *, at: int) -> None:
        """Check that the epoch is still that of this run, from the result of ``fence`` or ``write``.

        Args:
            results: All results of the query.
            epoch: Epoch of this run.
            connection: The connection, which is rolled back if the check fails.
            at: Index of the result of ``fence`` or ``write``.

        Raises:
            AlreadyRunning: Another apply has taken over the channel.
            TemporaryFailure: The epoch is unchanged, but the row was not found (``must_find``).
        """
        columns, rows, found = results[at]
        if (columns and rows and to_int(rows[0][0]) == epoch) or (not columns and found):
            return
        connection.query("ROLLBACK")
        if columns or not self.owns_channel(connection, epoch):
            raise self.taken_over()
        must_find(results[at : at + 1])

    def begin_ddl(self, connection: Connection, pending: PendingDdl, epoch: int) -> None:
        """Record that a statement is about to run (R25b)."""
        begun = connection.query(
            f"UPDATE paraply.channel SET ddl_ordinal={pending.ordinal}, ddl_gtid={_nullable(pending.gtid)},"
            f" ddl_file={_nullable(pending.file)}, ddl_position={pending.position}, ddl_database={_nullable(pending.database)},"
            f" ddl_table={_nullable(pending.table)}, ddl_existed={int(pending.existed)} WHERE name={self._name} AND epoch={epoch}"
        )
        self.checked(begun, epoch, connection, at=0)

    def end_ddl(self) -> str:
        """Return the statement that deletes the record of ``begin_ddl``, for the transaction that writes the progress."""
        return f"UPDATE paraply.channel SET ddl_ordinal=NULL WHERE name={self._name}"

    def lock_statements(self, connection: Connection, wait: int) -> bool:
        """Acquire the lock that a session holds while it runs a DDL, where row locks do not last; return False after the time limit.

        Raises:
            ServerError: KILL QUERY interrupted the wait, which the servers report by NULL.
        """
        answer = rows_of(connection.query(f"SELECT GET_LOCK('{self._lock}', {wait})"))[0][0]
        if answer is None:
            raise ServerError("Query execution was interrupted while it waited for the lock of statements", QUERY_INTERRUPTED, "70100")
        return to_int(answer) == 1

    def unlock_statements(self, connection: Connection) -> None:
        """Release the lock of ``lock_statements``; try again after a KILL QUERY."""
        for tries in range(1, _TRIES + 1):
            try:
                connection.query(f"SELECT RELEASE_LOCK('{self._lock}')")
            except ServerError as error:
                if error.code != QUERY_INTERRUPTED or tries == _TRIES:
                    raise
            else:
                return

    def taken_over(self) -> AlreadyRunning:
        """Return the exception for an epoch that another apply has raised."""
        return AlreadyRunning(f"another apply took channel {self._channel} over; this one ends here and has done no harm")

    def _check_fingerprint(self, connection: Connection, fingerprint: str) -> None:
        rows = rows_of(connection.query(f"SELECT fingerprint FROM paraply.channel WHERE name={self._name}"))
        if rows and (stored := to_text(rows[0][0])) != fingerprint:
            raise other_arguments(self._channel, (stored, fingerprint), self.read(connection).executed, GtidSet, renders=False)

    def _raise_epoch(self, connection: Connection, wait: int) -> None:
        """Raise the epoch in the row of the channel and in the rows of its sessions. They are locked in this order everywhere."""
        connection.query(f"SET SESSION innodb_lock_wait_timeout={wait}")
        older = f"SELECT COUNT(*) FROM paraply.progress AS p JOIN paraply.channel AS c ON name=channel WHERE name={self._name}"
        statements = [
            "START TRANSACTION",
            f"UPDATE paraply.channel SET epoch=epoch+1 WHERE name={self._name}",
            f"UPDATE paraply.progress SET epoch=(SELECT epoch FROM paraply.channel WHERE name={self._name}) WHERE channel={self._name}",
            f"{older} AND p.epoch<>c.epoch",
        ]
        try:
            raised = query_each(connection, statements)
            must_find(raised[1:2])
            if to_int(rows_of(raised)[0][0]):
                raise TemporaryFailure("interrupted: rows of progress are left in an older epoch")
            connection.query("COMMIT")
        except ServerError as error:
            connection.query("ROLLBACK")
            if error.code != LOCK_WAIT_TIMEOUT:
                raise
            raise AlreadyRunning(
                f"transactions of an earlier apply of channel {self._channel} have not ended on the target within {wait} s"
                f"{self._holders(connection)}; wait for them or end their connections with KILL, and start again"
            ) from None

    @staticmethod
    def _holders(connection: Connection) -> str:
        """Return a hint that names the connections with an InnoDB transaction older than five seconds."""
        rows = rows_of(
            connection.query(
                "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_mysql_thread_id<>CONNECTION_ID()"
                " AND trx_started < NOW() - INTERVAL 5 SECOND ORDER BY trx_started LIMIT 8"
            )
        )
        return f" (open transactions: connections {', '.join(to_text(row[0]) for row in rows)})" if rows else ""


def _has_column(connection: Connection, table: str, column: str) -> bool:
    try:
        connection.query(f"SELECT {column} FROM paraply.{table} LIMIT 0")
    except ServerError as error:
        if error.code != _UNKNOWN_COLUMN:
            raise
        return False
    return True


def _alter(connection: Connection, change: str, table: str = "progress") -> None:
    """Change a table of an older version to the form of this version."""
    statement = f"ALTER TABLE paraply.{table} {change}"
    try:
        connection.query(statement)
    except ServerError as error:
        if error.code not in ACCESS_DENIED:
            raise
        raise UsageError(
            f"the progress table on the target is of an older paraply, and the user may not change it: run there {statement}"
        ) from None


def _nullable(text: str | None) -> str:
    return "NULL" if text is None else text_literal(text)


def _place_row(text: Any, file: Any, position: Any, ordinal: Any) -> PositionRow:
    return PositionRow(to_text(text), to_text(file) or None, None if position is None else to_int(position), to_int(ordinal))


def _pending(columns: list[Any]) -> PendingDdl | None:
    ordinal, gtid, file, position, database, table, existed = columns
    if ordinal is None:
        return None
    return PendingDdl(
        to_int(ordinal),
        to_text(gtid) or None,
        to_text(file),
        to_int(position),
        to_text(database) or None,
        to_text(table) or None,
        bool(to_int(existed)),
    )
