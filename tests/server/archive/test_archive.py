"""``paraply archive`` of real servers: the bytes of their own files, kills, purged logs, names used again, and an apply from a bucket."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import PACKAGE, run_json
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from own_mysql import running_mysql
from server.replay import PostgresPlace
from server.waiting import wait_until
from servers import LocalServer
from tests.object_storage import bucket, environment, storage_server

from paraply import Archiver, open_log
from paraply._native import zstd_unpack
from paraply.errors import AlreadyRunning, ArchiveRefused, Stopped
from paraply.logs import log_paths
from paraply.logs.archived import Wanted
from paraply.logs.archived.fetching import read_manifest
from paraply.logs.archived.storage import open_storage

__all__ = ["bucket", "storage_server"]

pytestmark = pytest.mark.mysql
Server = LocalServer | Any
IN_USE = 4 + 17
SMALL_LOGS = ["--max-binlog-size=65536"]
QUICK = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"]
KILLS = int(os.environ.get("PARAPLY_KILLS", "100"))


@contextlib.contextmanager
def server_of(kind: str, *options: str) -> Iterator[Server]:
    """Start a server with a row binlog."""
    if kind == "mysql":
        with running_mysql(["--server-id=41", *QUICK, *options]) as server:
            yield server
    else:
        with mariadb_of_version(kind, ["--log-bin=binlog", "--binlog-format=ROW", "--server-id=41", *QUICK, *options]) as server:
            yield server


@pytest.fixture(scope="module", params=["mysql", "10.11"])
def started(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that the tests may purge, reset, kill and start again."""
    with server_of(request.param) as server:
        yield server


@pytest.fixture
def source(started: Server) -> Server:
    """The server, without logs."""
    started.sql("DROP DATABASE IF EXISTS shop", RESET[is_mariadb(started)])
    return started


RESET = {True: "RESET MASTER", False: "RESET BINARY LOGS AND GTIDS"}


def is_mariadb(server: Server) -> bool:
    """Return True for a MariaDB."""
    return "MariaDB" in str(server.sql("SELECT VERSION()")[0][0])


def fill(server: Server, times: int = 1, flush: bool = True) -> None:
    """Write some transactions, and begin a new log after each time."""
    server.sql("CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE IF NOT EXISTS shop.item (id INT AUTO_INCREMENT PRIMARY KEY, note TEXT)")
    for _ in range(times):
        rows = [f"INSERT INTO shop.item (note) VALUES ('{'text ' * n}'), ('other')" for n in range(5)]
        server.sql(*rows, *["FLUSH BINARY LOGS"] * flush)


def once(server: Server, into: Path | str) -> Archiver:
    """Archive up to the present end."""
    archiver = Archiver(server.url, into, once=True)
    archiver.run()
    return archiver


def check_bytes(server: Server, folder: Path) -> int:
    """Compare the closed files of an archive with the server's own, and the growing one with the start of its own; return their number."""
    files = read_manifest(open_storage(folder)).files
    for file in files:
        own = bytearray((server.data / file.name).read_bytes())
        own[IN_USE] &= ~1  # set while a server writes a file, and after a crash
        copy = b"".join(zstd_unpack((folder / part.object).read_bytes()) for part in file.parts)
        assert copy == own[: len(copy)], file.name
        assert len(copy) == (len(own) if file.closed else file.last_position), file.name
        assert file.closed == (file.sha256 is not None)
    return len(files)


def logged(server: Server) -> list[str]:
    """The names of a server's logs."""
    return [str(row[0]) for row in server.sql("SHOW BINARY LOGS")]


