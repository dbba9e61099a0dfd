"""Tables whose rows the target computes or checks again under the settings of its session (R33)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paraply.errors import SchemaMismatch
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply._native import Block, TableMap

__all__ = ["COLUMNS", "RESET", "SessionDependence", "describe_columns", "refuse_session_dependent", "session_dependent_column"]

RESET = "SET sql_mode=DEFAULT, time_zone=DEFAULT, lc_time_names=DEFAULT"
"""Statement that restores the session's own settings."""
COLUMNS = "generation_expression, extra, column_key"
"""Columns of information_schema.columns that ``note`` needs, after name and type."""
#: First MySQL with functional indexes; CHECK constraints came in 8.0.16.
_FUNCTIONAL_INDEXES = (8, 0, 13)
#: Functions whose result depends on the time zone or on the language of the session.
_DEPENDENT = re.compile(r"\b(?:monthname|dayname|date_format|time_format|from_unixtime|unix_timestamp|str_to_date|format)\s*\(")


class SessionDependence:
    """Tables of a target that depend on the session.

    Args:
        server: The target.
    """

    def __init__(self, server: ServerKind) -> None:
        self._mariadb, self._version = server.mariadb, server.version
        self._computes_again = server.leaves_generated_out
        self._tables: set[tuple[str, str]] = set()

    def includes(self, block: Block) -> bool:
        """Return True if rows of a block depend on the session; its tables must have been noted."""
        return bool(self._tables) and not self._tables.isdisjoint((one.database, one.table) for one in block.table_maps())

    @property
    def resets(self) -> list[str]:
        """Statements that restore the session's settings after a failure among such rows."""
        return [RESET] if self._tables else []

    def question(self, where: str) -> list[str]:
        """Return the query for the number of checks and functional indexes of a table; none where the settings are not in the log."""
        if self._mariadb or self._version < _FUNCTIONAL_INDEXES:
            return []
        checks = f"SELECT COUNT(*) FROM information_schema.table_constraints WHERE {where} AND constraint_type='CHECK'"
        functional = f"SELECT COUNT(*) FROM information_schema.statistics WHERE {where} AND expression IS NOT NULL"
        return [f"SELECT ({checks}) + ({functional})"]

    def note(self, table_map: TableMap, columns: Iterable[Sequence[Any]], checks: int) -> None:
        """Note a table, or refuse it where the log lacks the settings.

        Args:
            table_map: The table.
            columns: For each column its name, its type, and ``COLUMNS``.
            checks: Number of its checks and functional indexes.

        Raises:
            SchemaMismatch: The target would compute other values than the source.
        """
        key = (table_map.database, table_map.table)
        described = describe_columns(columns)
        if self._mariadb:
            if self._computes_again:
                refuse_session_dependent(".".join(key), described)
        elif checks or any(expression for _, _, expression, _ in described):
            self._tables.add(key)
        else:
            self._tables.discard(key)


def describe_columns(columns: Iterable[Sequence[Any]]) -> list[tuple[str, str, str, bool]]:
    """Return name, type, expression, and True if it is stored or indexed, of each column.

    Args:
        columns: For each column its name, its type, and ``COLUMNS``.
    """
    return [_described(*map(to_text, (text or "" for text in column))) for column in columns]


def session_dependent_column(columns: Iterable[tuple[str, str, str, bool]]) -> str | None:
    """Return the first stored or indexed generated column that depends on the time zone or language of the session, or None.

    >>> session_dependent_column([("ts", "timestamp", "", False), ("day", "date", "cast(`ts` as date)", True)])
    'day'
    """
    columns = list(columns)
    moments = [f"`{column}`".lower() for column, kind, _, _ in columns if kind == "timestamp"]
    for column, _, expression, stored in columns:
        text = expression.lower()
        if stored and (_DEPENDENT.search(text) or any(moment in text for moment in moments)):
            return column
    return None


def _described(name: str, kind: str, expression: str, extra: str, key: str) -> tuple[str, str, str, bool]:
    """Return name, type, expression, and True for a stored or indexed column."""
    stored = key != "" or any(word in extra.upper() for word in ("STORED", "PERSISTENT"))
    return name, kind.lower(), "" if expression.upper() in ("ROW START", "ROW END") else expression, stored


def refuse_session_dependent(name: str, columns: Iterable[tuple[str, str, str, bool]]) -> None:
    """Refuse a table with a stored generated column that depends on the session, on a MariaDB that computes it again.

    MariaDB's logs do not hold the time zone of a transaction's rows. Versions up to 10.11 keep the logged value; 11.8 computes it in the
    time zone of the session that applies (both observed).

    Args:
        name: ``database.table``.
        columns: Name, type, expression and whether the value is stored or indexed, of each column.

    Raises:
        SchemaMismatch: The table has such a column.

    >>> refuse_session_dependent("d.t", [("ts", "timestamp", "", False), ("n", "int", "`ts` > 5", False)])
    >>> refuse_session_dependent("d.t", [("ts", "timestamp", "", False), ("day", "date", "cast(`ts` as date)", True)])
    Traceback (most recent call last):
    ...
    paraply.errors.SchemaMismatch: the generated column day depends on the time zone ... (table d.t)
    """
    column = session_dependent_column(columns)
    if column is not None:
        raise SchemaMismatch(
            f"the generated column {column} depends on the time zone or language of the source's session, which MariaDB does not log,"
            " and the target would compute it under its own: make it a VIRTUAL column without an index on the target, use a target"
            " before MariaDB 11, or leave the table out with --exclude-table",
            table=name,
        )
