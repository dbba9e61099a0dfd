"""The end of a server session whose client is gone (R25)."""

from __future__ import annotations

import contextlib
import time

from paraply.errors import ApplyFailed, ServerError
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text

__all__ = ["await_end"]

_ZOMBIE_SECONDS = 30.0


def await_end(connection: Connection, connection_id: int, started: float) -> None:
    """Ends a server session and waits until it is gone, so that it can neither commit nor roll back any more.

    Args:
        connection: Another connection to the server.
        connection_id: The session's number.
        started: When it was last known to be there (time.monotonic).

    Raises:
        ApplyFailed: It does not end.
    """
    uptime = to_int(rows_of(connection.query("SHOW GLOBAL STATUS LIKE 'Uptime'"))[0][1])
    if uptime < time.monotonic() - started:
        return  # The server was started anew; its connection numbers are others' now.
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