@pytest.mark.by_turns
def test_an_archive_holds_the_bytes_of_the_server_s_own_files(source: Server, tmp_path: Path) -> None:
    check_copy(source, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_an_archive_of_each_mariadb_holds_the_bytes_of_its_own_files(version: str, tmp_path: Path) -> None:
    with server_of(version) as server:
        check_copy(server, tmp_path)


def check_copy(server: Server, folder: Path) -> None:
    """Archive logs with and without checksums, compressed ones, and those before and after a restart."""
    fill(server, 2)
    server.sql("SET GLOBAL binlog_checksum=NONE")
    fill(server)
    server.sql("SET GLOBAL binlog_checksum=CRC32")
    if is_mariadb(server):
        server.sql("SET GLOBAL log_bin_compress=ON, GLOBAL log_bin_compress_min_len=10")
    fill(server, flush=False)
    once(server, folder)
    fill(server, 2, flush=False)
    server.stop()
    server.start()
    fill(server)
    archiver = once(server, folder)
    assert check_bytes(server, folder) == len(logged(server))
    assert [one.gtid for one in open_log(folder)] == [one.gtid for one in open_log([server.data / name for name in logged(server)])]
    # MariaDB may write an event without a transaction a moment after the start of a file.
    wait_until(lambda: once(server, folder).report.bytes == 0, "a run with nothing to add")
    assert check_bytes(server, folder) == archiver.report.files


def test_a_crashed_source_and_a_restarted_one_are_followed(source: Server, tmp_path: Path) -> None:
    archiver = Archiver(source.url, tmp_path, flush_seconds=0.1, source_timeout=3.0)
    with running(archiver):
        fill(source)
        wait_until(lambda: archiver.report.transactions >= 5, "the first transactions", 30)
        source.kill()
        source.start()
        fill(source, flush=False)
        wait_until(lambda: archiver.report.file == logged(source)[-1] and archiver.report.transactions >= 12, "the others", 60)
    once(source, tmp_path)
    assert check_bytes(source, tmp_path) == len(logged(source))


@contextlib.contextmanager
def running(archiver: Archiver) -> Iterator[None]:
    """Run an archiver in a thread during the ``with`` block."""
    with ThreadPoolExecutor(1) as pool:
        end = pool.submit(archiver.run)
        try:
            yield
        finally:
            archiver.stop()
        with pytest.raises(Stopped):
            end.result(timeout=30)


def test_purged_logs_are_a_gap(source: Server, tmp_path: Path) -> None:
    fill(source, 1)
    archiver = once(source, tmp_path)
    fill(source, 2)
    purge(source)
    before = snapshot(tmp_path)
    with pytest.raises(ArchiveRefused, match=rf"ends at {archiver.report.file}:\d+, but the source .* has purged {archiver.report.file}"):
        once(source, tmp_path)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("started", ["10.11"], indirect=True)
def test_a_file_that_was_purged_after_it_was_archived_is_no_gap(source: Server, tmp_path: Path) -> None:
    fill(source, 2)
    once(source, tmp_path)
    source.sql("FLUSH BINARY LOGS")
    once(source, tmp_path)
    purge(source)
    fill(source)
    once(source, tmp_path)
    assert read_manifest(open_storage(tmp_path)).newest.name == logged(source)[-1]  # type: ignore[union-attr]


def purge(server: Server) -> None:
    """Purge all logs but the newest; a log that a connection still reads stays at first."""
    newest = logged(server)[-1]
    wait_until(lambda: server.sql(f"PURGE BINARY LOGS TO '{newest}'", "SHOW BINARY LOGS")[0][0] == newest, "the purge")


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the contents of an archive's objects."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_names_used_again_are_refused(source: Server, tmp_path: Path) -> None:
    fill(source, 1)
    once(source, tmp_path)
    before = snapshot(tmp_path)
    source.sql(RESET[is_mariadb(source)])
    with pytest.raises(ArchiveRefused, match="nothing is overwritten"):
        once(source, tmp_path)
    fill(source, 4)
    with pytest.raises(ArchiveRefused, match=r"has another content under the name binlog.*nothing is overwritten"):
        once(source, tmp_path)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("started", ["10.11"], indirect=True)
def test_another_server_with_the_same_names_is_refused(source: Server, tmp_path: Path) -> None:
    fill(source, 2)
    once(source, tmp_path)
    before = snapshot(tmp_path)
    source.sql("SET GLOBAL server_id=42")
    try:
        with pytest.raises(ArchiveRefused, match=r"holds the logs of the MariaDB with server id 41, but the source .* server id 42"):
            once(source, tmp_path)
    finally:
        source.sql("SET GLOBAL server_id=41")
    assert snapshot(tmp_path) == before


def test_another_server_whose_file_begins_with_the_same_bytes_is_refused(tmp_path: Path) -> None:
    """Format descriptions of one server id and second are equal, and so are the events after the GTID list."""
    with server_of("10.11") as source, server_of("10.11") as other:
        fill(source, 1, flush=False)
        fill(other, 2, flush=False)
        name = equal_starts(source, other)
        once(source, tmp_path)
        other.sql("INSERT INTO shop.item VALUES (100, 'text')")
        before = snapshot(tmp_path)
        with pytest.raises(ArchiveRefused, match=f"has another content under the name {name}"):
            once(other, tmp_path)
        assert snapshot(tmp_path) == before


def equal_starts(one: Server, other: Server) -> str:
    """Begin new logs until two of one name begin alike, and return the name: a thread of the server writes events with its own time."""
    for _ in range(20):
        for server in (one, other):
            server.sql("SET timestamp=1700000000", "FLUSH BINARY LOGS")
        name = logged(one)[-1]
        assert name == logged(other)[-1]
        with contextlib.suppress(AssertionError):
            wait_until(lambda log=name: same_but_for_the_gtids((one.data / log).read_bytes(), (other.data / log).read_bytes()), "", 2)
            return name
    raise AssertionError("no two logs began alike")


def same_but_for_the_gtids(one: bytes, other: bytes) -> bool:
    """Return True if two files are equal but for their second event, the GTID list, and have the notes about recovery after it."""
    begin = 4 + int.from_bytes(one[4 + 9 : 4 + 13], "little")
    end = int.from_bytes(one[begin + 13 : begin + 17], "little")
    return one[:begin] == other[:begin] and one[begin:end] != other[begin:end] and one[end:] == other[end:] != b""


@pytest.mark.parametrize("started", ["10.11"], indirect=True)
def test_a_second_writer_is_refused_while_the_first_one_runs(source: Server, tmp_path: Path) -> None:
    fill(source)
    archiver = Archiver(source.url, tmp_path, flush_seconds=0.1)
    with running(archiver):
        wait_until(lambda: archiver.report.transactions > 0, "the first transaction", 30)
        with pytest.raises(AlreadyRunning, match="another paraply archive writes into"):
            once(source, tmp_path)


@pytest.mark.parametrize("started", ["10.11"], indirect=True)
def test_an_apply_from_a_bucket_fetches_only_the_files_that_it_needs(
    source: Server, bucket: str, storage_server: str, postgres_place: PostgresPlace
) -> None:
    fill(source, 4)
    once(source, bucket)
    files = read_manifest(open_storage(bucket)).files
    gtids = [[one.gtid for one in open_log(source.data / file.name)] for file in files]
    stop = gtids[1][-1]
    assert stop is not None
    paths = log_paths(bucket, Wanted.between(None, stop))
    assert [Path(path).name for path in paths] == [file.name for file in files[:2]]
    later = log_paths(bucket, Wanted.between(files[2].gtids_before))
    assert Path(later[0]).name == files[2].name
    damaged = open_storage(bucket)
    found = damaged.read_version(files[2].parts[0].object)
    assert found is not None
    damaged.replace(files[2].parts[0].object, b"damaged", found[1])
    one = run_json("apply", bucket, "--to", postgres_place.url, environment=environment(storage_server))
    assert (one.code, one.error["class"], one.report["transactions"]) == (3, "LogDamaged", 0)
    assert postgres_tables(postgres_place) == []
    done = run_json("apply", bucket, "--to", postgres_place.url, "--stop-at", stop, environment=environment(storage_server))
    assert done.code == 0, done.line
    assert done.report["transactions"] == sum(map(len, gtids[:2]))
    assert len(postgres_place.rows("item")) == 20 - 10 * (len(gtids[0]) < 7)


def postgres_tables(place: PostgresPlace) -> list[str]:
    """The tables that an apply has made."""
    with psycopg.connect(place.url) as connection:
        found = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema IN ('shop', 'paraply')").fetchall()
    return [str(name) for (name,) in found]


@pytest.mark.parametrize("started", ["mysql"], indirect=True)
def test_the_command_reports_and_stops_on_a_signal(source: Server, tmp_path: Path) -> None:
    fill(source)
    done = run_json("archive", "--from", source.url, "--into", tmp_path, "--once")
    assert (done.code, done.report["files"], done.report["file"]) == (0, len(logged(source)), logged(source)[-1])
    process = start(source.url, tmp_path)
    size = read_size(tmp_path)
    fill(source, flush=False)
    wait_until(lambda: read_size(tmp_path) > size, "a larger archive")
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 4
    wrong = run_json("archive", "--from", "postgresql://localhost", "--into", tmp_path)
    assert wrong.code == 2
    gone = run_json("archive", "--from", "mysql://app@127.0.0.1:1", "--into", tmp_path / "new")
    assert (gone.code, gone.error["class"]) == (1, "ConnectionFailed")


def start(url: str, into: Path | str) -> subprocess.Popen[bytes]:
    """Start the command."""
    command = [sys.executable, "-m", "paraply", "archive", "--from", url, "--into", str(into), "--flush-seconds", "0.1", "-q"]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(PACKAGE)})


