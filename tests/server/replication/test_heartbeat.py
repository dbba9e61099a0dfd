"""A source's list of its replicas, and a replica's reaction to a silent source (heartbeats).

A MySQL of this test's own and a MariaDB are stopped by a signal, as a server that hangs: their sockets stay open and say nothing.
"""

from __future__ import annotations

import re
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest
from command_line import run_json
from own_mysql import running_mysql
from server.live import Replica, replicating
from server.replay import PostgresPlace
from server.waiting import wait_until
from servers import MariaDbServer, running_mariadb

from paraply.replication import Receiver, RelayLog, parse_source
from paraply.replication.source import HEARTBEAT_SECONDS, SILENCE_SECONDS, look, replica_server_id, replica_uuid

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres, pytest.mark.timeout(300)]
TIMEOUT = 4
"""Seconds of silence that the tests allow."""


class Source(Protocol):
    """A server of this test's own."""

    @property
    def url(self) -> str: ...
    def sql(self, *statements: str) -> list[tuple[object, ...]]: ...
    def send(self, number: signal.Signals) -> None: ...


@pytest.fixture(scope="module")
def mysql() -> Iterator[Source]:
    with running_mysql() as server:
        yield server


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Source]:
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        yield server


@pytest.fixture(params=["mariadb", pytest.param("mysql", marks=pytest.mark.mysql)])
def source(request: pytest.FixtureRequest) -> Source:
    """Empty, with one table."""
    server: Source = request.getfixturevalue(request.param)
    server.sql("DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
    return server


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-heartbeat-") as name:
        yield Path(name)


def rows_in(place: PostgresPlace) -> list[int]:
    with psycopg.connect(place.url, autocommit=True) as connection:
        return [int(row) for (row,) in connection.execute("SELECT id FROM shop.t ORDER BY id").fetchall()]


def replicas(source: Source) -> list[dict[str, str]]:
    """Return the source's list of replicas, by column names without the words that differ between servers."""
    names = ["id", "host", "port", "source"] if (mariadb := isinstance(source, MariaDbServer)) else ["id", "host", "port", "source", "uuid"]
    statement = "SHOW SLAVE HOSTS" if mariadb else "SHOW REPLICAS"
    return [dict(zip(names, map(str, row), strict=True)) for row in source.sql(statement)]


@contextmanager
def hanging(source: Source) -> Iterator[None]:
    source.send(signal.SIGSTOP)
    try:
        yield
    finally:
        source.send(signal.SIGCONT)


@pytest.mark.by_turns
def test_a_replica_is_registered_while_it_runs_and_not_any_more_behind_its_end(
    source: Source, postgres_place: PostgresPlace, folder: Path
) -> None:
    assert replicas(source) == []
    with replicating(source.url, postgres_place.url, folder, "--report-host", "replica.example.org:3307") as replica:
        replica.wait_until(lambda: len(replicas(source)) == 1, "the replica in the source's list")
        found = replicas(source)[0]
        assert (found["host"], found["port"], found["source"]) == ("replica.example.org", "3307", "1")
        assert found["id"] == str(replica_server_id(replica.relay))
        if "uuid" in found:
            assert found["uuid"] == replica_uuid(replica.relay)
        replica.kill()
        source.sql("INSERT INTO shop.t VALUES (1)")
        replica.wait_until(lambda: rows_in(postgres_place) == [1], "a row behind its restart")
        replica.wait_until(lambda: len(replicas(source)) == 1, "it again, and not twice")
        assert replica.stop()["exit_code"] == 4
    wait_until(lambda: replicas(source) == [], "the replica's end in the source's list")


def test_a_replica_reports_no_host_unless_it_is_told_one(source: Source, postgres_place: PostgresPlace, folder: Path) -> None:
    with replicating(source.url, postgres_place.url, folder, "--server-id", "4711") as replica:
        replica.wait_until(lambda: len(replicas(source)) == 1, "the replica in the source's list")
        # MariaDB puts the host that it is connected from in place of none.
        assert (replicas(source)[0]["id"], replicas(source)[0]["host"]) in {("4711", ""), ("4711", "localhost"), ("4711", "127.0.0.1")}
        replica.wait_until(lambda: rows_in(postgres_place) == [], "the table")
        replica.stop()
    wait_until(lambda: replicas(source) == [], "the replica's end in the source's list")


def test_a_source_without_news_sends_heartbeats_no_oftener_than_asked(source: Source, folder: Path) -> None:
    relay = RelayLog(folder)
    receiver = Receiver(look(parse_source(source.url)), relay)
    receiver.start()
    try:
        wait_until(lambda: relay.heartbeats > 0, "a heartbeat")
        before, began, received = relay.heartbeats, time.monotonic(), relay.status().transactions
        wait_until(lambda: relay.heartbeats >= before + 3, "more of them")
        count, seconds = relay.heartbeats - before, time.monotonic() - began
        assert count <= seconds / HEARTBEAT_SECONDS + 1
        assert relay.heard_at is not None
        assert (receiver.connections, relay.status().transactions) == (1, received), "heartbeats are no part of the relay log"
        source.sql("INSERT INTO shop.t VALUES (1)")
        wait_until(lambda: relay.status().transactions == received + 1, "the row")
    finally:
        receiver.stop()
        relay.close()


def shown(place: PostgresPlace) -> dict[str, Any]:
    """Return the receiver in the output of ``paraply status``."""
    channels = run_json("status", "--to", place.url).report["channels"]
    return dict((channels[0]["run"] or {}).get("receiver") or {}) if channels else {}


@pytest.mark.by_turns
def test_a_source_that_hangs_is_noticed_and_gone_on_with(source: Source, postgres_place: PostgresPlace, folder: Path) -> None:
    with replicating(source.url, postgres_place.url, folder, "--source-timeout", str(TIMEOUT)) as replica:
        replica.wait_until(lambda: rows_in(postgres_place) == [], "the table")
        with hanging(source):
            began = time.monotonic()
            replica.wait_until(lambda: "nothing for" in replica.messages(), "a word of its silence")
            assert TIMEOUT - 2 * HEARTBEAT_SECONDS < time.monotonic() - began < SILENCE_SECONDS
            assert re.search(r"it sent nothing for \d+ s, not even a heartbeat, which it should send every 1 s", replica.messages())
            replica.wait_until(lambda: shown(postgres_place).get("connected") is False, "the same in the status")
            assert shown(postgres_place)["last_error"]
            replica.wait_until(lambda: replica.messages().count("the source was lost") >= 2, "another try that nobody answers")
        source.sql("INSERT INTO shop.t VALUES (1)")
        replica.wait_until(lambda: rows_in(postgres_place) == [1], "the row")
        assert "the source is available again, after" in replica.messages()
        replica.wait_until(lambda: bool(shown(postgres_place)["connected"]), "the same in the status")
        assert replica.stop()["exit_code"] == 4


def test_a_source_that_hangs_does_not_keep_the_replica_from_ending(source: Source, postgres_place: PostgresPlace, folder: Path) -> None:
    with replicating(source.url, postgres_place.url, folder) as replica:
        replica.wait_until(lambda: rows_in(postgres_place) == [], "the table")
        with hanging(source):
            time.sleep(2 * HEARTBEAT_SECONDS)
            began = time.monotonic()
            assert ended(replica) == 4
            assert time.monotonic() - began < SILENCE_SECONDS


def ended(replica: Replica) -> int:
    return int(replica.stop()["exit_code"])


@pytest.mark.by_turns
def test_a_short_silence_is_no_loss(source: Source, postgres_place: PostgresPlace, folder: Path) -> None:
    with replicating(source.url, postgres_place.url, folder, "--source-timeout", str(8 * TIMEOUT)) as replica:
        replica.wait_until(lambda: rows_in(postgres_place) == [], "the table")
        with hanging(source):
            time.sleep(TIMEOUT)
        source.sql("INSERT INTO shop.t VALUES (1)")
        replica.wait_until(lambda: rows_in(postgres_place) == [1], "the row")
        replica.wait_until(lambda: shown(postgres_place).get("heartbeats", 0) > 0, "a heartbeat behind the silence")
        report = replica.stop()
    assert (report["exit_code"], report["receiver"]["connections"]) == (4, 1), replica.messages()
