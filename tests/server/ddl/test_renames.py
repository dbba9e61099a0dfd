"""Tables and databases that are applied under other names, beside the ones in use and into other servers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from server.point_in_time import apply
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from tests.servers import MariaDbServer, mysql_data

from paraply import Applier, make_target, open_log
from paraply.applier.selection.filters import parse_filters
from paraply.errors import ConfigurationMismatch, LogNotUnderstood, UsageError
from paraply.replication import Replication, ReplicationOptions, parse_source, parse_until
from paraply.targets import open_target

TABLES = ("customers", "orders", "visits")
#: Foreign keys, a table without a key, columns with different character sets, and DDL in the middle.
HISTORY = [
    "CREATE DATABASE shop CHARACTER SET latin1",
    "CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(40), note VARCHAR(40) CHARACTER SET utf8mb4)",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, customer INT, total DECIMAL(8,2), FOREIGN KEY (customer) REFERENCES customers (id))",
    "CREATE TABLE shop.visits (customer INT, page VARCHAR(20) CHARACTER SET ucs2)",
    "INSERT INTO shop.customers VALUES (1, 'Zoë', '日本'), (2, 'Åse', NULL), (3, 'Max', 'x')",
    "INSERT INTO shop.orders VALUES (10, 1, 5), (11, 2, 7.5)",
    "INSERT INTO shop.visits VALUES (1, 'ä'), (1, 'ä'), (2, 'b')",
    "ALTER TABLE shop.orders ADD COLUMN paid TINYINT NOT NULL DEFAULT 0, ADD COLUMN orders VARCHAR(9) DEFAULT 'orders' FIRST",
    "CREATE INDEX orders ON shop.orders (total)",
    "INSERT INTO shop.orders (id, customer, total, paid) VALUES (12, 3, 1, 1)",
    "UPDATE shop.orders SET paid=1 WHERE id=10",
    "DELETE FROM shop.visits WHERE page='ä' LIMIT 1",
    "TRUNCATE TABLE shop.visits",
    "INSERT INTO shop.visits VALUES (3, 'ö'), (3, 'ö')",
    "DELETE FROM shop.customers WHERE id=99",
]
MISTAKE = "UPDATE shop.orders SET total=0"
BESIDE = [f"shop.{table}=restore.{table}" for table in TABLES]


@dataclass(frozen=True)
class Restored:
    """A server with a mistake in its history.

    Attributes:
        place: The server.
        logs: Its binlogs, the last one in use.
        before: Checksums before the mistake.
        gtid: GTID of the mistake.
    """

    place: SqlPlace
    logs: list[Path]
    before: dict[str, int]
    gtid: str

    def checksums(self, database: str) -> dict[str, int]:
        """Return the checksum of each table of a database."""
        return checksums(self.place, database)


def checksums(place: SqlPlace, database: str) -> dict[str, int]:
    names = ", ".join(f"{database}.{table}" for table in TABLES)
    return {str(name).partition(".")[2]: int(value) for name, value in place.sql(f"CHECKSUM TABLE {names}")}


def session(place: SqlPlace, statements: list[str]) -> None:
    """Run statements in one session with a default database."""
    place.sql(*statements[:1], "USE shop", *statements[1:])


@pytest.fixture(params=["mysql", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def restored(request: pytest.FixtureRequest) -> Iterator[Restored]:
    place: SqlPlace = request.getfixturevalue(f"{request.param}_place")
    place.sql("DROP DATABASE IF EXISTS restore")
    place.empty()
    if request.param == "mysql":
        data = mysql_data()
    else:
        server: MariaDbServer = request.getfixturevalue("durable_mariadb")
        data = server.data
    session(place, HISTORY)
    before = checksums(place, "shop")
    place.sql("FLUSH BINARY LOGS", MISTAKE)
    logs = [data / str(row[0]) for row in place.sql("SHOW BINARY LOGS")]
    gtid = [str(transaction.gtid) for transaction in open_log(logs) if transaction.rows][-1]
    place.sql("CREATE DATABASE restore CHARACTER SET latin1")
    yield Restored(place, logs, before, gtid)
    place.sql("DROP DATABASE IF EXISTS restore")


def beside(logs: list[Path], place: SqlPlace, renames: list[str], **options: Any) -> Applier:
    """Return an apply of renamed tables alone."""
    filters = parse_filters(tables=[text.partition("=")[0] for text in renames])
    return Applier(logs, make_target(place.url), filters=filters, rename_table=renames, workers=4, **options)


def test_tables_are_restored_beside_the_ones_in_use(restored: Restored) -> None:
    place, logs = restored.place, restored.logs
    in_use = restored.checksums("shop")
    assert in_use != restored.before
    with beside(logs, place, BESIDE, channel="fix", stop_before=restored.gtid) as applier:
        planned = applier.dry_run()
    assert planned is not None
    assert "--rename-table shop.orders=restore.orders" in planned.run_plan.renames
    assert [statement.sql for statement in planned.statements if not statement.runs] == [HISTORY[0]]
    with beside(logs, place, BESIDE, channel="fix", stop_before=restored.gtid) as applier:
        applier.run()
    assert restored.checksums("restore") == restored.before
    assert restored.checksums("shop") == in_use
    parents = "SELECT unique_constraint_schema FROM information_schema.referential_constraints WHERE constraint_schema='restore'"
    assert list(place.sql(parents)) == [("restore",)]
    # The log has grown by the restored rows, none of which is applied again, and it grows by each transaction that is left out.
    logs = [logs[0].parent / str(row[0]) for row in place.sql("SHOW BINARY LOGS")]
    with beside(logs, place, BESIDE, channel="fix", merge="off") as applier:
        applier.run()
    assert restored.checksums("restore") == in_use
    others = ["shop.customers=restore.others"]
    with beside(logs, place, others, channel="fix") as applier, pytest.raises(ConfigurationMismatch, match="renames"):
        applier.run()


def test_nothing_is_applied_to_the_tables_in_use(restored: Restored) -> None:
    place, logs = restored.place, restored.logs
    in_use = restored.checksums("shop")
    customers = "shop.customers=restore.customers"
    for filters, databases, tables, message in (
        (parse_filters(), ["shop=restore"], [], "name what is restored with --database or --table"),
        (parse_filters(tables=["shop.visits", "shop.customers"]), [], [customers], r"shop\.visits would be applied"),
        (parse_filters(["shop"]), [], [customers], "the database shop would be applied"),
        (parse_filters(tables=["shop.orders", "shop.customers"]), [], ["shop.customers=shop.orders"], r"shop\.orders would be applied"),
    ):
        applier = Applier(logs, make_target(place.url), filters=filters, rename_database=databases, rename_table=tables)
        with applier, pytest.raises(UsageError, match=message):
            applier.run()
    # A child whose parent is not restored would be tied to the parent in use.
    with beside(logs, place, [BESIDE[1]]) as applier, pytest.raises(LogNotUnderstood, match=r"shop\.customers would tie") as error:
        applier.run()
    assert error.value.gtid
    assert place.sql("SHOW TABLES IN restore") == []
    assert restored.checksums("shop") == in_use


def test_a_cascade_that_is_not_logged_needs_its_parent_mariadb(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer) -> None:
    place = mariadb_place
    history = [*HISTORY, "ALTER TABLE orders ADD FOREIGN KEY g (customer) REFERENCES customers (id) ON DELETE CASCADE"]
    session(place, [*history, "CREATE DATABASE restore", "CREATE TABLE restore.orders (id INT PRIMARY KEY)"])
    logs = [durable_mariadb.data / str(row[0]) for row in place.sql("SHOW BINARY LOGS")]
    try:
        with beside(logs, place, [BESIDE[1]]) as applier, pytest.raises(UsageError, match="does not log such changes"):
            applier.run()
    finally:
        place.sql("DROP DATABASE restore")


@pytest.fixture(params=["mysql", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def place(request: pytest.FixtureRequest) -> Iterator[SqlPlace]:
    found: SqlPlace = request.getfixturevalue(f"{request.param}_place")
    yield found
    found.sql("DROP DATABASE IF EXISTS copy", "DROP DATABASE IF EXISTS late")


def logs_of(place: SqlPlace, statements: list[str], folder: Path, request: pytest.FixtureRequest) -> list[Path]:
    """Return the logs of statements, copied."""
    session(place, statements)
    if not place.mariadb:
        return copy_binlogs(place.url, folder)
    server: MariaDbServer = request.getfixturevalue("durable_mariadb")
    names = [str(row[0]) for row in place.sql("SHOW BINARY LOGS")]
    return [Path(shutil.copy(server.data / name, folder / name)) for name in names]


def test_a_database_goes_into_another_one(place: SqlPlace, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    more = ["RENAME TABLE visits TO seen", "INSERT INTO seen VALUES (4, 'z')", "RENAME TABLE seen TO visits"]
    logs = logs_of(place, [*HISTORY, *more], tmp_path, request)
    expected = checksums(place, "shop")
    place.empty()
    place.sql("CREATE DATABASE late")
    renames = ("--rename-database", "shop=copy", "--rename-table", "shop.visits=late.visits")
    outcome = apply(logs, place.url, "--database", "shop", *renames)
    assert outcome.code == 0, outcome.report["error"]
    place.sql("RENAME TABLE late.visits TO copy.visits")
    assert checksums(place, "copy") == expected
    assert place.sql("SHOW DATABASES LIKE 'shop'") in ([], ())


def postgres_rows(place: PostgresPlace, schema: str, table: str, columns: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(place.url) as connection:
        return sorted(connection.execute(f'SELECT {columns} FROM "{schema}"."{table}"'.encode()).fetchall(), key=repr)


def test_postgresql_gets_the_other_names(
    place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    logs = logs_of(place, HISTORY, tmp_path, request)
    renames: dict[str, Any] = {"rename_database": ["shop=copy"], "rename_table": ["shop.orders=late.bills"]}
    with Applier(logs, make_target(postgres_place.url), workers=2, **renames) as applier:
        applier.run()
    for table, schema, name, columns in (
        ("customers", "copy", "customers", "id, name, note"),
        ("orders", "late", "bills", "id, customer, total, paid, orders"),
        ("visits", "copy", "visits", "customer, page"),
    ):
        expected = sorted(place.sql(f"SELECT {columns} FROM shop.{table}"), key=repr)
        assert postgres_rows(postgres_place, schema, name, columns) == expected
    with psycopg.connect(postgres_place.url) as connection:
        schemas = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname IN ('shop','copy','late') ORDER BY 1").fetchall()
    assert schemas == [("copy",), ("late",)]


def test_a_replication_renames_and_continues_mysql(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    options = ReplicationOptions(tmp_path / "relay", applier={"rename_database": ["shop=copy"], "workers": 2})

    def replicate(until: str) -> None:
        source = parse_source(mysql_place.url)
        Replication(source, lambda: open_target(postgres_place.url), replace(options, until=parse_until(until))).run()

    def last() -> str:
        uuid, _, number = str(mysql_place.sql("SELECT @@GLOBAL.gtid_executed")[0][0]).partition(":")
        return f"{uuid}:{number.rpartition('-')[2]}"

    session(mysql_place, HISTORY)
    replicate(last())
    mysql_place.sql("ALTER TABLE shop.visits ADD more INT", "INSERT INTO shop.visits VALUES (5, 'new', 6)")
    replicate(last())
    expected = sorted(mysql_place.sql("SELECT customer, page, more FROM shop.visits"), key=repr)
    assert postgres_rows(postgres_place, "copy", "visits", "customer, page, more") == expected
    options = replace(options, applier={"rename_database": ["shop=other"]})
    mysql_place.sql("INSERT INTO shop.visits VALUES (6, 'x', 7)")
    with pytest.raises(ConfigurationMismatch, match="renames"):
        replicate(last())


def test_a_statement_that_cannot_be_renamed_stops_with_its_place_mysql(
    mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    statements = [
        "ALTER TABLE visits ADD CHECK (visits.customer < 9)",
        "CREATE VIEW seen AS SELECT * FROM visits",
        "CREATE DATABASE copy",
        "CREATE TABLE copy.t (a INT)",
    ]
    session(mysql_place, [*HISTORY, *statements])
    logs = copy_binlogs(mysql_place.url, tmp_path)
    mysql_place.sql("DROP DATABASE copy")
    outcome = apply(logs, postgres_place.url, "--rename-table", "shop.visits=late.visits")
    error = outcome.report["error"]
    assert (outcome.code, error["class"]) == (3, "LogNotUnderstood")
    assert "stands in an expression" in error["message"]
    assert error["gtid"]
    planned = apply(logs, postgres_place.url, "--rename-database", "shop=copy", "--dry-run", "--channel", "again")
    problems = [statement["problem"] for statement in planned.report["statements"] if statement["problem"]]
    assert [words in problem for words, problem in zip(("create view", "renamed to copy"), problems, strict=False)] == [True, True]
