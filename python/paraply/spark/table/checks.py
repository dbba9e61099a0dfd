"""Checks that a log holds every change of a table's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import LogReader
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply.analysis.table_versions import Line, Version

__all__ = ["check_line", "starts_empty"]

LOGGED_CASCADES = (9, 6, 0)
"""First MySQL that logs the rows that a cascade changes (R15a)."""


def starts_empty(line: Line) -> bool:
    """Return True if the log holds a statement after which the table has no rows."""
    return bool(line.emptied) or line.end is not None


def check_line(table: str, line: Line, first_log: str) -> None:
    """Check that no statement changed rows that the log does not hold.

    Args:
        table: The name, for messages.
        line: The table.
        first_log: The first log.

    Raises:
        UsageError: A statement did, or was not understood; or foreign keys change rows that the log does not hold.
    """
    emptied = line.emptied[-1] if line.emptied else None
    for version in line.versions:
        if emptied is not None and version.start < emptied:
            continue
        if version.kind == "unknown" and version.table is None:
            raise refused(table, version, f"a statement was not understood ({version.reason})")
        change = version.change
        if change is not None and (change.unlogged or change.ignores or change.with_tables):
            what = change.unlogged or ("ALTER IGNORE" if change.ignores else "an exchange of partitions")
            raise refused(table, version, f"{what} changes rows that the log does not hold")
    check_cascades(table, line, first_log)


def check_cascades(table: str, line: Line, first_log: str) -> None:
    """Refuse a table whose rows a foreign key may have changed without the log (R15a).

    Args:
        table: The name, for messages.
        line: The table.
        first_log: A log, whose writer says whether cascades are logged.

    Raises:
        UsageError: The source does not log cascades, and the table has some, or its foreign keys are not known.
    """
    batch = LogReader([first_log], count_rows=False).next_batch(1)
    if batch is None or not len(batch):
        return
    source = batch[0].format
    if not source.mariadb and source.version >= LOGGED_CASCADES:
        return
    for version in line.versions:
        if version.kind == "unknown":
            raise refused(table, version, "its foreign keys are not known, and the source does not log what cascades change: name a dump")
        actions = {action for key in (version.table.foreign_keys if version.table else ()) for action in (key.on_delete, key.on_update)}
        if actions & {"cascade", "set null"}:
            raise refused(
                table, version, "a foreign key with CASCADE or SET NULL changes rows, which MariaDB and MySQL before 9.6 do not log"
            )


def refused(table: str, version: Version, reason: str) -> UsageError:
    """Return the error for a table whose rows are not all in the log."""
    number, offset = version.start
    where = f" (statement at offset {offset} of log number {number + 1} of the load)" if number >= 0 else ""
    return UsageError(f"{table}: {reason}{where}: give logs from a later point, with the table's rows at that point as base", table=table)
