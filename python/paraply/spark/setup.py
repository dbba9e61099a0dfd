"""Setup of sessions: a new session, and registration with an existing one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.spark.explained import explain_options
from paraply.spark.failures import show_causes_first
from paraply.spark.functions import register_functions
from paraply.spark.quiet import quiet_start
from paraply.spark.source import BinlogSource
from paraply.spark.storage import share_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "session"]

LOGGING = Path(__file__).with_name("log4j2.properties")


def session(app_name: str = "paraply", *, where: str | None = None, **config: str) -> SparkSession:
    """Return a Spark session whose tasks run this interpreter, with paraply's data source and functions.

    It prints only errors, and neither errors that are also raised here nor the usual messages of Spark and Java at each start.

    Args:
        app_name: Name in Spark's pages.
        where: Master URL, such as ``local[4]``; by default that of the environment, else all cores of this machine.
        config: Further settings; ``__`` in a name stands for a dot.

    Returns:
        The session; an existing one is used, and keeps its settings.

    Raises:
        UsageError: Java is missing.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    use_this_interpreter()
    builder = SparkSession.builder.appName(app_name)
    if where is None and not {"MASTER", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & set(os.environ):
        where = "local[*]"
    if where is not None:
        builder = builder.master(where)
        if where.startswith("local"):
            builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if "spark__driver__extraJavaOptions" not in config:
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}")
    else:
        builder = builder.config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for name, value in config.items():
        builder = builder.config(name.replace("__", "."), value)
    try:
        with quiet_start():
            spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise UsageError(f"Spark does not start: {error}; it needs Java 17 or later, on PATH or in JAVA_HOME") from error
    register(spark)
    return spark


def register(spark: SparkSession) -> None:
    """Register the data source ``binlog`` and the functions with a session, and let its tasks run this interpreter.

    The first line of Spark's error then shows a paraply error that a task has raised, and ``DataFrame.explain`` ends with the options by
    which the source leaves out data. Tasks get the credentials of storages in the session's configuration, such as ``fs.s3a.access.key``:
    call this again after they change.
    """
    use_this_interpreter(spark)
    show_causes_first()
    explain_options()
    share_storage(spark)
    spark.dataSource.register(BinlogSource)
    register_functions(spark)


def use_this_interpreter(spark: SparkSession | None = None) -> None:
    """Let tasks run this process's interpreter, unless the environment or the session's settings name another.

    Args:
        spark: A running session, which has already read the environment.
    """
    named = "PYSPARK_PYTHON" in os.environ
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    context = getattr(spark, "_sc", None)  # a session of Spark Connect has no context; its server chooses the interpreter
    if not named and context is not None and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
