"""Functions over columns: hashes of keys, and sets of GTIDs, all over Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions

from paraply._native import GtidSet, write_set_hashes
from paraply.errors import ParaplyError, UsageError
from paraply.spark.failures import TaskFailed

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = ["gtid_subset", "gtid_subtract", "register_functions", "write_set_hash", "write_set_hash_pandas"]


def write_set_hash(key_name: str, database: str, table: str, *columns: Column | str, collation: str | None = None) -> Column:
    """Return the hash of one key of each row (R11), as bigint: null if a part of the key is null.

    Args:
        key_name: ``PRIMARY`` or the unique key's name.
        database: The table's database.
        table: The table.
        columns: The key's parts in order: numbers, text, binary, dates, timestamps (``timestamp_ntz`` is DATETIME), times, and intervals of
            days to seconds (both are TIME). An interval of months cannot be a key, and pyarrow has none. A decimal has the table's own
            scale.
        collation: The collation of the text parts; None hashes their bytes.

    Returns:
        The column; the same 64 bits as ``paraply.write_set_hash``, read as a signed number.
    """

    def hash_rows(*parts: pa.Array) -> pa.Array:
        try:
            return write_set_hashes(key_name, database, table, list(parts), collation=collation)
        except ParaplyError as error:
            raise TaskFailed(error) from error

    return over_arrow(hash_rows, "bigint")(*columns)


def write_set_hash_pandas(key_name: str, database: str, table: str, *columns: Column | str, collation: str | None = None) -> Column:
    """Return ``write_set_hash`` as a pandas UDF, for sessions and plans without Arrow UDFs.

    pandas has no NULL among integers and no time zone of a column. So a number with NULLs, or a timestamp, is refused.

    Args:
        key_name: ``PRIMARY`` or the unique key's name.
        database: The table's database.
        table: The table.
        columns: The key's parts in order: numbers, text, binary, dates, decimals.
        collation: The collation of the text parts; None hashes their bytes.

    Returns:
        The same column as ``write_set_hash``.
    """
    import pandas as pd

    def hash_rows(*parts: Any) -> Any:
        try:
            return pd.Series(
                write_set_hashes(key_name, database, table, [exactly(part) for part in parts], collation=collation).to_pandas(
                    types_mapper={pa.int64(): pd.Int64Dtype()}.get
                )
            )
        except ParaplyError as error:
            raise TaskFailed(error) from error

    hash_rows.__annotations__ = {"parts": pd.Series, "return": pd.Series}
    made: Callable[..., Column] = vars(functions)["pandas_udf"](hash_rows, "bigint")  # PySpark's types do not name it
    return made(*columns)


def exactly(part: Any) -> pa.Array:
    """Return a part of a key as Arrow.

    Raises:
        UsageError: pandas has lost the exact values.
    """
    kind = part.dtype.kind
    if kind == "M" or (kind == "f" and part.hasnans):
        what = "a timestamp" if kind == "M" else "a number with NULLs"
        raise UsageError(f"pandas does not keep exactly what {what} was: use write_set_hash, which takes columns as Arrow")
    array = pa.Array.from_pandas(part)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def gtid_subset(subset: Column | str, of: Column | str) -> Column:
    """Return True in rows where all GTIDs of the first set are in the second, as MySQL's ``GTID_SUBSET``; null if one of them is null."""
    return over_arrow(subset_rows, "boolean")(subset, of)


def gtid_subtract(minuend: Column | str, subtrahend: Column | str) -> Column:
    """Return the GTIDs of the first set that are not in the second, as MySQL's ``GTID_SUBTRACT``; null if one of them is null."""
    return over_arrow(subtract_rows, "string")(minuend, subtrahend)


def over_arrow(function: Callable[..., pa.Array], kind: str) -> Callable[..., Column]:
    """Make a function of columns from one of Arrow arrays."""
    made: Callable[..., Column] = vars(functions)["arrow_udf"](function, kind)  # PySpark's types do not name it
    return made


def register_functions(spark: SparkSession) -> None:
    """Register the functions for SQL: ``write_set_hash(key, database, table, part, ...)``, ``gtid_subset``, ``gtid_subtract``."""
    spark.udf.register("gtid_subset", over_arrow(subset_rows, "boolean"))
    spark.udf.register("gtid_subtract", over_arrow(subtract_rows, "string"))
    spark.udf.register("write_set_hash", over_arrow(hash_named, "bigint"))


def subset_rows(subset: pa.Array, of: pa.Array) -> pa.Array:
    """Compute ``gtid_subset`` over Arrow."""
    return over_sets(lambda left, right: left <= right, pa.bool_(), subset, of)


def subtract_rows(minuend: pa.Array, subtrahend: pa.Array) -> pa.Array:
    """Compute ``gtid_subtract`` over Arrow."""
    return over_sets(lambda left, right: str(left - right), pa.string(), minuend, subtrahend)


def hash_named(key_name: pa.Array, database: pa.Array, table: pa.Array, *parts: pa.Array) -> pa.Array:
    """Compute ``write_set_hash`` over Arrow with the names as columns, as in SQL; runs of equal names are hashed together."""
    try:
        return hash_runs([key_name, database, table], list(parts))
    except ParaplyError as error:
        raise TaskFailed(error) from error


def hash_runs(names: list[pa.Array], parts: list[pa.Array]) -> pa.Array:
    """Hash each run of rows with equal names."""
    rows = list(zip(*(column.to_pylist() for column in names), strict=True))
    hashes = []
    start = 0
    for end in range(1, len(rows) + 1):
        if end < len(rows) and rows[end] == rows[start]:
            continue
        length = end - start
        key_name, database, table = rows[start]
        if None in rows[start]:
            hashes.append(pa.nulls(length, pa.int64()))
        else:
            hashes.append(write_set_hashes(key_name, database, table, [part.slice(start, length) for part in parts]))
        start = end
    return pa.concat_arrays(hashes) if hashes else pa.array([], pa.int64())


def over_sets(function: Callable[[GtidSet, GtidSet], bool | str], kind: pa.DataType, left: pa.Array, right: pa.Array) -> pa.Array:
    """Apply a function to pairs of sets; each distinct text is parsed once."""
    parsed: dict[str, GtidSet] = {}

    def set_of(text: str) -> GtidSet:
        if text not in parsed:
            if len(parsed) >= MOST_PARSED:
                parsed.clear()
            parsed[text] = GtidSet(text)
        return parsed[text]

    try:
        values = [
            None if one is None or other is None else function(set_of(one), set_of(other))
            for one, other in zip(left.to_pylist(), right.to_pylist(), strict=True)
        ]
    except ParaplyError as error:
        raise TaskFailed(error) from error
    return pa.array(values, kind)


MOST_PARSED = 1024
