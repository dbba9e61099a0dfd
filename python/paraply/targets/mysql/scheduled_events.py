"""Scheduled events of a MySQL or MariaDB target that run while a log is replayed.

What an event changed on the source is in the log's rows. Run by the target as well, during the replay, it changes the same tables
once more: a row too many, or one that a logged row is missing then. MySQL 8.0 and later start their event scheduler by default, and a
restored backup holds the source's events, enabled.
"""

from __future__ import annotations

from paraply.targets.mysql.sql import Connection, query_each, rows_of, to_int, to_text

__all__ = ["scheduled_events"]

_NAMED = 5


def scheduled_events(connection: Connection) -> tuple[bool, list[str]]:
    """Whether the server runs events, and what to say of those that it would run during a replay.

    Args:
        connection: To the server. Without the privilege EVENT on a database its events cannot be seen, and are not named.

    Returns:
        Whether its scheduler is on; one note where enabled events are seen, else none.
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
        f"the target's event scheduler is on and runs {listed} during the replay, and what they changed is in the log's rows already:"
        " run SET GLOBAL event_scheduler=OFF on it until the replay is through"
    )
    return runs, [note]
