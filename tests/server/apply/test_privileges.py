"""Missing privileges of the target's user are reported with the GRANT that gives them, before the first write; these GRANTs are enough."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import DATA
from pg_databases import Database
from server.apply.test_errors_mysql import STATEMENTS, Server, server

from paraply import Applier
from paraply.errors import ApplyFailed, ParaplyError, UsageError
from paraply.targets import make_target
from paraply.targets.url import parse_url

__all__ = ["server"]

PLAIN = DATA / "plain.binlog"
GRANT = re.compile(r"GRANT .+? TO ['\"]\w+['\"](?:@'[^']*')?")


def attempt(log: Path, url: str, gtid: str = "none", merge: str = "off") -> ParaplyError | None:
    """Applies; gives the error where there is one."""
    with Applier([log], make_target(url), workers=0, gtid=gtid, merge=merge) as applier:  # type: ignore[arg-type]
        try:
            applier.run()
        except ParaplyError as error:
            return error
    return None


@pytest.fixture
def log(server: Server, tmp_path: Path) -> Path:
    """A log that the target has not written, or that it does not know as its own any more; the target is empty."""
    if server.mariadb:
        return server.record(STATEMENTS, tmp_path / "binlog.000001")
    server.empty()
    return PLAIN


@pytest.fixture
def poor(server: Server) -> Iterator[str]:
    """The URL of a user who may run the log's DDL and nothing else."""
    server.sql("DROP USER IF EXISTS poor@'%'", "CREATE USER poor@'%' IDENTIFIED BY 'poor'", "GRANT CREATE ON errs.* TO poor@'%'")
    url = parse_url(server.url)
    yield f"{url.family}://poor:poor@{url.host}:{url.port}"
    server.sql("DROP USER poor@'%'")


def new_grants(error: ParaplyError, granted: list[str]) -> list[str]:
    """The grants that a message gives, none of which an earlier one gave."""
    grants: list[str] = GRANT.findall(error.message)
    assert grants, error.message
    assert not set(grants) & set(granted), "the same twice"
    return grants


@pytest.mark.parametrize("gtid", ["record", pytest.param("preserve", marks=pytest.mark.slow), "none"])
def test_the_grants_of_the_messages_lead_to_a_run(server: Server, log: Path, poor: str, gtid: str) -> None:
    if gtid == "record":  # it must see whether there are replicas
        server.sql("GRANT PROCESS ON *.* TO poor@'%'", *([] if server.mariadb else ["GRANT SELECT ON performance_schema.* TO poor@'%'"]))
    granted: list[str] = []
    before_the_start = True
    for _ in range(8):
        error = attempt(log, poor, gtid)
        if error is None:
            break
        grants = new_grants(error, granted)
        granted += grants
        if isinstance(error, UsageError):
            assert before_the_start
            assert not server.sql("SHOW DATABASES LIKE 'paraply'"), "nothing was written"
        else:
            assert isinstance(error, ApplyFailed)
            before_the_start = False
        server.sql(*grants)
    assert server.items() == [(1, "one", 11), (3, "three", 30), (4, "four", 40)]
    assert not any("ALL" in grant or "SUPER" in grant for grant in granted)
    rows = sorted(grant.split()[1] for grant in granted if "`errs`.`item`" in grant)
    assert rows == (["SELECT"] if server.mariadb else ["DELETE", "INSERT", "UPDATE"]), "MySQL looks at each kind of row, MariaDB at none"


def test_everything_that_lacks_before_the_start_is_told_at_once(server: Server, log: Path, poor: str) -> None:
    error = attempt(log, poor, "preserve")
    assert isinstance(error, UsageError)
    names = ("BINLOG REPLAY", "BINLOG ADMIN") if server.mariadb else ("REPLICATION_APPLIER", "SYSTEM_VARIABLES_ADMIN")
    for name in (*names, "SELECT, INSERT, UPDATE, DELETE, CREATE ON paraply.* TO 'poor'@'%'"):
        assert name in error.message
    with Applier([log], make_target(poor), gtid="preserve") as applier, pytest.raises(UsageError, match="lacks"):
        applier.dry_run()


