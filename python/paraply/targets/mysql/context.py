"""What an open MySQL or MariaDB target knows, for its sessions, batches, XA transactions and recovery.

A context is made by ``MySqlTarget.open`` and never changes. What moves on during the run (ledger, sessions, what is known of tables) is
held by objects of its own.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import ParaplyError
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.session_end import await_end
from paraply.targets.mysql.sql import query_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set

    from paraply._native import Block
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.mysql.preflight.privileges import RowPrivileges
    from paraply.targets.mysql.preflight.table_check import TableChecker
    from paraply.targets.mysql.progress.store import PendingDdl, ProgressStore
    from paraply.targets.mysql.rows.foreign_keys import References
    from paraply.targets.mysql.rows.last_writer import MySqlLastWriter
    from paraply.targets.mysql.server_version import ServerKind
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.xa.branch_store import BranchStore
    from paraply.targets.mysql.xa.store import XaStore
    from paraply.targets.progress.gtid_ledger import ProgressLedger

__all__ = ["ChannelContext", "MySqlContext", "SessionNotes", "session_settings"]

_REMEMBERED = 10_000


def session_settings(*, hidden: bool, lock_wait: int = 2) -> list[str]:
    """Return the statements that set up a session that applies.

    Args:
        hidden: Whether it stays out of the target's binlog.
        lock_wait: Seconds that a row lock is waited for (R24: short).
    """
    settings = [
        "SET NAMES utf8mb4",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        f"SET SESSION autocommit=1, foreign_key_checks=1, unique_checks=1, innodb_lock_wait_timeout={lock_wait}, lock_wait_timeout=50",
    ]
    return settings + (["SET SESSION sql_log_bin=0"] if hidden else [])


class SessionNotes:
    """The sessions of one run: rows of progress and names that were given out, and the connection that works on each block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[int, tuple[int, float]] = {}  # connection and time of a block's last start
        self._next_slot = self._splits = 0

    def next_slot(self) -> int:
        """Return the number of a row of progress that nobody else of this run writes."""
        with self._lock:
            slot, self._next_slot = self._next_slot, self._next_slot + 1
        return slot

    def next_split(self) -> int:
        """Return a number for a transaction that is committed in two phases."""
        with self._lock:
            self._splits += 1
            return self._splits

    def note(self, blocks: Iterable[Block], connection_id: int) -> None:
        """Remember which connection works on blocks."""
        now = time.monotonic()
        with self._lock:
            for block in blocks:
                self._connections[block.id] = (connection_id, now)
                self._connections.pop(block.id - _REMEMBERED, None)  # blocks under way are asked for, and those are few

    def last(self, block: Block) -> tuple[int, float] | None:
        """Return the connection that worked on a block, and when the block was last begun."""
        with self._lock:
            return self._connections.get(block.id)


@dataclass(frozen=True, kw_only=True)
class ChannelContext:
    """A server and the channel that a run has taken over on it: enough to settle what earlier runs began.

    Attributes:
        connect: Makes a plain connection.
        server: The server.
        mode: The GTID mode in force.
        store: The channel's progress.
        xa: The channel's XA transactions.
        epoch: The run's epoch (R25a).
        quiet_settings: Statements after which a connection writes progress without a trace in the target's log.
    """

    connect: Callable[[], Connection]
    server: ServerKind
    mode: GtidMode
    store: ProgressStore
    xa: XaStore
    epoch: int
    quiet_settings: tuple[str, ...]

    def logs_hold(self, connection: Connection, pending: PendingDdl) -> bool:
        """Return True if the target's own GTIDs show that a recorded statement has been done (``preserve`` on MariaDB)."""
        if pending.gtid is None or self.mode.writes_progress:
            return False
        return pending.gtid in GtidSet(self.mode.own_executed(connection))


@dataclass(frozen=True, kw_only=True)
class MySqlContext(ChannelContext):
    """An open target.

    Attributes:
        branches: Branches of transactions that are committed in two phases.
        ledger: What is committed.
        checker: Compares the tables of log and target.
        row_privileges: Checks the privileges that row events need.
        references: Foreign keys that are checked once a block; None where each row is.
        last_writer: Writes rows by their timestamps (policy ``unordered``), else None.
        max_packet: Bytes of the longest statement.
        sessions: The sessions of the run.
    """

    branches: BranchStore
    ledger: ProgressLedger
    checker: TableChecker
    row_privileges: RowPrivileges
    references: References | None
    last_writer: MySqlLastWriter | None
    max_packet: int
    sessions: SessionNotes = field(default_factory=SessionNotes)

    @property
    def takes_batches(self) -> bool:
        """Whether sessions may be handed several blocks at once (``SeriesSession``)."""
        return self.last_writer is None

    def take_slot(self, connection: Connection) -> int:
        """Return a row of progress that nobody else of this run writes."""
        slot = self.sessions.next_slot()
        if self.mode.writes_progress:
            self.store.take_slot(connection, slot, self.epoch)
        return slot

    def fresh(self, after: tuple[int, float] | None = None) -> Connection:
        """Return a connection with a session's settings.

        Args:
            after: Number of a connection that must have ended before, and when it was last known to be there.
        """
        connection = self.connect()
        try:
            if after is not None:
                await_end(connection, *after)
            query_each(connection, session_settings(hidden=self.mode.hidden))
        except ParaplyError as error:
            connection.close()
            raise explain(error) from None
        return connection

    def forget_tables(self, words: Set[str] | None = None) -> None:
        """Read again what is known of tables: a DDL was run.

        Args:
            words: The statement's (``words_of``), where they are known.
        """
        self.checker.forget(words)
        if self.last_writer is not None:
            self.last_writer.forget()
        if self.references is not None:
            self.references.forget()
