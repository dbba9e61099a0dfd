"""Defaults of a target for its connections, which must not change the meaning of paraply's own statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pg_databases import Database
from server.replay import SqlPlace, end, start
from servers import MariaDbServer, mysql_data, mysql_url

from paraply import open_log
from paraply.targets.postgres.connection import PgConnection

STATEMENTS = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT, KEY (n))",
    *(f"INSERT INTO shop.item VALUES ({number}, 0)" for number in range(40)),
    "ALTER TABLE shop.item ADD c INT DEFAULT 3",
    "UPDATE shop.item SET n=id",
    "CREATE TABLE shop.gone (id INT PRIMARY KEY)",
    "DROP TABLE shop.gone",
    *(f"INSERT INTO shop.item VALUES ({number}, {number}, 3)" for number in range(40, 60)),
)
ROWS = [(number, number, 3) for number in range(60)]
BOTH = {
    "completion_type": "1",
    "sql_select_limit": "1",
    "sql_safe_updates": "1",
    "max_join_size": "1",
    "autocommit": "0",
}
MARIADB = {"tx_read_only": "1", "max_statement_time": "0.0001", "sql_mode": "'EMPTY_STRING_IS_NULL,STRICT_ALL_TABLES'"}
MYSQL = {"transaction_read_only": "1"}
CASES = [pytest.param("mariadb", *case, marks=pytest.mark.mariadb) for case in (BOTH | MARIADB).items()]
CASES += [pytest.param("mysql", *case, marks=pytest.mark.mysql) for case in (BOTH | MYSQL).items()]


class Defaults(SqlPlace):
    """A server whose defaults a test may change; its own statements do not depend on them."""

    def sql(self, *texts: str) -> list[tuple[object, ...]]:
        own = ["SET SESSION TRANSACTION READ WRITE", "SET SESSION sql_select_limit=DEFAULT, sql_mode='', completion_type=0, autocommit=1"]
        own += ["SET SESSION sql_select_limit=18446744073709551615, max_join_size=18446744073709551615, sql_safe_updates=0"]
        own += ["SET SESSION max_statement_time=0"] if self.mariadb else []
        return super().sql(*own, *texts)


@pytest.fixture
def place(family: str, request: pytest.FixtureRequest) -> Iterator[Defaults]:
    server: MariaDbServer | None = request.getfixturevalue("mariadb_server") if family == "mariadb" else None
    made = Defaults(server.url if server is not None else mysql_url())
    made.empty()
    yield made
    made.empty()


@pytest.fixture
def log(place: Defaults, family: str, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue("mariadb_server").data if family == "mariadb" else mysql_data()
    place.sql(*STATEMENTS, "FLUSH BINARY LOGS")
    name = str(place.sql("SHOW BINARY LOGS")[0][0])
    log = tmp_path / name
    log.write_bytes((folder / name).read_bytes())
    place.empty()
    return log


@pytest.mark.parametrize(("family", "variable", "value"), CASES)
def test_r33_an_apply_does_not_depend_on_defaults_of_the_target(place: Defaults, log: Path, variable: str, value: str) -> None:
    whole = log.read_bytes()
    place.sql(f"SET GLOBAL {variable}={value}")
    try:
        for part in (whole[: list(open_log(log))[30].offset], whole):
            log.write_bytes(part)
            outcome = end(start(log, place.url, "--workers", "4", "--gtid", "record"))
            assert outcome.code == 0, outcome.report.get("error")
    finally:
        place.sql(f"SET GLOBAL {variable}=DEFAULT")
    assert place.sql("SELECT id, n, c FROM shop.item ORDER BY id") == ROWS


@pytest.mark.postgres
def test_r24_a_time_limit_of_postgresql_does_not_end_a_worker_that_waits_for_its_turn(database: Database) -> None:
    name = database.sql("SELECT current_database()")[0][0]
    limits = ("idle_in_transaction_session_timeout", "idle_session_timeout", "statement_timeout")
    for limit in limits:
        database.sql(f"ALTER DATABASE {name} SET {limit} = '1min'")
    connection = PgConnection(database.url)
    try:
        found = {limit: connection.run([f"SHOW {limit}".encode()])[0].get_value(0, 0) for limit in limits}
    finally:
        connection.close()
    assert found == dict.fromkeys(limits, b"0")
