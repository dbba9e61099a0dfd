"""Scheduled events on a MySQL or MariaDB target that run while a log is replayed.

The log contains the rows that an event changed on the source. If the target runs the event too, it changes the same tables again, so
that rows are duplicated or missing. MySQL 8.0 and later start their event scheduler by default, and a restored backup contains the
source's events, enabled.
"""

from __future__ import annotations

from paraply.targets.mysql.sql import Connection, query_each, rows_of, to_int, to_text

__all__ = ["scheduled_events"]

_NAMED = 5


def scheduled_events(connection: Connection) -> tuple[bool, list[str]]:
    """Return True if the server runs events, and a note that names the events that it would run during a replay.

    Args:
        connection: A connection to the server. Events of a database without the privilege EVENT are not visible and not named.

    Returns:
        True if the scheduler is on; a list with one note if there are enabled events, else an empty list.
    """
    results = query_each(
        connection,
        [
            "SELECT @@GLOBAL.event_scheduler IN ('ON', '1')",
            "SELECT event_schema, event_name FROM information_schema.events WHERE status = 'ENABLED'",
        ],
    )
    runs = bool(to_int(rows_of(results, 0)[0][0]))
    names = sorted(f"{to_text(database)}.{to_text(name)}" for database, name in rows_of(results, 1))
    if not runs or not names:
        return runs, []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = ", ".join(names[:_NAMED]) + more
    note = (
        f"the target's event scheduler is on and runs {listed} during the replay, and the log's rows already contain their changes:"
        " run SET GLOBAL event_scheduler=OFF on it until the replay has ended"
    )
    return runs, [note]
