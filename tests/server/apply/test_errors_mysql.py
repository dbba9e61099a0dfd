"""A MySQL or MariaDB target that is not as it should be: exit 1, nothing of the transaction is left, and once repaired it continues.

The log is made on the server itself, which is then emptied. MariaDB is started by the tests; MySQL is named by
``PARAPLY_TEST_MYSQL=mysql://user:password@host:port``, and everything on it may be thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from command_line import DATA, Outcome, apply, check_failed_at
from servers import MariaDbServer, mysql_url, sql_connect

from paraply import open_log

pytestmark = pytest.mark.mariadb

ONE, TWO, THREE, FOUR = (1, "one", 10), (2, "two", 20), (3, "three", 30), (4, "four", 40)
STATEMENTS = [
    "CREATE DATABASE errs",
    "CREATE TABLE errs.item (id INT PRIMARY KEY, name VARCHAR(20), stock INT UNSIGNED)",
    "INSERT INTO errs.item VALUES (1,'one',10), (2,'two',20)",
    "INSERT INTO errs.item VALUES (3,'three',30)",
    "UPDATE errs.item SET stock=11 WHERE id=1",
    "DELETE FROM errs.item WHERE id=2",
    "INSERT INTO errs.item VALUES (4,'four',40)",
]
BEFORE = 3


class Server:
    """A server that a test may do with what it wants.

    Args:
        url: As ``--to`` takes it.
        data: Its data folder, where that is ours.
    """

    def __init__(self, url: str, data: Path | None = None) -> None:
        self.url = url
        self.data = data
        self.mariadb = url.startswith("mariadb")

    def sql(self, *statements: str, logged: bool = False) -> list[tuple[Any, ...]]:
        """Runs SQL in one session, past the binlog as somebody else's change; gives the rows of the last statement."""
        url = urlsplit(self.url)
        with (
            sql_connect(host=url.hostname, port=url.port or 3306, user=url.username, password=url.password or "", autocommit=True,
                            read_timeout=30) as connection,
            connection.cursor() as cursor,
        ):  # fmt: skip
            cursor.execute(f"SET SESSION sql_log_bin={int(logged)}")
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def empty(self) -> None:
        """Drops what tests have made, and begins new binary logs."""
        self.sql("DROP DATABASE IF EXISTS errs", "DROP DATABASE IF EXISTS paraply")
        self.sql("RESET MASTER", "SET GLOBAL gtid_slave_pos=''") if self.mariadb else self.sql("RESET BINARY LOGS AND GTIDS")

    def record(self, statements: list[str], log: Path) -> Path:
        """Empties the server, runs statements, keeps their log, and empties the server again."""
        self.empty()
        self.sql(*statements, "FLUSH BINARY LOGS", logged=True)
        name = self.sql("SHOW BINARY LOGS")[0][0]
        read = f"SELECT LOAD_FILE(CONCAT(@@datadir, '{name}'))"
        content = (self.data / name).read_bytes() if self.data is not None else self.sql(read)[0][0]
        assert content is not None
        log.write_bytes(content)
        self.empty()
        return log

    def items(self) -> list[tuple[Any, ...]]:
        return self.sql("SELECT id, name, stock FROM errs.item ORDER BY id")


@pytest.fixture(params=["mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "mariadb":
        shared = request.getfixturevalue("mariadb_server")
        made = Server(shared.url, shared.data)
    else:
        made = Server(mysql_url())
    yield made
    made.empty()


@pytest.fixture
def log(server: Server, tmp_path: Path) -> Path:
    """A log whose first transactions stand on the server."""
    log = server.record(STATEMENTS, tmp_path / "binlog.000001")
    content = log.read_bytes()
    log.write_bytes(content[: list(open_log(log))[BEFORE].offset])
    outcome = apply(log, server.url, "--gtid", "preserve")
    assert outcome.code == 0, outcome.line
    log.write_bytes(content)
    return log


Apply = Callable[..., Outcome]


@pytest.fixture
def again(server: Server, log: Path) -> Apply:
    return lambda *options: apply(log, server.url, "--gtid", "preserve", *options)


def check_continues(server: Server, again: Apply) -> None:
    outcome = again()
    assert outcome.code == 0, outcome.line
    assert server.items() == [(1, "one", 11), THREE, FOUR]


@pytest.mark.parametrize("workers", ["0", "4"])
def test_r31_a_row_that_is_missing(server: Server, log: Path, again: Apply, workers: str) -> None:
    server.sql("DELETE FROM errs.item WHERE id=1")
    outcome = again("--workers", workers)
    check_failed_at(outcome, "RowNotFound", log, 5, "errs.item", "changed by someone else")
    assert outcome.report["transactions"] == 1
    assert server.items() == [TWO, THREE]
    server.sql("INSERT INTO errs.item VALUES (1,'one',10)")
    check_continues(server, again)


def test_a_row_that_is_there_already(server: Server, log: Path, again: Apply) -> None:
    server.sql("INSERT INTO errs.item VALUES (3,'other',0)")
    outcome = again()
    check_failed_at(outcome, "ApplyFailed", log, 4, "Duplicate entry '3' for key", "changed by someone else")
    assert server.items() == [ONE, TWO, (3, "other", 0)]
    server.sql("DELETE FROM errs.item WHERE id=3")
    check_continues(server, again)


def test_a_data_file_without_a_table(mariadb_server: MariaDbServer, tmp_path: Path) -> None:
    server = Server(mariadb_server.url, mariadb_server.data)
    log = server.record(["CREATE DATABASE errs", "CREATE TABLE errs.item (id INT PRIMARY KEY)", "INSERT INTO errs.item VALUES (1)"],
                        tmp_path / "binlog.000001")  # fmt: skip
    server.sql("CREATE DATABASE errs")
    made = next(iter(open_log(log))).gtid
    left = mariadb_server.data / "errs" / "item.ibd"
    left.write_bytes(bytes(65536))
    outcome = apply(log, server.url, "--start-after", made)
    assert (outcome.code, outcome.report["error"]["class"]) == (1, "ApplyFailed")
    assert "errno: 184" in outcome.report["error"]["message"]
    assert "move the table's .ibd file out of the database's folder, then run the same command again" in outcome.report["error"]["message"]
    left.rename(tmp_path / left.name)
    outcome = apply(log, server.url, "--start-after", made)
    assert outcome.code == 0, outcome.line
    assert server.sql("SELECT id FROM errs.item") == [(1,)]
    server.empty()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DROP TABLE errs.item", "the target lacks"),
        ("DROP DATABASE errs", "the target lacks"),
        ("ALTER TABLE errs.item MODIFY stock INT UNSIGNED FIRST", "differs from the log's"),
        ("ALTER TABLE errs.item MODIFY stock BIGINT UNSIGNED", "column 3"),
        ("ALTER TABLE errs.item DROP stock", "3 columns in the log and 2 on the target"),
        ("ALTER TABLE errs.item ADD more INT NOT NULL", "the target has the further column more"),
    ],
)
def test_r31_a_table_that_differs(server: Server, log: Path, again: Apply, change: str, message: str) -> None:
    server.sql(change)
    outcome = again()
    check_failed_at(outcome, "SchemaMismatch", log, 4, "errs.item", message)
    assert outcome.report["transactions"] == 0