def test_privileges_may_come_from_a_role(server: Server, log: Path, poor: str) -> None:
    marks = "BINLOG REPLAY, BINLOG ADMIN" if server.mariadb else "REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN"
    server.sql(
        "DROP ROLE IF EXISTS rich",
        "CREATE ROLE rich",
        f"GRANT {marks} ON *.* TO rich",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON paraply.* TO rich",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON errs.* TO rich",
        "GRANT rich TO poor@'%'",
        "SET DEFAULT ROLE rich FOR poor@'%'" if server.mariadb else "SET DEFAULT ROLE rich TO poor@'%'",
    )
    try:
        assert attempt(log, poor, "preserve") is None
    finally:
        server.sql("DROP ROLE rich")


def test_an_administrator_may_make_the_progress_tables(server: Server, log: Path, poor: str) -> None:
    assert attempt(log, server.url, "none") is None
    marks = "BINLOG REPLAY" if server.mariadb else "REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN"
    server.sql(f"GRANT {marks} ON *.* TO poor@'%'", "GRANT SELECT, INSERT, UPDATE, DELETE ON paraply.* TO poor@'%'")
    assert attempt(log, poor, "none") is None


def test_an_older_progress_table_that_the_user_may_not_change_is_told_with_the_statement(server: Server, log: Path, poor: str) -> None:
    assert attempt(log, server.url, "none") is None
    marks = "BINLOG REPLAY" if server.mariadb else "REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN"
    server.sql(f"GRANT {marks} ON *.* TO poor@'%'", "GRANT SELECT, INSERT, UPDATE, DELETE ON paraply.* TO poor@'%'")
    server.sql("ALTER TABLE paraply.progress DROP PRIMARY KEY, ADD PRIMARY KEY (channel, slot)")
    error = attempt(log, poor, "none")
    assert isinstance(error, UsageError)
    server.sql(error.message.partition("run there ")[2])
    assert attempt(log, poor, "none") is None


def test_r26_a_target_does_not_take_its_own_log_under_gtids_of_its_own(server: Server, tmp_path: Path) -> None:
    log = server.record(STATEMENTS, tmp_path / "binlog.000001")
    if server.mariadb:  # its own GTIDs are not the progress
        assert attempt(log, server.url, "none") is None
        return
    error = attempt(log, server.url, "none")
    assert isinstance(error, UsageError)
    assert "the target itself wrote" in error.message
    assert not server.sql("SHOW DATABASES LIKE 'paraply'")
    assert attempt(log, server.url, "preserve") is None
    assert server.items() == [(1, "one", 11), (3, "three", 30), (4, "four", 40)]


@pytest.mark.postgres
def test_on_postgresql_the_grants_of_the_messages_lead_to_a_run(database: Database) -> None:
    database.sql("DO $$ BEGIN CREATE ROLE poor LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    assert attempt(PLAIN, database.url) is None
    granted: list[str] = []
    url = as_user(database.url, "poor")
    for _ in range(8):
        error = attempt_rows(url)
        if error is None:
            break
        grants = new_grants(error, granted)
        granted += grants
        database.sql("; ".join(grants))
    assert error is None
    assert [grant.split(" ON ")[1] for grant in granted] == [
        'SCHEMA paraply TO "poor"', 'paraply.channel TO "poor"', 'paraply.progress TO "poor"', 'paraply.source_table TO "poor"',
        'paraply.left_out_xa TO "poor"',
    ]  # fmt: skip


@pytest.mark.postgres
def test_on_postgresql_a_user_who_may_make_nothing_is_told_before_the_first_write(database: Database) -> None:
    database.sql("DO $$ BEGIN CREATE ROLE poor LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    error = attempt(PLAIN, as_user(database.url, "poor"))
    assert isinstance(error, UsageError)
    name = psycopg.conninfo.conninfo_to_dict(database.url)["dbname"]
    assert f'run there GRANT CREATE ON DATABASE "{name}" TO "poor"' in error.message
    database.sql(f'GRANT CREATE ON DATABASE "{name}" TO "poor"')
    assert attempt(PLAIN, as_user(database.url, "poor")) is None
    database.sql("REASSIGN OWNED BY poor TO CURRENT_USER")


def as_user(url: str, user: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"postgresql://{user}@/{parts['dbname']}?host={parts['host']}"


def attempt_rows(url: str) -> ParaplyError | None:
    """Opens the target as an apply does, and closes it."""
    from paraply.targets.protocol import ApplyPlan

    target = make_target(url)
    try:
        target.open(ApplyPlan("rows", "f", 1))
    except ParaplyError as error:
        return error
    finally:
        target.close()
    return None
