"""Foreign keys that are checked once for each block, on servers that would check them row by row (MySQL 9.6 and later).

Such a server implements foreign keys above its storage engines. It opens the parent table for each row of a child, and the child
tables for each change of a parent. This is three fifths of its work when it replays a load with foreign keys.

Rows that remove no referenced key are therefore applied without the server's check. Before the commit, one query for each parent key
counts the referenced parents, with the same locks as the server's own check. If a parent is missing, the block is rolled back and
applied again with the server's checks, whose error names the row. This is only done if the replay stays out of the binlog, because
replicas check logged rows.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from paraply._native import Catalog, ReferenceChecker
from paraply.errors import ServerError
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.readers.live import read_tables
from paraply.targets.mysql.errors import interrupted
from paraply.targets.mysql.sql import query_all, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block, ReferenceCheck
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.mysql.preflight.privileges import Grants
    from paraply.targets.mysql.sql import Connection

__all__ = ["References", "may_ask"]

#: Largest share of the time that is spent on reading the tables again after a DDL.
_SHARE = 0.05
#: Number of blocks with failed checks after which the server checks all further blocks.
_MOST_REFUSED = 3

_log = logging.getLogger(__name__)


def may_ask(connection: Connection, mode: GtidMode, grants: Grants) -> bool:
    """Return True if the target checks foreign keys row by row, and the user can see and lock all tables concerned.

    Args:
        connection: Any connection to a MySQL.
        mode: The GTID mode in force.
        grants: The privileges of the user.
    """
    sees_all = grants.known and not grants.revoked and grants.has("SELECT") and grants.has_any("UPDATE", "DELETE", "LOCK TABLES")
    if not mode.hidden or not sees_all:
        return False
    settings = rows_of(
        connection.query("SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_native_foreign_keys', 'lower_case_table_names')")
    )
    values = {to_text(name): to_text(value) for name, value in settings}
    # With lower_case_table_names, the log's spelling of a name may differ from that of the catalog.
    return values.get("innodb_native_foreign_keys") == "OFF" and values.get("lower_case_table_names") == "0"


class References:
    """The foreign keys of the target's tables, for the sessions of a run; shared between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._checker: ReferenceChecker | None = None
        self._generation = 0
        self._next_read = 0.0
        self._refused = 0

    def forget(self) -> None:
        """Discard the tables after a DDL."""
        with self._lock:
            self._checker, self._generation = None, self._generation + 1

    def check(self, connect: Callable[[], Connection], block: Block) -> ReferenceCheck | None:
        """Return the rows of a block that need no check by the server, and the queries that replace it; None if the server checks all rows.

        Args:
            connect: Returns any connection to the target, outside of a transaction.
            block: The block.
        """
        if self._refused >= _MOST_REFUSED:
            return None
        checker = self._checker or self._read(connect)
        return checker.check(block) if checker is not None else None

    def hold(self, connection: Connection, check: ReferenceCheck) -> bool:
        """Run the queries in the transaction of the rows; return True if all parents exist.

        Raises:
            TemporaryFailure: A lock was not available.
            ConnectionLost: The connection broke.
        """
        questions = check.questions
        if not questions:
            return True
        try:
            results = query_all(connection, [question.sql for question in questions])
        except ServerError as error:
            if interrupted(error):
                raise
            return self._refuse(f"the target refused the query: {error.message}", for_good=True)
        answers = [to_int(result.rows[0][0]) for result in results]
        expected = [question.expected for question in questions]
        return answers == expected or self._refuse(f"{answers} parents found of {expected}")

    def _refuse(self, why: str, *, for_good: bool = False) -> bool:
        with self._lock:
            self._refused = _MOST_REFUSED if for_good else self._refused + 1
        _log.info("foreign keys of a block are left to the server: %s", why)
        return False

    def _known(self, connection: Connection) -> ReferenceChecker | None:
        """Return a checker for the target's current tables, or None if they cannot be read."""
        catalog = Catalog()
        try:
            for table in read_tables(lambda sql: rows_of(connection.query(sql))):
                catalog.put(table)
        except (ServerError, DdlSyntaxError) as error:
            if isinstance(error, ServerError) and interrupted(error):
                raise
            self._refuse(f"the tables could not be read: {error}", for_good=True)
            return None
        return ReferenceChecker(catalog)

    def _read(self, connect: Callable[[], Connection]) -> ReferenceChecker | None:
        """Read the tables, unless another thread is reading them or they were read a moment ago."""
        if time.monotonic() < self._next_read or not self._reading.acquire(blocking=False):
            return None
        try:
            generation, started = self._generation, time.monotonic()
            checker = self._known(connect())
            ended = time.monotonic()
            with self._lock:
                self._next_read = ended + (ended - started) / _SHARE
                if generation == self._generation:
                    self._checker = checker
                return self._checker
        finally:
            self._reading.release()
