"""The progress that a MySQL or MariaDB target holds, by its tables and by its own GTIDs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paraply._native import GtidSet
from paraply.targets.progress.file_ledger import FilePositions
from paraply.targets.progress.gtid_ledger import Executed, read_executed

if TYPE_CHECKING:
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.mysql.progress.store import ProgressStore, StoredProgress
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.progress.gtid_ledger import ProgressLedger

__all__ = ["complete", "kept_progress", "stored_gtids"]


class Run(Protocol):
    """Parts of a run (``MySqlContext``) that hold its progress."""

    @property
    def store(self) -> ProgressStore:
        """The progress tables."""

    @property
    def epoch(self) -> int:
        """Number of the run."""

    @property
    def mode(self) -> GtidMode:
        """Treatment of the source's GTIDs."""

    @property
    def ledger(self) -> ProgressLedger:
        """The committed transactions."""


def stored_gtids(connection: Connection, mode: GtidMode, stored: StoredProgress) -> Executed:
    """Return the GTIDs that the target holds."""
    return read_executed([*stored.executed, mode.own_executed(connection)], GtidSet)


def kept_progress(context: Run, connection: Connection) -> StoredProgress:
    """Return the stored progress, after checking that it has every acknowledged commit of this run.

    With ``preserve`` nothing is checked: the server's own GTIDs need not have every acknowledged transaction, such as an empty one on
    MariaDB, or the last one of a table without transactions (seen on MariaDB 10.11 and MySQL 9.7).

    Raises:
        AlreadyRunning: Another apply has taken over the channel.
        CommitsLost: The target has lost commits.
    """
    acknowledged = context.ledger.acknowledged()
    if not context.store.owns_channel(connection, context.epoch):
        raise context.store.taken_over()
    stored = context.store.read(connection)
    if not context.mode.writes_progress:
        return stored
    has_gtids = context.ledger.native is not None
    held = stored_gtids(connection, context.mode, stored).gtids if has_gtids else acknowledged.gtids
    acknowledged.check(held, stored.places() if not has_gtids else FilePositions())
    return stored


def complete(context: Run, connection: Connection, executed: GtidSet) -> StoredProgress:
    """Make the applied GTIDs the target's own, and return the stored progress.

    Raises:
        CommitsLost: The target has lost commits, which would become its own GTIDs.
    """
    stored = kept_progress(context, connection)
    context.mode.finish(connection, executed)
    return stored
