"""The GTIDs of a replica: right at every moment with ``preserve``, and after every orderly stop with ``record`` (R26)."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import run_json
from own_mysql import OwnMySql, running_mysql
from server.live import Load, mysql_rows, replicating
from server.replay import SqlPlace
from server.serving import gtids
from servers import running_mariadb

SHOWN = ("--log-format", "json")
"""Information too: a replica of the tests is quiet otherwise."""
LOGGED = ["--log-bin=binlog", "--binlog-format=ROW"]


@pytest.fixture(scope="module")
def source() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=31"]) as server:
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=32"]) as server:
        yield server


@pytest.fixture
def target(server: OwnMySql, source: OwnMySql) -> SqlPlace:
    for place in (SqlPlace(source.url), SqlPlace(server.url)):
        place.empty()
    return SqlPlace(server.url)


def channel(url: str) -> dict[str, Any]:
    """Return the only channel of ``paraply status``."""
    outcome = run_json("status", "--to", url)
    return dict(outcome.report["channels"][0])


def write(source: OwnMySql, count: int = 1) -> None:
    """Commit transactions on the source."""
    place = SqlPlace(source.url)
    place.sql("CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE IF NOT EXISTS shop.item (id INT AUTO_INCREMENT PRIMARY KEY)")
    for _ in range(count):
        place.sql("INSERT INTO shop.item VALUES ()")


def has_everything(source: OwnMySql, target: SqlPlace) -> bool:
    return bool(SqlPlace(source.url).sql("SELECT COUNT(*) FROM shop.item") == target.sql("SELECT COUNT(*) FROM shop.item"))


@pytest.mark.mysql
def test_r26_a_replica_preserves_by_default(source: OwnMySql, target: SqlPlace, tmp_path: Path) -> None:
    load = Load(source.url)
    with replicating(source.url, target.url, tmp_path, *SHOWN) as replica:
        replica.wait_until(lambda: bool(mysql_rows(target.url)["shop.entry"]), "the first rows")
        held = gtids(target.url)
        assert held.endswith(held.partition(":")[0] + ":1-" + held.rpartition("-")[2]), "no gap and nothing of its own"
        replica.process.send_signal(signal.SIGTERM)
        report = replica.report()
        assert report["exit_code"] == 4
        load.end()
        assert str(report["executed"]) == gtids(target.url)
        (note,) = [event for event in map(json.loads, replica.messages().splitlines()) if "GTID mode preserve" in event["text"]]
        assert (note["level"], note["event"]) == ("info", "note")
    with replicating(source.url, target.url, tmp_path, "--until", last_gtid(source)) as replica:
        assert replica.report()["exit_code"] == 0
    assert gtids(target.url) == gtids(source.url)
    assert mysql_rows(target.url) == mysql_rows(source.url)


def last_gtid(source: OwnMySql) -> str:
    """Return the newest GTID of the source, which alone writes there."""
    uuid, numbers = gtids(source.url).split(":")
    return f"{uuid}:{numbers.rpartition('-')[2]}"


@pytest.mark.mysql
def test_r26_an_orderly_stop_completes_what_record_applied(source: OwnMySql, target: SqlPlace, tmp_path: Path) -> None:
    write(source, 3)
    with replicating(source.url, target.url, tmp_path, "--gtid", "record") as replica:
        replica.wait_until(lambda: has_everything(source, target), "the first rows")
        assert gtids(target.url) != gtids(source.url)
        status = channel(target.url)
        assert status["gtid_mode"] == "record"
        assert status["missing_gtids"], "the rows are in, and their GTIDs are not"
        replica.process.send_signal(signal.SIGTERM)
        assert replica.report()["exit_code"] == 4
    assert gtids(target.url) == gtids(source.url)
    assert channel(target.url)["missing_gtids"] is None


@pytest.mark.mysql
@pytest.mark.parametrize("way", ["until", "stop"])
def test_r26_the_set_is_completed_where_nothing_is_left_to_apply(source: OwnMySql, target: SqlPlace, tmp_path: Path, way: str) -> None:
    write(source, 3)
    with replicating(source.url, target.url, tmp_path, "--gtid", "record", *SHOWN) as replica:
        replica.wait_until(lambda: has_everything(source, target), "the first rows")
        replica.process.kill()
    assert gtids(target.url) != gtids(source.url)
    until = ("--until", last_gtid(source)) if way == "until" else ()
    with replicating(source.url, target.url, tmp_path, "--gtid", "record", *SHOWN, *until) as replica:
        if way == "stop":
            replica.wait_until(lambda: replica.messages().count("GTID mode") == 2, "its beginning")
            report = replica.stop()
        else:
            report = replica.report()
    assert report["exit_code"] == (0 if until else 4), replica.messages()
    assert gtids(target.url) == gtids(source.url)


@pytest.mark.mysql
def test_r26_a_channel_keeps_the_mode_that_it_began_with(source: OwnMySql, target: SqlPlace, tmp_path: Path) -> None:
    write(source)
    with replicating(source.url, target.url, tmp_path, "--gtid", "record", "--until", last_gtid(source)) as replica:
        assert replica.report()["exit_code"] == 0
    write(source)
    with replicating(source.url, target.url, tmp_path, *SHOWN, "--until", last_gtid(source)) as replica:
        assert replica.report()["exit_code"] == 0
        assert "GTID mode record, with which the channel began" in replica.messages()
    assert gtids(target.url) == gtids(source.url)


@pytest.mark.mariadb
@pytest.mark.parametrize("own", [False, True])
def test_r26_a_mariadb_that_wrote_itself_gets_record_and_the_reason(tmp_path: Path, own: bool) -> None:
    with running_mariadb([*LOGGED, "--server-id=1"]) as source, running_mariadb([*LOGGED, "--server-id=2"]) as server:
        place, target = SqlPlace(source.url), SqlPlace(server.url)
        place.empty()
        target.empty()
        if own:
            target.sql("CREATE DATABASE own")
        place.sql("CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)", "INSERT INTO shop.item VALUES (1)")
        with replicating(source.url, server.url, tmp_path, *SHOWN) as replica:
            replica.wait_until(lambda: bool(target.sql("SELECT * FROM shop.item")), "the row")
            assert replica.stop()["exit_code"] == 4
            mode = "record, because preserve is not possible: the target's binlog ends in transactions" if own else "preserve"
            (note,) = [event for event in map(json.loads, replica.messages().splitlines()) if f"GTID mode {mode}" in event["text"]]
            assert note["level"] == ("warning" if own else "info"), "preserve is no reason to worry"
        (position,) = place.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0]
        assert target.sql(f"SELECT @@GLOBAL.{'gtid_slave_pos' if own else 'gtid_binlog_pos'}")[0][0] == position


@pytest.mark.mariadb
def test_r26_what_a_mariadb_replica_wrote_itself_is_not_taken_for_the_source_s(tmp_path: Path) -> None:
    with running_mariadb([*LOGGED, "--server-id=1"]) as source, running_mariadb([*LOGGED, "--server-id=2"]) as server:
        place, target = SqlPlace(source.url), SqlPlace(server.url)
        place.empty()
        target.empty()
        place.sql("CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)", "INSERT INTO shop.item VALUES (1)")
        for number, mode in ((2, "auto"), (3, "auto"), (4, "record")):
            with replicating(source.url, server.url, tmp_path, "--gtid", mode) as replica:
                replica.wait_until(lambda: target.sql("SELECT * FROM shop.item") == place.sql("SELECT * FROM shop.item"), "the rows")
                assert replica.stop()["exit_code"] == 4
            target.sql(f"CREATE DATABASE own_{number}")
            place.sql(f"INSERT INTO shop.item VALUES ({number})")
        with replicating(source.url, server.url, tmp_path) as replica:
            replica.wait_until(lambda: target.sql("SELECT * FROM shop.item") == place.sql("SELECT * FROM shop.item"), "the rows")
            assert replica.stop()["exit_code"] == 4
