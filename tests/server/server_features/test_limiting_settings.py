"""A target whose global values would limit, refuse or change the statements of a client: paraply's sessions do not take them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server.replay import SqlPlace, applied, run
from server.source_log import copy_binlogs

from paraply.targets.mysql.target import connect
from paraply.targets.url import parse_url

LIMITS = {
    "autocommit": "OFF", "completion_type": "'CHAIN'", "sql_select_limit": "1", "max_join_size": "1", "sql_big_selects": "OFF",
    "sql_safe_updates": "ON", "sql_quote_show_create": "OFF", "sql_auto_is_null": "ON", "max_sort_length": "64",
}  # fmt: skip
MYSQL = {"transaction_read_only": "ON", "max_execution_time": "9000", "show_gipk_in_create_table_and_information_schema": "OFF"}
MARIADB = {"tx_read_only": "ON", "max_statement_time": "9"}
STATEMENTS = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE parent (id INT PRIMARY KEY, `k k` INT UNIQUE, v INT)",
    "CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES parent (`k k`) ON DELETE CASCADE)",
    "CREATE TABLE plain (a INT, b INT)",
    "INSERT INTO parent VALUES (1,1,1),(2,2,2),(3,3,3)",
    "INSERT INTO child (k) VALUES (1),(2),(3),(3)",
    "INSERT INTO plain VALUES (1,1),(1,1),(2,2)",
    "UPDATE parent SET v=v+1",
    "ALTER TABLE child ADD n INT DEFAULT 7",
    "CREATE VIEW both_tables AS SELECT child.id, v FROM child JOIN parent ON k=`k k`",
    "DELETE FROM child WHERE id=4",
    "UPDATE plain SET b=5 WHERE a=1",
    "DELETE FROM plain WHERE a=2",
)
READS = ("SELECT * FROM shop.parent", "SELECT * FROM shop.child", "SELECT * FROM shop.plain", "SELECT * FROM shop.both_tables ORDER BY id")

Settings = Callable[[bool], None]


@pytest.fixture(params=["mysql", "mariadb"])
def place(request: pytest.FixtureRequest) -> SqlPlace:
    made: SqlPlace = request.getfixturevalue(f"{request.param}_place")
    return made


@pytest.fixture
def limited(place: SqlPlace) -> Iterator[Settings]:
    """Give the server limiting global values, or its own ones again."""
    values = LIMITS | (MARIADB if place.mariadb else MYSQL)
    own = {name: place.sql(f"SELECT @@GLOBAL.{name}")[0][0] for name in values}

    def change(on: bool) -> None:
        free = ["SET SESSION sql_big_selects=1", "SET SESSION TRANSACTION READ WRITE"]
        values_now = values.items() if on else ((name, repr(value)) for name, value in own.items())
        place.sql(*free, *(f"SET GLOBAL {name}={value}" for name, value in values_now))

    yield change
    change(False)


@pytest.mark.parametrize(
    "options", [[], ["--gtid", "preserve"], ["--merge", "off", "--workers", "0"]], ids=["default", "preserve", "serial"]
)
def test_limiting_global_values_of_the_target_do_not_reach_a_replay(
    place: SqlPlace, limited: Settings, tmp_path: Path, options: list[str]
) -> None:
    place.sql(*STATEMENTS)
    left = [place.sql(read) for read in READS]
    copy_logs(place, tmp_path)
    place.empty()
    limited(True)
    assert run(tmp_path, place.url, *options, "--dry-run").code == 0
    applied(tmp_path, place.url, *options)
    limited(False)
    assert [place.sql(read) for read in READS] == left


def test_a_session_has_no_limit_of_time(place: SqlPlace, limited: Settings) -> None:
    limited(True)
    connection = connect(parse_url(place.url))
    name = "max_statement_time" if place.mariadb else "max_execution_time"
    [(found, most)] = connection.query(f"SELECT @@SESSION.{name}, @@SESSION.sql_select_limit")[0][1]
    connection.close()
    assert (float(found), int(most)) == (0, 2**64 - 1)


def copy_logs(place: SqlPlace, folder: Path) -> None:
    """Copy the server's logs; MariaDB's runs on this machine."""
    if not place.mariadb:
        copy_binlogs(place.url, folder)
        return
    data, name = str(place.sql("SELECT @@datadir")[0][0]), str(place.sql("SHOW BINARY LOGS")[0][0])
    place.sql("FLUSH BINARY LOGS")
    shutil.copy(Path(data) / name, folder)
