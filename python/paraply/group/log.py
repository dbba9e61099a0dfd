"""What members write their transactions into: a relay log for remote ones, a log of all for members that join."""

from __future__ import annotations

import threading
from typing import NamedTuple, Protocol

from paraply.errors import UsageError
from paraply.group.messages import LogEntry

__all__ = ["GROUP_CHANNEL", "Logged", "MemoryLog", "TransactionLog", "refuse_flush"]

GROUP_CHANNEL = "group_replication_applier"
"""The channel of a member's applier, as MySQL names it."""


class Logged(NamedTuple):
    """An entry as it stands in a log.

    Attributes:
        entry: The transaction.
        file: Number of the log's file; numbers start over with each.
        end: Position behind it.
    """

    entry: LogEntry
    file: int
    end: int


class TransactionLog(Protocol):
    """One writer appends whole transactions; readers read up to the published end, and nobody waits for the other."""

    def append(self, entry: LogEntry) -> int:
        """Appends a transaction and gives the new end."""

    def read(self, after: int, most: int = 256) -> list[Logged]:
        """Transactions behind a position; none at the end."""

    @property
    def end(self) -> int:
        """Position behind the last transaction; 0 for an empty log."""

    def rotate(self) -> None:
        """Begins a new file."""


class MemoryLog:
    """A log in memory, for tests and for groups that live no longer than their process.

    >>> log = MemoryLog()
    >>> log.append(LogEntry("00000000-0000-0000-0000-000000000001:1", "empty", 1, 2))
    1
    >>> log.rotate()
    >>> [(logged.file, logged.end) for logged in log.read(0)], log.read(1)
    ([(1, 1)], [])
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._entries: list[Logged] = []
        self._file = 1

    @property
    def end(self) -> int:
        """Transactions so far."""
        return len(self._entries)

    def append(self, entry: LogEntry) -> int:
        """Appends a transaction."""
        with self._mutex:
            end = len(self._entries) + 1
            self._entries.append(Logged(entry, self._file, end))
            return end

    def read(self, after: int, most: int = 256) -> list[Logged]:
        """Transactions behind a position."""
        return self._entries[after : after + most]

    def rotate(self) -> None:
        """Begins a new file."""
        with self._mutex:
            self._file += 1

    def cut(self, end: int) -> None:
        """Loses what stands behind a position, as a crash does that tears a file's tail."""
        with self._mutex:
            del self._entries[end:]


def refuse_flush(channel: str, *, running: bool) -> None:
    """FLUSH RELAY LOGS FOR CHANNEL of the group's own channel could tear a transaction in two, so it waits for the group to stop (R28).

    Raises:
        UsageError: The channel is the group's, and the group is running.
    """
    if running and channel == GROUP_CHANNEL:
        raise UsageError(f"the relay log of channel {channel} cannot be flushed while the group is running: stop the member first")
