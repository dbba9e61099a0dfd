"""The receiver alone, under load: killed at random moments nothing is lost and nothing comes twice (R28).

``PARAPLY_RECEIVER_KILLS`` says how often each test kills it. For MySQL, ``PARAPLY_TEST_MYSQL`` is the source, ``PARAPLY_TEST_MYSQL_DATA``
the folder of its logs, and ``PARAPLY_TEST_MYSQLBINLOG`` a command that prints the log file that is appended to it.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server.live import Load
from server.mysql_fixtures import Server
from servers import MariaDbServer, mysql_data, mysql_url, running_mariadb

from paraply import GtidSet, open_log
from paraply.replication import Receiver, RelayLog, parse_source
from paraply.replication.source import look

KILLS = int(os.environ.get("PARAPLY_RECEIVER_KILLS", "5"))
FILE_BYTES = 60_000
CATCH_UP_SECONDS = 60
LogFiles = Callable[[], list[Path]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-receiver-") as name:
        yield Path(name)


@pytest.fixture
def maria_source() -> Iterator[MariaDbServer]:
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        yield server


def receive(url: str, folder: Path) -> None:
    """Receive until the process is killed."""
    relay = RelayLog(folder, max_bytes=FILE_BYTES)
    Receiver(look(parse_source(url)), relay).start()
    time.sleep(3600)


def received_by(folder: Path) -> GtidSet:
    relay = RelayLog(folder, max_bytes=FILE_BYTES)
    try:
        return relay.status().received
    finally:
        relay.close()


def kill_again_and_again(url: str, folder: Path, executed: Callable[[], str]) -> int:
    """Loads the source and kills the receiver; in the end lets it catch up. Gives how often the tail was torn."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["paraply.replication", "server.replication.test_receiver"])
    chance = random.Random(int(os.environ.get("PARAPLY_SEED", "1")))
    load = Load(url, rest=0.002)
    torn = 0
    try:
        for _ in range(KILLS):
            process = context.Process(target=receive, args=(url, folder), daemon=True)
            process.start()
            time.sleep(0.15 + chance.random())
            process.kill()
            process.join()
            relay = RelayLog(folder, max_bytes=FILE_BYTES)
            torn += relay.cut is not None
            relay.close()
    finally:
        load.end()
    process = context.Process(target=receive, args=(url, folder), daemon=True)
    process.start()
    deadline = time.monotonic() + CATCH_UP_SECONDS
    wanted = GtidSet(executed())
    while not wanted <= followed(folder) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.kill()
    process.join()
    assert wanted <= received_by(folder)
    return torn


def followed(folder: Path) -> GtidSet:
    """Return the GTIDs in a relay log that another process writes: its files only grow, and a torn end is not counted."""
    from paraply._native import log_gtids, log_head

    files = relay_files(folder)
    if not files:
        return GtidSet()
    return log_gtids(str(files[-1])) | (log_head(str(files[-1])).previous_gtids or GtidSet())


def relay_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("relay-bin.*") if path.suffix[1:].isdecimal())


def logged(paths: list[Path]) -> list[tuple[object, ...]]:
    return [(t.gtid, t.kind, t.rows, t.tables, t.committed_at, t.last_committed, t.sequence_number) for t in open_log(paths)]


def has_everything_once(source: list[Path], folder: Path) -> None:
    received = logged(relay_files(folder))
    assert len(received) > 20
    assert received == logged(source)


def maria_logs(server: MariaDbServer) -> list[Path]:
    return sorted(path for path in server.data.glob("binlog.*") if path.suffix[1:].isdecimal())


def mysql_logs(server: Server) -> list[Path]:
    return [mysql_data() / str(row[0]) for row in server.sql("SHOW BINARY LOGS")]


@pytest.mark.mariadb
def test_r28_a_killed_receiver_has_everything_of_a_mariadb_once(maria_source: MariaDbServer, folder: Path) -> None:
    def executed() -> str:
        with maria_source.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@gtid_binlog_pos")
            return str((cursor.fetchone() or ("",))[0])

    kill_again_and_again(maria_source.url, folder, executed)
    has_everything_once(maria_logs(maria_source), folder)
    if shutil.which("mariadb-binlog") is not None:
        prints_the_same(["mariadb-binlog", "--verbose"], maria_logs(maria_source), relay_files(folder))


@pytest.mark.mysql
def test_r28_a_killed_receiver_has_everything_of_a_mysql_once(folder: Path) -> None:
    server = Server(mysql_url())
    mysql_data()
    server.empty()
    kill_again_and_again(mysql_url(), folder, lambda: str(server.sql("SELECT @@global.gtid_executed")[0][0]))
    has_everything_once(mysql_logs(server), folder)
    if command := os.environ.get("PARAPLY_TEST_MYSQLBINLOG"):
        prints_the_same(shlex.split(command), mysql_logs(server), relay_files(folder))


# MariaDB sends no Annotate_rows events, which are comments, unless it is asked for them.
EVENT = re.compile(r"#\d{6} .*\b(GTID|Query|Xid|Table_map|Write_rows|Update_rows|Delete_rows)\b")


def prints_the_same(command: list[str], source: list[Path], relay: list[Path]) -> None:
    """The servers' own tool reads both, and says the same of every transaction: headers, checksums, positions, rows."""
    printed = [line for path in source for line in transactions_of(command, path)]
    assert len(printed) > 100
    assert [line for path in relay for line in transactions_of(command, path)] == printed


def transactions_of(command: list[str], path: Path) -> list[str]:
    done = subprocess.run([*command, str(path)], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode(errors="replace").splitlines()
    logged = (line for line in lines if EVENT.match(line) or line.startswith(("### ", "SET @@SESSION.GTID_NEXT= '")))
    return [line for line in logged if "/* added by mysqlbinlog */" not in line]  # of its own, once at the end of each file
