"""``paraply serve --stamp`` and stock replicas of MySQL: wider numbers on the way, with tagged GTIDs, kills and a relay (R37)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from own_mysql import OwnMySql, running_mysql
from server.live import connect
from server.serving import (
    PASSWORD,
    USER,
    Receiving,
    Serving,
    caught_up,
    copied_logs,
    emptied,
    follow,
    gtids,
    heartbeats,
    load,
    mysqlbinlog_command,
    receiver_error,
    serving,
    sql,
)
from server.waiting import wait_until

from paraply import open_log
from paraply.analysis.stamp import stamp

pytestmark = pytest.mark.mysql


def load_tagged(url: str, transactions: int) -> None:
    """Commit small transactions in one session, some of them with tagged GTIDs."""
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        for number in range(transactions):
            cursor.execute(f"SET gtid_next = 'AUTOMATIC{':tag' if number % 3 else ''}'")
            cursor.execute("INSERT INTO shop.item (name, price) VALUES (%s, %s)", (f"tagged {number}", number))
            connection.commit()
        cursor.execute("SET gtid_next = 'AUTOMATIC'")


@pytest.fixture(scope="module")
def source() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=21", "--max-binlog-size=1G"]) as server:
        load(server.url, 30)
        load_tagged(server.url, 150)
        sql(server.url, "FLUSH BINARY LOGS")
        yield server


@pytest.fixture(scope="module")
def replica() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=22", "--replica-parallel-workers=8"]) as server:
        yield server


@pytest.fixture
def logs(source: OwnMySql, tmp_path: Path) -> Path:
    copied_logs(source, tmp_path / "logs")
    return tmp_path / "logs"


def parallel(url: str) -> int:
    """Return the number of transactions of a server's own log that may start beside the one before, by the numbers in its relay log."""
    return int(
        str(
            sql(url, "SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_worker WHERE last_applied_transaction <> ''")[
                0
            ][0]
        )
    )


def test_r37_mysqlbinlog_gets_the_files_that_stamp_writes(source: OwnMySql, logs: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    files = sorted(logs.iterdir())[:-1]  # the last one is not finished
    stamp(files, tmp_path / "new", workers=8)
    with serving(tmp_path, *files, "--stamp", "--workers", "8") as server:
        login = ("--host=127.0.0.1", f"--port={server.port}", f"--user={USER}", f"--password={PASSWORD}")
        read = ("--no-defaults", "--read-from-remote-server", *login, "--raw", f"--result-file={raw}/", "--to-last-log", files[0].name)
        done = subprocess.run([*mysqlbinlog_command(), *read], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for path in files:
        assert (raw / path.name).read_bytes() == (tmp_path / "new" / path.name).read_bytes(), path.name
    assert any((tmp_path / "new" / path.name).stat().st_size != path.stat().st_size for path in files), "tagged GTIDs move events"


def test_r37_a_replica_of_eight_workers_survives_kills_of_the_server(
    source: OwnMySql, replica: OwnMySql, logs: Path, tmp_path: Path
) -> None:
    emptied(replica)
    server = Serving(tmp_path, logs, "--stamp", "--workers", "8")
    follow(replica, server)
    for pause in (0.2, 0.5, 1.0):
        time.sleep(pause)
        server.kill()
    caught_up(replica, source.url)
    assert parallel(replica.url) > 1
    assert server.end() == 4


def test_r37_a_replica_by_file_and_position_of_the_stamped_log(source: OwnMySql, replica: OwnMySql, logs: Path, tmp_path: Path) -> None:
    files = sorted(logs.iterdir())
    stamp(files, tmp_path / "new", workers=8)
    tagged = next(path for path in files if (tmp_path / "new" / path.name).stat().st_size != path.stat().st_size)
    begins = [one.offset for one in open_log([tmp_path / "new" / tagged.name])]
    place = "SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = '{}', SOURCE_LOG_POS = {}, SOURCE_SSL = 0"
    emptied(replica)
    with serving(tmp_path, logs, "--stamp", "--workers", "8") as server:
        follow(replica, server, options=place.format(files[0].name, 4))
        caught_up(replica, source.url)
        # The applier passes over what it has, so that the receiver can begin anywhere.
        for position in (begins[-1], begins[len(begins) // 2]):
            follow(replica, server, options=place.format(tagged.name, position))
            before = heartbeats(replica)
            wait_until(lambda before=before: heartbeats(replica) > before + 1, "heartbeats come")  # type: ignore[misc]
            assert receiver_error(replica) == ""
        follow(replica, server, options=place.format(tagged.name, begins[-1] + 1))
        wait_until(lambda: "at which no event begins" in receiver_error(replica), "a position inside of an event is refused")


def test_r37_a_relay_widens_numbers_on_the_way_and_survives_kills(source: OwnMySql, replica: OwnMySql, tmp_path: Path) -> None:
    emptied(replica)
    receiver = Receiving(tmp_path, source.url, "--relay-log-size", "200000")
    server = Serving(tmp_path, "--relay-log", receiver.relay, "--stamp", "--workers", "8", "--keep-needed")
    follow(replica, server)
    load_tagged(source.url, 60)
    server.kill()
    load(source.url, 10, rotate_every=3)
    receiver.kill()
    load_tagged(source.url, 60)
    caught_up(replica, source.url)
    before = heartbeats(replica)
    wait_until(lambda: heartbeats(replica) > before + 1, "heartbeats come")
    assert receiver_error(replica) == ""
    assert gtids(replica.url) == gtids(source.url)
    assert server.end() == receiver.end() == 4
