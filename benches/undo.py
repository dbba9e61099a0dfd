"""Undo of one large statement in a MariaDB: ``paraply undo``, ``mariadb-binlog --flashback``, and a plain script.

    python benches/undo.py --rows 1000000

It starts the installed MariaDB in a temporary folder. Each way takes the same statement back, and must leave the table as it was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
from process_tree import PeakMemory

TABLE = (
    "CREATE TABLE bench.orders (id INT PRIMARY KEY, customer INT NOT NULL, status VARCHAR(12) NOT NULL, note VARCHAR(60),"
    " price DECIMAL(10,2) NOT NULL, changed DATETIME NOT NULL, KEY (customer)) ENGINE=InnoDB"
)
FILL = (
    "INSERT INTO bench.orders SELECT seq, seq % 9973, 'open', CONCAT('order ', seq, ' of the bench'), seq % 1000 + 0.25,"
    " '2026-03-01 14:00:00' + INTERVAL seq SECOND FROM seq_1_to_{rows}"
)
STATEMENTS = {"update": "UPDATE bench.orders SET status = 'paid', price = price + 1", "delete": "DELETE FROM bench.orders"}


class Server:
    """A MariaDB of its own, with a binary log."""

    def __init__(self, folder: Path) -> None:
        self.data, self.socket = folder / "data", folder / "socket"
        account = ["--user=root"] if os.geteuid() == 0 else []
        made = ["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--auth-root-authentication-method=normal", *account]
        subprocess.run(made, check=True, capture_output=True)
        options = [
            "--skip-networking",
            "--log-bin=binlog",
            "--binlog-format=ROW",
            "--server-id=7",
            "--innodb-buffer-pool-size=512M",
            "--max-allowed-packet=1G",
        ]
        self._process = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}", *options, *account],
            stderr=subprocess.DEVNULL,
        )
        self.process = self._process.pid
        self.url = f"mariadb://root@localhost?socket={self.socket}"
        self.connection = self._connected()

    def _connected(self) -> Any:
        for _ in range(300):
            with suppress(pymysql.Error):
                return pymysql.connect(unix_socket=str(self.socket), user="root", autocommit=True)
            time.sleep(0.1)
        raise SystemExit("the server does not start")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def log(self) -> Path:
        """Return the newest log file."""
        return self.data / str(self.sql("SHOW BINARY LOGS")[-1][0])

    def close(self) -> None:
        """Stop the server."""
        self._process.terminate()
        self._process.wait()


def by_paraply(server: Server, log: Path) -> None:
    """Run ``paraply undo``."""
    gtid = server.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0][0]
    command = [sys.executable, "-m", "paraply", "undo", str(log), "--to", server.url, "--transactions", gtid, "-q"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def by_flashback(server: Server, log: Path) -> None:
    """Run the server's own tools: the row events in reverse, which find rows by their key alone."""
    with subprocess.Popen(["mariadb-binlog", "--flashback", str(log)], stdout=subprocess.PIPE) as flashback:
        subprocess.run(
            ["mariadb", "-uroot", f"-S{server.socket}", "--binary-mode", "--max-allowed-packet=1G"], stdin=flashback.stdout, check=True
        )


def by_script(server: Server, log: Path) -> None:
    """Run a script as one writes it in such a night: each row by a statement with all its values as the condition."""
    subprocess.run([sys.executable, __file__, "--script", str(log), str(server.socket)], check=True)


def script(log: Path, socket: str) -> None:
    """Take the rows of a log back, the last one first, in one transaction."""
    import paraply

    connection = pymysql.connect(unix_socket=socket, user="root")
    with connection.cursor() as cursor:
        for batch in reversed(list(paraply.rows([log], tables=["bench"], columns=["before", "after"]))):
            for row in reversed(batch.to_pylist()):
                before, after = (None if image is None else dict(image) for image in (row["before"], row["after"]))
                if after is None:
                    marks = ", ".join(["%s"] * len(before))
                    cursor.execute(f"INSERT INTO bench.orders VALUES ({marks})", list(before.values()))
                else:
                    assigned = ", ".join(f"{name} = %s" for name in before)
                    condition = " AND ".join(f"{name} <=> %s" for name in after)
                    cursor.execute(f"UPDATE bench.orders SET {assigned} WHERE {condition}", [*before.values(), *after.values()])
                if cursor.rowcount != 1:
                    raise SystemExit(f"a row was changed: {row}")
    connection.commit()


def measure(server: Server, statement: str, way: Callable[[Server, Path], None], rows: int) -> tuple[float, float]:
    """Return seconds, and megabytes of memory apart from the server's, of one way to take one statement back."""
    server.sql("DROP DATABASE IF EXISTS bench")
    server.sql("CREATE DATABASE bench")
    server.sql("USE bench")
    server.sql(TABLE)
    server.sql(FILL.format(rows=rows))
    before = server.sql("CHECKSUM TABLE bench.orders")
    server.sql("FLUSH BINARY LOGS")
    log = server.log()
    server.sql(statement)
    assert server.sql("CHECKSUM TABLE bench.orders") != before
    with PeakMemory(without=[server.process]) as memory:
        started = time.monotonic()
        way(server, log)
        seconds = time.monotonic() - started
    assert server.sql("CHECKSUM TABLE bench.orders") == before, "the table is not as it was"
    return seconds, memory.peak / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", help="a way")
    parser.add_argument("--script", nargs=2, metavar=("LOG", "SOCKET"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.script:
        script(Path(options.script[0]), options.script[1])
        return
    ways = {"paraply undo": by_paraply, "mariadb-binlog --flashback | mariadb": by_flashback, "plain script": by_script}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            for name, statement in STATEMENTS.items():
                for label, way in ways.items():
                    if options.only in (None, label):
                        seconds, megabytes = measure(server, statement, way, options.rows)
                        print(f"| {name} | {label} | {seconds:.1f} s | {megabytes:,.0f} MB |", flush=True)
        finally:
            server.close()


if __name__ == "__main__":
    main()
