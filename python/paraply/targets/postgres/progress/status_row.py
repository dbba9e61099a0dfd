"""The status of a run, stored as a row in a PostgreSQL target."""

from __future__ import annotations

from paraply.errors import ParaplyError
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.types import quote_literal

__all__ = ["PgStatusRow", "open_status_row"]

# An unlogged table is enough: after a crash of the server, no run is active.
_TABLE = (
    b"CREATE UNLOGGED TABLE IF NOT EXISTS paraply.run (channel text PRIMARY KEY, epoch bigint NOT NULL,"
    b" updated timestamp with time zone NOT NULL, status text NOT NULL)"
)


class PgStatusRow:
    """The status row of one channel; see ``StatusRowConnection`` for the contract.

    Args:
        connection: A connection for this purpose only.
        channel: Name of the channel.
        epoch: Epoch of this run.
    """

    def __init__(self, connection: PgConnection, channel: str, epoch: int) -> None:
        self._connection = connection
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

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def open_status_row(uri: str, channel: str, epoch: int) -> PgStatusRow | None:
    """Return the status row of a channel; None if the user may not create the table.

    Raises:
        ParaplyError: The target cannot be reached now.
    """
    connection = PgConnection(uri, name="paraply status")
    try:
        missing = connection.run([b"SELECT to_regclass('paraply.run') IS NULL"])[0].get_value(0, 0) == b"t"
        connection.run([*([_TABLE] if missing else []), b"SET synchronous_commit TO off"])
    except StatementFailed:
        connection.close()
        return None
    except ParaplyError:
        connection.close()
        raise
    return PgStatusRow(connection, channel, epoch)
