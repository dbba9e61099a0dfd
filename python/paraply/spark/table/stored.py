"""Tables of a lake as DataFrames: one published state of a table, and the current state of a table that is kept up to date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply.applier.selection.filters import parse_filters
from paraply.errors import UsageError
from paraply.lake import LakeWriter, read
from paraply.spark.batch.lake import LakeTarget, in_python
from paraply.spark.inputs import found_logs
from paraply.spark.storage import with_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_lake", "update_current"]

_S3 = re.compile(r"s3://")


def read_lake(
    spark: SparkSession,
    target: str | Path,
    table: str,
    *,
    format: str = "delta",  # noqa: A002  Spark's word
    publication: int | None = None,
) -> DataFrame:
    """Return a table of a lake as it is in a published state, read by Spark's own Parquet reader.

    Tables of one state belong together: name the same ``publication`` for each. Spark needs no package of the lake's format.

    Args:
        spark: The session.
        target: Folder or URL of the lake. URLs are read by Spark, ``s3://`` as ``s3a://``, and need its packages.
        table: ``database.table`` on the source; a name with a dot goes between backticks.
        format: ``delta`` or ``iceberg``.
        publication: Number of an earlier state; by default the newest one.

    Returns:
        The rows; a later write does not change them.

    Raises:
        NoSuchTable: The state has no such table.
        UsageError: There is no such state, or another program has marked rows as deleted.

    >>> read_lake(None, "/lake", "shop.product", format="parquet")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: format parquet: give delta or iceberg
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructField, StructType

    try:
        state = read(str(target), format, publication=publication)
        found = state[stored_name(table, list(state))]
    except UsageError as error:
        raise in_python(error) from error.__cause__
    schema, files = from_arrow_schema(found.schema, prefer_timestamp_ntz=True), found.files()
    if not files.paths:
        return spark.createDataFrame([], schema)
    stored = StructType([StructField(files.names[column.name], column.dataType) for column in schema])
    rows = spark.read.schema(stored).parquet(*(_S3.sub("s3a://", path, count=1) for path in files.paths))
    return rows.select(*(F.col(quoted(files.names[column.name])).alias(column.name) for column in schema))


def update_current(
    spark: SparkSession,
    logs: str | Sequence[str],
    table: str,
    target: str | Path,
    *,
    format: str = "delta",  # noqa: A002  Spark's word
    at: str | None = None,
    **options: Any,
) -> DataFrame:
    """Update the stored current state of a table by what logs have beyond it, and return the table.

    The state is a lake of this one table, with versions; its GTID set is part of each commit, so that nothing counts twice. Only new
    transactions are read, and logs before these need not be there any more. A stream keeps such a state with ``lake(stream, target,
    tables=[table])``.

    Args:
        spark: The session.
        logs: Logs, folders, patterns or URLs, as for ``load``, from the one on in which the stored state ends.
        table: ``database.table``; a name with a dot goes between backticks.
        target: Folder or URL of the stored state, which need not exist.
        format: ``delta`` or ``iceberg``.
        at: Time or GTID up to which the logs are read, as for ``current``.
        options: ``start_after``, ``schema_dump``, ``schema_from``, ``batch_rows`` and ``batch_megabytes``, as for ``lake``.

    Returns:
        The rows of the table, as ``read_lake`` gives them.

    Raises:
        UsageError: An argument is wrong, the logs have no such table, or a log is missing.
        ParaplyError: The log is not understood, or the state cannot be changed; the stored one stays.

    >>> update_current(None, [], "orders", "/current/orders")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: name the table as database.table, and not `orders`
    """
    if "." not in table:
        raise UsageError(f"name the table as database.table, and not `{table}`")
    made = LakeTarget.of(target, format, {**options, "tables": [table]})
    with with_storage(spark):
        places = found_logs([logs] if isinstance(logs, str) else [str(log) for log in logs])
        try:
            LakeWriter(made.options(places, at)).run()
        except UsageError as error:
            raise in_python(error) from error.__cause__
    return read_lake(spark, target, table, format=format)


def stored_name(table: str, stored: Sequence[str]) -> str:
    """Return the name of a table in a lake, which has no backticks around names, from the name as ``lake`` takes it.

    Raises:
        UsageError: The name has another form.

    >>> stored_name("`My Shop`.`back``tick`", ["My Shop.back`tick"])
    'My Shop.back`tick'
    >>> stored_name("shop.back`tick", ["shop.back`tick"])
    'shop.back`tick'
    """
    if table in stored or "`" not in table:
        return table
    return ".".join(parse_filters(tables=[table]).tables[0])


def quoted(name: str) -> str:
    """Return a name for an expression of Spark.

    >>> quoted("a`b.c")
    '`a``b.c`'
    """
    return f"`{name.replace('`', '``')}`"
