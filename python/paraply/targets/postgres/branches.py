"""Two-phase transactions on PostgreSQL: prepared transactions, and the decisions about them (policy ``row``, R25).

``paraply.split`` has one row for each session that led a split transaction. The row holds the name of the last split transaction that
the session decided; the leader's own transaction writes it. Each branch holds a shared advisory lock until it ends, even while it is
prepared.

A starting process first raises the epoch, so that no older leader can decide any more. It then ends all branches that it finds, until
it gets the lock exclusively. A branch that starts later finds a changed epoch.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from paraply.errors import TemporaryFailure, UsageError
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.progress.store import Channel, advisory_key
from paraply.targets.postgres.types import quote_literal
from paraply.targets.two_phase import Branch, branch_prefix, wait_for_branches

__all__ = ["PgBranches", "check_two_phase"]

_TABLE = (
    b"CREATE TABLE IF NOT EXISTS paraply.split (channel text NOT NULL, slot integer NOT NULL, name text NOT NULL,"
    b" PRIMARY KEY (channel, slot))"
)
_WAIT_SECONDS = 20.0


class PgBranches:
    """The decisions and branches of one channel. It holds no connection.

    Args:
        channel: The channel.
        database: The target's database. It is part of the names, because these must be unique in the whole server.
    """

    def __init__(self, channel: Channel, database: str) -> None:
        self._channel = channel
        self._prefix = branch_prefix(f"{channel.name} {database}")
        self._key = advisory_key("branches of " + channel.name)

    def create_table(self, connection: PgConnection) -> None:
        """Create the table if it is missing."""
        connection.run([_TABLE])

    def exists(self, connection: PgConnection) -> bool:
        """Return True if the table exists."""
        return bool(_value(connection, "SELECT to_regclass('paraply.split') IS NOT NULL") == b"t")

    def new_name(self, number: int) -> str:
        """Return the name of a split transaction."""
        return f"{self._prefix}{self._channel.epoch}-{number}"

    def decide(self, slot: int, split: str) -> bytes:
        """Return the statement that decides a split transaction, for the leader's transaction."""
        return (
            f"INSERT INTO paraply.split VALUES ({quote_literal(self._channel.name)}, {slot}, {quote_literal(split)})"
            " ON CONFLICT (channel, slot) DO UPDATE SET name = EXCLUDED.name"
        ).encode()

    def begin(self) -> list[bytes]:
        """Return the statements that begin a branch; the last one checks the epoch."""
        return [
            b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
            f"SELECT pg_advisory_xact_lock_shared({self._key})".encode(),
            f"SELECT {self._channel.owner_condition}".encode(),
        ]

    def prepare(self, branch: Branch) -> bytes:
        """Return the statement that prepares a branch."""
        return f"PREPARE TRANSACTION {quote_literal(_name(branch))}".encode()

    def prepared(self, connection: PgConnection) -> list[Branch]:
        """Return the channel's prepared branches."""
        own_branches = f"database = current_database() AND starts_with(gid, {quote_literal(self._prefix)})"
        select = f"SELECT gid FROM pg_prepared_xacts WHERE {own_branches}"
        result = connection.run([select.encode()])[0]
        names = [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]
        parts = [name.rpartition("/") for name in names]
        return [Branch(split, int(number)) for split, _, number in parts if number.isdigit()]

    def end(self, connection: PgConnection, branch: Branch, *, commit: bool) -> None:
        """End a prepared branch; a missing branch has already ended."""
        statement = f"{'COMMIT' if commit else 'ROLLBACK'} PREPARED {quote_literal(_name(branch))}".encode()
        try:
            connection.run([statement])
        except StatementFailed as failed:
            if failed.error.state != "42704":
                raise failure(failed.error) from failed

    def recover(self, connection: PgConnection) -> int:
        """End every branch of earlier runs as it was decided; the epoch must have been raised before.

        Returns:
            Number of ended branches.

        Raises:
            AlreadyRunning: A branch is still active on the server.
        """
        name = quote_literal(self._channel.name)
        result = connection.run([f"SELECT name FROM paraply.split WHERE channel = {name}".encode()])[0]
        decided = {(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)}
        deadline = time.monotonic() + _WAIT_SECONDS
        ended: set[Branch] = set()
        while True:
            for branch in self.prepared(connection):
                self.end(connection, branch, commit=branch.split in decided)
                ended.add(branch)
            if _value(connection, f"SELECT pg_try_advisory_xact_lock({self._key})") == b"t":
                connection.run([f"DELETE FROM paraply.split WHERE channel = {name}".encode()])
                return len(ended)
            wait_for_branches(deadline, self._channel.name, "its session with pg_terminate_backend")

    def finish(self, connection: PgConnection, branch: Branch, backend: int, *, commit: bool) -> None:
        """End a branch of a broken connection, after its server process has ended."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while _value(connection, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {int(backend)}") != b"0":
            with contextlib.suppress(StatementFailed):
                connection.run([f"SELECT pg_terminate_backend({int(backend)})".encode()])
            if time.monotonic() > deadline:
                raise TemporaryFailure(f"server process {backend}, whose connection broke, does not end")
            time.sleep(0.02)
        self.end(connection, branch, commit=commit)


def check_two_phase(connection: PgConnection, workers: int) -> None:
    """Refuse a server that allows too few prepared transactions.

    Raises:
        UsageError: ``max_prepared_transactions`` is too small.
    """
    allowed = int(_value(connection, "SHOW max_prepared_transactions") or 0)
    if allowed < workers - 1:
        raise UsageError(
            f"policy 'row' with {workers} workers prepares up to {workers - 1} transactions at the same time, and the target's"
            f" max_prepared_transactions is {allowed}: set it to {workers - 1} or more in postgresql.conf and restart the server"
        )


def _name(branch: Branch) -> str:
    return f"{branch.split}/{branch.number}"


def _value(connection: PgConnection, select: str) -> Any:
    return connection.run([select.encode()])[0].get_value(0, 0)