def read_size(folder: Path) -> int:
    """Bytes of the source that an archive holds."""
    return sum(file.size for file in read_manifest(open_storage(folder)).files)


@pytest.fixture
def small_logs() -> Iterator[Server]:
    """A server whose logs are small."""
    with server_of("10.11", *SMALL_LOGS) as server:
        yield server


def test_kills_lose_nothing_the_short_form(small_logs: Server, tmp_path: Path) -> None:
    kills(small_logs, tmp_path, 3)


@pytest.mark.slow(share=False)  # some minutes
@pytest.mark.timeout(1800)
def test_kills_lose_nothing(small_logs: Server, tmp_path: Path) -> None:
    kills(small_logs, tmp_path, KILLS)


def kills(server: Server, folder: Path, rounds: int) -> None:
    """Kill the command at random moments while the source writes; then every byte is there."""
    chance = random.Random(11)
    fill(server)
    for _ in range(rounds):
        process = start(server.url, folder)
        end = time.monotonic() + chance.uniform(0.2, 1.5)
        while time.monotonic() < end:
            server.sql(f"INSERT INTO shop.item (note) VALUES (REPEAT('{chance.random()}', {chance.randrange(900)}))")
        process.kill()
        process.wait()
        with contextlib.suppress(Exception):
            list(open_log(folder))
    once(server, folder)
    assert check_bytes(server, folder) == len(logged(server))
    assert not list(folder.glob("*.part-*")) or not read_manifest(open_storage(folder)).files[-1].closed
    assert [one.gtid for one in open_log(folder)] == [one.gtid for one in open_log([server.data / name for name in logged(server)])]
