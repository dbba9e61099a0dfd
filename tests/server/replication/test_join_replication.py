"""After ``--gtid record`` the target's GTIDs are the source's, so that it can become its replica (R26)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from required import missing
from server.point_in_time import apply
from server.replay import SqlPlace
from server.source_log import copy_binlogs

from paraply import GtidSet

pytestmark = pytest.mark.mysql
DATABASE = "pitr_join"


@pytest.fixture
def source() -> Iterator[SqlPlace]:
    """A second MySQL, whose databases other than this test's are left alone."""
    url = os.environ.get("PARAPLY_TEST_MYSQL_SOURCE")
    if not url:
        missing("NO SECOND MYSQL: set PARAPLY_TEST_MYSQL_SOURCE=mysql://user:password@host:port to run this test")
    place = SqlPlace(url)
    place.sql(f"DROP DATABASE IF EXISTS {DATABASE}")
    yield place
    place.sql(f"DROP DATABASE IF EXISTS {DATABASE}")


@pytest.fixture
def replica(mysql_place: SqlPlace) -> Iterator[SqlPlace]:
    mysql_place.sql(f"DROP DATABASE IF EXISTS {DATABASE}", "RESET BINARY LOGS AND GTIDS")
    yield mysql_place
    mysql_place.sql("STOP REPLICA", "RESET REPLICA ALL", "CHANGE REPLICATION FILTER REPLICATE_WILD_DO_TABLE=()")
    mysql_place.sql(f"DROP DATABASE IF EXISTS {DATABASE}")


def write(source: SqlPlace, first: int, last: int) -> None:
    for number in range(first, last + 1):
        source.sql(f"INSERT INTO {DATABASE}.t VALUES ({number}, REPEAT('x', {number % 50}))")
    source.sql(f"UPDATE {DATABASE}.t SET b = 'changed' WHERE a % 7 = 0")


def checksum(place: SqlPlace) -> int:
    return int(place.sql(f"CHECKSUM TABLE {DATABASE}.t")[0][1])


def test_r26_a_recorded_target_joins_mysqls_replication(source: SqlPlace, replica: SqlPlace, tmp_path: Path) -> None:
    source.sql(f"CREATE DATABASE {DATABASE}", f"CREATE TABLE {DATABASE}.t (a INT PRIMARY KEY, b VARCHAR(60))")
    write(source, 1, 60)
    at_copy = GtidSet(str(source.sql("SELECT @@GLOBAL.gtid_executed")[0][0]))
    logs = copy_binlogs(source.url, tmp_path)
    purged = str(source.sql("SELECT @@GLOBAL.gtid_purged")[0][0]).replace("\n", "")
    # The other databases of the source are not needed; their transactions are recorded as done.
    start = ("--start-after", purged) if purged else ()
    outcome = apply(logs, replica.url, "--gtid", "record", "--database", DATABASE, *start)
    assert outcome.code == 0, f"{outcome.report.get('error')}\n{outcome.stderr}"
    own = GtidSet(str(replica.sql("SELECT @@GLOBAL.gtid_executed")[0][0]))
    assert at_copy <= own
    assert checksum(replica) == checksum(source)

    write(source, 61, 100)
    parts = urlsplit(source.url)
    replica.sql(
        f"CHANGE REPLICATION FILTER REPLICATE_WILD_DO_TABLE=('{DATABASE}.%')",
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='{parts.hostname}', SOURCE_PORT={parts.port}, SOURCE_USER='{parts.username}',"
        f" SOURCE_PASSWORD='{parts.password}', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1",
        "START REPLICA",
    )
    now = str(source.sql("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")
    timed_out = replica.sql(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{now}', 30)")[0][0]
    errors = replica.sql("SELECT last_error_message FROM performance_schema.replication_applier_status_by_worker")
    assert timed_out == 0, errors
    assert checksum(replica) == checksum(source)
