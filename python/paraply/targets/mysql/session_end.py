"""The end of a server session whose client has ended (R25)."""

from __future__ import annotations

import contextlib
import time

from paraply.errors import ApplyFailed, ServerError
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text

__all__ = ["await_end"]

_ZOMBIE_SECONDS = 30.0


def await_end(connection: Connection, connection_id: int, started: float) -> None:
    """End a server session and wait until it has ended, so that it can neither commit nor roll back any more.

    Args:
        connection: Another connection to the server.
        connection_id: Connection number of the session.
        started: Last time at which the session was known to exist (time.monotonic).

    Raises:
        ApplyFailed: The session does not end.
    """
    uptime = to_int(rows_of(connection.query("SHOW GLOBAL STATUS LIKE 'Uptime'"))[0][1])
    if uptime < time.monotonic() - started:
        return  # The server was restarted; the number may now belong to another connection.
    deadline = time.monotonic() + _ZOMBIE_SECONDS
    while True:
        with contextlib.suppress(ServerError):
            connection.query(f"KILL {connection_id}")
        rows = rows_of(connection.query(f"SELECT state FROM information_schema.processlist WHERE id={connection_id}"))
        if not rows:
            return
        if time.monotonic() > deadline:
            raise ApplyFailed(
                f"connection {connection_id} on the target broke and its session does not end"
                f" (state: {to_text(rows[0][0]) or 'none'}); wait for it or restart the server, and start again"
            )
        time.sleep(0.05)
