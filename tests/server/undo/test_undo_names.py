"""``undo`` in tables whose names hold words and quotes of SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.undo_histories import gtids_of
from server.undo_servers import LiveServer
from tests.pg_databases import Database

from paraply.applier import Applier
from paraply.errors import RowNotFound
from paraply.logs.transaction_set import TransactionSet
from paraply.targets import open_target
from paraply.undo.options import UndoOptions
from paraply.undo.undo import undo

TABLE = """a WHERE b.c SET d FROM "e" 'f' WHERE"""
COLUMN = """g WHERE h="i" SET j='k' OR"""
OTHER = "l SET m"
IN_MYSQL = f"`odd`.`{TABLE}`"
IN_POSTGRES = '"odd"."' + TABLE.replace('"', '""') + '"'
OTHER_IN_POSTGRES = '"' + OTHER + '"'


def made_log(live: LiveServer, *mistakes: str) -> tuple[list[Path], UndoOptions]:
    """Run statements that are to be undone in such a table; return the log, and the options to undo them."""
    for text in (
        "DROP DATABASE IF EXISTS odd",
        "CREATE DATABASE odd",
        f"CREATE TABLE {IN_MYSQL} (`{COLUMN}` INT PRIMARY KEY, `{OTHER}` INT) ENGINE=InnoDB",
        f"INSERT INTO {IN_MYSQL} VALUES (1, 10), (2, 20), (3, 30)",
    ):
        live.sql(text)
    before = len(gtids_of(live.log(), "odd"))
    for text in mistakes:
        live.sql(text)
    gtids = ",".join(gtids_of(live.log(), "odd")[before:])
    return live.log(), UndoOptions(transactions=TransactionSet.parse("bad", gtids))


INSERTS = f"INSERT INTO {IN_MYSQL} VALUES (7, 1), (8, 2), (9, 3)"
UPDATES = f"UPDATE {IN_MYSQL} SET `{OTHER}` = NULL"


def test_r38_postgres_names_the_changed_row_of_a_table_with_an_odd_name(live_mariadb: LiveServer, database: Database) -> None:
    log, options = made_log(live_mariadb, INSERTS)
    with open_target(database.url) as target:
        Applier(log, target, workers=1, allow_gap=True).run()
    database.sql(f"UPDATE {IN_POSTGRES} SET {OTHER_IN_POSTGRES} = 99 WHERE {OTHER_IN_POSTGRES} = 2")
    with pytest.raises(RowNotFound) as caught:
        undo(log, database.url, options)
    assert (caught.value.table, caught.value.key) == (f"odd.{TABLE}", "'8'")
    database.sql(f"UPDATE {IN_POSTGRES} SET {OTHER_IN_POSTGRES} = 2 WHERE {OTHER_IN_POSTGRES} = 99")
    assert undo(log, database.url, options).row_count == 3
    assert sorted(database.sql(f"SELECT * FROM {IN_POSTGRES}")) == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.parametrize(("mistake", "key"), [(INSERTS, 8), (UPDATES, 2)])
def test_r38_a_server_names_the_changed_row_of_a_table_with_an_odd_name(live: LiveServer, mistake: str, key: int) -> None:
    log, options = made_log(live, mistake)
    live.begin_log()
    quoted = f"`{COLUMN}`"
    live.sql(f"UPDATE {IN_MYSQL} SET `{OTHER}` = 99 WHERE {quoted} = {key}")
    with pytest.raises(RowNotFound) as caught:
        undo(log, live.url, options)
    assert (caught.value.table, caught.value.key) == (f"odd.{TABLE}", f"{COLUMN}={key}")
