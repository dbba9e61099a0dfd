"""The progress that a MySQL or MariaDB target holds, by its tables and by its own GTIDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.targets.progress.file_ledger import FilePositions
from paraply.targets.progress.gtid_ledger import Executed, read_executed

if TYPE_CHECKING:
    from paraply.targets.mysql.context import MySqlContext
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.mysql.progress.store import StoredProgress
    from paraply.targets.mysql.sql import Connection

__all__ = ["complete", "kept_progress", "stored_gtids"]


def stored_gtids(connection: Connection, mode: GtidMode, stored: StoredProgress) -> Executed:
    """Return the GTIDs that the target holds."""
    return read_executed([*stored.executed, mode.own_executed(connection)], GtidSet)


def kept_progress(context: MySqlContext, connection: Connection) -> StoredProgress:
    """Return the stored progress, after checking that it has every acknowledged commit of this run.

    Where tables without transactions are accepted, nothing is checked: the GTID of their changes may come later than the acknowledgement
    (seen on MariaDB 10.11 and MySQL 9.7), or be lost with a crash although the rows are there.

    Raises:
        AlreadyRunning: Another apply has taken over the channel.
        CommitsLost: The target has lost commits.
    """
    acknowledged = context.ledger.acknowledged()
    if not context.store.owns_channel(connection, context.epoch):
        raise context.store.taken_over()
    stored = context.store.read(connection)
    if context.checker.allow_nontransactional:
        return stored
    has_gtids = context.ledger.native is not None
    held = stored_gtids(connection, context.mode, stored).gtids if has_gtids else acknowledged.gtids
    acknowledged.check(held, stored.places() if not has_gtids else FilePositions())
    return stored


def complete(context: MySqlContext, connection: Connection, executed: GtidSet) -> StoredProgress:
    """Make the applied GTIDs the target's own, and return the stored progress.

    Raises:
        CommitsLost: The target has lost commits, which would become its own GTIDs.
    """
    stored = kept_progress(context, connection)
    context.mode.finish(connection, executed)
    return stored
