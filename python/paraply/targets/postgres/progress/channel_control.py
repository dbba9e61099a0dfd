"""Pausing, resuming and forgetting of channels in a PostgreSQL target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.errors import AlreadyRunning
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.progress.store import advisory_key
from paraply.targets.postgres.types import quote_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PgChannelControl"]

_TABLE = (
    b"CREATE TABLE IF NOT EXISTS paraply.pause (channel text PRIMARY KEY, paused_by text NOT NULL, since timestamp with time zone NOT NULL)"
)
_OF_A_CHANNEL = b"SELECT table_name FROM information_schema.columns WHERE table_schema='paraply' AND column_name='channel' ORDER BY 1"
"""Tables with a column ``channel``, beside ``channel`` itself."""
_LOCK_NOT_AVAILABLE = "55P03"


class PgChannelControl:
    """A connection that changes the state of channels; see ``ChannelControl`` for the contract."""

    def __init__(self, uri: str) -> None:
        self._connection = PgConnection(uri, name="paraply control")

    def pause(self, channel: str, by: str) -> None:
        """Note a pause."""
        if not self._has("pause"):
            self._run([_TABLE])
        values = f"{quote_literal(channel)}, {quote_literal(by)}, clock_timestamp()"
        self._run([f"INSERT INTO paraply.pause VALUES ({values}) ON CONFLICT DO NOTHING".encode()])

    def resume(self, channel: str) -> bool:
        """Remove the pause; return False if there was none."""
        if not self._has("pause"):
            return False
        removed = self._run([f"DELETE FROM paraply.pause WHERE channel = {quote_literal(channel)}".encode()])
        return bool(removed[0].command_tuples)

    def forget(self, channel: str) -> None:
        """Remove the channel's progress, in one transaction, after every open transaction of the channel."""
        name = quote_literal(channel)
        lock = f"SELECT pg_advisory_xact_lock({advisory_key('channel ' + channel)})"
        found = self._run([_OF_A_CHANNEL])[0]
        tables = [(found.get_value(row, 0) or b"").decode() for row in range(found.ntuples)]
        deletes = [f"DELETE FROM paraply.{table} WHERE channel = {name}" for table in tables]
        statements = [
            "BEGIN",
            "SET LOCAL lock_timeout TO '5s'",
            lock,
            *deletes,
            *([f"DELETE FROM paraply.channel WHERE name = {name}"] if self._has("channel") else []),
            "COMMIT",
        ]
        try:
            self._connection.run([statement.encode() for statement in statements])
        except StatementFailed as failed:
            self._connection.run([b"ROLLBACK"])
            if failed.error.state == _LOCK_NOT_AVAILABLE:
                raise AlreadyRunning("a transaction of the channel is still open on the target; end its apply first") from None
            raise failure(failed.error) from failed

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _has(self, table: str) -> bool:
        found = self._run([f"SELECT to_regclass('paraply.{table}') IS NOT NULL".encode()])[0]
        return bool(found.get_value(0, 0) == b"t")

    def _run(self, statements: Sequence[bytes]) -> Sequence[Any]:
        try:
            return self._connection.run(statements)
        except StatementFailed as failed:
            raise failure(failed.error) from failed
