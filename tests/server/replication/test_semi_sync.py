"""Semi-synchronous replication: a source that waits gets its acknowledgement, and what is acknowledged is in the relay log.

The MySQL is ``PARAPLY_TEST_MYSQL_SOURCE``, whose databases other than this test's are left alone. ``PARAPLY_RECEIVER_KILLS`` says how
often a receiver is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pymysql
import pytest
from command_line import run_json
from required import missing
from server.live import connect, replicating
from server.replay import PostgresPlace
from server.waiting import ENOUGH_SECONDS, wait_until
from servers import running_mariadb

import paraply
from paraply import GtidSet
from paraply.replication import Receiver, RelayLog, parse_source
from paraply.replication.source import look

KILLS = int(os.environ.get("PARAPLY_RECEIVER_KILLS", "5"))
FILE_BYTES = 60_000
DATABASE = "semi_sync"
"""For what takes a moment."""
TIMEOUT = 600_000
"""Milliseconds that a source waits for its replicas: longer than any test."""

STATES = "SELECT state FROM information_schema.processlist WHERE id<>CONNECTION_ID()"


class WaitingSource:
    """A source that waits for its replicas.

    Args:
        url: Where it is.
        plain_url: The same over another kind of connection: without TLS, or by the socket.
        word: How its variables name it.
    """

    def __init__(self, url: str, plain_url: str, word: str) -> None:
        self.url, self.plain_url, self._word = url, plain_url, word
        self.table = f"{DATABASE}.t"

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        with closing(connect(self.url)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()
            return list(cursor.fetchall())

    def set(self, **values: object) -> None:
        self.sql(*(f"SET GLOBAL rpl_semi_sync_{self._word}_{name} = {value}" for name, value in values.items()))

    def status(self, name: str) -> str:
        return str(self.sql(f"SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{self._word}_{name}'")[0][1])

    def counted(self) -> tuple[int, int]:
        """Transactions that were acknowledged, and that were not."""
        return int(self.status("yes_tx")), int(self.status("no_tx"))

    def everything(self) -> GtidSet:
        variable = "gtid_executed" if self._word == "source" else "gtid_binlog_pos"
        return GtidSet(str(self.sql(f"SELECT @@GLOBAL.{variable}")[0][0]))


@pytest.fixture(scope="module")
def mariadb() -> Iterator[WaitingSource]:
    options = ["--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-metadata=FULL", "--server-id=1", "--max-allowed-packet=64M"]
    with running_mariadb(options) as server:
        yield WaitingSource(server.url, f"{server.url}?socket={server.socket}", "master")


@pytest.fixture(scope="module")
def mysql() -> Iterator[WaitingSource]:
    url = os.environ.get("PARAPLY_TEST_MYSQL_SOURCE")
    if not url:
        missing("NO SECOND MYSQL: set PARAPLY_TEST_MYSQL_SOURCE=mysql://user:password@host:port to run this test")
    source = WaitingSource(url, f"{url}?tls=disabled", "source")
    plugins = [name for (name,) in source.sql("SELECT plugin_name FROM information_schema.plugins")]
    installed = "rpl_semi_sync_source" in plugins
    if not installed:
        try:
            source.sql("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
        except pymysql.Error as error:
            pytest.skip(f"the server has no plugin for semi-synchronous replication: {error}")
    yield source
    source.set(enabled=0)
    if not installed:
        source.sql("UNINSTALL PLUGIN rpl_semi_sync_source")


@pytest.fixture(params=["mariadb", "mysql"])
def source(request: pytest.FixtureRequest) -> Iterator[WaitingSource]:
    found: WaitingSource = request.getfixturevalue(request.param)
    found.set(enabled=0)
    # The source's log goes back to the tests before: its rows are not this one's.
    found.table = f"{DATABASE}.t{time.time_ns()}"
    found.sql(
        f"DROP DATABASE IF EXISTS {DATABASE}",
        f"CREATE DATABASE {DATABASE}",
        f"CREATE TABLE {found.table} (id INT PRIMARY KEY, b LONGBLOB)",
    )
    found.set(timeout=TIMEOUT, enabled=1)
    yield found
    found.set(enabled=0)
    found.sql(f"DROP DATABASE IF EXISTS {DATABASE}")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-semi-sync-") as name:
        yield Path(name)


@contextmanager
def receiving(url: str, folder: Path, *, semi_sync: bool = True) -> Iterator[tuple[Receiver, RelayLog]]:
    relay = RelayLog(folder, max_bytes=FILE_BYTES)
    receiver = Receiver(look(parse_source(url)), relay, semi_sync=semi_sync)
    receiver.start()
    try:
        wait_until(lambda: receiver.connected, f"a connection ({receiver.last_error})")
        yield receiver, relay
    finally:
        receiver.stop()
        relay.close()


class Commits:
    """Sessions that insert rows one by one and note which commits have come back."""

    def __init__(self, source: WaitingSource, sessions: int, keys: range = range(1 << 30)) -> None:
        self._source = source
        self._ended = threading.Event()
        self.done: list[int] = []
        self._came_back = -1
        self._threads = [threading.Thread(target=self._work, args=(keys[n::sessions],), daemon=True) for n in range(sessions)]
        for thread in self._threads:
            thread.start()

    def _work(self, keys: range) -> None:
        with closing(connect(self._source.url)) as connection, connection.cursor() as cursor:
            for key in keys:
                if self._ended.is_set():
                    return
                cursor.execute(f"INSERT INTO {self._source.table} VALUES (%s, REPEAT('x', %s))", (key, key % 500))
                connection.commit()
                self.done.append(key)

    def all_wait(self) -> bool:
        """Return True if every session waits for its commit, and none has come back since the last call."""
        committing = self._source.sql("SELECT count(*) FROM information_schema.processlist WHERE info='COMMIT'")[0][0]
        still, self._came_back = len(self.done) == self._came_back, len(self.done)
        return still and int(str(committing)) == len(self._threads)

    def join(self, seconds: float = ENOUGH_SECONDS) -> None:
        """Waits until all rows are in."""
        for thread in self._threads:
            thread.join(seconds)
            assert not thread.is_alive(), "a commit still waits"

    def end(self) -> None:
        """Ends the sessions behind the commits under way."""
        self._ended.set()
        self.join()


def rows_in(source: WaitingSource, folder: Path) -> list[dict[str, str]]:
    """The rows that a relay log holds; what a crash left of a transaction is not counted."""
    RelayLog(folder, max_bytes=FILE_BYTES).close()
    files = sorted(path for path in folder.glob("relay-bin.*") if path.suffix[1:].isdecimal())
    found = paraply.rows(files, tables=[source.table], columns=["after"]).read_all()
    return [dict(row) for row in found.column("after").to_pylist()]


def keys_in(source: WaitingSource, folder: Path) -> set[int]:
    return {int(row["id"]) for row in rows_in(source, folder)}


def is_waited_for(source: WaitingSource) -> bool:
    return source.status("clients") == "1" and source.status("status") == "ON"


@pytest.mark.parametrize("plain", [False, True])
def test_every_commit_is_acknowledged(source: WaitingSource, folder: Path, *, plain: bool) -> None:
    url = source.plain_url if plain else source.url
    with receiving(url, folder) as (receiver, relay):
        wait_until(lambda: is_waited_for(source), "the source's knowledge of its replica")
        (yes, no), before = source.counted(), relay.acknowledgements
        Commits(source, sessions=1, keys=range(50)).join()
        assert source.counted() == (yes + 50, no)
        # It is counted behind the sending: the source may know of it first.
        wait_until(lambda: relay.acknowledgements >= before + 50, "the count of what was acknowledged")
        # What several sessions commit together MySQL waits for once, and counts once.
        Commits(source, sessions=4, keys=range(50, 200)).join()
        assert source.counted()[0] > yes + 50
        assert source.counted()[1] == no
        assert receiver.semi_sync
    assert keys_in(source, folder) == set(range(200))


@pytest.mark.parametrize("semi_sync", [False, True])
def test_an_event_of_several_packets_comes_whole(source: WaitingSource, folder: Path, *, semi_sync: bool) -> None:
    sizes = [(1 << 24) - 50, 20 << 20]
    source.set(enabled=int(semi_sync))
    with receiving(source.url, folder, semi_sync=semi_sync) as (_receiver, relay):
        for key, size in enumerate(sizes):
            source.sql(f"INSERT INTO {source.table} VALUES ({key}, REPEAT('x', {size}))")
        wait_until(lambda: source.everything() <= relay.status().received, "everything")
    # Bytes come as hexadecimal digits.
    assert [len(row["b"]) // 2 for row in rows_in(source, folder)] == sizes


def test_a_commit_waits_for_the_receiver_to_come_back(source: WaitingSource, folder: Path) -> None:
    with receiving(source.url, folder):
        wait_until(lambda: is_waited_for(source), "the source's knowledge of its replica")
        Commits(source, sessions=1, keys=range(1)).join()
    yes, no = source.counted()
    commits = Commits(source, sessions=3, keys=range(1, 4))
    wait_until(lambda: any("semi-sync ACK" in str(state) for (state,) in source.sql(STATES)), "a commit that waits for its replica")
    assert commits.done == []
    with receiving(source.url, folder):
        commits.join()
    assert source.counted()[0] > yes
    assert source.counted()[1] == no


def test_what_is_here_already_is_acknowledged_to_a_source_that_waits_for_it(source: WaitingSource, folder: Path) -> None:
    with receiving(source.url, folder, semi_sync=False) as (_receiver, relay):
        wait_until(lambda: source.everything() <= relay.status().received, "everything")
        before = relay.status().transactions
        commits = Commits(source, sessions=2, keys=range(2))
        wait_until(lambda: relay.status().transactions >= before + 2, "what the commits wait for")
        assert commits.done == []
    (_, no) = source.counted()
    with receiving(source.url, folder) as (_receiver, relay):
        commits.join()
        assert relay.status().transactions == 0
    assert source.counted()[1] == no


def receive(url: str, folder: Path) -> None:
    """Receive until the process is killed."""
    Receiver(look(parse_source(url)), RelayLog(folder, max_bytes=FILE_BYTES), semi_sync=True).start()
    time.sleep(3600)


@pytest.mark.by_turns
def test_a_killed_receiver_has_everything_that_was_acknowledged(source: WaitingSource, folder: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["paraply.replication", "server.replication.test_semi_sync"])
    chance = random.Random(int(os.environ.get("PARAPLY_SEED", "1")))
    yes, no = source.counted()
    commits = Commits(source, sessions=4)
    for _ in range(KILLS):
        came_back = len(commits.done)
        process = context.Process(target=receive, args=(source.url, folder), daemon=True)
        process.start()
        wait_until(lambda before=came_back: len(commits.done) > before, "a commit")
        time.sleep(chance.random())
        process.kill()
        process.join()
        # Nobody acknowledges any more: what comes back until all sessions wait was acknowledged before.
        wait_until(commits.all_wait, "the wait of every session for its commit")
        assert set(commits.done) <= keys_in(source, folder)
    with receiving(source.url, folder):
        commits.end()
    assert source.counted()[0] > yes
    assert source.counted()[1] == no
    assert keys_in(source, folder) == set(commits.done)


def test_a_source_that_does_not_wait_is_received_from_all_the_same(
    source: WaitingSource, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source.set(enabled=0)
    with receiving(source.url, folder) as (receiver, relay):
        Commits(source, sessions=1, keys=range(3)).join()
        wait_until(lambda: source.everything() <= relay.status().received, "everything")
        assert not receiver.semi_sync
        assert "enabled is OFF" in receiver.semi_sync_refusal
        assert relay.acknowledgements == 0
    assert [record.message for record in caplog.records if "asynchronous" in record.message] == [
        f"replication is asynchronous, the source does not wait for this replica: {receiver.semi_sync_refusal}"
    ]


def test_a_mysql_without_the_plugin_is_received_from_too(mysql: WaitingSource, folder: Path) -> None:
    mysql.set(enabled=0)
    mysql.sql("UNINSTALL PLUGIN rpl_semi_sync_source")
    try:
        with receiving(mysql.url, folder) as (receiver, _relay):
            assert "INSTALL PLUGIN" in receiver.semi_sync_refusal
    finally:
        mysql.sql("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")


@pytest.mark.mariadb
@pytest.mark.postgres
def test_status_says_whether_the_source_waits(mariadb: WaitingSource, postgres_place: PostgresPlace, folder: Path) -> None:
    mariadb.set(timeout=TIMEOUT, enabled=1)
    with replicating(mariadb.url, postgres_place.url, folder, "--semi-sync") as replica:
        replica.wait_until(lambda: is_waited_for(mariadb), "the source's knowledge of its replica")
        mariadb.sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"CREATE OR REPLACE TABLE {DATABASE}.u (id INT PRIMARY KEY)")

        def shown() -> dict[str, object]:
            channels = run_json("status", "--to", postgres_place.url).report["channels"]
            return dict((channels[0]["run"] or {}).get("receiver") or {}) if channels else {}

        replica.wait_until(lambda: int(str(shown().get("acknowledgements", 0))) > 0, "an acknowledgement")
        assert shown()["semi_sync"] == "on"
        mariadb.set(enabled=0)
        report = replica.stop()
    assert (report["exit_code"], report["receiver"]["semi_sync"]) == (4, "on")
    mariadb.sql(f"DROP DATABASE {DATABASE}")
