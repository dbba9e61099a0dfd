"""Traces and binlogs on Spark: exact dependencies, a data source, and functions over GTID sets and hashes.

Needs ``pip install paraply[spark]`` and a Java 17.
"""

from __future__ import annotations

try:
    import numpy as _numpy  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name not in {"numpy", "pyarrow", "pyspark"}:
        raise
    raise ModuleNotFoundError(f"paraply.spark needs the package {missing.name}: pip install 'paraply[spark]'", name=missing.name) from None

from paraply.spark.analyze import analyze
from paraply.spark.batch import apply_batch, apply_upto, lake, lake_batch
from paraply.spark.dependencies import dependencies
from paraply.spark.failures import unwrap
from paraply.spark.functions import gtid_subset, gtid_subtract, write_set_hash, write_set_hash_pandas
from paraply.spark.setup import register, session
from paraply.spark.table import current, history, read_lake, update_current
from paraply.spark.workload import conflicts, parallelism

__all__ = [
    "analyze",
    "apply_batch",
    "apply_upto",
    "conflicts",
    "current",
    "dependencies",
    "gtid_subset",
    "gtid_subtract",
    "history",
    "lake",
    "lake_batch",
    "parallelism",
    "read_lake",
    "register",
    "session",
    "unwrap",
    "update_current",
    "write_set_hash",
    "write_set_hash_pandas",
]
