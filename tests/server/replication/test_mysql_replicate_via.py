"""``paraply replicate --via replication``: a live source applied by the replica workers of a stock MySQL (R17, R25)."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from own_mysql import OwnMySql, running_mysql
from server.command_process import Process
from server.serving import content, emptied, gtids, load, sql
from server.waiting import wait_until

pytestmark = pytest.mark.mysql

CHANNELS = "SELECT channel_name FROM performance_schema.replication_connection_configuration WHERE channel_name <> ''"
SETTINGS = "SELECT @@GLOBAL.replica_parallel_workers, @@GLOBAL.replica_preserve_commit_order, @@GLOBAL.replica_exec_mode"
SECONDS = 60
MADE = ("the database", "a table", "another table")


class Replicating(Process):
    """A ``paraply replicate --via replication``.

    Args:
        folder: Folder for its relay log and its output.
        source: The source.
        target: The target.
        options: Further options.
    """

    def __init__(self, folder: Path, source: OwnMySql, target: OwnMySql, *options: object) -> None:
        way = ("--via", "replication", "--workers", "8", "--relay-log", folder / "relay", "--relay-log-size", "200000")
        super().__init__(folder / "replicate.log", ("replicate", "--from", source.url, "--to", target.url, *way, *options))

    def stopped(self) -> dict[str, object]:
        """Stop it with Ctrl-C, and return its JSON object."""
        self.process.terminate()
        printed, _ = self.process.communicate(timeout=SECONDS)
        return dict(json.loads(printed))


@pytest.fixture(scope="module")
def source() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=31", "--max-binlog-size=1G"]) as server:
        load(server.url, 20)
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=32"]) as server:
        yield server


@pytest.fixture
def target(server: OwnMySql) -> OwnMySql:
    emptied(server)
    sql(server.url, "DROP DATABASE IF EXISTS paraply", "RESET BINARY LOGS AND GTIDS")
    return server


@contextlib.contextmanager
def replicating(folder: Path, source: OwnMySql, target: OwnMySql, *options: object) -> Iterator[Replicating]:
    """A running replication, which is killed if the test fails."""
    process = Replicating(folder, source, target, *options)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
            process.process.communicate()


def caught_up(source: OwnMySql, target: OwnMySql, process: Replicating) -> None:
    """Wait until the target has everything of the source, and compare the tables."""
    wanted = gtids(source.url)

    def arrived() -> bool:
        assert process.process.poll() is None, process.messages()
        with contextlib.suppress(pymysql.Error):
            return gtids(target.url) == wanted
        return False

    wait_until(arrived, f"everything of {wanted}", SECONDS)
    assert content(target.url) == content(source.url)


def test_a_live_source_is_applied_and_the_same_command_goes_on(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    before = sql(target.url, SETTINGS)
    with replicating(tmp_path, source, target) as process:
        load(source.url, 10)
        caught_up(source, target, process)
        assert sql(target.url, CHANNELS) == [("paraply",)]
        first = process.stopped()
    assert (first["exit_code"], first["status"]) == (4, "stopped")
    assert str(first["executed"]).replace("\n", "") == gtids(source.url)
    assert sql(target.url, CHANNELS) == []
    assert sql(target.url, SETTINGS) == before
    load(source.url, 10, rotate_every=3)
    with replicating(tmp_path, source, target) as process:
        caught_up(source, target, process)
        second = process.stopped()
    assert second["exit_code"] == 4
    assert second["transactions"] == 10 + len(MADE), "and what makes the tables"


def test_r25_kills_of_the_command_and_restarts_of_both_servers(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    with replicating(tmp_path, source, target) as process:
        wait_until(lambda: ":1-3" in gtids(target.url), "the first transactions")
        process.kill()
        load(source.url, 10)
        time.sleep(1)
        process.kill()
        target.kill()
        target.start()
        load(source.url, 10)
        source.kill()
        source.start()
        load(source.url, 5)
        caught_up(source, target, process)
        assert process.stopped()["exit_code"] == 4
    assert sql(target.url, CHANNELS) == []


def test_until_a_gtid_ends_it_there(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    last = f"{gtids(source.url).partition(':')[0]}:9"
    with replicating(tmp_path, source, target, "--until", last) as process:
        printed, _ = process.process.communicate(timeout=SECONDS)
    assert json.loads(printed)["exit_code"] == 0, process.messages()
    assert gtids(target.url) == last.replace(":9", ":1-9")


@pytest.mark.parametrize(("options", "reason"), [(("--merge", "8"), "cannot merge"), (("--table", "shop.item"), "without filters")])
def test_what_does_not_go_together_is_refused(
    source: OwnMySql, target: OwnMySql, tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    with replicating(tmp_path, source, target, *options) as process:
        printed, _ = process.process.communicate(timeout=SECONDS)
    report = json.loads(printed)
    assert report["exit_code"] == 2
    assert reason in report["error"]["message"]
