"""Holders of the locks that a connection to PostgreSQL waits for (R24)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from paraply.targets.lock_waits import Holder, sentence, telling
from paraply.targets.postgres.connection import PgConnection, StatementFailed

__all__ = ["describe_holders", "lock_holders", "patiently"]

_PATIENT_MS = 30_000


def lock_holders(connection: PgConnection, waiter: int) -> list[int]:
    """Return the server processes that hold locks this process waits for; 0 stands for a prepared transaction."""
    return [int(row[0]) for row in _rows(connection, f"SELECT DISTINCT unnest(pg_blocking_pids({int(waiter)}))")]


def describe_holders(connection: PgConnection, holders: Sequence[int]) -> str:
    """Return the description of a wait for these processes.

    Only a superuser or a member of ``pg_read_all_stats`` sees the statements of other users.
    """
    if not holders:
        return ""
    rows = _rows(
        connection,
        "SELECT pid, concat_ws('@', usename, coalesce(host(client_addr), 'local')), to_char(xact_start, 'YYYY-MM-DD HH24:MI:SS'),"
        " state LIKE 'idle%', query FROM pg_stat_activity"
        f" WHERE pid IN ({', '.join(str(int(holder)) for holder in holders)})",
    )
    seen = {int(pid): Holder(int(pid), user, since, idle == "t", statement) for pid, user, since, idle, statement in rows}
    seen[0] = Holder(0, statement="pg_prepared_xacts lists them")
    return sentence([seen.get(holder, Holder(holder)) for holder in holders])


@contextmanager
def patiently(connection: PgConnection, uri: str, doing: str) -> Iterator[list[str]]:
    """Wait up to half a minute for each lock in the ``with`` block, and report which connection blocks if that takes long.

    Args:
        connection: The connection used in the block. It must be idle before and after; its lock timeout is reset at the end.
        uri: URL for another connection to the server.
        doing: Subject of the sentence: the activity that waits.

    Yields:
        The reports so far; each is also logged as a warning.
    """

    def describe() -> str:
        try:
            with closing(PgConnection(uri, name="paraply look")) as other:
                return describe_holders(other, lock_holders(other, connection.backend_pid))
        except StatementFailed:
            return ""

    connection.set_lock_timeout(_PATIENT_MS)
    with telling(describe, doing) as reports:
        yield reports
    connection.set_lock_timeout(connection.lock_timeout_ms)


def _rows(connection: PgConnection, query: str) -> list[list[str]]:
    """Return the rows as text; NULL is empty."""
    result = connection.run([query.encode()])[0]
    return [[(result.get_value(row, column) or b"").decode() for column in range(result.nfields)] for row in range(result.ntuples)]
