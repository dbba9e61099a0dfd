"""A ``paraply serve`` as a process, and stock replicas of MySQL that read from it."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from own_mysql import OwnMySql, mysqld_command
from required import missing
from server.command_process import Process
from server.live import connect
from server.waiting import wait_until
from servers import free_port

USER, PASSWORD = "repl", "a pass'word"
TABLES = ("shop.item", "shop.blob_item")
CATCH_UP_SECONDS = 60


class Serving(Process):
    """A ``paraply serve``, on the same port after each start.

    Args:
        folder: Folder for its password and its output.
        arguments: Logs and options.
    """

    ready = "listening"

    def __init__(self, folder: Path, *arguments: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        password = folder / "password"
        password.write_text(PASSWORD + "\n")
        password.chmod(0o600)
        own = ("--listen", f"127.0.0.1:{self.port}", "--user", USER, "--password-file", password)
        super().__init__(folder / "serve.log", ("serve", *arguments, *own))


class Receiving(Process):
    """A ``paraply replicate --no-apply``.

    Args:
        folder: Folder for its relay log and its output.
        source: The source's URL.
        options: Further options.
    """

    def __init__(self, folder: Path, source: str, *options: object) -> None:
        self.relay = folder / "relay"
        super().__init__(folder / "replicate.log", ("replicate", "--from", source, "--relay-log", self.relay, "--no-apply", *options))
        wait_until(lambda: self.relay.exists() and bool(relay_files(self.relay)), "the relay log has begun")


def relay_files(folder: Path) -> list[Path]:
    """Return the files of a relay log, oldest first."""
    return sorted(folder.glob("relay-bin.0*"))


def read_replicas(relay: Path) -> dict[str, str]:
    """Return the GTIDs of each replica that has ever come, by ``replicas.json``."""
    listed = relay / "replicas.json"
    return dict(json.loads(listed.read_text())) if listed.exists() else {}


def mysqlbinlog_command() -> list[str]:
    """Return the command of the mysqlbinlog beside the mysqld that tests start."""
    command = mysqld_command()
    at = next(at for at, part in enumerate(command) if Path(part).name == "mysqld")
    beside = Path(command[at]).parent.parent / "bin/mysqlbinlog"
    if beside.exists():
        return [*command[:at], str(beside)]
    return [shutil.which("mysqlbinlog") or missing("NO MYSQLBINLOG: it is not beside the mysqld that tests start (PARAPLY_TEST_MYSQLD)")]


@contextlib.contextmanager
def serving(folder: Path, *arguments: object) -> Iterator[Serving]:
    """A running ``paraply serve``; its end is clean."""
    server = Serving(folder, *arguments)
    try:
        yield server
        assert server.end() == 4, server.messages()
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def sql(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Run statements, and return the rows of the last one."""
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
        return list(cursor.fetchall())


def load(url: str, transactions: int, *, rotate_every: int = 20) -> None:
    """Commit transactions of several sizes; the largest row is longer than one packet of the protocol."""
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS shop")
        cursor.execute("CREATE TABLE IF NOT EXISTS shop.item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200), price DECIMAL(9, 2))")
        cursor.execute("CREATE TABLE IF NOT EXISTS shop.blob_item (id INT PRIMARY KEY AUTO_INCREMENT, content LONGBLOB)")
        for number in range(transactions):
            rows = [(f"näme {number} {row}" * (1 + row % 5), number + row / 100) for row in range(1 + number % 50)]
            cursor.executemany("INSERT INTO shop.item (name, price) VALUES (%s, %s)", rows)
            cursor.execute("UPDATE shop.item SET price = price + 1 WHERE id %% 7 = %s", (number % 7,))
            if number % 10 == 3:
                cursor.execute("INSERT INTO shop.blob_item (content) VALUES (REPEAT('x', %s))", (number * 40_000,))
            connection.commit()
            if number % rotate_every == rotate_every - 1:
                cursor.execute("FLUSH BINARY LOGS")


