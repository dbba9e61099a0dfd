"""Checks that a log holds every change of a table's rows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paraply._native import LogReader
from paraply.analysis.parts import LogPart
from paraply.analysis.rows import EventSource
from paraply.errors import LogTruncated, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.analysis.carried.plan import TablePlan
    from paraply.analysis.table_versions import Line, Version

__all__ = ["check_documents", "check_line", "starts_empty"]

LOGGED_CASCADES = (9, 6, 0)
"""First MySQL that logs the rows that a cascade changes (R15a)."""
PARTIAL_UPDATES = {39: "partial JSON updates", 40: "compressed transactions, which may have partial JSON updates"}
"""Events with changes of JSON documents that their images lack, and events that may hold these, by their codes."""


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


def check_documents(table: str, plan: TablePlan, columns: Sequence[str], paths: Sequence[str]) -> None:
    """Refuse JSON columns whose documents an update may change without naming them in a partial image.

    With ``binlog_row_value_options=PARTIAL_JSON`` and ``binlog_row_image=MINIMAL`` the log has the change of a document, and not the
    document: an earlier image of the row has an older one.

    Args:
        table: The name, for messages.
        plan: Its plan.
        columns: The columns of the result.
        paths: The logs; only the headers of their events are read, and only if there is a JSON column.

    Raises:
        UsageError: The logs have such updates, or may have them.
    """
    documents = [name for name in columns if name in documents_of(plan)]
    for path in paths if documents else ():
        codes: set[int] = set()
        with suppress(LogTruncated):  # the reader of the rows raises it
            for batch in EventSource(LogPart([path])):
                codes.update(batch.column("type_code").unique().to_pylist())
        found = sorted(codes & PARTIAL_UPDATES.keys())
        if found:
            raise UsageError(
                f"{table}: the JSON column {documents[0]} cannot be taken from earlier changes of a row: the log has"
                f" {PARTIAL_UPDATES[found[0]]}; leave it out with columns",
                file=path,
                table=table,
            )


def documents_of(plan: TablePlan) -> set[str]:
    """Return the columns of a plan whose values are, or were, JSON documents of MySQL."""
    found = set()
    for form in plan.forms:
        json = {column.name for column in form.table.columns if column.type == "json"}
        found |= {column.name for column, source in zip(plan.columns, form.sources, strict=True) if source.column in json}
    return found


def refused(table: str, version: Version, reason: str) -> UsageError:
    """Return the error for a table whose rows are not all in the log."""
    number, offset = version.start
    where = f" (statement at offset {offset} of log number {number + 1} of the load)" if number >= 0 else ""
    return UsageError(f"{table}: {reason}{where}: give logs from a later point, with the table's rows at that point as base", table=table)
