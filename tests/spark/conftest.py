"""One Spark session for all tests; without PySpark or a Java they skip."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.pg_databases import database, embedded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["database", "embedded", "spark"]


def java_works() -> bool:
    """Return True if Java is installed."""
    java = shutil.which("java")
    return java is not None and subprocess.run([java, "-version"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'paraply[spark]'")
    if not java_works():
        pytest.skip("there is no Java, which Spark needs")
    from paraply.spark import session

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's own, of which some are resources that its gateway keeps
        made = session(
            "paraply-tests",
            where="local[2]",
            spark__sql__shuffle__partitions="3",
            spark__ui__enabled="false",
            spark__sql__execution__arrow__maxRecordsPerBatch="100",
        )
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def _quiet_spark() -> Iterator[None]:
    """Spark's own warnings are not ours to fix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
