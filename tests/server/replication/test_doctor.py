"""``paraply doctor``: what hinders is found on real servers, and its statement mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import paraply, run_json
from server.mysql_fixtures import Server
from server.replay import PostgresPlace, SqlPlace
from servers import mysql_url


def found(report: dict[str, Any], where: str, subject: str) -> list[dict[str, Any]]:
    return [one for one in report["findings"] if (one["where"], one["subject"]) == (where, subject)]


@pytest.mark.mariadb
def test_a_source_is_mended_by_its_statement(mariadb_place: SqlPlace, tmp_path: Path) -> None:
    mariadb_place.sql("SET GLOBAL binlog_format=STATEMENT")
    try:
        outcome = run_json("doctor", "--from", mariadb_place.url, "--relay-log", tmp_path)
        assert (outcome.code, outcome.error["class"]) == (1, "ChecksFailed")
        (finding,) = found(outcome.report, "source", "binlog_format")
        assert finding["level"] == "error"
        mariadb_place.sql(finding["mend"].partition(" -- ")[0])
        again = run_json("doctor", "--from", mariadb_place.url, "--relay-log", tmp_path)
        assert (again.code, again.report["errors"]) == (0, 0), again.report
        assert found(again.report, "source", "binlog_format")[0]["level"] == "good"
    finally:
        mariadb_place.sql("SET GLOBAL binlog_format=ROW")


@pytest.mark.mariadb
def test_an_account_is_mended_by_its_statement(mariadb_place: SqlPlace) -> None:
    mariadb_place.sql("SET sql_log_bin=0", "CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 'poor'")
    poor = mariadb_place.url.replace("app:app", "poor:poor")
    try:
        outcome = run_json("doctor", "--from", poor, "--to", poor)
        assert outcome.code == 1
        for where in ("source", "target"):
            (finding,) = found(outcome.report, where, "privileges")
            mariadb_place.sql("SET sql_log_bin=0", *filter(None, map(str.strip, finding["mend"].split(";"))))
        again = run_json("doctor", "--from", poor, "--to", poor)
        assert all(finding["level"] == "good" for where in ("source", "target") for finding in found(again.report, where, "privileges"))
        assert "poor:poor" not in paraply("doctor", "--from", poor).stdout
    finally:
        mariadb_place.sql("SET sql_log_bin=0", "DROP USER poor@'%'")


@pytest.mark.mariadb
def test_tables_of_a_target(mariadb_place: SqlPlace) -> None:
    mariadb_place.sql("CREATE DATABASE shop", "CREATE TABLE shop.old (id INT PRIMARY KEY) ENGINE=MyISAM", "CREATE TABLE shop.heap (id INT)",
                      "CREATE TABLE shop.nullable (id INT, other INT, name TEXT, UNIQUE (name(9)), UNIQUE (id, other))",
                      "CREATE TABLE shop.`odd one` (id INT)")  # fmt: skip
    report = run_json("doctor", "--to", mariadb_place.url).report
    (engines,) = found(report, "target", "engines")
    assert (engines["level"], "shop.old" in engines["text"]) == ("error", True)
    mariadb_place.sql(engines["mend"])
    (keys,) = found(report, "target", "keys")
    assert keys["text"].endswith("shop.heap, shop.nullable, shop.`odd one`")
    mend = "ALTER TABLE `shop`.`heap` ADD PRIMARY KEY (...); ALTER TABLE `shop`.`nullable` ADD PRIMARY KEY (`id`, `other`)"
    assert keys["mend"] == f"{mend}; ALTER TABLE `shop`.`odd one` ADD PRIMARY KEY (...)"
    assert found(run_json("doctor", "--to", mariadb_place.url).report, "target", "engines") == []


@pytest.mark.mysql
def test_a_mysql_source_and_target() -> None:
    server = Server(mysql_url())
    server.empty()
    server.sql("SET GLOBAL binlog_row_metadata=MINIMAL")
    try:
        report = run_json("doctor", "--from", mysql_url(), "--to", mysql_url()).report
        (finding,) = found(report, "source", "binlog_row_metadata")
        assert (finding["level"], finding["mend"]) == ("warning", "SET PERSIST binlog_row_metadata=FULL")
        assert found(report, "source", "gtid_mode")[0]["level"] == "good"
        assert found(report, "target", "server_id")[0]["level"] == "warning", "the same server"
        assert found(report, "target", "privileges")[0]["level"] == "good"
    finally:
        server.sql("SET GLOBAL binlog_row_metadata=FULL")


@pytest.mark.postgres
def test_a_postgresql_target(postgres_place: PostgresPlace) -> None:
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA shop; CREATE TABLE shop."T" (id int)')
        connection.execute("CREATE FUNCTION shop.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
        connection.execute('CREATE TRIGGER loud BEFORE INSERT ON shop."T" FOR EACH ROW EXECUTE FUNCTION shop.f()')
        outcome = run_json("doctor", "--to", postgres_place.url)
        assert outcome.code == 1
        (triggers,) = found(outcome.report, "target", "triggers")
        (keys,) = found(outcome.report, "target", "keys")
        assert (keys["level"], keys["mend"]) == ("warning", 'ALTER TABLE shop."T" ADD PRIMARY KEY (...)')
        connection.execute(triggers["mend"])
    assert run_json("doctor", "--to", postgres_place.url).code == 0


def test_what_cannot_be_reached_is_a_finding_and_nothing_to_check_is_a_mistake() -> None:
    outcome = run_json("doctor", "--from", "mysql://127.0.0.1:1", "--to", "postgresql://127.0.0.1:1/x")
    assert outcome.code == 1
    assert {one["where"] for one in outcome.report["findings"] if one["subject"] == "connection"} == {"source", "target"}
    assert run_json("doctor").code == 2
    assert run_json("doctor", "--from", "postgresql://db").code == 2
