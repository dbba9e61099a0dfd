"""Changes of one table on Spark, and the versions of its rows that follow from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from paraply.errors import UsageError
from paraply.spark.failures import MARK
from paraply.spark.loading import Load
from paraply.spark.options import Options
from paraply.spark.storage import with_storage
from paraply.spark.table.checks import check_documents, check_line, starts_empty

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from paraply.analysis.carried.plan import TablePlan
    from paraply.analysis.parts import Division
    from paraply.analysis.table_versions import Line, LogPlace

__all__ = ["TableChanges", "failing", "place_column"]

READ = ("position", "gtid", "committed_at", "operation", "before", "after", "xid", "absent", "file", "transaction_offset", "row")
PLACE = "struct<file:bigint,offset:bigint,row:bigint>"
"""Place of a row in the logs of a load: the number of its file, and the offset and the row of its transaction."""
MOST = (1 << 63) - 1
"""More than the number of any row of a transaction."""
IN_EARLIER = ", or set images='partial' to take it from the row's earlier changes"
EMPTIED = f"struct<position:bigint,committed_at:timestamp,gtid:string,_place:{PLACE}>"


@dataclass(frozen=True)
class Emptied:
    """Statement after which the table has no rows.

    Attributes:
        place: Its place, before the rows of its own transaction.
        committed_at: Its commit time, microseconds since 1970.
        gtid: Its GTID.
    """

    place: tuple[int, int, int]
    committed_at: int | None
    gtid: str


@dataclass(frozen=True)
class TableChanges:
    """Changes of one table, and what is known of it without reading them.

    Attributes:
        table: Its name.
        rows: The row changes, typed, of the last table of that name.
        plan: Its plan.
        emptied: Statements that emptied it, in order.
        columns: The columns of the result.
        images: ``full`` or ``partial``.
        base: The rows at the start; None for none.
        places: The logs in order.
    """

    table: str
    rows: DataFrame
    plan: TablePlan
    emptied: list[Emptied]
    columns: list[str]
    images: str
    base: DataFrame | None
    places: list[str]

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        logs: str | Sequence[str],
        table: str,
        at: str | None,
        columns: Sequence[str],
        images: str,
        base: DataFrame | str | None,
        more: dict[str, str],
    ) -> TableChanges:
        """Look at the logs, and check that they hold all changes of the table.

        Raises:
            UsageError: They do not, or an argument is wrong.
        """
        if "." not in table:
            raise UsageError(f"name the table as database.table, and not `{table}`")
        if images not in ("full", "partial"):
            raise UsageError(f"images={images}: it is full or partial")
        given = {"mode": "rows", "values": "typed", "tables": table, "earlier_tables": "false", "statements": "false", **more}
        given |= {"at": at} if at is not None else {}
        options = Options.of({**given, **places_of(logs)})
        with with_storage(spark):
            load = Load.of(options)
        plan, line = cast("TablePlan", load.plan), cast("Line", load.line)
        check_line(table, line, load.copies[0])
        emptied = emptied_by(load, line)
        if base is None and not starts_empty(line):
            raise UsageError(
                f"the logs hold neither the CREATE TABLE nor a TRUNCATE of {table}, so its rows at their start are not known: give them as"
                " base, a DataFrame, or base='empty' if there were none",
                table=table,
            )
        if isinstance(base, str) and base != "empty":
            raise UsageError(f"base={base}: it is a DataFrame with the rows at the start of the logs, or empty")
        names = [column.name for column in plan.columns]
        for name in columns:
            if name not in names:
                raise UsageError(f"{table} has no column `{name}`; it has {', '.join(names)}", table=table)
        if images == "partial":
            check_documents(table, plan, list(columns) or names, load.copies)
        reader = spark.read.format("binlog").options(**given)
        rows = reader.load(logs if isinstance(logs, str) else list(logs))
        return cls(table, rows, plan, emptied, list(columns) or names, images, None if isinstance(base, str) else base, load.places)

    def changes(self) -> DataFrame:
        """Return the row changes with checks of what the log must have."""
        whole = ~F.col("operation").isin("delete")
        numbers = F.create_map(*(F.lit(value) for number, place in enumerate(self.places) for value in (place, number)))
        place = F.struct(F.try_element_at(numbers, F.col("file")), "transaction_offset", "row").cast(PLACE)
        lacking = F.array_intersect("absent", F.array(*map(F.lit, self.wanted())))
        open_xa = F.concat(
            F.lit(f"{self.table} has rows of the XA transaction "), "xid", F.lit(", whose end is not looked at: leave it out")
        )
        unknown = F.concat(
            F.lit(f"{self.table}: the log has no value for the column "),
            F.array_join(lacking, ", "),
            F.lit(" in a row of the transaction at offset "),
            F.col("transaction_offset").cast("string"),
            F.lit(" of "),
            F.col("file"),
            F.lit(": leave it out with columns"),
            F.when(F.size(F.array_except(lacking, self.lost_columns(place))) > 0, F.lit(IN_EARLIER)).otherwise(F.lit("")),
        )
        checked = self.rows.select(*(READ if not self.plan.key else (*READ, "key_before", "key_after")))
        checked = checked.where(F.when(F.col("xid").isNotNull(), failing(open_xa)).otherwise(F.lit(True)))
        if self.images == "full":
            checked = checked.where(F.when(whole & (F.size(lacking) > 0), failing(unknown)).otherwise(F.lit(True)))
        return checked.withColumn("_place", place)

    def lost_columns(self, place: Column) -> Column:
        """Return the columns of a row that may be unknown although its image has all columns: generated, added or converted later."""
        generated = {column.name for column in self.plan.table.columns if column.generated is not None}
        cases = []
        for form in self.plan.forms:
            sources = zip(self.plan.columns, form.sources, strict=True)
            lost = {column.name for column, source in sources if not source.known or source.conversions}
            if lost and form.end is not None:
                within = (place_column((*form.start, MOST)) < place) & (place <= place_column((*form.end, MOST)))
                cases.append((within, names_column(lost | generated)))
        return reduce(lambda rest, case: F.when(case[0], case[1]).otherwise(rest), cases, names_column(generated))

    def wanted(self) -> list[str]:
        """Return the columns that must be known: those of the result and of the key."""
        return list(dict.fromkeys([*self.columns, *self.plan.key]))

    def versions(self) -> DataFrame:
        """Return the versions of rows that a transaction left: ``_image``, ``_next`` (the change that ended it), ``_emptied``, ``last``."""
        events = self.events()
        key = [F.col("_epoch"), F.col("_key")]
        order = Window.partitionBy(*key).orderBy("_place", "_part")
        if self.images == "partial":
            events = self.with_all_columns(events, order)
        after = F.struct("position", "committed_at", "gtid", "_place")
        events = events.withColumn("_next", F.lead(after).over(order))
        events = events.where(
            "_image is not null and (_next is null or _next.position is null or _next.position <> position or position is null)"
        )
        emptied = F.array(*(emptied_struct(found) for found in self.emptied)) if self.emptied else None
        ended = F.get(emptied, F.col("_epoch")) if emptied is not None else F.lit(None).cast(EMPTIED)
        return events.withColumns({"_emptied": ended, "last": F.col("_epoch") == len(self.emptied)})

    def events(self) -> DataFrame:
        """Return one row for each end and each beginning of a row's version."""
        changes = self.changes()
        moved = F.col("operation").eqNullSafe("update") & ~F.col("key_before").eqNullSafe(F.col("key_after"))
        ends = F.when((F.col("operation") == "delete") | moved, F.struct(F.lit(0).alias("part"), F.col("key_before").alias("key"),
                      F.lit(False).alias("opens")))  # fmt: skip
        begins = F.when(
            F.col("operation") != "delete",
            F.struct(F.lit(1).alias("part"), F.col("key_after").alias("key"), (moved | (F.col("operation") == "insert")).alias("opens")),
        )
        both = changes.withColumn("_event", F.explode(F.array_compact(F.array(ends, begins))))
        part = F.col("_event.part")
        events = both.select(
            "position",
            "gtid",
            "committed_at",
            "_place",
            "absent",
            "operation",
            moved.alias("_moved"),
            part.alias("_part"),
            F.col("_event.opens").alias("_opens"),
            F.col("_event.key").alias("_key"),
            F.when(part == 1, F.col("after")).alias("_image"),
        )
        known = reduce(lambda one, other: one & other, (F.col("_key").getField(name).isNotNull() for name in self.plan.key))
        lost = F.lit(f"{self.table}: a primary key has a value that no type outside of the server holds, such as a zero date")
        events = events.where(F.when(known, F.lit(True)).otherwise(failing(lost)))
        if self.base is not None:
            events = events.unionByName(self.base_events(events))
        epoch = F.lit(0)
        for found in self.emptied:
            epoch = epoch + F.when(place_column(found.place) < F.col("_place"), 1).otherwise(0)
        return events.withColumn("_epoch", F.when(F.col("_place").isNull(), 0).otherwise(epoch))

    def base_events(self, events: DataFrame) -> DataFrame:
        """Return the rows at the start of the logs as events before all others."""
        base = cast("DataFrame", self.base)
        image, key = events.schema["_image"].dataType, events.schema["_key"].dataType
        given = set(base.columns)
        missing = [name for name in self.wanted() if name not in given]
        if missing:
            raise UsageError(f"base has no column `{missing[0]}`, which {self.table} has", table=self.table)
        names = cast("StructType", image).fieldNames()
        fields = [F.col(name) if name in given else F.lit(None).alias(name) for name in names]
        values: dict[str, Column] = {
            "_image": F.struct(*fields).cast(image),
            "_key": F.struct(*self.plan.key).cast(key),
            "_part": F.lit(1),
            "_opens": F.lit(True),
            "_moved": F.lit(False),
            "operation": F.lit("insert"),
            "absent": F.array().cast("array<string>"),
        }
        kinds = {field.name: field.dataType for field in events.schema}
        return base.select(*(values.get(name, F.lit(None)).cast(kinds[name]).alias(name) for name in events.columns))

    def with_all_columns(self, events: DataFrame, order: Any) -> DataFrame:
        """Fill in columns that images lack from the row's earlier changes."""
        lost = F.lit(f"{self.table}: an update changes the primary key, and its image lacks columns: log with binlog_row_image=FULL")
        lacks = F.size(F.array_intersect("absent", F.array(*map(F.lit, self.columns)))) > 0
        events = events.where(F.when(F.col("_moved") & (F.col("_part") == 1) & lacks, failing(lost)).otherwise(F.lit(True)))
        events = events.withColumn("_life", F.sum(F.col("_opens").cast("int")).over(order))
        life = Window.partitionBy("_epoch", "_key", "_life").orderBy("_place", "_part")
        fields = []
        generated = {column.name for column in self.plan.table.columns if column.generated is not None}
        for column in self.plan.columns:
            value = F.col("_image").getField(column.name)
            has = F.col("_image").isNotNull() & ~F.array_contains("absent", column.name)
            filled = F.last(F.when(has, F.struct(value.alias("value"))), ignorenulls=True).over(life).getField("value")
            seen = F.max(has.cast("int")).over(life) == 1
            if column.name in self.columns:
                reason = "is generated, and the log lacks it" if column.name in generated else "is not in the log"
                text = F.lit(f"{self.table}: the column {column.name} of a row {reason}: leave it out with columns")
                must = F.col("_image").isNotNull() & (~has if column.name in generated else ~seen)
                filled = F.when(must, failing(text, column.type)).otherwise(filled)
            fields.append(filled.alias(column.name))
        return events.withColumn("_image", F.when(F.col("_image").isNotNull(), F.struct(*fields)))


