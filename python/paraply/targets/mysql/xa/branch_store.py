"""Two-phase transactions on MySQL and MariaDB: XA branches, and the decisions about them (policy ``row``, R25).

``paraply.split`` has one row for each session that led a split transaction. The row holds the name of the last split transaction that
the session decided. The leader's own transaction writes it, so it exists exactly if that transaction has committed. A row with slot -1
guards the branches: each branch holds a shared lock on it until the branch ends.

A starting process first raises the epoch, so that no older leader can decide any more. It then ends all branches that it finds, until
no connection holds the guard. A branch that starts later finds a changed epoch.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from paraply.errors import ServerError, UsageError
from paraply.targets.mysql.errors import LOCK_WAIT_TIMEOUT
from paraply.targets.mysql.sql import Connection, bytes_literal, query_each, rows_of, text_literal, to_int, to_text
from paraply.targets.two_phase import Branch, branch_prefix, wait_for_branches

if TYPE_CHECKING:
    from paraply.targets.protocol import ApplyPlan

__all__ = ["BranchStore", "check_two_phase", "end_statement", "recover_branches", "xid_of"]

_SCHEMA = """CREATE TABLE IF NOT EXISTS paraply.split (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'name of the channel',
  slot INT NOT NULL COMMENT 'the session that led; -1: the guard of the branches',
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'first part of the XA names of what it decided last',
  PRIMARY KEY (channel, slot)
) ENGINE=InnoDB"""
_FORMAT = 1
_WAIT_SECONDS = 20.0


class BranchStore:
    """The decisions and branches of one channel. It holds no connection."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._name = text_literal(channel)
        self._prefix = branch_prefix(channel)

    def create_schema(self, connection: Connection) -> None:
        """Create the table and the guard if they are missing."""
        connection.query(_SCHEMA)
        connection.query(f"INSERT IGNORE INTO paraply.split VALUES ({self._name}, -1, {bytes_literal(b'')})")

    def exists(self, connection: Connection) -> bool:
        """Return True if this channel ever split a transaction."""
        there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='split'"
        if not to_int(rows_of(connection.query(there))[0][0]):
            return False
        return bool(rows_of(connection.query(f"SELECT 1 FROM paraply.split WHERE channel={self._name} AND slot=-1")))

    def new_name(self, epoch: int, number: int) -> str:
        """Return the name of a split transaction."""
        return f"{self._prefix}{epoch}-{number}"

    def decide(self, slot: int, split: str) -> str:
        """Return the statement that decides a split transaction, for the leader's transaction."""
        return f"REPLACE INTO paraply.split VALUES ({self._name}, {slot}, '{split}')"

    def guard(self) -> list[str]:
        """Return the first statements of a branch: the guard's lock, and as the last one the query of the epoch."""
        return [
            f"SELECT 1 FROM paraply.split WHERE channel={self._name} AND slot=-1 LOCK IN SHARE MODE",
            f"SELECT epoch FROM paraply.channel WHERE name={self._name}",
        ]

    def prepared(self, connection: Connection) -> list[Branch]:
        """Return the channel's prepared branches."""
        found = []
        for _, gtrid, bqual, data in rows_of(connection.query("XA RECOVER")):
            text = to_text(data)
            split, number = text[: to_int(gtrid)], text[to_int(gtrid) : to_int(gtrid) + to_int(bqual)]
            if split.startswith(self._prefix) and number.isdigit():
                found.append(Branch(split, int(number)))
        return found

    def recover(self, connection: Connection) -> int:
        """End every branch of earlier runs as it was decided; the epoch must have been raised before.

        Returns:
            Number of ended branches.

        Raises:
            AlreadyRunning: A branch is still active on the server.
        """
        decided = {to_text(row[0]) for row in rows_of(connection.query(f"SELECT name FROM paraply.split WHERE channel={self._name}"))}
        deadline = time.monotonic() + _WAIT_SECONDS
        ended: set[Branch] = set()
        while True:
            for branch in self.prepared(connection):
                with contextlib.suppress(ServerError):  # MariaDB: its connection has not ended yet
                    connection.query(end_statement(branch, commit=branch.split in decided))
                ended.add(branch)
            if self._unguarded(connection) and not self._prepared_soon(connection):
                connection.query(f"DELETE FROM paraply.split WHERE channel={self._name} AND slot>=0")
                return len(ended)
            wait_for_branches(deadline, self._channel, "its connection with KILL")

    def _prepared_soon(self, connection: Connection) -> list[Branch]:
        """Return the prepared branches after a short pause.

        MariaDB releases the shared locks of a branch a moment before it becomes visible.
        """
        time.sleep(0.05)
        return self.prepared(connection)

    def _unguarded(self, connection: Connection) -> bool:
        """Return True if no branch is active. Later branches will find the new epoch."""
        connection.query("SET SESSION innodb_lock_wait_timeout=1")
        try:
            connection.query("START TRANSACTION")
            connection.query(f"SELECT 1 FROM paraply.split WHERE channel={self._name} AND slot=-1 FOR UPDATE")
        except ServerError as error:
            if error.code != LOCK_WAIT_TIMEOUT:
                raise
            return False
        finally:
            query_each(connection, ["ROLLBACK", "SET SESSION innodb_lock_wait_timeout=20"])
        return True


def recover_branches(control: Connection, plan: ApplyPlan) -> BranchStore:
    """End the branches that a killed run left prepared, even if this run prepares none; return the channel's branches."""
    branches = BranchStore(plan.channel)
    if plan.two_phase:
        branches.create_schema(control)
    if branches.exists(control):
        branches.recover(control)
    return branches


def check_two_phase(connection: Connection) -> None:
    """Refuse a target on which prepared branches cannot be listed.

    Raises:
        UsageError: The user lacks a privilege.
    """
    try:
        connection.query("XA RECOVER")
    except ServerError as error:
        raise UsageError(
            f"policy 'row' commits in two phases and must find its branches again: grant the user XA_RECOVER_ADMIN ({error.message})"
        ) from None


def xid_of(branch: Branch) -> str:
    """Return the XID of a branch."""
    return f"'{branch.split}','{branch.number}',{_FORMAT}"


def end_statement(branch: Branch, *, commit: bool) -> str:
    """Return XA COMMIT or XA ROLLBACK of a branch."""
    return f"XA {'COMMIT' if commit else 'ROLLBACK'} {xid_of(branch)}"
