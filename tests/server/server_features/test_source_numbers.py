"""R16 against a real MySQL: random schemas and loads of one session, its own log recomputed, no number different.

``PARAPLY_TEST_MYSQL`` names the server, ``PARAPLY_TEST_MYSQL_DATA`` the folder with its binary logs; nobody else may write to it
meanwhile. ``PARAPLY_SEEDS`` is the number of loads (4 by default). A failing seed repeats with the same load.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from tests.server.random_load import Load
from tests.server.schema.test_schema_against_server import Run, mysql_connection, runner
from tests.servers import mysql_data

from paraply.analysis.verify import verify

SEEDS = int(os.environ.get("PARAPLY_SEEDS", "4"))
SMALL = 40
DATABASE = "ws_numbers"


@pytest.fixture
def run() -> Iterator[Run]:
    mysql_data()
    connection = mysql_connection()
    made = runner(connection)
    try:
        yield made
    finally:
        made("SET GLOBAL binlog_transaction_dependency_history_size=DEFAULT")
        made("SET foreign_key_checks=0")
        made(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.close()


@pytest.mark.parametrize("history", [None, SMALL])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_r16_every_number_is_mysqls(run: Run, seed: int, history: int | None) -> None:
    log = logged(run, Load(seed, transactions=150), history)
    report = verify(log, scheme="writeset", history=history)
    assert (report.check, report.fallbacks) == ("exact", 0)
    assert report.different == 0, f"seed {seed}: {report.first_difference}"


def logged(run: Run, load: Load, history: int | None) -> Path:
    """Runs a load in a log file of its own; the server's refusals belong to it."""
    for sql in ("SET foreign_key_checks=0", f"DROP DATABASE IF EXISTS {DATABASE}", "SET foreign_key_checks=1", "SET sql_mode=''",
                "SET restrict_fk_on_non_standard_key=0", "FLUSH BINARY LOGS",
                f"SET GLOBAL binlog_transaction_dependency_history_size={history or 'DEFAULT'}"):  # fmt: skip
        run(sql)
    name = run("SHOW BINARY LOG STATUS")[0][0]
    run(f"CREATE DATABASE {DATABASE}")
    run(f"USE {DATABASE}")
    for sql in load.schema():
        try:
            run(sql)
        except pymysql.err.MySQLError:
            load.tables = [table for table in load.tables if f"create table {table.name} " not in sql]
    for transaction in load.statements() if load.tables else ():
        for sql in transaction:
            with contextlib.suppress(pymysql.err.MySQLError):
                run(sql)
    run("FLUSH BINARY LOGS")
    return mysql_data() / name
