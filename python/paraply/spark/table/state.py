"""A table's rows from its changes: as they are at a point of the log, and all their versions with the time of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from paraply.errors import UsageError
from paraply.spark.table.changes import TableChanges, failing, place_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["current", "history"]

VALIDITY = ("valid_from", "valid_to", "from_gtid", "to_gtid", "is_current")


def current(
    spark: SparkSession,
    logs: str | Sequence[str],
    table: str,
    *,
    at: str | None = None,
    base: DataFrame | str | None = None,
    columns: Sequence[str] = (),
    images: str = "full",
    **options: str,
) -> DataFrame:
    """Return a table as it is at the end of logs, or at an earlier point, in its definition there.

    Rows are carried through renames, defaults and changes of types as the server does. A value that the log does not have ends the query
    with an error that names the column: leave the column out of ``columns``, or give the table another way.

    Args:
        spark: The session.
        logs: Logs, folders, patterns or URLs, as for ``load``.
        table: ``database.table``.
        at: A time in RFC 3339 with an offset: the state before the first transaction in the order of the log that is not earlier. Or a
            GTID: the state after it.
        base: The table as it was at the start of the logs, in the columns of the result; ``empty`` if it had no rows. Not needed if the
            logs hold its CREATE TABLE or a TRUNCATE.
        columns: The columns of the result, by default all.
        images: ``full``; ``partial`` for logs whose images lack columns (``binlog_row_image=MINIMAL``): their values come from earlier
            changes of the row.
        options: Further options of the data source, such as ``schema_dump``.

    Returns:
        One row for each row of the table, with its columns; in no order.

    Raises:
        UsageError: The table or the point is not in the logs, the log does not hold all its changes, or an argument is wrong.

    >>> current(None, [], "orders")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: name the table as database.table, and not `orders`
    """
    source = TableChanges.of(spark, logs, table, at, columns, images, base, options)
    if not source.plan.steady_key:
        return counted(source)
    versions = source.versions()
    return versions.where("last and _next is null").select(*(F.col("_image").getField(name).alias(name) for name in source.columns))


def history(
    spark: SparkSession,
    logs: str | Sequence[str],
    table: str,
    *,
    at: str | None = None,
    base: DataFrame | str | None = None,
    columns: Sequence[str] = (),
    images: str = "full",
    **options: str,
) -> DataFrame:
    """Return all versions of a table's rows, each with the time of its validity: a slowly changing dimension of type 2.

    A version is valid from the commit of the transaction that made it to the commit of the one that changed or removed the row. Of several
    changes of a row in one transaction only the last one counts. All versions have the definition of the table at the end.

    Args:
        spark: The session.
        logs: Logs, folders, patterns or URLs, as for ``load``.
        table: ``database.table``; it needs a primary key that was the same all the time.
        at: As for ``current``.
        base: As for ``current``; these rows have no ``valid_from``.
        columns: The table's columns in the result, by default all.
        images: As for ``current``.
        options: Further options of the data source.

    Returns:
        The table's columns, ``valid_from`` and ``valid_to`` (commit times; null for the start of the logs, and for now), ``from_gtid``,
        ``to_gtid`` and ``is_current``.

    Raises:
        UsageError: As for ``current``; the table has no primary key, or the key changed; a column has one of the added names.

    >>> history(None, [], "orders")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: name the table as database.table, and not `orders`
    """
    source = TableChanges.of(spark, logs, table, at, columns, images, base, options)
    taken = [name for name in source.columns if name.lower() in VALIDITY]
    if taken:
        raise UsageError(f"{table} has a column `{taken[0]}`, as the history has: leave it out with columns", table=table)
    if not source.plan.steady_key:
        raise UsageError(
            f"{table} has no primary key that was the same in all its definitions, by which versions of a row could be told: read its rows",
            table=table,
        )
    values = [F.col("_image").getField(name).alias(name) for name in source.columns]
    until = F.coalesce(F.col("_next"), F.col("_emptied"))
    return source.versions().select(
        *values,
        F.col("committed_at").alias("valid_from"),
        until.getField("committed_at").alias("valid_to"),
        F.col("gtid").alias("from_gtid"),
        until.getField("gtid").alias("to_gtid"),
        until.isNull().alias("is_current"),
    )


def counted(source: TableChanges) -> DataFrame:
    """Return the rows of a table without a steady key: those that were added once more than removed."""
    changes = source.changes()
    after_last = changes
    if source.emptied:
        after_last = changes.where(place_column(source.emptied[-1].place) < F.col("_place"))
    if source.images == "partial":
        raise UsageError(
            f"{source.table} has no primary key that was the same all the time, so partial images tell no rows", table=source.table
        )
    every = F.array_compact(
        F.array(
            F.when(F.col("before").isNotNull(), F.struct(F.lit(-1).alias("sign"), F.col("before").alias("image"))),
            F.when(F.col("after").isNotNull(), F.struct(F.lit(1).alias("sign"), F.col("after").alias("image"))),
        )
    )
    signed = after_last.select(F.explode(every).alias("one")).select(F.col("one.sign").alias("_sign"), F.col("one.image.*"))
    signed = signed.select("_sign", *source.columns)
    if source.base is not None and not source.emptied:
        signed = signed.unionByName(source.base.select(F.lit(1).alias("_sign"), *source.columns))
    counts = signed.groupBy(*source.columns).agg(F.sum("_sign").alias("_count"))
    wrong = F.lit(f"{source.table}: a row was removed that was not there: the log or the base lacks changes")
    counts = counts.where(F.when(F.col("_count") < 0, failing(wrong)).otherwise(F.col("_count") > 0))
    repeated = F.explode(F.array_repeat(F.lit(1), F.col("_count").cast("int")))
    return counts.withColumn("_copy", repeated).select(*source.columns)
