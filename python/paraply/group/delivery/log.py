"""A member's logs: a relay log for remote transactions, and a log of all transactions for joining members."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from paraply.errors import UsageError
from paraply.group.delivery.messages import LogEntry
from paraply.runtime import runtime

__all__ = ["GROUP_CHANNEL", "Logged", "MemoryLog", "ReadableLog", "TransactionLog", "refuse_flush"]

GROUP_CHANNEL = "group_replication_applier"
"""Channel of a member's applier, as in MySQL."""


class Logged(NamedTuple):
    """Entry of a log.

    Attributes:
        entry: The transaction.
        file: Number of the log's file; numbers of transactions start anew in each.
        end: Position after the entry.
    """

    entry: LogEntry
    file: int
    end: int


class TransactionLog(Protocol):
    """Log of whole transactions. One writer appends, and readers read up to the published end; neither waits for the other."""

    def append(self, entry: LogEntry) -> int:
        """Append a transaction, and return the new end."""

    @property
    def end(self) -> int:
        """Position after the last transaction; 0 for an empty log."""

    def rotate(self) -> None:
        """Begin a new file."""


class ReadableLog(TransactionLog, Protocol):
    """Log that can be read by position."""

    def read(self, after: int, most: int = 256) -> list[Logged]:
        """Return transactions after a position; an empty list at the end."""


class MemoryLog:
    """Log in memory, for tests and for groups that exist only as long as their process.

    >>> log = MemoryLog()
    >>> log.append(LogEntry("00000000-0000-0000-0000-000000000001:1", "empty", 1, 2))
    1
    >>> log.rotate()
    >>> [(logged.file, logged.end) for logged in log.read(0)], log.read(1)
    ([(1, 1)], [])
    """

    def __init__(self) -> None:
        self._mutex = runtime.lock()
        self._entries: list[Logged] = []
        self._file = 1

    @property
    def end(self) -> int:
        """Number of transactions so far."""
        return len(self._entries)

    def append(self, entry: LogEntry) -> int:
        """Append a transaction."""
        with self._mutex:
            end = len(self._entries) + 1
            self._entries.append(Logged(entry, self._file, end))
            return end

    def read(self, after: int, most: int = 256) -> list[Logged]:
        """Return transactions after a position."""
        return self._entries[after : after + most]

    def rotate(self) -> None:
        """Begin a new file."""
        with self._mutex:
            self._file += 1

    def cut(self, end: int) -> None:
        """Drop everything after a position, like a crash that tears the tail of a file."""
        with self._mutex:
            del self._entries[end:]


def refuse_flush(channel: str, *, running: bool) -> None:
    """Refuse FLUSH RELAY LOGS for the channel of a running group, because it could tear a transaction in two (R28).

    Raises:
        UsageError: The channel is the group's, and the group is running.
    """
    if running and channel == GROUP_CHANNEL:
        raise UsageError(f"the relay log of channel {channel} cannot be flushed while the group is running: stop the member first")
