"""A stock MySQL replica applies stamped logs: with the source's content at the end, in every order that the numbers allow (R37).

``PARAPLY_FINE_HISTORIES`` sets how many random histories, ``PARAPLY_FINE_ORDERS`` how many orders of each, ``PARAPLY_SEED`` the first seed.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import run_json
from own_mysql import running_mysql
from server.dependencies.test_fine_scheme import SEED, Replayer, asked, make_history, try_orders
from server.fine_histories import Server
from server.fine_orders import allowed_orders, read_plan
from servers import mysql_url

from paraply import open_log
from paraply.analysis.stamp import stamp
from paraply.analysis.verify import verify
from paraply.bench.loads import DATABASE, LOADS
from paraply.bench.own_applier import OwnApplier
from paraply.bench.server import BenchServer, connect
from paraply.errors import ServerError

pytestmark = pytest.mark.timeout(3600)
TRANSACTIONS = 400


@pytest.fixture
def server() -> Iterator[Server]:
    with contextlib.closing(Server(mysql_url(), "fine_stamped")) as made:
        yield made
        made.drop()


@pytest.mark.parametrize("workers", [3, 1024])
def test_r37_every_order_that_the_numbers_allow_ends_as_the_serial_one_on_mysql(server: Server, tmp_path: Path, workers: int) -> None:
    tried = free = 0
    for seed in range(SEED, SEED + asked("PARAPLY_FINE_HISTORIES", 2)):
        history = make_history(server, seed, tmp_path)
        stamp(history.log, tmp_path / f"{workers}-{seed}", workers=workers)
        new = tmp_path / f"{workers}-{seed}" / history.log.name
        plan = read_plan(new)
        before = order_by_numbers(new, len(plan.blocks))
        free += sum(number - len(older) for number, older in enumerate(before))
        with contextlib.closing(Replayer(server, history)) as replayer:
            if replayer.end_state(plan, list(range(len(plan.blocks)))) != history.state:
                continue  # a log that MySQL's own client cannot replay: see test_fine_scheme
            count, difference = try_orders(replayer, history, plan, before, asked("PARAPLY_FINE_ORDERS", 12), seed)
        assert difference is None, f"PARAPLY_SEED={seed}\n{history.describe()}\n{difference}"
        tried += count
    assert tried > 0
    assert free > 0


def order_by_numbers(log: Path, count: int) -> list[set[int]]:
    """Return for each of the log's last transactions those that a replica commits before it starts."""
    numbers = [(one.last_committed or 0, one.sequence_number or 0) for one in open_log(log)][-count:]
    return [{older for older in range(index) if numbers[older][1] <= last} for index, (last, _) in enumerate(numbers)]


def test_r37_there_are_orders_to_try() -> None:
    before = [set(range(max(0, number - 3))) for number in range(12)]
    assert len(list(allowed_orders(before, random.Random(1), 30))) == 30


@pytest.mark.parametrize("load", ["oltp", "foreign-keys"])
def test_r37_a_stock_mysql_replica_applies_a_stamped_log_as_its_relay_log(tmp_path: Path, load: str) -> None:
    with running_mysql(["--binlog-transaction-compression=ON", "--relay-log=relay"]) as running:
        server = BenchServer(running.url, "9.7", mariadb=False, may_reset=True, data=running.data)
        server.empty([])
        write_load(server, load)
        checksums = server.checksums()
        log = Path(shutil.copyfile(running.data / "binlog.000001", tmp_path / "binlog.000001"))
        for workers, options in ((1, []), (8, ["--workers", "8"]), (8, [])):
            folder = tmp_path / f"stamped-{workers}-{len(options)}"
            outcome = run_json("stamp", log, "-o", folder, *options)
            assert outcome.code == 0, outcome.line
            new = folder / log.name
            assert verify(new, scheme="fine").different == 0
            server.empty([DATABASE])
            own = OwnApplier(server, running.data)
            with own.ready([new], workers):
                own.replay()
            assert server.checksums() == checksums
            executed = server.query("SELECT @@gtid_executed")
            assert executed == [(b",".join(gtids_of(log)),)], json.dumps(str(executed))


def test_r37_tagged_gtids_of_mysql_move_events_and_a_way_back_gives_the_same_bytes(tmp_path: Path) -> None:
    with running_mysql(["--relay-log=relay"]) as running:
        server = BenchServer(running.url, "9.7", mariadb=False, may_reset=True, data=running.data)
        server.empty([])
        connection = connect(server.parsed)
        connection.query(f"CREATE DATABASE {DATABASE}; CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY); SET gtid_next='AUTOMATIC:tag'")
        for number in range(200):
            connection.query(f"INSERT INTO {DATABASE}.t VALUES ({number})")
        connection.close()
        server.query("FLUSH BINARY LOGS")
        log = Path(shutil.copyfile(running.data / "binlog.000001", tmp_path / "binlog.000001"))
        narrow, back = stamp(log, tmp_path / "narrow", workers=4), tmp_path / "back"
        assert narrow.bytes > log.stat().st_size
        stamp(narrow.files[0], back)
        assert (back / log.name).read_bytes() == log.read_bytes()
        executed = server.query("SELECT @@gtid_executed")
        server.empty([DATABASE])
        own = OwnApplier(server, running.data)
        with own.ready([Path(narrow.files[0])], 4):
            own.replay()
        assert server.query(f"SELECT COUNT(*) FROM {DATABASE}.t") == [(200,)]
        assert server.query("SELECT @@gtid_executed") == executed


def gtids_of(log: Path) -> list[bytes]:
    """Return the GTIDs of a log as one interval."""
    gtids = [one.gtid or "" for one in open_log(log)]
    uuid = gtids[0].rpartition(":")[0]
    return [f"{uuid}:1-{len(gtids)}".encode()]


def write_load(server: BenchServer, name: str) -> None:
    """Run a load in one session; the server's refusals belong to it."""
    load = LOADS[name]
    connection = connect(server.parsed)
    connection.query(f"CREATE DATABASE {DATABASE}; USE {DATABASE}")
    for statement in load.schema.format(collation="utf8mb4_0900_ai_ci").split(";"):
        connection.query(statement)
    for statement in load.fill():
        connection.query(statement)
    session = load.session(1, 11)
    for _ in range(TRANSACTIONS):
        try:
            connection.query("BEGIN")
            for statement in next(session):
                connection.query(statement)
            connection.query("COMMIT")
        except ServerError:
            connection.query("ROLLBACK")
    connection.close()
    server.query("FLUSH BINARY LOGS")
