"""Servers on which changes are made and undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from server.undo_histories import gtids_of
from server.waiting import wait_until
from servers import sql_connect

from paraply.logs.transaction_set import TransactionSet
from paraply.undo.options import UndoOptions
from paraply.undo.undo import undo


class LiveServer:
    """A server on which histories run, and whose log and rows can be read.

    Args:
        url: As the commands take it.
        binlogs: The folder of its logs.
    """

    def __init__(self, url: str, binlogs: Path) -> None:
        from paraply.targets.url import parse_url

        self.url = url
        self._binlogs = binlogs
        parsed = parse_url(url)
        self.mariadb = parsed.family == "mariadb"
        self.connection: Any = sql_connect(
            host=parsed.host, port=parsed.port, user=parsed.user, password=parsed.password or "", autocommit=True
        )

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run one statement of the session."""
        with self.connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    @property
    def logs_cascades(self) -> bool:
        """True if the rows that a cascade changes are in the log."""
        version = str(self.sql("SELECT VERSION()")[0][0])
        return not self.mariadb and tuple(int(part) for part in version.split(".")[:2]) >= (9, 6)

    def begin_log(self) -> None:
        """Begin a new log file; MariaDB writes a checkpoint into it a moment later."""
        self.sql("FLUSH BINARY LOGS")
        name = str(self.sql("SHOW BINARY LOGS")[-1][0])
        if self.mariadb:
            wait_until(lambda: any(row[2] == "Binlog_checkpoint" and row[5] == name for row in self._events(name)), "the checkpoint")

    def _events(self, name: str) -> list[tuple[Any, ...]]:
        return self.sql(f"SHOW BINLOG EVENTS IN '{name}'")

    def log(self) -> list[Path]:
        """Return the newest log file, of which everything is on disk."""
        name = self.sql("SHOW BINARY LOGS")[-1][0]
        return [self._binlogs / str(name)]


class Shop:
    """A few tables and transactions, whose GTIDs are known.

    Args:
        live: The server.
    """

    def __init__(self, live: LiveServer) -> None:
        self.live = live
        self.gtids: dict[str, str] = {}
        for text in (
            "DROP DATABASE IF EXISTS us", "CREATE DATABASE us", "USE us",
            "CREATE TABLE item (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE, price INT) ENGINE=InnoDB",
            "CREATE TABLE part (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id)) ENGINE=InnoDB",
            "INSERT INTO item VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)",
        ):  # fmt: skip
            live.sql(text)

    def run(self, name: str, *statements: str) -> None:
        """Run a transaction, and keep its GTID under a name."""
        self.live.sql("BEGIN")
        for statement in statements:
            self.live.sql(statement)
        self.live.sql("COMMIT")
        self.gtids[name] = gtids_of(self.live.log(), "us")[-1]

    def items(self) -> list[tuple[Any, ...]]:
        """Return the rows of the table item."""
        return self.live.sql("SELECT * FROM us.item ORDER BY id")

    def options(self, *names: str, **more: Any) -> UndoOptions:
        """Return the options to undo transactions by their names."""
        return UndoOptions(transactions=TransactionSet.parse("set", ",".join(self.gtids[name] for name in names)), **more)

    def undo(self, *names: str, **more: Any) -> Any:
        """Undo transactions by their names."""
        return undo(self.live.log(), self.live.url, self.options(*names, **more))
