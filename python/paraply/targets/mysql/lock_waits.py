"""Who holds the row locks and the locks on definitions of tables that a connection to MySQL or MariaDB waits for (R24).

MySQL's performance_schema tells both kinds. MariaDB's information_schema tells row locks; of locks on definitions only who holds some,
and that with the plugin ``metadata_lock_info``, not what a waiting connection waits for: there those are named that hold a lock
which keeps rows out, or a lock on a table that the waiting statement names, and statements that wait in the same queue.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing

from paraply.errors import ServerError
from paraply.targets import lock_waits
from paraply.targets.lock_waits import UNTOLD, Holder, sentence
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text

__all__ = ["RowWaits", "describe_wait", "lock_holders", "telling"]

#: So long nobody may have looked before MariaDB makes its copy anew, and a little more.
_COPY_SECONDS = 0.105
#: What was read so short a time ago is of the same look: whoever follows a chain of waits asks several times.
_LOOK_SECONDS = 0.005

_ROWS = """SELECT DISTINCT holder.processlist_id FROM performance_schema.threads waiter
    JOIN performance_schema.data_lock_waits waits ON waits.requesting_thread_id=waiter.thread_id
    JOIN performance_schema.threads holder ON holder.thread_id=waits.blocking_thread_id
    WHERE waiter.processlist_id={}"""
#: A prepared XA transaction whose client is gone, or which a restart has found, is no thread's.
_PREPARED = """SELECT DISTINCT holder.trx_mysql_thread_id FROM performance_schema.threads waiter
    JOIN performance_schema.data_lock_waits waits ON waits.requesting_thread_id=waiter.thread_id
    JOIN information_schema.innodb_trx holder ON holder.trx_id=waits.blocking_engine_transaction_id AND holder.trx_mysql_thread_id=0
    WHERE waiter.processlist_id={}"""
#: Who holds, or waits for in front of us, a lock that does not go with the wanted one (the server's metadata-lock manager, mdl.h).
_DEFINITIONS = """SELECT DISTINCT holder.processlist_id FROM performance_schema.threads waiter
    JOIN performance_schema.metadata_locks wanted ON wanted.owner_thread_id=waiter.thread_id AND wanted.lock_status='PENDING'
    JOIN performance_schema.metadata_locks held ON held.owner_thread_id<>wanted.owner_thread_id AND held.object_type=wanted.object_type
        AND held.object_schema<=>wanted.object_schema AND held.object_name<=>wanted.object_name
        AND CASE wanted.lock_type
            WHEN 'INTENTION_EXCLUSIVE' THEN held.lock_type<>'INTENTION_EXCLUSIVE'
            WHEN 'EXCLUSIVE' THEN held.lock_status='GRANTED'
            WHEN 'SHARED_NO_READ_WRITE' THEN held.lock_status='GRANTED'
            WHEN 'SHARED_NO_WRITE' THEN held.lock_status='GRANTED' AND held.lock_type NOT IN ('SHARED', 'SHARED_HIGH_PRIO', 'SHARED_READ')
            WHEN 'SHARED_READ_ONLY' THEN held.lock_status='GRANTED' AND held.lock_type NOT IN ('SHARED', 'SHARED_HIGH_PRIO', 'SHARED_READ',
                'SHARED_READ_ONLY')
            WHEN 'SHARED_UPGRADABLE' THEN held.lock_type IN ('SHARED_UPGRADABLE', 'SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'EXCLUSIVE')
            ELSE held.lock_type IN ('SHARED_READ_ONLY', 'SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'EXCLUSIVE') END
    JOIN performance_schema.threads holder ON holder.thread_id=held.owner_thread_id
    WHERE waiter.processlist_id={}"""

_MARIADB_ROWS = """SELECT waiter.trx_mysql_thread_id, holder.trx_mysql_thread_id FROM information_schema.innodb_lock_waits waits
    JOIN information_schema.innodb_trx waiter ON waiter.trx_id=waits.requesting_trx_id
    JOIN information_schema.innodb_trx holder ON holder.trx_id=waits.blocking_trx_id"""
#: This one is no copy. It counts all of the server's.
_MARIADB_WAITING = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"
_MARIADB_DEFINITIONS = """SELECT DISTINCT held.thread_id FROM information_schema.processlist waiter
    JOIN information_schema.metadata_lock_info held ON held.thread_id<>waiter.id
        AND (held.lock_mode IN ('MDL_SHARED_READ_ONLY', 'MDL_SHARED_NO_WRITE', 'MDL_SHARED_NO_READ_WRITE', 'MDL_EXCLUSIVE',
                'MDL_BACKUP_FTWRL1', 'MDL_BACKUP_FTWRL2', 'MDL_BACKUP_WAIT_FLUSH', 'MDL_BACKUP_WAIT_DDL', 'MDL_BACKUP_WAIT_COMMIT')
            OR held.table_name<>'' AND LOCATE(held.table_name, waiter.info))
    WHERE waiter.id={} AND waiter.state LIKE 'Waiting for % lock'"""
_MARIADB_QUEUE = """SELECT other.id FROM information_schema.processlist waiter
    JOIN information_schema.processlist other ON other.state=waiter.state AND other.id<>waiter.id AND other.info NOT LIKE 'BINLOG%'
    WHERE waiter.id={} AND waiter.info LIKE 'BINLOG%' AND waiter.state='Waiting for table metadata lock'"""

_WHO = """SELECT t.processlist_id, CONCAT_WS('@', t.processlist_user, t.processlist_host), t.processlist_command='Sleep',
    COALESCE(t.processlist_info, (SELECT s.sql_text FROM performance_schema.events_statements_current s
        WHERE s.thread_id=t.thread_id AND s.nesting_event_level=0 LIMIT 1))
    FROM performance_schema.threads t WHERE t.processlist_id IN ({})"""
_MARIADB_WHO = """SELECT p.id, CONCAT_WS('@', p.user, SUBSTRING_INDEX(p.host, ':', 1)), p.command='Sleep',
    COALESCE(p.info, (SELECT s.sql_text FROM performance_schema.threads t JOIN performance_schema.events_statements_current s
        ON s.thread_id=t.thread_id WHERE t.processlist_id=p.id AND s.nesting_event_id IS NULL LIMIT 1))
    FROM information_schema.processlist p WHERE p.id IN ({})"""
_SINCE = """SELECT trx_mysql_thread_id, DATE_FORMAT(trx_started, '%Y-%m-%d %H:%i:%s') FROM information_schema.innodb_trx
    WHERE trx_mysql_thread_id IN ({})"""
_STATE = "SELECT state FROM information_schema.processlist WHERE id={}"
_MARIADB_ADVICE = "INSTALL SONAME 'metadata_lock_info' on it lets it tell"


class RowWaits:
    """The row lock waits of a MariaDB, all at once, and no oftener than it tells of new ones.

    Its information_schema shows a copy of them, which it makes anew only where nobody has looked at it for 0.1 s
    (``CACHE_MIN_IDLE_TIME_NS`` in InnoDB's trx0i_s.cc): who looks oftener sees what was, for as long as he goes on.
    """

    def __init__(self) -> None:
        self._read_at = -math.inf
        self._waits: list[tuple[int, int]] = []

    def holders(self, connection: Connection, waiter: int) -> list[int]:
        """Who holds the row locks that a connection waits for; ``UNTOLD`` where somebody waits, and that cannot be told yet.

        Args:
            connection: To the server.
            waiter: The connection that may be waiting.
        """
        age = time.monotonic() - self._read_at
        if age > _COPY_SECONDS:
            self._waits = [(to_int(one), to_int(other)) for one, other in _rows(connection, _MARIADB_ROWS)]
            self._read_at = time.monotonic()
        elif age > _LOOK_SECONDS:
            return [UNTOLD] if any(to_int(count) for _, count in _rows(connection, _MARIADB_WAITING)) else []
        return sorted({holder for one, holder in self._waits if one == waiter})


def lock_holders(connection: Connection, server: ServerKind, waiter: int, row_waits: RowWaits) -> list[int]:
    """Connections that hold locks which this one waits for; empty when it waits for none or that cannot be told.

    Args:
        connection: To the server; needs ``SELECT`` on MySQL's performance_schema, and ``PROCESS`` on MariaDB.
        server: Its family and version.
        waiter: The connection that may be waiting.
        row_waits: What was read of a MariaDB's row lock waits.
    """
    if not server.mariadb:
        return _connections(connection, [_ROWS, _PREPARED, _DEFINITIONS], waiter)
    found = row_waits.holders(connection, waiter)
    if found and found != [UNTOLD]:
        return found
    return [*found, *_connections(connection, [_MARIADB_DEFINITIONS, _MARIADB_QUEUE], waiter)]


def describe_wait(connection: Connection, server: ServerKind, waiter: int, holders: Sequence[int]) -> str:
    """What is said of a connection that waits; empty where it waits for no lock.

    Args:
        connection: To the server.
        server: Its family and version.
        waiter: The connection that may be waiting.
        holders: What ``lock_holders`` gave of others, for it or for those in its way.
    """
    if not holders:
        states = [to_text(state) for (state,) in _rows(connection, _STATE.format(waiter))]
        wait = next((state for state in states if state.startswith("Waiting for ") and state.endswith(" lock")), "")
        return sentence([], wait, _MARIADB_ADVICE if server.mariadb else "")
    query = _MARIADB_WHO if server.mariadb else _WHO
    numbers = ", ".join(map(str, holders))
    since = {to_int(number): to_text(start) for number, start in _rows(connection, _SINCE.format(numbers))}
    seen = {
        to_int(number): Holder(to_int(number), to_text(user), since.get(to_int(number), ""), bool(to_int(idle)), to_text(statement))
        for number, user, idle, statement in _rows(connection, query.format(numbers))
    }
    seen[0] = Holder(0, statement="XA RECOVER lists them")
    return sentence([seen.get(number, Holder(number)) for number in holders])


def _connections(connection: Connection, queries: Sequence[str], waiter: int) -> list[int]:
    found = {to_int(number) for query in queries for (number,) in _rows(connection, query.format(waiter)) if number is not None}
    return sorted(found - {waiter})


def _rows(connection: Connection, query: str) -> list[tuple[object, ...]]:
    """The rows; none where the server does not have the table, or does not show it to us."""
    try:
        return rows_of(connection.query(query))
    except ServerError:
        return []


def telling(connect: Callable[[], Connection], waiter: int, doing: str) -> AbstractContextManager[list[str]]:
    """Says who holds a connection up that is at work while the block lasts.

    Args:
        connect: Makes another connection to the server.
        waiter: The connection that is at work.
        doing: What is said to wait.
    """
    row_waits = RowWaits()

    def describe() -> str:
        with closing(connect()) as other:
            server = ServerKind.parse(other.server_version)
            return describe_wait(other, server, waiter, lock_holders(other, server, waiter, row_waits))

    return lock_waits.telling(describe, doing)
