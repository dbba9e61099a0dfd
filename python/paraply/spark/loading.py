"""Plan of one load: the parts of its logs, and how the rows of its only table become rows of one definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import InputPartition

from paraply.analysis.carried.finding import found_line, found_plan, only_name
from paraply.analysis.carried.logged import has_rows
from paraply.analysis.carried.plan import TablePlan
from paraply.analysis.parts import Division, LogPart, check_scans, divide, mark_of, place_of
from paraply.analysis.rows import table_filter
from paraply.analysis.table_versions import Line, Lines, lines_of
from paraply.applier.selection.filters import parse_filters
from paraply.errors import ParaplyError, UsageError
from paraply.spark.inputs import found_logs, local_paths, renamed
from paraply.spark.options import KEYS, MODES, Options
from paraply.spark.sequence import check_sequence

if TYPE_CHECKING:
    from paraply.analysis.typed import TypedColumn

__all__ = ["Load", "LogPartition", "check_columns", "located", "plan_for", "schema_text"]


@dataclass
class LogPartition(InputPartition):
    """Partition of one task.

    Attributes:
        part: The part of the logs, by their places.
        plan: The plan of the only table, with ``values=typed``.
    """

    part: LogPart
    plan: TablePlan | None = None


@dataclass(frozen=True)
class Load:
    """Logs of one load.

    Attributes:
        places: The logs as they are named.
        copies: Plain files with their contents in this process.
        division: The parts, by these files; None if they were not divided.
        line: The only table, with ``values=typed``.
        plan: Its plan.
    """

    places: list[str]
    copies: list[str]
    division: Division | None
    line: Line | None = None
    plan: TablePlan | None = None

    @classmethod
    def of(cls, options: Options, *, divided: bool = True) -> Load:
        """Find the logs, and divide them.

        Args:
            options: The options of the source.
            divided: False if only the plan of the table is needed.

        Raises:
            UsageError: There is no log, the logs do not follow each other, they lack the named tables or the point ``at``, or the table's
                columns are not known.
            LogError: A log is damaged, and its end must be known.
        """
        places = found_logs(options.paths)
        copies = local_paths(places)
        with_places = dict(zip(copies, places, strict=True))
        try:
            check_sequence(places, copies, gaps=options.gaps, typed=options.typed)
            return cls._of(options, places, copies, divided=divided)
        except ParaplyError as error:
            raise renamed(error, with_places) from None

    @classmethod
    def _of(cls, options: Options, places: list[str], copies: list[str], *, divided: bool) -> Load:
        end = None if options.stop is None else place_of(copies, options.stop)
        small = len(copies) == 1 and end is None and Path(copies[0]).stat().st_size <= options.split
        if small and not options.tables:
            return cls(places, copies, None)
        if not (divided or options.typed):
            return cls(places, copies, None)
        tables = options.definitions()
        division = divide(copies, tables, options.split, events=options.mode == "events", end=end)
        if not options.tables or options.mode == "events":
            return cls(places, copies, division)
        files = [[step for _, step in found.steps] for found in division.scans]
        lines = lines_of(files, tables)
        if not options.empty_if_unknown:
            check_tables(options, lines, copies)
        if not options.typed:
            return cls(places, copies, division)
        check_scans(division.scans)
        line, plan = plan_for(options, lines, copies[: len(division.scans)])
        return cls(places, copies, division, line, plan)

    def partitions(self, options: Options) -> list[LogPartition]:
        """Return the parts that may hold what the options ask for, by the places of the logs."""
        if self.division is None:
            part = LogPart(list(self.places), tables=options.definitions(), marks=(mark_of(self.copies[0]),))
            return [LogPartition(part, self.plan)]
        parts = [part for part in self.division.parts if options.may_hold(part.committed, part.transactions)]
        named = dict(zip(self.copies, self.places, strict=True))
        return [LogPartition(replace(part, paths=[named[path] for path in part.paths]), self.plan) for part in parts]


def plan_for(options: Options, lines: Lines, paths: Sequence[str]) -> tuple[Line, TablePlan]:
    """Return the only table of a typed load, and its plan.

    Raises:
        UsageError: Its columns are not known, or there is not exactly one table.
    """
    name = only_name(options.tables)
    line = found_line(lines, name)
    earlier = lines.earlier(name) if options.earlier_tables else []
    return line, found_plan(line, earlier, name, paths, options.stop)


def check_tables(options: Options, lines: Lines, paths: Sequence[str]) -> None:
    """Check that the logs know each named table: by a statement, a definition or a row.

    Raises:
        UsageError: A table is not known.
    """
    known = {*lines.present, *lines.past}
    for name in options.tables:
        if "." in name:
            chosen = set(parse_filters((), [name]).tables)
            found = bool(chosen & known)
        else:
            found = any(database == name.strip("`") for database, _ in known)
        filtered = table_filter([name])
        if not found and filtered is not None and not has_rows(paths, filtered, options.stop):
            before = f" before {options.at}" if options.at else ""
            some = ", ".join(sorted(f"{database}.{table}" for database, table in known)[:5]) or "none by a statement"
            raise UsageError(
                f"the logs have no table {name}{before}: neither a statement nor a row names it (they define {some}); correct the option"
                " tables, or set unknown_tables=empty for logs that may lack it",
                table=name if "." in name else None,
            )


def schema_text(options: Options) -> str:
    """Return the columns of a mode as Spark's DDL.

    Raises:
        UsageError: The columns of a typed load are not known.
    """
    kinds = dict(MODES[options.mode])
    if options.typed:
        plan = cast("TablePlan", Load.of(options, divided=False).plan)
        image = struct_text(plan.columns)
        key = struct_text([column for column in plan.columns if column.name in plan.key])
        kinds |= {"before": image, "after": image} | (dict.fromkeys(KEYS, key) if plan.key else {})
    wanted = options.columns or list(kinds)
    missing = [name for name in wanted if name not in kinds]
    if missing:
        raise UsageError(f"{options.tables[0]} has no primary key, so there is no column `{missing[0]}`", table=options.tables[0])
    return ", ".join(f"`{name}` {kinds[name]}" for name in wanted)


def struct_text(columns: Sequence[TypedColumn]) -> str:
    """Return the type of a struct as Spark's DDL."""
    fields = ",".join(f"`{column.name.replace('`', '``')}`:{column.type}" for column in columns)
    return f"struct<{fields}>"


def check_columns(options: Options, names: Sequence[str]) -> None:
    """Check the columns of a schema that the user gave.

    Raises:
        UsageError: The mode has no such column.
    """
    for name in names:
        if name not in options.known_columns:
            raise UsageError(
                f"the schema asks for a column `{name}`, which mode {options.mode} does not have; it has"
                f" {', '.join(options.known_columns)}. Leave `schema` out, and name columns with the option columns"
            )


def located(part: LogPart) -> tuple[LogPart, dict[str, str]]:
    """Return a part with plain files in this process, and the places of these files where they are copies."""
    copies = local_paths(part.paths)
    names = {copy: place for copy, place in zip(copies, part.paths, strict=True) if copy != place}
    return replace(part, paths=copies), names
