"""Holders of the row locks and metadata locks that a connection to MySQL or MariaDB waits for (R24).

MySQL's performance_schema shows both kinds. MariaDB's information_schema shows row locks. For metadata locks it only shows the
holders, and only with the plugin ``metadata_lock_info``; it does not show the lock that a connection waits for. Reported there are:

- connections that hold a lock which blocks changes of rows;
- connections that hold a lock on a table named in the waiting statement;
- connections that wait in the same queue.
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

#: Time without a query after which MariaDB refreshes its copy of the lock waits, and a little more.
_COPY_SECONDS = 0.105
#: Age up to which a read counts as the same query: following a chain of waits takes several calls.
_SAME_READ_SECONDS = 0.005

_ROWS = """SELECT DISTINCT holder.processlist_id FROM performance_schema.threads waiter
    JOIN performance_schema.data_lock_waits waits ON waits.requesting_thread_id=waiter.thread_id
    JOIN performance_schema.threads holder ON holder.thread_id=waits.blocking_thread_id
    WHERE waiter.processlist_id={}"""
#: A prepared XA transaction belongs to no thread after its client has ended or the server was restarted.
_PREPARED = """SELECT DISTINCT holder.trx_mysql_thread_id FROM performance_schema.threads waiter
    JOIN performance_schema.data_lock_waits waits ON waits.requesting_thread_id=waiter.thread_id
    JOIN information_schema.innodb_trx holder ON holder.trx_id=waits.blocking_engine_transaction_id AND holder.trx_mysql_thread_id=0
    WHERE waiter.processlist_id={}"""
#: Connections that hold a lock incompatible with the wanted one, or that wait for it earlier (the server's mdl.h).
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
#: This value is no copy. It counts the waits of the whole server.
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
_MARIADB_ADVICE = "INSTALL SONAME 'metadata_lock_info' on the server makes it report the connection"


class RowWaits:
    """The row lock waits of a MariaDB server, all read at once, and at most as often as the server refreshes them.

    Its information_schema shows a copy of the waits. The server only refreshes the copy if it was not read for 0.1 s
    (``CACHE_MIN_IDLE_TIME_NS`` in InnoDB's trx0i_s.cc), so more frequent readers always see the old copy.
    """

    def __init__(self) -> None:
        self._read_at = -math.inf
        self._waits: list[tuple[int, int]] = []

    def holders(self, connection: Connection, waiter: int) -> list[int]:
        """Return the holders of the row locks that a connection waits for; ``UNTOLD`` if some wait exists and no details are available yet.

        Args:
            connection: To the server.
            waiter: The connection that may be waiting.
        """
        age = time.monotonic() - self._read_at
        if age > _COPY_SECONDS:
            self._waits = [(to_int(one), to_int(other)) for one, other in _rows(connection, _MARIADB_ROWS)]
            self._read_at = time.monotonic()
        elif age > _SAME_READ_SECONDS:
            return [UNTOLD] if any(to_int(count) for _, count in _rows(connection, _MARIADB_WAITING)) else []
        return sorted({holder for one, holder in self._waits if one == waiter})


def lock_holders(connection: Connection, server: ServerKind, waiter: int, row_waits: RowWaits) -> list[int]:
    """Return the connections that hold locks this connection waits for; empty if there is no wait or it cannot be determined.

    Args:
        connection: To the server; needs ``SELECT`` on MySQL's performance_schema, and ``PROCESS`` on MariaDB.
        server: Its family and version.
        waiter: The connection that may be waiting.
        row_waits: The row lock waits of a MariaDB server.
    """
    if not server.mariadb:
        return _connections(connection, [_ROWS, _PREPARED, _DEFINITIONS], waiter)
    found = row_waits.holders(connection, waiter)
    if found and found != [UNTOLD]:
        return found
    return [*found, *_connections(connection, [_MARIADB_DEFINITIONS, _MARIADB_QUEUE], waiter)]


def describe_wait(connection: Connection, server: ServerKind, waiter: int, holders: Sequence[int]) -> str:
    """Return the description of a connection's lock wait; empty if the connection waits for no lock.

    Args:
        connection: To the server.
        server: Its family and version.
        waiter: The connection that may be waiting.
        holders: Other connections found by ``lock_holders`` for this connection, or for the connections that block it.
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
    """Return the rows of a query; none if the server does not have the table or the user lacks the privilege."""
    try:
        return rows_of(connection.query(query))
    except ServerError:
        return []


def telling(connect: Callable[[], Connection], waiter: int, doing: str) -> AbstractContextManager[list[str]]:
    """Report which connection blocks another one, if the ``with`` block takes longer than a few seconds.

    Args:
        connect: Opens another connection to the server.
        waiter: The connection that runs statements in the block.
        doing: Subject of the sentence: the activity that waits.
    """
    row_waits = RowWaits()

    def describe() -> str:
        with closing(connect()) as other:
            server = ServerKind.parse(other.server_version)
            return describe_wait(other, server, waiter, lock_holders(other, server, waiter, row_waits))

    return lock_waits.telling(describe, doing)
