"""The status of a run, stored as a row in a PostgreSQL target."""

from __future__ import annotations

from paraply.errors import ParaplyError
from paraply.targets.channel_status import Pause
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.types import quote_literal

__all__ = ["PgStatusRow", "open_status_row", "read_pause"]

# An unlogged table is enough: after a crash of the server, no run is active.
_TABLE = (
    b"CREATE UNLOGGED TABLE IF NOT EXISTS paraply.run (channel text PRIMARY KEY, epoch bigint NOT NULL,"
    b" updated timestamp with time zone NOT NULL, status text NOT NULL)"
)

_SCHEMA = b"CREATE SCHEMA IF NOT EXISTS paraply"
_NO_TABLE = ("42P01", "3F000", "42501")
"""States of a table or schema that is missing, and of a missing privilege."""


class PgStatusRow:
    """The status row of one channel; see ``StatusRowConnection`` for the contract.

    Args:
        connection: A connection for this purpose only.
        channel: Name of the channel.
        epoch: Epoch of this run.
    """

    def __init__(self, connection: PgConnection, channel: str, epoch: int) -> None:
        self._connection = connection
        self._channel = channel
        self._begin = f"INSERT INTO paraply.run AS r VALUES ({quote_literal(channel)}, {epoch}, clock_timestamp(), "
        self._end = (
            ") ON CONFLICT (channel) DO UPDATE SET epoch = excluded.epoch, updated = excluded.updated, status = excluded.status"
            " WHERE r.epoch <= excluded.epoch"
        )

    def publish(self, text: str) -> None:
        """Write the row, unless another run has taken over the channel."""
        try:
            self._connection.run([f"{self._begin}{quote_literal(text)}{self._end}".encode()])
        except StatementFailed as failed:
            raise failure(failed.error) from failed

    def paused(self) -> Pause | None:
        """Return the pause of the channel; None without one."""
        try:
            return read_pause(self._connection, self._channel)
        except StatementFailed as failed:
            raise failure(failed.error) from failed

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def read_pause(connection: PgConnection, channel: str) -> Pause | None:
    """Return the pause of a channel; None without one, or if nobody has ever paused a channel of this target.

    Raises:
        StatementFailed: The server refused for another reason.
    """
    select = (
        "SELECT paused_by, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') FROM paraply.pause"
        f" WHERE channel = {quote_literal(channel)}"
    )
    try:
        result = connection.run([select.encode()])[0]
    except StatementFailed as failed:
        if failed.error.state in _NO_TABLE:
            return None
        raise
    if not result.ntuples:
        return None
    by, since = (value.decode() if value is not None else "" for value in (result.get_value(0, 0), result.get_value(0, 1)))
    return Pause(by, since)


def open_status_row(uri: str, channel: str, epoch: int) -> PgStatusRow | None:
    """Return the status row of a channel; None if the user may not create the table.

    Raises:
        ParaplyError: The target cannot be reached now.
    """
    connection = PgConnection(uri, name="paraply status")
    try:
        found = connection.run([b"SELECT to_regnamespace('paraply') IS NULL, to_regclass('paraply.run') IS NULL"])[0]
        made = [statement for column, statement in enumerate((_SCHEMA, _TABLE)) if found.get_value(0, column) == b"t"]
        connection.run([*made, b"SET synchronous_commit TO off"])
    except StatementFailed:
        connection.close()
        return None
    except ParaplyError:
        connection.close()
        raise
    return PgStatusRow(connection, channel, epoch)
