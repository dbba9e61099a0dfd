"""A member's logs as files in MySQL's format, readable by mysqlbinlog (R28)."""

from __future__ import annotations

from pathlib import Path

from paraply._native import (
    GtidSet,
    LogReader,
    RelayLog,
    StopCondition,
    TransactionBatch,
    encode_statement,
    encode_transaction,
    encode_view_change,
)
from paraply._native import relay_format as log_format
from paraply.group.delivery.messages import LogEntry
from paraply.group.storage.definitions import SERVER_VERSION
from paraply.runtime import runtime

__all__ = ["FileLog", "LogFollower"]


class FileLog:
    """Log in a folder, with one writer and many readers.

    Args:
        folder: The folder; made if it is missing.
        server_id: Server id of the member.
        name: Prefix of the files' names.
    """

    def __init__(self, folder: Path, server_id: int, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        version = ".".join(map(str, SERVER_VERSION))
        self._log = RelayLog(str(folder), name=name, server_id=server_id)
        self._log.append(log_format(version, server_id=server_id))
        self._mutex = runtime.lock()
        self._end = 0

    @property
    def end(self) -> int:
        """Number of appended transactions."""
        return self._end

    @property
    def files(self) -> list[str]:
        """Names of the files."""
        return list(self._log.files)

    def append(self, entry: LogEntry) -> int:
        """Append a transaction and make it readable."""
        events = encoded(entry)
        with self._mutex:
            self._log.append(events)
            self._end += 1
            return self._end

    def rotate(self) -> None:
        """Begin a new file."""
        with self._mutex:
            self._log.flush()

    def follow(self, executed: GtidSet, until: str | None = None) -> LogFollower:
        """Return a reader from the log's beginning that skips executed transactions and ends after the transaction ``until``."""
        return LogFollower(self._log.reader(executed=executed, stop=StopCondition(after=until)))

    def close(self) -> None:
        """End the log; readers reach its end."""
        with self._mutex:
            self._log.close()


class LogFollower:
    """Reader that waits at the end of a log until there is more, or it is stopped.

    Args:
        reader: The native reader, which returns an empty batch if there is nothing at the moment.
    """

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._stopped = False

    def next_batch(self, max_transactions: int = 1024, max_bytes: int = 16 << 20) -> TransactionBatch | None:
        """Return the next transactions; None at the end."""
        while not self._stopped:
            batch = self._reader.next_batch(max_transactions, max_bytes)
            if batch is None or len(batch):
                return batch
        return None

    def stop(self) -> None:
        """Stop reading. May be called from any thread."""
        self._stopped = True
        self._reader.stop()


def encoded(entry: LogEntry) -> bytes:
    """Return the events of a transaction.

    >>> entry = LogEntry("00000000-0000-0000-0000-00000000000a:1", "ddl", 1, 2, 7, 3, statement="create table t (id int primary key)")
    >>> b"create table t" in encoded(entry)
    True
    """
    front = (entry.gtid, entry.last_committed, entry.sequence_number, entry.server_id, entry.session or 0, entry.committed_at)
    if entry.kind == "view_change":
        return encode_view_change(front, entry.gtid, int(entry.gtid.rpartition(":")[2]))
    if entry.statement is not None:
        return encode_statement(front, entry.database, entry.statement)
    return encode_transaction(front, entry.rows)
