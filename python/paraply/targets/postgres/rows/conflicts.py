"""Conflicts of rows with a PostgreSQL target: rows one by one, each under a savepoint, and the table of conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import RowNotFound
from paraply.targets.conflicts import DUPLICATE, MISSING, Misfit, OnConflict, insert_statements
from paraply.targets.postgres.connection import StatementFailed
from paraply.targets.postgres.errors import UNIQUE_VIOLATION, failure
from paraply.targets.postgres.types import quote_literal
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paraply._native import Block, RenderedStatement
    from paraply.targets.conflicts import Conflict
    from paraply.targets.postgres.connection import PgConnection

__all__ = ["SavepointWriter", "create_conflict_table", "inserts"]

_SAVEPOINT, _RELEASE, _BACK = b"SAVEPOINT paraply_row", b"RELEASE SAVEPOINT paraply_row", b"ROLLBACK TO SAVEPOINT paraply_row"
_TABLE = b"""CREATE TABLE IF NOT EXISTS paraply.conflict (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, channel_name text NOT NULL, gtid text, log_file text NOT NULL,
  log_position bigint NOT NULL, committed_at timestamptz, found_at timestamptz NOT NULL, table_database text NOT NULL,
  table_name text NOT NULL, operation text NOT NULL, cause text NOT NULL, outcome text NOT NULL, detail text NOT NULL,
  row_key text NOT NULL, row_before text, row_after text)"""


class SavepointWriter:
    """The open transaction of a session.

    Args:
        connection: The session's connection.
        render: Renders rows.
    """

    def __init__(self, connection: PgConnection, render: Callable[[Block], Sequence[RenderedStatement]]) -> None:
        self._connection = connection
        self._render = render
        self._kept = False

    def write(self, part: Block) -> Misfit | None:
        """Apply rows; return the reason if they do not fit."""
        rendered = self._render(part)
        head = [_RELEASE, _SAVEPOINT] if self._kept else [_SAVEPOINT]
        try:
            results = self._connection.run([*head, *(each.sql for each in rendered)])
        except StatementFailed as failed:
            place = failed.index - len(head)
            if failed.error.state != UNIQUE_VIOLATION or place < 0:
                raise failure(failed.error, table=rendered[place].table if place >= 0 else None) from failed
            self._take_back()
            return Misfit(DUPLICATE, failed.error.detail or failed.error.message)
        self._kept = True
        for statement, result in zip(rendered, results[len(head) :], strict=True):
            found = result.command_tuples or 0
            if found > statement.rows:
                problem = f"a statement affected {counted(found, 'row')} in the target where the log has {statement.rows:,}"
                raise RowNotFound(problem, table=statement.table)
            if found < statement.rows:
                self._take_back()
                return Misfit(MISSING)
        return None

    def _take_back(self) -> None:
        try:
            self._connection.run([_BACK])
        except StatementFailed as failed:
            raise failure(failed.error) from failed
        self._kept = True


def create_conflict_table(connection: PgConnection, mode: OnConflict) -> None:
    """Create the table of conflicts if a run may write to it."""
    if mode is OnConflict.STOP:
        return
    try:
        found = connection.run([b"SELECT to_regclass('paraply.conflict') IS NOT NULL"])[0]
        if found.get_value(0, 0) != b"t":
            connection.run([_TABLE])
    except StatementFailed as failed:
        raise failure(failed.error) from failed


def inserts(channel: str, block: Block, conflicts: Sequence[Conflict]) -> Iterator[bytes]:
    """Yield statements that record conflicts."""
    at = block.committed_at
    committed = "NULL" if at is None else f"TIMESTAMPTZ 'epoch' + INTERVAL '{at} microseconds'"
    for statement in insert_statements(channel, block, conflicts, committed=committed, found="clock_timestamp()", literal=quote_literal):
        yield statement.encode()
