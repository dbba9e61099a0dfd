"""Order of the jobs that a MariaDB target's own applier would run in another order, or could leave undone without a trace.

MariaDB applies the transactions of several domains independently of each other, and commits a statement before the position that counts
it. So the jobs of another domain and statements are sent only when everything before them is committed, and nothing is sent after a
statement until it is committed. The start of a statement is recorded, as by a session (R25b). XA transactions are refused before.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ConnectionFailed, ParaplyError
from paraply.runtime import runtime
from paraply.targets.mysql.ddl.statement import pending_statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block
    from paraply.applier.execute.retry import RetryPolicy
    from paraply.applier.schedule.job_list import Job
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.target import MySqlTarget

__all__ = ["Isolation"]


class Isolation:
    """Hands jobs on, and keeps those apart that need it; used by the coordinator's thread.

    Args:
        target: The open target.
        put: Hands a job on; returns False if no more are accepted.
        drain: Waits until every job up to a number is committed; returns False if that will not happen.
        retry: How often a lost connection is made again, and when.
    """

    def __init__(self, target: MySqlTarget, put: Callable[[Job], bool], drain: Callable[[int], bool], retry: RetryPolicy) -> None:
        self._target = target
        self._retry = retry
        self._put = put
        self._drain = drain
        self._server_id = str(target.server_id())
        self._domain: str | None = None
        self._connection: Connection | None = None
        self._recorded = False

    def put(self, job: Job) -> bool:
        """Hand a job on; return False if no more are accepted.

        Raises:
            ApplyFailed: The target's replication would pass over the transaction.
        """
        domain, server, _ = (job.block.first_gtid or "--").split("-")
        if server == self._server_id:
            raise ApplyFailed(
                f"the target has server_id {server}, and its replication passes over transactions of that number: SET GLOBAL server_id to"
                " another one while the log is applied, or use --via sessions",
            )
        version = job.block.format.version
        if version[:2] > self._target.server.version[:2]:
            raise ApplyFailed(
                f"a MariaDB {version[0]}.{version[1]} wrote this transaction, and a MariaDB replicates only from its own version or an"
                " older one: use --via sessions, which converts what differs, or a newer target"
            )
        alone = job.block.kind == "ddl"
        if (alone or self._domain not in (None, domain)) and not self._drain(job.number - 1):
            return False
        self._domain = domain
        if not alone:
            return self._put(job)
        self._record(job.block)
        if not self._put(job) or not self._drain(job.number):
            return False
        self._forget()
        return True

    def end(self, *, settled: bool) -> None:
        """Close the connection; delete the record of a statement that is known not to have run.

        A server that was restarted has closed the connection that wrote the record, and may have run the statement: the record stays.

        Args:
            settled: True if the replication connection is removed, and every commit counted.
        """
        if settled and self._connection is not None:
            self._forget()
        self._close()

    def _forget(self) -> None:
        """Delete the record of a statement. If the connection is lost it stays, and the next run asks the target."""
        if self._recorded:
            try:
                self._quiet().query(self._target.context.store.end_ddl())
            except ParaplyError:
                self._close()
            else:
                self._recorded = False

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(ParaplyError):
                connection.close()

    def _record(self, block: Block) -> None:
        """Record that a statement begins, unless it may run twice."""
        if not block.transactions[0].statements:
            return
        for attempt in range(1, self._retry.reconnects + 1):
            try:
                self._recorded |= self._begin(block)
            except ConnectionFailed:
                self._close()
                if attempt == self._retry.reconnects:
                    raise
                runtime.sleep(self._retry.reconnect_delay(attempt))
            else:
                return

    def _begin(self, block: Block) -> bool:
        """Write the record of a statement; return False if it needs none."""
        context, connection = self._target.context, self._quiet()
        pending = pending_statement(connection, block, context.server)
        if pending is not None:
            context.store.begin_ddl(connection, pending, context.epoch)
        return pending is not None

    def _quiet(self) -> Connection:
        """Return a connection whose changes stay out of the target's log."""
        if self._connection is None:
            connection = self._target.connect()
            for setting in self._target.context.quiet_settings:
                connection.query(setting)
            self._connection = connection
        return self._connection
