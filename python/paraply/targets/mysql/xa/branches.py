"""Preparing and ending the parts of a two-phase transaction on MySQL and MariaDB (policy ``row``, R25)."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

from paraply.errors import AlreadyRunning, ParaplyError, ServerError, TemporaryFailure
from paraply.targets.mysql.rows.sequences import row_statements
from paraply.targets.mysql.sql import Connection, query_all, rows_of, to_int
from paraply.targets.mysql.xa.branch_store import end_statement, xid_of
from paraply.targets.two_phase import Branch

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.targets.mysql.context import MySqlContext

__all__ = ["end", "prepare"]

#: Error numbers for an unknown XID, and for an XA transaction in another state.
_NOT_THERE, _OTHER_STATE = 1397, 1399
_INTERRUPTED, _TRIES = 1317, 3
_WAIT_SECONDS = 20.0


class FormatSession(Protocol):
    """The session that prepares a part."""

    @property
    def connection(self) -> Connection:
        """The connection, ready for any statement."""

    def send_format(self, block: Block) -> None:
        """Send the log's format description, if the server does not have it yet."""


def prepare(context: MySqlContext, session: FormatSession, part: Block, branch: Branch) -> None:
    """Apply a part in a branch and prepare the branch."""
    connection, xid = session.connection, xid_of(branch)
    context.checker.check(lambda: connection, part.table_maps(), part.format.version)
    session.send_format(part)
    head = [f"XA START {xid}", *context.branches.guard()]
    rows = rows_of(query_all(connection, head))
    if not rows or to_int(rows[0][0]) != context.epoch:
        raise AlreadyRunning("another apply took the channel over; this one ends here and has done no harm")
    for statement in row_statements(context, part):
        connection.query(statement)
    connection.query(f"XA END {xid}")
    connection.query(f"XA PREPARE {xid}")


def end(context: MySqlContext, connection: Connection, branch: Branch, *, commit: bool) -> None:
    """End a branch on the connection that created it."""
    if not commit:
        # A branch that failed before XA END must be ended first, so that it can be rolled back.
        for statement in (f"XA END {xid_of(branch)}", f"XA ROLLBACK {xid_of(branch)}", *context.checker.session.resets):
            _run_whatever(connection, statement)
        return
    try:
        connection.query(end_statement(branch, commit=True))
    except ServerError as error:
        if error.code not in (_NOT_THERE, _OTHER_STATE):
            raise
        finish(context, branch, commit=True)


def _run_whatever(connection: Connection, statement: str) -> None:
    """Run a statement that may fail; repeat it if a late KILL QUERY hit it."""
    for _ in range(_TRIES):
        try:
            connection.query(statement)
            return
        except ServerError as error:
            if error.code != _INTERRUPTED:
                return


def finish(context: MySqlContext, branch: Branch, *, commit: bool) -> None:
    """End a branch of any connection, using a new connection, and wait until the branch is no longer listed."""
    connection = context.connect()
    deadline = time.monotonic() + _WAIT_SECONDS
    try:
        for setting in context.quiet_settings:
            connection.query(setting)
        while branch in context.branches.prepared(connection):
            with contextlib.suppress(ServerError):
                connection.query(end_statement(branch, commit=commit))
            if time.monotonic() > deadline:
                raise TemporaryFailure(f"the prepared part {branch.split} {branch.number} does not end")
            time.sleep(0.02)
    finally:
        with contextlib.suppress(ParaplyError):
            connection.close()