def test_r34_a_table_without_transactions(server: Server, log: Path, again: Apply) -> None:
    server.sql("ALTER TABLE errs.item ENGINE=MyISAM")
    check_failed_at(again(), "SchemaMismatch", log, 4, "MyISAM", "--allow-nontransactional")
    assert server.items() == [ONE, TWO]
    outcome = again("--allow-nontransactional")
    assert outcome.code == 0, outcome.line
    assert server.items() == [(1, "one", 11), THREE, FOUR]


def test_a_server_that_is_read_only(server: Server, log: Path, again: Apply) -> None:
    on = "SET GLOBAL read_only=ON" if server.mariadb else "SET GLOBAL super_read_only=ON"
    marks = "BINLOG REPLAY, BINLOG ADMIN, REPLICATION SLAVE ADMIN"
    if not server.mariadb:
        marks = "BINLOG_ADMIN, REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN"
    server.sql(
        "DROP USER IF EXISTS weak@'%'",
        "CREATE USER weak@'%' IDENTIFIED BY 'weak'",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, LOCK TABLES, PROCESS, REPLICATION CLIENT ON *.* TO weak@'%'",
        f"GRANT {marks} ON *.* TO weak@'%'",
        on,
    )
    try:
        url = urlsplit(server.url)
        outcome = apply(log, f"{url.scheme}://weak:weak@{url.hostname}:{url.port}", "--gtid", "preserve")
    finally:
        server.sql(
            "SET GLOBAL read_only=OFF" if server.mariadb else "SET GLOBAL super_read_only=OFF, GLOBAL read_only=OFF", "DROP USER weak@'%'"
        )
    assert outcome.code == 1, outcome.line
    assert "read only" in outcome.line
    check_continues(server, again)


def test_wrong_passwords_and_unknown_users(server: Server, log: Path) -> None:
    url = urlsplit(server.url)
    for credentials in ("app:s3cret", "nobody:s3cret"):
        outcome = apply(log, f"{url.scheme}://{credentials}@{url.hostname}:{url.port}")
        assert (outcome.code, outcome.error["class"]) == (1, "ConnectionFailed")
        assert "user or password is wrong" in outcome.line
        assert "s3cret" not in outcome.line


def test_r25_progress_of_another_start(server: Server, log: Path, again: Apply) -> None:
    other = "0-1-1" if server.mariadb else "11111111-1111-1111-1111-111111111111:1"
    outcome = again("--start-after", other)
    assert (outcome.code, outcome.error["class"]) == (2, "ConfigurationMismatch")


def test_r31_a_log_of_the_other_family(server: Server, tmp_path: Path) -> None:
    if not server.mariadb:
        pytest.skip("a log of MariaDB is not among the fixtures")
    outcome = apply(DATA / "plain.binlog", server.url)
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")
    assert "PostgreSQL target" in outcome.line


def test_r27_a_log_that_ends_inside_a_transaction(server: Server, log: Path, again: Apply) -> None:
    content = log.read_bytes()
    transaction = list(open_log(log))[5]
    log.write_bytes(content[: transaction.end_offset - 20])
    outcome = again()
    assert (outcome.code, outcome.error["class"], outcome.report["transactions"]) == (3, "LogTruncated", 2)
    assert server.items() == [(1, "one", 11), TWO, THREE]
    log.write_bytes(content)
    check_continues(server, again)
