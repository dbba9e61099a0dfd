"""A load's log: made by eight sessions on the server itself, and copied."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paraply._native import LogReader, MySqlConnection
from paraply.bench.client_tools import decoder_of
from paraply.bench.loads import DATABASE, Load
from paraply.bench.server import BenchServer, connect, text
from paraply.errors import ApplyFailed, ServerError

__all__ = ["SESSIONS", "MadeLoad", "count_rows", "fetch_log", "last_log", "make_load"]

SESSIONS = 8
_LOG_SERVER = 1
"""Server id of the transactions on MariaDB; its own applier skips transactions of its own id."""
_DUPLICATE_KEY = 1062
_TEMPORARY = {1205, 1213}
_TRIES = 1000


@dataclass(frozen=True, slots=True)
class MadeLoad:
    """A load's log, with the state of the source at its end.

    Attributes:
        log: The copy of the log.
        checksums: ``CHECKSUM TABLE`` of all tables on the source.
        rows: Row changes of the log.
    """

    log: Path
    checksums: dict[str, int]
    rows: int


def make_load(server: BenchServer, load: Load, *, transactions: int, seed: int, folder: Path, decode: str | None = None) -> MadeLoad:
    """Run a load on an empty server.

    Args:
        server: The server; its settings are those under which the log is made.
        load: The load.
        transactions: Number of transactions of all sessions, besides those that fill the tables.
        seed: Seed of the sessions' random choices.
        folder: Folder for the copy of the log.
        decode: The command that reads binary logs from a server, if it is not on PATH.

    Raises:
        ApplyFailed: A session failed, or the log could not be copied.
    """
    server.query("FLUSH BINARY LOGS")
    name = last_log(server)
    _fill(server, load)
    _run_sessions(server, load, transactions, seed)
    server.query("FLUSH BINARY LOGS")
    log = fetch_log(server, name, folder, decode)
    return MadeLoad(log, server.checksums(), count_rows(log))


def count_rows(log: Path) -> int:
    """Return the number of row changes in a log."""
    reader, rows = LogReader([str(log)]), 0
    while (batch := reader.next_batch()) is not None:
        rows += sum(transaction.rows for transaction in batch)
    return rows


def last_log(server: BenchServer) -> str:
    """Return the name of the current binary log."""
    return text(server.query("SHOW BINARY LOGS")[-1][0])


def fetch_log(server: BenchServer, name: str, folder: Path, decode: str | None) -> Path:
    """Copy a binary log: from the data folder if that is known, else over a connection.

    Raises:
        ApplyFailed: The copy failed.
        UsageError: It has to be read over a connection, and there is no decoder of the server's family.
    """
    if server.data is not None and (server.data / name).exists():
        return Path(shutil.copyfile(server.data / name, folder / name))
    url = server.parsed
    place = ["--host", url.host, "--port", str(url.port), "--user", url.user, "--protocol=TCP"]
    arguments = [*decoder_of(server, decode), "--read-from-remote-server", "--raw", *place, f"--result-file={folder}/", name]
    environment = os.environ | ({"MYSQL_PWD": url.password} if url.password else {})
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise ApplyFailed(f"the log of the load could not be read from the server: {done.stderr.strip()[-300:]}")
    return folder / name


def _session(server: BenchServer) -> MySqlConnection:
    connection = connect(server.parsed)
    connection.query("SET NAMES utf8mb4; SET SESSION innodb_lock_wait_timeout=5")
    if server.mariadb:
        connection.query(f"SET SESSION server_id={_LOG_SERVER}")
    return connection


def _fill(server: BenchServer, load: Load) -> None:
    collation = "utf8mb4_unicode_520_ci" if server.mariadb else "utf8mb4_0900_ai_ci"
    connection = _session(server)
    try:
        connection.query(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4; USE {DATABASE}")
        for statement in (*load.schema.replace("{collation}", collation).split(";"), *load.fill()):
            connection.query(statement)
    finally:
        connection.close()


def _run_sessions(server: BenchServer, load: Load, transactions: int, seed: int) -> None:
    """Run all sessions at once; raise the first one's failure when all have ended."""
    failures: list[Exception] = []
    ticks = itertools.count()

    def work(number: int) -> None:
        try:
            connection = _session(server)
            try:
                connection.query(f"USE {DATABASE}")
                drawn = load.session(number, seed)
                while next(ticks) < transactions and not failures:
                    _commit_one(connection, drawn)
            finally:
                connection.close()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, SESSIONS + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise ApplyFailed(f"the load {load.name} could not be made: {failures[0]}") from failures[0]


def _commit_one(connection: MySqlConnection, drawn: Iterator[list[str]]) -> None:
    """Commit one transaction. One without changes is replaced by the next, as is one with a duplicate key."""
    statements = next(drawn)
    for _ in range(_TRIES):
        try:
            results = connection.query("; ".join(["BEGIN", *statements]))
            connection.query("COMMIT")
            if any(affected for _, _, affected in results):
                return
            statements = next(drawn)
        except ServerError as error:
            connection.query("ROLLBACK")
            if error.code == _DUPLICATE_KEY:
                statements = next(drawn)
            elif error.code not in _TEMPORARY:
                raise
    raise ApplyFailed("a session of the load makes no progress")
