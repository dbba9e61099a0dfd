"""PostgreSQL's errors as paraply's exceptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg

from paraply.errors import (
    ApplyFailed,
    ConnectionFailed,
    ConnectionLost,
    ParaplyError,
    PrivilegeMissing,
    SchemaMismatch,
    TargetUnable,
    TemporaryFailure,
    ValueNotStorable,
)

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

__all__ = ["UNIQUE_VIOLATION", "SqlError", "connection_lost", "failure", "from_psycopg", "key_in"]

_TEMPORARY = frozenset({"40001", "40P01", "55P03", "57014"})
"""Serialization failure, deadlock, lock not available, and a statement canceled by ``interrupt``."""

_CONNECTION = ("08", "57P")
_SCHEMA = frozenset({"42P01", "42703", "3F000", "42804", "428C9", "42P07"})

UNIQUE_VIOLATION = "23505"
_KEY = re.compile(r"\((.+?)\)=\((.*)\)", re.DOTALL)

_UNABLE = frozenset({"25006", "53100", "53200"})
"""The server is read only, its disk is full, or it has no memory left."""

TOO_LARGE = "54000"
"""A limit of the server: a row, or a row of an index, is too large."""

_CHANGED = "the target was changed by someone else, or the replay began too early"
_HINTS = {
    "22P05": "the value cannot be stored in PostgreSQL: correct it on the source, or leave its table out",
    "23502": "the target's column must take NULL where the source's does",
    "23503": f"a row that is referred to is missing or still in use: {_CHANGED}",
    "23505": f"a row with this key is there already: {_CHANGED}",
    "23514": "the row violates a CHECK of the target's table",
    "25006": "the target is read only: set default_transaction_read_only off, or name the primary",
    "42501": "the user lacks a privilege on the target",
    "42P01": "the table is missing in the target: bring its tables to the state that they had where the log begins",
    "42703": "a column is missing in the target: bring its tables to the state that they had where the log begins",
    "42P07": "another channel, or somebody else, made this table: remove it, or start with an empty database",
    "53100": "free disk space on the target's server, then run the same command again",
    "53200": "the target's server ran out of memory",
    TOO_LARGE: "the row, or its part of an index, is larger than PostgreSQL takes: make the row smaller on the source, leave its table"
    " out, or use a MySQL or MariaDB target",
    "54011": "PostgreSQL takes at most 1,600 columns, and counts dropped ones: copy the table into a new one of its name, leave it out, or"
    " use a MySQL or MariaDB target",
    "55P03": "another connection holds the lock: let it commit, or end it with pg_terminate_backend",
    "53300": "the server has no connection left: use fewer workers or raise max_connections",
}
"""Advice for the user, by SQLSTATE."""


class SqlError(Exception):
    """The server's error about one statement.

    Attributes:
        state: The five characters of SQLSTATE.
        message: The primary message.
        detail: The detail, which names the key of a violated constraint.
        hint: The server's advice.
    """

    def __init__(self, state: str, message: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.state = state
        self.message = message
        self.detail = detail
        self.hint = hint

    @classmethod
    def of_result(cls, result: PGresult) -> SqlError:
        """Return the error of a failed statement."""
        from psycopg.pq import DiagnosticField as Field

        def part(field: Field) -> str | None:
            value = result.error_field(field)
            return value.decode(errors="replace") if value else None

        message = part(Field.MESSAGE_PRIMARY) or result.error_message.decode(errors="replace").strip()
        return cls(part(Field.SQLSTATE) or "08006", message, part(Field.MESSAGE_DETAIL), part(Field.MESSAGE_HINT))


def connection_lost(error: object) -> ConnectionLost:
    """Return the exception for a broken connection."""
    return ConnectionLost(f"the connection to PostgreSQL broke: {str(error).strip()}")


def from_psycopg(error: psycopg.Error) -> ParaplyError:
    """Return paraply's exception for a psycopg exception of a statement outside a block."""
    state = error.sqlstate
    if state is None:
        return connection_lost(error) if isinstance(error, psycopg.OperationalError) else ApplyFailed(str(error).strip())
    return failure(SqlError(state, error.diag.message_primary or str(error), error.diag.message_detail))


def failure(
    error: SqlError, *, gtid: str | None = None, table: str | None = None, file: str | None = None, position: int | None = None
) -> ParaplyError:
    """Return the exception for an error of the server.

    Args:
        error: The server's error.
        gtid: GTID of the transaction, or of the first one of the block.
        table: The table of the statement.
        file: The log file.
        position: The transaction's offset.
    """
    key = key_in(error.detail)
    more = f": {error.detail}" if error.detail and key is None else ""
    text = f"PostgreSQL: {error.message}{more} ({error.state})"
    advice = _HINTS.get(error.state) or error.hint
    if advice:
        text += f"; {advice}"
    where = {"gtid": gtid, "table": table, "file": file}
    if error.state in _TEMPORARY:
        return TemporaryFailure(text, **where, position=position, key=key)
    if error.state.startswith(_CONNECTION):
        return ConnectionLost(text, **where, position=position)
    if error.state.startswith("28") or error.state == "3D000":
        return ConnectionFailed(text, **where, position=position)
    kind: type[ApplyFailed] = ApplyFailed
    if error.state.startswith("22"):
        kind = ValueNotStorable
    elif error.state in _SCHEMA:
        kind = SchemaMismatch
    elif error.state == "42501":
        kind = PrivilegeMissing
    elif error.state in _UNABLE:
        kind = TargetUnable
    found = kind(text, **where, position=position, key=key)
    found.misfit = error.state == UNIQUE_VIOLATION
    return found


def key_in(detail: str | None) -> str | None:
    r"""Return the key that the detail of an error names, in the form of other keys; None if it names none.

    The words around it are in the server's language.

    >>> key_in("Key (id)=(7) already exists."), key_in("Key (a, b)=(1, x) is not present in table \"t\".")
    ('id=7', '(a, b)=(1, x)')
    """
    match = _KEY.search(detail or "")
    if match is None:
        return None
    columns, values = match.groups()
    return f"({columns})=({values})" if "," in columns else f"{columns}={values}"
