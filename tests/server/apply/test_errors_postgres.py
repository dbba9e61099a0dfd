"""A PostgreSQL target that is not as it should be, and values that it cannot hold: exit 1, and nothing of the transaction is left."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from command_line import DATA, apply, check_failed_at
from pg_databases import Database

from paraply import open_log

pytestmark = pytest.mark.postgres

PLAIN = DATA / "plain.binlog"
ONE, TWO, THREE = (1, "one", 10), (2, "two", 20), (3, "three", 30)
BEFORE = 3
"""Transactions of the log that are applied before a test changes the target: the table has its first two rows."""


@pytest.fixture
def log(database: Database, tmp_path: Path) -> Path:
    """A log whose first transactions stand in the database."""
    log = tmp_path / "binlog.000001"
    log.write_bytes(PLAIN.read_bytes()[: list(open_log(PLAIN))[BEFORE].offset])
    assert apply(log, database.url).code == 0
    log.write_bytes(PLAIN.read_bytes())
    return log


def check_continues(database: Database, log: Path) -> None:
    outcome = apply(log, database.url)
    assert outcome.code == 0, outcome.line
    assert database.items() == [(1, "one", 11), THREE, (4, "four", 40)]


@pytest.mark.parametrize("workers", ["0", "4"])
def test_r32_a_row_that_is_missing(database: Database, log: Path, workers: str) -> None:
    database.sql("DELETE FROM errs.item WHERE id=1")
    outcome = apply(log, database.url, "--workers", workers)
    check_failed_at(outcome, "RowNotFound", log, 5, "errs.item", "changed by someone else")
    assert outcome.report["transactions"] == 1
    assert database.items() == [TWO, THREE]
    database.sql("INSERT INTO errs.item VALUES (1,'one',10)")
    check_continues(database, log)


def test_r32_a_row_that_is_there_already(database: Database, log: Path) -> None:
    database.sql("INSERT INTO errs.item VALUES (3,'other',0)")
    check_failed_at(apply(log, database.url), "ApplyFailed", log, 4, "errs.item", "id=3", "changed by someone else")
    database.sql("DELETE FROM errs.item WHERE id=3")
    check_continues(database, log)


def test_r32_a_table_with_a_trigger(database: Database, log: Path) -> None:
    database.sql("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    database.sql("CREATE TRIGGER noisy BEFORE INSERT ON errs.item FOR EACH ROW EXECUTE FUNCTION nothing()")
    check_failed_at(apply(log, database.url), "SchemaMismatch", log, 4, "noisy", "DISABLE TRIGGER")
    assert database.items() == [ONE, TWO]
    database.sql("ALTER TABLE errs.item DISABLE TRIGGER noisy")
    check_continues(database, log)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DROP TABLE errs.item", "has no table"),
        ("ALTER TABLE errs.item ALTER stock TYPE integer", "is integer in the target, bigint is needed"),
        ("ALTER TABLE errs.item DROP stock", "is missing in the target"),
        ("ALTER TABLE errs.item ADD more integer NOT NULL DEFAULT 1; ALTER TABLE errs.item ALTER more DROP DEFAULT", "more"),
    ],
)
def test_r31_a_table_that_differs(database: Database, log: Path, change: str, message: str) -> None:
    database.sql(change)
    outcome = apply(log, database.url)
    check_failed_at(outcome, "SchemaMismatch", log, 4, "errs", message)
    assert outcome.report["transactions"] == 0


def test_r31_columns_in_another_order_are_found_by_name(database: Database, log: Path) -> None:
    database.sql("ALTER TABLE errs.item DROP stock")
    database.sql("ALTER TABLE errs.item RENAME name TO old")
    database.sql('ALTER TABLE errs.item ADD stock bigint, ADD name varchar(20) COLLATE "C"')
    database.sql("UPDATE errs.item SET name=old, stock=id*10")
    database.sql("ALTER TABLE errs.item DROP old")
    assert apply(log, database.url).code == 0
    assert database.sql("SELECT id, name, stock FROM errs.item ORDER BY id") == [(1, "one", 11), THREE, (4, "four", 40)]


def test_a_table_that_somebody_else_made(database: Database) -> None:
    database.sql("CREATE SCHEMA errs")
    database.sql("CREATE TABLE errs.item (id integer)")
    check_failed_at(apply(PLAIN, database.url), "SchemaMismatch", PLAIN, 2, "already exists", "empty database")


@pytest.mark.parametrize(
    ("name", "message"), [("zero-date", "zero date"), ("nul-byte", "NUL byte"), ("invalid-text", "not valid in its character set")]
)
@pytest.mark.parametrize("merge", ["off", "16"])
def test_values_that_postgresql_cannot_hold(database: Database, tmp_path: Path, name: str, message: str, merge: str) -> None:
    log = DATA / f"{name}.binlog"
    if name == "invalid-text":
        log = tmp_path / "binlog.000001"
        log.write_bytes((DATA / "no-checksum.binlog").read_bytes().replace(b"three", b"thr\xffe"))
    outcome = apply(log, database.url, "--merge", merge)
    check_failed_at(outcome, "ValueNotStorable", log, 4, message, "key")
    assert outcome.report["transactions"] == 3
    table = {"zero-date": "errs.event", "nul-byte": "errs.note", "invalid-text": "errs.item"}[name]
    assert [row[0] for row in database.rows(table) or []] in ([1], [1, 2])


def test_a_type_without_counterpart_is_refused_before_its_first_row(database: Database) -> None:
    log = DATA / "spatial.binlog"
    check_failed_at(apply(log, database.url), "TypeNotMapped", log, 4, "errs.place", "POINT")
    assert database.items() == [ONE]
    assert database.rows("errs.place") is None


def test_r34_the_engine_of_the_sources_table_does_not_matter(database: Database) -> None:
    assert apply(DATA / "myisam.binlog", database.url).code == 0
    assert database.items() == [ONE, TWO]
    assert database.rows("errs.plain") == [(1, "one"), (2, "two")]


def test_r25_progress_of_another_start(database: Database, log: Path) -> None:
    outcome = apply(log, database.url, "--start-after", "11111111-1111-1111-1111-111111111111:1")
    assert (outcome.code, outcome.error["class"]) == (2, "ConfigurationMismatch")
    assert "--channel" in outcome.line


def test_gtids_of_another_family(database: Database) -> None:
    outcome = apply(PLAIN, database.url, "--start-after", "0-1-1")
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")
    assert "MySQL" in outcome.line


def test_r26_gtids_cannot_be_preserved(database: Database) -> None:
    assert apply(PLAIN, database.url, "--gtid", "preserve").code == 2


def test_a_database_that_is_read_only(database: Database, log: Path) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database.url)["dbname"]
    database.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    outcome = apply(log, database.url)
    assert (outcome.code, outcome.error["class"]) == (1, "ApplyFailed")
    assert "read only" in outcome.line
    database.sql(f"SET TRANSACTION READ WRITE; ALTER DATABASE {name} RESET default_transaction_read_only")
    check_continues(database, log)


def test_databases_and_users_that_are_not_there(database: Database) -> None:
    for change in ({"dbname": "nowhere"}, {"user": "nobody"}):
        outcome = apply(PLAIN, _url(database.url, **change))
        assert (outcome.code, outcome.error["class"]) == (1, "ConnectionFailed")
        assert "refuses the login" in outcome.line
        assert "s3cret" not in outcome.line


def test_a_user_without_privileges(database: Database, log: Path) -> None:
    database.sql("DO $$ BEGIN CREATE ROLE weak LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    outcome = apply(log, _url(database.url, user="weak"))
    assert outcome.code == 2
    assert 'run there GRANT USAGE ON SCHEMA paraply TO "weak"' in outcome.line


def _url(url: str, **changes: str) -> str:
    parts = {**psycopg.conninfo.conninfo_to_dict(url), "password": "s3cret", **changes}
    return f"postgresql://{parts['user']}:{parts['password']}@/{parts['dbname']}?host={parts['host']}"
