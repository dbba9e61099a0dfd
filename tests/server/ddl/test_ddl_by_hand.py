"""A DDL that a target cannot take: what is computed from the log after all, and the way on with ``--ddl-done`` (R25b).

The servers run in UTC; ``time_zone`` is set where it matters.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from mariadb_versions import mariadb_of_version
from own_mysql import running_mysql
from server.live import replicating
from server.replay import PostgresPlace, SqlPlace, applied, run
from server.source_log import copy_binlogs
from servers import MariaDbServer, mysql_url, running_mariadb

from paraply import open_log
from paraply.errors import SchemaMismatch
from paraply.schema.ddl.rules import Rules
from paraply.targets.mysql.ddl.done import check_done
from paraply.targets.mysql.target import connect
from paraply.targets.url import parse_url

LOGGED = ["--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-metadata=FULL"]
MADE = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20))",
    "INSERT INTO shop.item VALUES (1, 'a'), (2, 'b')",
)
#: An ALTER TABLE whose values PostgreSQL cannot compute.
COMPUTED = "ALTER TABLE shop.item ADD token DOUBLE DEFAULT (ABS(-2.5))"
AFTER = "INSERT INTO shop.item (id, name) VALUES (3, 'c')"


@pytest.fixture(scope="module")
def maria_source() -> Iterator[MariaDbServer]:
    with running_mariadb([*LOGGED, "--server-id=1"]) as server:
        yield server


class Source(SqlPlace):
    """A server whose log is read.

    Args:
        url: The server.
        data: Its data folder, for MariaDB.
    """

    def __init__(self, url: str, data: Path | None = None) -> None:
        super().__init__(url)
        self._data = data

    def logs(self, folder: Path) -> Path:
        """Return a folder with the whole log."""
        copies = folder / "logs"
        copies.mkdir()
        if self._data is None:
            copy_binlogs(self.url, copies)
        else:
            self.sql("FLUSH BINARY LOGS")
            for file in sorted(self._data.glob("binlog.0*")):
                shutil.copy(file, copies)
        return copies


@pytest.fixture(params=["mariadb", "mysql"])
def source(request: pytest.FixtureRequest) -> Source:
    if request.param == "mysql":
        place = Source(mysql_url())
    else:
        server: MariaDbServer = request.getfixturevalue("maria_source")
        place = Source(server.url, server.data)
    place.empty()
    return place


def rows(url: str, select: str = "SELECT * FROM shop.item ORDER BY id") -> list[tuple[object, ...]]:
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET TIME ZONE 'UTC'")
            return connection.execute(select.encode()).fetchall()
    return SqlPlace(url).sql("SET time_zone='+00:00'", select)


TIMES = (
    "DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP",
    "DATETIME DEFAULT NOW() ON UPDATE CURRENT_TIMESTAMP",
    "DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)",
    "DATETIME(6) DEFAULT LOCALTIMESTAMP(6)",
    "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
    "TIMESTAMP(6) NULL DEFAULT (CURRENT_TIMESTAMP(6))",
    "TIMESTAMP(1) NOT NULL DEFAULT CURRENT_TIMESTAMP(1) ON UPDATE CURRENT_TIMESTAMP(1)",
)


def times_added(source: Source) -> None:
    """Add columns under several times and time zones, with rows in the table."""
    source.sql(*MADE)
    moments = (("1700000000.999999", "+05:30"), ("1711846799.5", "-03:00"), ("1720000000.000001", "+00:00"))
    columns = [(moment, column) for moment in moments for column in TIMES]
    texts = []
    for number, ((seconds, zone), column) in enumerate(columns):
        texts += [f"SET timestamp={seconds}, time_zone='{zone}'", f"ALTER TABLE shop.item ADD c{number} {column}"]
    texts += ["SET time_zone='+09:00'", f"ALTER TABLE shop.item ADD last {TIMES[0]}, ALGORITHM=COPY"]
    source.sql(*texts)


@pytest.mark.postgres
@pytest.mark.mysql
def test_existing_rows_get_the_time_of_the_statement(source: Source, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    times_added(source)
    applied(source.logs(tmp_path), postgres_place.url)
    assert [tuple(str(value).removesuffix("+00:00") for value in row) for row in rows(postgres_place.url)] == [
        tuple(map(str, row)) for row in rows(source.url)
    ]


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.parametrize("version", ["10.5", "11.8"])
def test_existing_rows_get_the_time_on_other_versions(version: str, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    with mariadb_of_version(version, LOGGED) as server:
        place = Source(server.url, server.data)
        times_added(place)
        applied(place.logs(tmp_path), postgres_place.url)
        assert [tuple(str(value).removesuffix("+00:00") for value in row) for row in rows(postgres_place.url)] == [
            tuple(map(str, row)) for row in rows(place.url)
        ]


@pytest.mark.postgres
@pytest.mark.mysql
def test_what_only_the_source_knows_is_refused_with_the_way_on(source: Source, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    source.sql(*MADE, "SET time_zone='SYSTEM'", f"ALTER TABLE shop.item ADD made {TIMES[0]}")
    log = source.logs(tmp_path)
    forecast = run(log, postgres_place.url, "--dry-run")
    assert [bool(one["problem"]) for one in forecast.report["statements"]][-1]
    outcome = run(log, postgres_place.url)
    message = outcome.report["error"]["message"]
    assert (outcome.code, "time zone SYSTEM" in message, "--ddl-done" in message) == (3, True, True), message


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.parametrize("source", ["mariadb"], indirect=True)
def test_r25b_a_change_made_by_hand_is_compared_and_counts_on_postgresql(
    source: Source, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    source.sql(*MADE, COMPUTED, "CREATE UNIQUE INDEX u ON shop.item (name)", AFTER)
    log = source.logs(tmp_path)
    first = run(log, postgres_place.url)
    assert (first.code, "--ddl-done" in first.report["error"]["message"]) == (3, True), first
    found = run(log, postgres_place.url, "--dry-run").report["statements"]
    assert "--ddl-done" in found[0]["problem"]
    assert run(log, postgres_place.url, "--dry-run", "--ddl-done").report["statements"][0]["problem"] is None
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        for statement, difference in (
            ("SELECT 1", "column token of"),
            ("ALTER TABLE shop.item ADD token REAL NOT NULL DEFAULT 0", "is real in the target, double precision is needed"),
            ("ALTER TABLE shop.item ALTER token TYPE DOUBLE PRECISION", "takes no NULL there"),
        ):
            connection.execute(statement.encode())
            outcome = run(log, postgres_place.url, "--ddl-done")
            assert outcome.code == 1
            assert outcome.report["error"]["class"] == "SchemaMismatch"
            assert difference in outcome.report["error"]["message"]
        connection.execute("ALTER TABLE shop.item ALTER token DROP NOT NULL, ALTER token DROP DEFAULT")
        for key, token in rows(source.url, "SELECT id, token FROM shop.item WHERE id < 3"):
            connection.execute("UPDATE shop.item SET token = %s WHERE id = %s", (token, key))
    assert applied(log, postgres_place.url, "--ddl-done")["transactions"] == 3
    assert rows(postgres_place.url) == rows(source.url)
    again = applied(log, postgres_place.url, "--ddl-done")
    assert again["transactions"] == 0


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.parametrize("source", ["mariadb"], indirect=True)
def test_r25b_indexes_of_a_table_renamed_by_hand_are_renamed_too(source: Source, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    renamed = COMPUTED.replace("ALTER TABLE shop.item ADD", "ALTER TABLE shop.item RENAME TO shop.part, ADD")
    later = ("ALTER TABLE shop.part DROP KEY n, ADD UNIQUE KEY n (name, id)", "INSERT INTO shop.part (id, name) VALUES (3, 'c')")
    source.sql(*MADE, "CREATE UNIQUE INDEX n ON shop.item (name)", renamed, *later)
    log = source.logs(tmp_path)
    assert run(log, postgres_place.url).code == 3
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE shop.item RENAME TO part")
        connection.execute("ALTER TABLE shop.part ADD token DOUBLE PRECISION")
        message = run(log, postgres_place.url, "--ddl-done").report["error"]["message"]
        (statements,) = re.findall(r"\((ALTER INDEX .*?)\)", message)
        assert (message.count("ALTER INDEX"), "ADD CONSTRAINT" in message) == (2, False), message
        for statement in statements.split("; "):
            connection.execute(statement.encode())
        for key, token in rows(source.url, "SELECT id, token FROM shop.part WHERE id < 3"):
            connection.execute("UPDATE shop.part SET token = %s WHERE id = %s", (token, key))
    assert applied(log, postgres_place.url, "--ddl-done")["transactions"] == 3
    select = "SELECT * FROM shop.part ORDER BY id"
    assert rows(postgres_place.url, select) == rows(source.url, select)


#: Statements made by hand, what makes each of them wrong, and the difference that is named.
BY_HAND = (
    ("ALTER TABLE shop.item ADD n INT NOT NULL AFTER id", "ALTER TABLE shop.item MODIFY n BIGINT NOT NULL", "column n is bigint"),
    ("ALTER TABLE shop.item ADD n INT", "ALTER TABLE shop.item MODIFY n INT FIRST", "column 1 is n"),
    ("ALTER TABLE shop.item ADD n INT UNIQUE", "ALTER TABLE shop.item DROP KEY n", "no unique key on column n"),
    ("ALTER TABLE shop.item ADD KEY k (name), ADD UNIQUE (name, id)", "ALTER TABLE shop.item DROP KEY k", "has no key k"),
    ("ALTER TABLE shop.item CHANGE name title VARCHAR(40)", "ALTER TABLE shop.item ADD name INT", "still has column name"),
    ("ALTER TABLE shop.item MODIFY name VARCHAR(30) NOT NULL", "ALTER TABLE shop.item MODIFY name VARCHAR(30)", "not null is needed"),
    ("ALTER TABLE shop.item DROP name", "ALTER TABLE shop.item ADD name INT", "still has column name"),
    ("ALTER TABLE shop.item RENAME TO shop.part", "CREATE TABLE shop.item (id INT)", "it has the table"),
    ("ALTER TABLE shop.child ADD FOREIGN KEY (item) REFERENCES item (id)", "ALTER TABLE shop.child DROP FOREIGN KEY child_ibfk_1",
     "no foreign key from item to item"),
    ("CREATE INDEX k ON shop.item (name)", "DROP INDEX k ON shop.item", "has no key k"),
    ("CREATE TABLE shop.other (id INT PRIMARY KEY, t TEXT)", "ALTER TABLE shop.other ADD more INT", "also has column more"),
    ("RENAME TABLE shop.item TO shop.part", "CREATE TABLE shop.item (id INT)", "it has the table"),
    ("DROP TABLE shop.child", "CREATE TABLE shop.child (id INT)", "it has the table"),
    ("TRUNCATE TABLE shop.item", "INSERT INTO shop.item VALUES (9, 'x')", "the table has rows"),
    ("CREATE DATABASE shop_2", "DROP DATABASE shop_2", "it has no database shop_2"),
)  # fmt: skip


@pytest.mark.mysql
@pytest.mark.mariadb
def test_r25b_each_difference_from_the_statement_is_named(source: Source) -> None:
    rules = Rules(mariadb=source.mariadb, version=(10, 11, 0) if source.mariadb else (9, 7, 0))
    for statement, wrong, difference in BY_HAND:
        source.sql("DROP DATABASE IF EXISTS shop", "DROP DATABASE IF EXISTS shop_2", *MADE, "CREATE TABLE shop.child (item INT)", statement)
        with contextlib.closing(connect(parse_url(source.url))) as connection:
            check_done(connection, statement, "shop", rules)
            source.sql(wrong)
            with pytest.raises(SchemaMismatch, match=re.escape(difference)):
                check_done(connection, statement, "shop", rules)
    source.sql("DROP DATABASE IF EXISTS shop_2")


@pytest.mark.mariadb
def test_r25b_a_change_made_by_hand_counts_on_mariadb(maria_source: MariaDbServer, tmp_path: Path) -> None:
    with running_mariadb([*LOGGED, "--server-id=2"]) as server:
        check_by_hand(Source(maria_source.url, maria_source.data), SqlPlace(server.url), tmp_path, ("record", "preserve"))


@pytest.mark.mysql
def test_r25b_a_change_made_by_hand_counts_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    with running_mysql(["--server-id=12"]) as server:
        check_by_hand(Source(mysql_place.url), SqlPlace(server.url), tmp_path, ("preserve", "none"))


def check_by_hand(source: Source, target: SqlPlace, folder: Path, modes: tuple[str, ...]) -> None:
    """Make a statement by hand in the target before it comes, in each GTID mode; in the first one wrongly before."""
    statement, hidden = "ALTER TABLE shop.item ADD n INT NOT NULL DEFAULT 5", "SET sql_log_bin=0"
    source.empty()
    source.sql(*MADE, statement, "INSERT INTO shop.item VALUES (3, 'c', 7)", "ALTER TABLE shop.item ADD more INT")
    log = source.logs(folder)
    for gtid in modes:
        target.empty()
        before = run(log, target.url, "--gtid", gtid, "--stop-before", gtid_of(log, 4))
        assert before.code == 0, before
        target.sql(hidden, statement.replace("INT", "BIGINT" if gtid == modes[0] else "INT"))
        if gtid == modes[0]:
            first = run(log, target.url, "--gtid", gtid)
            assert "--ddl-done" in first.report["error"]["message"]
            second = run(log, target.url, "--gtid", gtid, "--ddl-done")
            assert (second.code, second.report["error"]["class"]) == (1, "SchemaMismatch"), second
            target.sql(hidden, "ALTER TABLE shop.item MODIFY n INT NOT NULL DEFAULT 5")
        assert run(log, target.url, "--gtid", gtid, "--ddl-done", "--stop-at", gtid_of(log, 4)).code == 0
        assert applied(log, target.url, "--gtid", gtid)["transactions"] == 2, "the statement stays done, and its answer is used up"
        assert rows(target.url) == rows(source.url)


def gtid_of(log: Path, number: int) -> str:
    """Return the GTID of a transaction of the log, counted from 1."""
    return str(list(open_log(log))[number - 1].gtid)


@pytest.mark.postgres
@pytest.mark.mariadb
def test_replicate_asks_the_source_for_its_time_zone_and_takes_the_answer(
    maria_source: MariaDbServer, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    place = SqlPlace(maria_source.url)
    place.empty()
    place.sql(*MADE, "SET time_zone='SYSTEM'", f"ALTER TABLE shop.item ADD made {TIMES[0]}", COMPUTED)
    with replicating(place.url, postgres_place.url, tmp_path) as replica:
        report = replica.report()
    assert (report["exit_code"], report["transactions"]) == (3, 4), "up to the column that only the source can fill"
    assert "--ddl-done" in report["error"]["message"]
    assert [str(made) for _, _, made in rows(postgres_place.url)] == [
        str(made) for (made,) in rows(place.url, "SELECT made FROM shop.item")
    ]
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE shop.item ADD token DOUBLE PRECISION")
        for key, token in rows(place.url, "SELECT id, token FROM shop.item"):
            connection.execute("UPDATE shop.item SET token = %s WHERE id = %s", (token, key))
    place.sql(AFTER)
    with replicating(place.url, postgres_place.url, tmp_path, "--ddl-done") as replica:
        replica.wait_until(lambda: rows(postgres_place.url) == rows(place.url), "the row after it")
        assert replica.stop()["exit_code"] == 4