def failing(text: Column, kind: str = "boolean") -> Column:
    """Return an expression that ends the query with a usage error."""
    fields = F.to_json(F.struct(F.lit("UsageError").alias("class"), text.alias("message")))
    return F.raise_error(F.concat(F.lit("UsageError: "), text, F.lit(f"\n{MARK}"), fields)).cast(kind)


def names_column(names: set[str]) -> Column:
    """Return names as a list."""
    return F.array(*map(F.lit, sorted(names))).cast("array<string>")


def place_column(place: tuple[int, int, int]) -> Column:
    """Return a place as a value."""
    return F.struct(*(F.lit(value) for value in place)).cast(PLACE)


def emptied_struct(found: Emptied) -> Column:
    """Return a statement that emptied a table, as the next change of its rows."""
    time = F.lit(None) if found.committed_at is None else F.timestamp_micros(F.lit(found.committed_at))
    fields = (F.lit(None), time, F.lit(found.gtid), place_column(found.place))
    return F.struct(*fields).cast(EMPTIED)


def emptied_by(load: Load, line: Line) -> list[Emptied]:
    """Return the statements after which the table of a load has no rows, in order."""
    found = []
    places: list[LogPlace] = [*line.emptied, *([line.end] if line.end is not None else [])]
    for number, offset in places:
        scanned = cast("Division", load.division).scans[number]
        step = next(step for _, step in scanned.steps if step.offset == offset)
        # Rows of CREATE TABLE ... SELECT are in the transaction of the statement itself.
        found.append(Emptied((number, offset, -1), step.transaction.committed_us, step.transaction.gtid or ""))
    return found


def places_of(logs: str | Sequence[str]) -> dict[str, str]:
    """Return the logs as options of the source."""
    return {"path": logs} if isinstance(logs, str) else {"paths": json.dumps([str(log) for log in logs])}
