"""Traces and binlogs on Spark: exact dependencies, a data source, functions over GTID sets and hashes.

Needs ``pip install paraply[spark]`` and a Java 17.
"""

from __future__ import annotations

try:
    import pyspark as _pyspark  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "pyspark":
        raise
    raise ModuleNotFoundError("paraply.spark needs PySpark: pip install 'paraply[spark]'", name="pyspark") from None

from paraply.spark.dependencies import dependencies
from paraply.spark.failures import unwrap
from paraply.spark.functions import gtid_subset, gtid_subtract, write_set_hash
from paraply.spark.setup import register, session

__all__ = ["dependencies", "gtid_subset", "gtid_subtract", "register", "session", "unwrap", "write_set_hash"]
