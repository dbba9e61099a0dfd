"""The recipes for a cluster: two workers of a standalone cluster run the wheel as an archive, and Spark Connect runs the source."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from tests.required import required_module
from tests.servers import free_port

pyspark = required_module("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.slow(share=False), pytest.mark.timeout(1500)]
HOME = Path(pyspark.__file__).parent
STARTS = 300.0
APPLICATION = """
import json
import os
import sys

import paraply
from pyspark.sql import SparkSession

from paraply.spark import current, dependencies, lake, read_lake, register, unwrap

log, damaged, into = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
register(spark)


def places(batches):
    import paraply
    import pyarrow as pa

    for batch in batches:
        found = {"folder": [os.getcwd()], "code": [paraply.__file__], "rows": [batch.num_rows]}
        yield pa.RecordBatch.from_pydict(found)


frame = spark.read.format("binlog").option("split", "1m").load(log)
found = frame.select("position").mapInArrow(places, "folder string, code string, rows bigint").collect()
try:
    spark.read.format("binlog").load(damaged).count()
    failed = None
except Exception as error:
    failed = unwrap(error)
lake(frame, into, tables="shop.customer")
print("RESULT", json.dumps({
    "rows": sum(row.rows for row in found),
    "folders": sorted({row.folder for row in found}),
    "code": sorted({row.code for row in found}),
    "numbers": dependencies(frame).count(),
    "customers": [current(spark, log, "shop.customer").count(), read_lake(spark, into, "shop.customer").count()],
    "failed": type(failed).__name__,
}))
"""
CONNECTED = """
import json
import sys

from pyspark.sql import SparkSession

from paraply.spark import current, lake, read_lake, register, unwrap

url, log, into = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
register(spark)
frame = spark.read.format("binlog").load(log)
lake(frame, into, tables="shop.customer")
try:
    spark.read.format("binlog").option("mode", "nothing").load(log).count()
    failed = None
except Exception as error:
    failed = unwrap(error)
stream = spark.readStream.format("binlog").option("columns", "position,gtid,file").load(log)
query = lake(stream, into + "-stream", tables="shop.customer", checkpoint=into + "-checkpoint", trigger={"availableNow": True})
query.awaitTermination()
subtracted = spark.sql("select gtid_subtract('3e11fa47-71ca-11e1-9e33-c80aa9429562:1-2', '3e11fa47-71ca-11e1-9e33-c80aa9429562:2')")
print("RESULT", json.dumps({
    "rows": frame.count(),
    "customers": [
        current(spark, log, "shop.customer").count(),
        *(read_lake(spark, place, "shop.customer").count() for place in (into, into + "-stream")),
    ],
    "sql": subtracted.collect()[0][0],
    "failed": type(failed).__name__,
}))
"""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of Spark's programs, without this repository's code."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK") and name != "PYTHONPATH"}
    return {**kept, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **more}


@contextlib.contextmanager
def running(log: Path, message: str, *command: str, **more: str) -> Iterator[str]:
    """Run a program until the end of the block; start the block when it has said something."""
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment(**more), cwd=log.parent)
    try:
        ends = time.monotonic() + STARTS
        while message not in log.read_text():
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < ends, log.read_text()[-2000:]
            time.sleep(0.2)
        yield log.read_text()
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()


def wheel(folder: Path) -> Path:
    """Return a zip file with the layout of the wheel, named as the recipe says."""
    made = folder / "paraply.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted((ROOT / "python" / "paraply").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(ROOT / "python"))
    return made


def result(command: list[str], **more: str) -> dict[str, Any]:
    """Run an application, and return what it found."""
    done = subprocess.run(command, env=environment(**more), capture_output=True, text=True, check=False, timeout=900)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stdout[-1000:] + done.stderr[-6000:]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("RESULT "))
    return found


def test_two_workers_run_the_wheel_as_an_archive(demo_log: Path, tmp_path: Path) -> None:
    archive, unpacked, application = wheel(tmp_path), tmp_path / "driver", tmp_path / "app.py"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(unpacked)  # stands for an installation on the driver
    application.write_text(APPLICATION)
    damaged = tmp_path / "damaged.000001"
    damaged.write_bytes(demo_log.read_bytes()[: demo_log.stat().st_size // 2])
    port, spark = free_port(), str(HOME / "bin" / "spark-class")
    master = f"spark://127.0.0.1:{port}"
    small = {"SPARK_DAEMON_MEMORY": "256m"}
    with contextlib.ExitStack() as stack:
        options = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        stack.enter_context(
            running(
                tmp_path / "master.log", "I have been elected leader", spark, "org.apache.spark.deploy.master.Master", *options, **small
            )
        )
        for number in (1, 2):
            options = ["--cores", "1", "--memory", "700m", "--host", "127.0.0.1", "--webui-port", "0"]
            options += ["--work-dir", str(tmp_path / f"worker{number}"), master]
            log = tmp_path / f"worker{number}.log"
            stack.enter_context(
                running(log, "Successfully registered with master", spark, "org.apache.spark.deploy.worker.Worker", *options, **small)
            )
        command = [str(HOME / "bin" / "spark-submit"), "--master", master, "--archives", f"{archive}#wheel"]
        settings = {
            "spark.executorEnv.PYTHONPATH": "wheel",
            "spark.executor.memory": "600m",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.scheduler.minRegisteredResourcesRatio": "1",
        }
        command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        arguments = [str(application), str(demo_log), str(damaged), str(tmp_path / "lake")]
        found = result([*command, *arguments], PYTHONPATH=str(unpacked))
    assert found["rows"] == found["numbers"] == 6856
    assert {Path(folder).parents[1].name for folder in found["folders"]} == {"worker1", "worker2"}
    assert all(Path(code).parts[-3:] == ("wheel", "paraply", "__init__.py") or "/wheel/" in code for code in found["code"])
    assert len(set(found["customers"])) == 1
    assert found["failed"] == "LogTruncated"


def test_spark_connect_runs_the_source(demo_log: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("grpc_status") is None:
        pytest.skip("the client of Spark Connect is not installed: pip install 'pyspark[connect]'")
    port = free_port()
    server = [
        str(HOME / "bin" / "spark-submit"),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        "local[1]",
    ]
    server += ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
    server += ["--conf", "spark.ui.enabled=false", "--name", "connect"]
    code = str(ROOT / "python")
    with running(tmp_path / "server.log", "Spark Connect server started", *server, PYTHONPATH=code):
        command = [sys.executable, "-c", CONNECTED, f"sc://127.0.0.1:{port}", str(demo_log), str(tmp_path / "lake")]
        found = result(command, PYTHONPATH=code)
    assert found["rows"] == 6856
    assert len(set(found["customers"])) == 1
    assert found["sql"] == "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"
    assert found["failed"] == "UsageError"
