"""Foreign keys that are asked about once a block, where a server would check them row by row (MySQL 9.6 and later).

Such a server carries out foreign keys above its storage engines. For each row of a child it opens the parent's table, and for each
change of a parent the children's, which is three fifths of its work in a replay of a load with foreign keys. Rows that take no
referenced key away go in unchecked instead, and before the commit one question for each parent's key tells whether all is there that
they refer to, with the locks that the server's own check would take. If it is not, the block is rolled back and applied again with the
server's checks, which then name the row. Only where the replay is kept out of the binlog: what stands there is checked by replicas.
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

#: The tables are read again after a DDL, but no more often than takes this share of the time.
_SHARE = 0.05
#: Blocks whose questions were answered otherwise than expected, after which no more are asked.
_MOST_REFUSED = 3

_log = logging.getLogger(__name__)


def may_ask(connection: Connection, mode: GtidMode, grants: Grants) -> bool:
    """Whether a target checks foreign keys row by row, and whether we can see and lock everything that they are about.

    Args:
        connection: Any connection to a MySQL.
        mode: The GTID mode in force.
        grants: What the user may do.
    """
    sees_all = grants.known and not grants.revoked and grants.has("SELECT") and grants.has_any("UPDATE", "DELETE", "LOCK TABLES")
    if not mode.hidden or not sees_all:
        return False
    settings = rows_of(
        connection.query("SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_native_foreign_keys', 'lower_case_table_names')")
    )
    values = {to_text(name): to_text(value) for name, value in settings}
    # Where names are folded, the log's spelling may not be the one that the tables are known by.
    return values.get("innodb_native_foreign_keys") == "OFF" and values.get("lower_case_table_names") == "0"


class References:
    """What the target's tables refer to, for the sessions of a run; shared between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._checker: ReferenceChecker | None = None
        self._generation = 0
        self._next_read = 0.0
        self._refused = 0

    def forget(self) -> None:
        """After a DDL: the tables are read again."""
        with self._lock:
            self._checker, self._generation = None, self._generation + 1

    def check(self, connect: Callable[[], Connection], block: Block) -> ReferenceCheck | None:
        """Which of a block's rows need no check by the server, and what must be asked instead; None where it checks all of them.

        Args:
            connect: Gives any connection to the target, outside of a transaction.
            block: The block.
        """
        if self._refused >= _MOST_REFUSED:
            return None
        checker = self._checker or self._read(connect)
        return checker.check(block) if checker is not None else None

    def hold(self, connection: Connection, check: ReferenceCheck) -> bool:
        """Asks the questions, in the transaction that the rows are in.

        Raises:
            TemporaryFailure: A lock could not be had.
            ConnectionLost: The connection is gone.
        """
        questions = check.questions
        if not questions:
            return True
        try:
            results = query_all(connection, [sql for sql, _ in questions])
        except ServerError as error:
            if interrupted(error):
                raise
            return self._refuse(f"the target refused the question: {error.message}", for_good=True)
        answers = [to_int(rows[0][0]) for _, rows, _ in results]
        if answers == [expected for _, expected in questions]:
            return True
        return self._refuse(f"{answers} parents found of {[expected for _, expected in questions]}")

    def _refuse(self, why: str, *, for_good: bool = False) -> bool:
        with self._lock:
            self._refused = _MOST_REFUSED if for_good else self._refused + 1
        _log.info("foreign keys of a block are left to the server: %s", why)
        return False

    def _known(self, connection: Connection) -> ReferenceChecker | None:
        """The target's tables as they are now; without them the server checks everything."""
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
        """Reads the tables, unless another thread does or it was done a moment ago."""
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