def load_large_row(url: str) -> None:
    """Commit a row whose event takes two packets of the protocol."""
    sql(url, "SET GLOBAL max_allowed_packet = 67108864")
    sql(url, "INSERT INTO shop.blob_item (content) VALUES (REPEAT('y', 17000000))")


def reported_again(replica: OwnMySql) -> None:
    """Let a replica connect again, and so report what it has."""
    sql(replica.url, "STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD")


def gtids(url: str) -> str:
    """Return a server's executed GTIDs on one line."""
    return str(sql(url, "SELECT @@global.gtid_executed")[0][0]).replace("\n", "")


def content(url: str) -> list[tuple[object, ...]]:
    """Return the checksums of the tables."""
    return sql(url, f"CHECKSUM TABLE {', '.join(TABLES)}")


def follow(
    replica: OwnMySql, server: Serving, *, options: str = "SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 0", password: str = PASSWORD
) -> None:
    """Make a server a replica of ``paraply serve``."""
    password = password.replace("'", "''")
    sql(
        replica.url,
        "STOP REPLICA",
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {server.port}, SOURCE_USER = '{USER}',"
        f" SOURCE_PASSWORD = '{password}', SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 100, SOURCE_HEARTBEAT_PERIOD = 0.5, {options}",
        "START REPLICA",
    )


def emptied(replica: OwnMySql) -> None:
    """Make a replica an empty server."""
    sql(replica.url, "STOP REPLICA", "RESET REPLICA ALL", "DROP DATABASE IF EXISTS shop", "RESET BINARY LOGS AND GTIDS")


def receiver_error(replica: OwnMySql) -> str:
    """Return the error of a replica's receiver."""
    return str(sql(replica.url, "SELECT last_error_message FROM performance_schema.replication_connection_status")[0][0])


def heartbeats(replica: OwnMySql) -> int:
    """Return the number of heartbeats that a replica's receiver got."""
    return int(str(sql(replica.url, "SELECT count_received_heartbeats FROM performance_schema.replication_connection_status")[0][0]))


def state(replica: OwnMySql) -> str:
    """Return the state of a replica's receiver, its coordinator and its workers."""
    received = sql(replica.url, "SELECT service_state, received_transaction_set FROM performance_schema.replication_connection_status")
    found = [f"receiver: {receiver_error(replica)} {received}"]
    for part in ("coordinator", "worker"):
        table = f"performance_schema.replication_applier_status_by_{part}"
        found.append(f"{part}: {sql(replica.url, f'SELECT service_state, last_error_message FROM {table}')}")
    return "; ".join(found)


def caught_up(replica: OwnMySql, source: str) -> None:
    """Wait until a replica has executed everything of the source, and compare content."""
    wanted = gtids(source)
    try:
        wait_until(lambda: gtids(replica.url) == wanted, "the replica has caught up", CATCH_UP_SECONDS)
    except AssertionError:
        raise AssertionError(f"{gtids(replica.url)} is not {wanted}; {state(replica)}") from None
    assert content(replica.url) == content(source)


def copied_logs(source: OwnMySql, folder: Path) -> list[Path]:
    """Copy a server's binlogs, and return the copies in order."""
    folder.mkdir(parents=True, exist_ok=True)
    copies = []
    for name, *_ in sql(source.url, "SHOW BINARY LOGS"):
        copy = folder / str(name)
        partial = folder / f".{name}.part"
        partial.write_bytes((source.data / str(name)).read_bytes())
        partial.rename(copy)
        copies.append(copy)
    return copies


def grow(source: OwnMySql, folder: Path, seconds: float, stopped: list[bool]) -> None:
    """Append to copies of a server's binlogs what was written meanwhile, in pieces that end anywhere."""
    piece = 0
    while not stopped:
        for name, *_ in sql(source.url, "SHOW BINARY LOGS"):
            copy, original = folder / str(name), source.data / str(name)
            have = copy.stat().st_size if copy.exists() else 0
            with original.open("rb") as file, copy.open("ab") as out:
                file.seek(have)
                piece += 1
                out.write(file.read(1000 + piece * 7919 % 300_000))
        time.sleep(seconds)
