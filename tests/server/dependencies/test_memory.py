"""Memory stays flat: on a log far larger than it, and on one transaction of 200 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from server.replay import SqlPlace, command
from server.source_log import copy_binlogs

pytestmark = [pytest.mark.mysql, pytest.mark.slow]

MOST_MEGABYTES = 300
#: Megabytes of the long log; the target was measured with 2048.
LONG_LOG = int(os.environ.get("PARAPLY_TEST_LOG_MEGABYTES", "200"))
ROWS_OF_A_MEGABYTE = 1000
TABLE = "CREATE TABLE shop.wide (id INT PRIMARY KEY, turn INT NOT NULL, text VARCHAR(600) NOT NULL) CHARACTER SET latin1"


def filled(rows: int) -> list[str]:
    """Statements that insert rows of half a kilobyte in one transaction."""
    numbers = f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
    return [
        "SET SESSION cte_max_recursion_depth=1000000",
        f"INSERT INTO shop.wide {numbers} SELECT i, 0, REPEAT(CHAR(97 + i % 26), 500) FROM n",
    ]


_MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def peak(logs: list[Path], url: str, *options: str) -> float:
    """Apply logs; return the most megabytes that the command had in memory.

    A small process starts the command and measures it: Linux counts the memory of the process that starts a command as the command's own.
    """
    first, *more = logs
    apply = command(first, url, *map(str, more), *options)
    done = subprocess.run([sys.executable, "-c", _MEASURED, *apply], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert (done.returncode, report["status"]) == (0, "done"), report
    return int(done.stderr.splitlines()[-1]) / 1024


def emptied_with_log(place: SqlPlace, folder: Path) -> tuple[list[Path], object]:
    """The server's logs, and its table's checksum; the server is empty afterwards."""
    logs = copy_binlogs(place.url, folder)
    ((_, checksum),) = place.sql("CHECKSUM TABLE shop.wide")
    place.empty()
    return logs, checksum


@pytest.mark.parametrize("options", [("--workers", "0"), ("--workers", "4"), ("--via", "replication")])
def test_mysql_takes_one_transaction_of_200_megabytes(mysql_place: SqlPlace, tmp_path: Path, options: tuple[str, ...]) -> None:
    mysql_place.sql("CREATE DATABASE IF NOT EXISTS shop", TABLE, *filled(400_000))
    logs, checksum = emptied_with_log(mysql_place, tmp_path)
    assert sum(log.stat().st_size for log in logs) > 200e6
    assert peak(logs, mysql_place.url, *options) < MOST_MEGABYTES
    assert mysql_place.sql("CHECKSUM TABLE shop.wide") == [("shop.wide", checksum)]


@pytest.mark.parametrize("options", [("--workers", "8"), ("--via", "replication")])
def test_mysql_takes_a_log_that_is_larger_than_memory(mysql_place: SqlPlace, tmp_path: Path, options: tuple[str, ...]) -> None:
    mysql_place.sql("CREATE DATABASE IF NOT EXISTS shop", TABLE, *filled(ROWS_OF_A_MEGABYTE))
    change = "UPDATE shop.wide SET turn=turn+1, text=REPEAT(CHAR(97 + (id + turn) % 26), 500)"
    for first in range(0, LONG_LOG, 50):
        mysql_place.sql(*[change] * min(50, LONG_LOG - first))
    logs, checksum = emptied_with_log(mysql_place, tmp_path)
    assert sum(log.stat().st_size for log in logs) > LONG_LOG * 1e6
    assert peak(logs, mysql_place.url, *options) < MOST_MEGABYTES
    assert mysql_place.sql("CHECKSUM TABLE shop.wide") == [("shop.wide", checksum)]
