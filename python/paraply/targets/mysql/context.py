"""The context of an open MySQL or MariaDB target, for its sessions, batches, XA transactions and recovery.

``MySqlTarget.open`` creates a context, which never changes. State that changes during the run (ledger, sessions, definitions of
tables) is held by objects of its own.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import ParaplyError, ServerError, UsageError
from paraply.targets.conflicts import OnConflict
from paraply.targets.ddl_answer import DdlAnswer
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.rows.conflict_tables import ConflictTables
from paraply.targets.mysql.session_end import await_end
from paraply.targets.mysql.sql import query_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set

    from paraply._native import Block
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.mysql.preflight.privileges import RowPrivileges
    from paraply.targets.mysql.preflight.table_check import TableChecker
    from paraply.targets.mysql.progress.store import PendingDdl, ProgressStore, StoredProgress
    from paraply.targets.mysql.rows.foreign_keys import References
    from paraply.targets.mysql.rows.last_writer import MySqlLastWriter
    from paraply.targets.mysql.server_version import ServerKind
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.xa.branch_store import BranchStore
    from paraply.targets.mysql.xa.store import XaStore
    from paraply.targets.progress.gtid_ledger import ProgressLedger

__all__ = ["ChannelContext", "MySqlContext", "SessionNotes", "quieten", "session_settings"]

_REMEMBERED = 10_000


def session_settings(*, hidden: bool, lock_wait: int = 2) -> list[str]:
    """Return the SQL settings of a session that applies.

    Args:
        hidden: True if the session stays out of the target's binlog.
        lock_wait: Time limit for waiting for a row lock, in seconds (R24: short).
    """
    settings = [
        "SET NAMES utf8mb4",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        f"SET SESSION autocommit=1, foreign_key_checks=1, unique_checks=1, innodb_lock_wait_timeout={lock_wait}, lock_wait_timeout=50",
    ]
    return settings + (["SET SESSION sql_log_bin=0"] if hidden else [])


def quieten(control: Connection, mode: GtidMode, server: ServerKind) -> tuple[str, ...]:
    """Keep the progress of a connection out of the target's log; return the statements that do it.

    Raises:
        UsageError: The user lacks the privilege.
    """
    settings = session_settings(hidden=mode.keeps_out)
    try:
        for setting in settings:
            control.query(setting)
    except ServerError as error:
        if error.code == 1227:
            raise UsageError(
                f"--gtid {mode.name} needs the privilege to leave the binlog out: grant the user"
                f" {'BINLOG ADMIN' if server.mariadb else 'SYSTEM_VARIABLES_ADMIN'}, or use --gtid none"
            ) from None
        raise
    return tuple(settings)


class SessionNotes:
    """The sessions of one run: the numbers of progress rows and names already used, and the connection of each block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[int, tuple[int, float]] = {}  # connection and time of a block's last start
        self._next_slot = self._splits = 0

    def next_slot(self) -> int:
        """Return the number of a progress row that no other session of this run writes."""
        with self._lock:
            slot, self._next_slot = self._next_slot, self._next_slot + 1
        return slot

    def next_split(self) -> int:
        """Return a new number for a transaction that is committed in two phases."""
        with self._lock:
            self._splits += 1
            return self._splits

    def note(self, blocks: Iterable[Block], connection_id: int) -> None:
        """Record which connection works on the blocks."""
        now = time.monotonic()
        with self._lock:
            for block in blocks:
                self._connections[block.id] = (connection_id, now)
                self._connections.pop(block.id - _REMEMBERED, None)  # only uncommitted blocks are asked for, and these are few

    def last(self, block: Block) -> tuple[int, float] | None:
        """Return the connection that worked on a block, and the time at which the block was last begun."""
        with self._lock:
            return self._connections.get(block.id)


@dataclass(frozen=True, kw_only=True)
class ChannelContext:
    """A server, and a channel on it that this run has taken over: the information that recovery of earlier runs needs.

    Attributes:
        connect: Opens a connection without any settings.
        server: The server.
        mode: The GTID mode in force.
        store: The channel's progress.
        xa: The channel's XA transactions.
        epoch: The run's epoch (R25a).
        quiet_settings: Statements that keep the progress of a connection out of the target's log.
    """

    connect: Callable[[], Connection]
    server: ServerKind
    mode: GtidMode
    store: ProgressStore
    xa: XaStore
    epoch: int
    quiet_settings: tuple[str, ...]

    def logs_hold(self, connection: Connection, pending: PendingDdl) -> bool:
        """Return True if the target's own GTIDs show that a recorded statement was executed (``preserve`` on MariaDB)."""
        if pending.gtid is None or self.mode.writes_progress:
            return False
        return pending.gtid in GtidSet(self.mode.own_executed(connection))


@dataclass(frozen=True, kw_only=True)
class MySqlContext(ChannelContext):
    """The context of an open target.

    Attributes:
        branches: Branches of transactions that are committed in two phases.
        ledger: The committed transactions.
        checker: Compares the tables of log and target.
        row_privileges: Checks the privileges that row events need.
        references: Foreign keys that are checked once for each block; None if the server checks each row.
        last_writer: Writes rows by their timestamps (policy ``unordered``), else None.
        max_packet: Bytes of the longest statement.
        sessions: The sessions of the run.
        answer: The user's answer about a statement that was made by hand.
        on_conflict: Treatment of rows that do not fit.
        conflict_tables: Definitions for the rows in the table of conflicts.
    """

    branches: BranchStore
    ledger: ProgressLedger
    checker: TableChecker
    row_privileges: RowPrivileges
    references: References | None
    last_writer: MySqlLastWriter | None
    max_packet: int
    sessions: SessionNotes = field(default_factory=SessionNotes)
    answer: DdlAnswer = field(default_factory=DdlAnswer)
    on_conflict: OnConflict = OnConflict.STOP
    conflict_tables: ConflictTables = field(default_factory=ConflictTables)

    @property
    def takes_batches(self) -> bool:
        """True if sessions accept several blocks at once (``BatchSession``)."""
        return self.last_writer is None

    def kept_progress(self, connection: Connection) -> StoredProgress:
        """Return the stored progress, after checking that it has every acknowledged commit of this run (``kept_progress``)."""
        from paraply.targets.mysql.progress.kept import kept_progress

        return kept_progress(self, connection)

    def complete(self, connection: Connection, executed: GtidSet) -> StoredProgress:
        """Make the applied GTIDs the target's own, and return the stored progress (``complete``)."""
        from paraply.targets.mysql.progress.kept import complete

        return complete(self, connection, executed)

    def take_slot(self, connection: Connection) -> int:
        """Return the number of a progress row that no other session of this run writes, after creating the row."""
        slot = self.sessions.next_slot()
        if self.mode.writes_progress:
            self.store.take_slot(connection, slot, self.epoch)
        return slot

    def fresh(self, after: tuple[int, float] | None = None) -> Connection:
        """Open a connection with the settings of a session.

        Args:
            after: Number of a connection that must have ended first, and the last time at which it was known to exist.
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
        """Discard the cached table definitions after a DDL.

        Args:
            words: Words of the statement (``words_of``), if known.
        """
        self.checker.forget(words)
        self.conflict_tables.forget()
        if self.last_writer is not None:
            self.last_writer.forget()
        if self.references is not None:
            self.references.forget()
