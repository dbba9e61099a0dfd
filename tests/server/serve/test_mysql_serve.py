"""``paraply serve`` and stock replicas of MySQL: positions, several at once, kills of each side, TLS, refusals, a relay."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import make_certificates
from command_line import run_json
from own_mysql import OwnMySql, running_mysql
from server.serving import (
    PASSWORD,
    USER,
    Receiving,
    Serving,
    caught_up,
    copied_logs,
    emptied,
    follow,
    grow,
    gtids,
    heartbeats,
    load,
    load_large_row,
    mysqlbinlog_command,
    read_replicas,
    receiver_error,
    relay_files,
    reported_again,
    serving,
    sql,
)
from server.waiting import wait_until

from paraply import GtidSet, open_log

pytestmark = pytest.mark.mysql


@pytest.fixture(scope="module")
def source() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=11", "--max-binlog-size=1G"]) as server:
        load(server.url, 60)
        load_large_row(server.url)
        yield server


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[OwnMySql, OwnMySql]]:
    options = ["--replica-parallel-workers=4", "--replica-max-allowed-packet=67108864"]
    with running_mysql(["--server-id=12", *options]) as one, running_mysql(["--server-id=13", *options]) as other:
        yield one, other


@pytest.fixture
def replicas(servers: tuple[OwnMySql, OwnMySql]) -> tuple[OwnMySql, OwnMySql]:
    for server in servers:
        emptied(server)
    return servers


@pytest.fixture
def logs(source: OwnMySql, tmp_path: Path) -> Path:
    copied_logs(source, tmp_path / "logs")
    return tmp_path / "logs"


def test_two_replicas_at_once_one_empty_and_one_half_filled(
    source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], logs: Path, tmp_path: Path
) -> None:
    half = tmp_path / "half"
    half.mkdir()
    for path in sorted(logs.iterdir())[:2]:
        (half / path.name).write_bytes(path.read_bytes())
    one, other = replicas
    with serving(tmp_path / "first", half) as server:
        follow(other, server)
        executed = str(GtidSet(",".join(str(one.gtid) for one in open_log(half))))
        wait_until(lambda: gtids(other.url) == executed, "the first half has been applied")
    with serving(tmp_path / "second", logs) as server:
        follow(one, server)
        follow(other, server)
        caught_up(one, source.url)
        caught_up(other, source.url)
        assert executed in server.messages()
        before = heartbeats(one)
        wait_until(lambda: heartbeats(one) > before + 1, "heartbeats come")
        assert receiver_error(one) == receiver_error(other) == ""


def test_a_replica_by_file_and_position(source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], logs: Path, tmp_path: Path) -> None:
    first = min(logs.iterdir()).name
    with serving(tmp_path, logs) as server:
        one, other = replicas
        place = "SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = '{}', SOURCE_LOG_POS = {}, SOURCE_SSL = 0"
        follow(one, server, options=place.format(first, 4))
        caught_up(one, source.url)
        for file, position, message in (
            ("binlog.000099", 4, "Could not find first log file name in binary log index file"),
            (first, 99_999_999, "Client requested source to start replication from position > file size"),
            (first, 200, "from a position at which no event begins"),
        ):
            follow(other, server, options=place.format(file, position))
            wait_until(lambda message=message: message in receiver_error(other), message)  # type: ignore[misc]


def test_a_replica_that_comes_too_late_gets_error_1236_and_a_wrong_password_1045(
    source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], logs: Path, tmp_path: Path
) -> None:
    min(logs.iterdir()).unlink()
    with serving(tmp_path, logs) as server:
        one, other = replicas
        follow(one, server)
        wait_until(lambda: "error 1236" in receiver_error(one), "the replica is refused")
        message = receiver_error(one)
        assert "Cannot replicate because the source purged required binary logs" in message
        assert f"the missing transactions are '{gtids(source.url).split(':')[0]}:1-" in message
        follow(other, server, password="wrong")
        wait_until(lambda: "Access denied" in receiver_error(other), "the login is refused")


def test_the_server_is_killed_again_and_again_and_the_replicas_have_everything(
    source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], logs: Path, tmp_path: Path
) -> None:
    server = Serving(tmp_path, logs)
    for replica in replicas:
        follow(replica, server)
    for pause in (0.1, 0.4, 0.9):
        time.sleep(pause)
        server.kill()
    for replica in replicas:
        caught_up(replica, source.url)
    assert server.end() == 4


def test_a_folder_that_grows_by_pieces_is_followed(source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    copied_logs(source, folder)
    stopped: list[bool] = []
    copier = threading.Thread(target=grow, args=(source, folder, 0.05, stopped))
    copier.start()
    try:
        with serving(tmp_path, folder) as server:
            follow(replicas[0], server)
            load(source.url, 30, rotate_every=7)
            caught_up(replicas[0], source.url)
    finally:
        stopped.append(True)
        copier.join()


def test_tls_is_required_where_there_is_a_certificate(
    source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], logs: Path, tmp_path: Path
) -> None:
    made = make_certificates(tmp_path)
    with serving(tmp_path, logs, "--tls-cert", made.certificate, "--tls-key", made.key) as server:
        one, other = replicas
        checked = f"SOURCE_SSL = 1, SOURCE_SSL_CA = '{made.authority}', SOURCE_SSL_VERIFY_SERVER_CERT = 1"
        follow(one, server, options=f"SOURCE_AUTO_POSITION = 1, {checked}")
        caught_up(one, source.url)
        follow(other, server)
        wait_until(lambda: "insecure transport" in receiver_error(other), "a replica without TLS is refused")
        wait_until(lambda: "no TLS" in server.messages(), "the refusal is reported")


def test_mysqlbinlog_reads_the_same_files(source: OwnMySql, logs: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    files = sorted(logs.iterdir())
    with serving(tmp_path, logs) as server:
        login = ("--host=127.0.0.1", f"--port={server.port}", f"--user={USER}", f"--password={PASSWORD}")
        read = ("--no-defaults", "--read-from-remote-server", *login, "--raw", f"--result-file={raw}/", "--to-last-log", files[0].name)
        done = subprocess.run([*mysqlbinlog_command(), *read], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for path in files[:-1]:
        assert (raw / path.name).read_bytes() == path.read_bytes(), path.name
    last, own = bytearray(files[-1].read_bytes()), (raw / files[-1].name).read_bytes()
    last[21] &= 0xFE  # a source does not send that the file is in use
    assert own == bytes(last)


def test_a_relay_between_a_source_and_two_replicas_survives_kills_and_removes_what_they_have(
    source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], tmp_path: Path
) -> None:
    receiver = Receiving(tmp_path, source.url, "--relay-log-size", "200000")
    wait_until(lambda: len(relay_files(receiver.relay)) > 3, "several files were received")
    server = Serving(tmp_path, "--relay-log", receiver.relay, "--keep-needed")
    one, other = replicas
    follow(one, server)
    follow(other, server)
    # Only one that has come is known; what it gets later may have gone no further than a buffer when the server is killed.
    wait_until(lambda: len(read_replicas(receiver.relay)) == 2, "both replicas are on the list")
    receiver.kill()
    server.kill()
    load(source.url, 20)
    receiver.kill()
    caught_up(one, source.url)
    caught_up(other, source.url)
    reported_again(one)
    reported_again(other)
    wait_until(lambda: relay_files(receiver.relay)[0].name != "relay-bin.000001", "files that both have are removed")
    load(source.url, 5)
    caught_up(one, source.url)
    emptied(other)
    follow(other, server)
    wait_until(lambda: "error 1236" in receiver_error(other), "a replica that comes too late is refused")
    assert server.end() == 4
    assert receiver.end() == 4


def test_a_relay_is_read_by_the_sources_file_and_position(source: OwnMySql, replicas: tuple[OwnMySql, OwnMySql], tmp_path: Path) -> None:
    receiver = Receiving(tmp_path, source.url, "--relay-log-size", "300000")
    first, second = (str(row[0]) for row in sql(source.url, "SHOW BINARY LOGS")[:2])
    one, other = replicas
    with serving(tmp_path, "--relay-log", receiver.relay) as server:
        place = "SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = '{}', SOURCE_LOG_POS = 4, SOURCE_SSL = 0"
        follow(one, server, options=place.format(first))
        caught_up(one, source.url)
        follow(other, server, options=place.format(second))
        # It lacks the tables of the first file, so that only its receiver is looked at.
        wait_until(lambda: f"{second}:4" in server.messages(), "the second file is found")
        assert receiver_error(other) == ""
    assert receiver.end() == 4


def test_wrong_options_are_refused(logs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x\n")
    secret.chmod(0o644)
    for arguments, message in (
        ((logs,), "give --user and --password-file"),
        ((logs, "--user", "repl", "--password-file", secret), "chmod 600"),
        ((logs, "--user", "repl", "--password-file", secret, "--listen", "0.0.0.0:3307"), "--tls-cert"),
        ((logs, "--user", "repl", "--password-file", secret, "--keep-needed"), "need --relay-log"),
        ((logs, "--user", "repl", "--password-file", secret, "--tls-cert", secret), "go together"),
    ):
        outcome = run_json("serve", *arguments)
        assert outcome.code == 2
        assert message in outcome.line
