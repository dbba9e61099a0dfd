"""Search for one table in logs: its definitions, and the plan for its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.analysis.carried.conversion import NotKnown
from paraply.analysis.carried.logged import complete_line, unknown_line
from paraply.analysis.carried.plan import TablePlan, plan_of
from paraply.applier.selection.filters import parse_filters
from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.analysis.table_versions import Line, Lines, Name
    from paraply.logs.stop_point import StopPoint

__all__ = ["found_line", "found_plan", "only_name"]


def only_name(names: Sequence[str]) -> Name:
    """Return database and name of the only table.

    Raises:
        UsageError: There is not exactly one.

    >>> only_name(["shop.orders"])
    ('shop', 'orders')
    """
    if len(names) != 1 or "." not in names[0]:
        raise UsageError("typed values need one table: name it as database.table, or take values as text")
    ((database, name),) = parse_filters((), names).tables
    return database, name


def found_line(lines: Lines, name: Name) -> Line:
    """Return the table that has a name at the end of logs, or had it last; a table without definition if no statement names it."""
    return lines.last(name) or unknown_line(name)


def found_plan(line: Line, earlier: Sequence[Line], name: Name, paths: Sequence[str], stop: StopPoint | None = None) -> TablePlan:
    """Return the plan for a table.

    Args:
        line: The table.
        earlier: Earlier tables of its name, whose rows are read too.
        name: The name.
        paths: The logs, whose rows may describe the columns.
        stop: Point up to which they are read.

    Raises:
        UsageError: The columns are not known.
        LogError: A log is damaged.
    """
    has_rows = complete_line(line, paths, stop)
    while line.last.table is None and len(line.versions) > 1 and not has_rows:  # nothing was written under the unknown definition
        line.versions.pop()
    try:
        return plan_of(line, list(earlier), name)
    except NotKnown:
        reason = f" ({line.last.reason})" if line.last.reason else ""
        full = ".".join(name)
        raise UsageError(
            f"the columns of {full} are not known{reason}: name a dump or a server with its definition at the start of the logs, log with"
            " binlog_row_metadata=FULL, or take values as text",
            table=full,
        ) from None
