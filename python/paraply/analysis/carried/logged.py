"""Search for the definitions of a table in its own rows, where no statement of the log gives them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply._native import LogReader, Selection, TableFilter
from paraply.analysis.table_versions import BEGIN_OF_LOGS, Line, Version
from paraply.logs.stop_point import native_stop
from paraply.schema.readers.logged_definition import logged_definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import TransactionBatch
    from paraply.analysis.table_versions import LogPlace, Name
    from paraply.logs.stop_point import StopPoint

__all__ = ["complete_line", "has_rows", "unknown_line"]


def unknown_line(name: Name) -> Line:
    """Return a table of which no statement says anything."""
    return Line([Version(BEGIN_OF_LOGS, name, None, "unknown", reason="the logs do not define it")])


def complete_line(line: Line, paths: Sequence[str], stop: StopPoint | None = None) -> bool:
    """Fill in unknown definitions of a table from its rows; return True if the log has rows under one of them.

    All logs are read up to the last unknown definition's first row, without decoding rows.

    Args:
        line: The table.
        paths: The logs.
        stop: Point up to which they are read.

    Raises:
        LogError: A log is damaged.
    """
    missing = {number for number, version in enumerate(line.versions) if version.table is None}
    if not missing:
        return True
    found = False
    names = {line.versions[number].name for number in missing}
    reader = LogReader(paths, selection=Selection(tables=TableFilter((), sorted(names))), count_rows=False, stop=native_stop(stop))
    starts = [version.start for version in line.versions]
    while missing and (batch := reader.next_batch()) is not None:
        if not len(batch) or not any(batch.wanted):
            continue
        number = bisect_left(starts, _place(batch, paths)) - 1
        if number in missing:
            found = True
            missing.discard(number)
            line.versions[number] = _defined(line.versions[number], batch)
    return found


def has_rows(paths: Sequence[str], tables: TableFilter, stop: StopPoint | None = None) -> bool:
    """Return True if the logs change a row of one of these tables; rows are not decoded."""
    reader = LogReader(paths, selection=Selection(tables=tables), count_rows=False, stop=native_stop(stop))
    while (batch := reader.next_batch()) is not None:
        if any(batch.wanted):
            return True
    return False


def _place(batch: TransactionBatch, paths: Sequence[str]) -> LogPlace:
    first = batch[batch.wanted.index(True)]
    return list(paths).index(first.file), first.offset


def _defined(version: Version, batch: TransactionBatch) -> Version:
    """Return the version with the definition of its rows, if they have names."""
    for table_map in batch.table_maps():
        if (table_map.database, table_map.table) == version.name:
            return replace(version, table=logged_definition(table_map, mariadb=batch[0].format.mariadb))
    return version
