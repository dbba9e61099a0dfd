"""``undo --dry-run`` ends as the undo itself would, and a repeated undo is noticed."""

from __future__ import annotations

import psycopg
import pytest
from command_line import paraply as command
from command_line import run_json
from server.undo_histories import gtids_of
from server.undo_servers import LiveServer, Shop
from tests.pg_databases import Database

from paraply.applier import Applier
from paraply.errors import DependentTransactions, RowNotFound, UndoRefused
from paraply.logs.transaction_set import TransactionSet
from paraply.targets import open_target
from paraply.undo.options import UndoOptions
from paraply.undo.undo import undo

MANY = 1500
"""Rows enough to be changed through a temporary table."""


def end_of_log(live: LiveServer) -> list[object]:
    """Return the name and the size of the newest log."""
    return list(live.sql("SHOW BINARY LOGS")[-1][:2])


def tables_of_paraply(live: LiveServer) -> list[tuple[object, ...]]:
    """Return the tables of paraply's own database."""
    return live.sql("SELECT table_name FROM information_schema.tables WHERE table_schema='paraply'")


def test_r38_a_dry_run_checks_foreign_keys_and_leaves_nothing(shop: Shop) -> None:
    live = shop.live
    live.sql("DROP DATABASE IF EXISTS paraply")
    shop.run("new", "INSERT INTO item VALUES (4, 'd', 40)")
    log = live.log()
    live.begin_log()
    live.sql("INSERT INTO us.part VALUES (9, 4)")
    before = (shop.items(), end_of_log(live))
    for dry_run in (True, False):
        with pytest.raises(UndoRefused, match=r"a row of us\.part would refer to a row of us\.item that does not exist"):
            undo(log, live.url, shop.options("new", dependents="keep"), dry_run=dry_run)
        assert (shop.items(), end_of_log(live), tables_of_paraply(live)) == (*before, [])


def test_r38_a_dry_run_of_many_rows_finds_the_changed_one(shop: Shop) -> None:
    live = shop.live
    live.sql("DROP DATABASE IF EXISTS paraply")
    values = ", ".join(f"({number}, 'c{number}', 1)" for number in range(100, 100 + MANY))
    shop.run("many", f"INSERT INTO item VALUES {values}")
    log = live.log()
    before = end_of_log(live)
    report = undo(log, live.url, shop.options("many"), dry_run=True)
    assert (report.row_count, report.applied, len(shop.items())) == (MANY, False, MANY + 3)
    assert (end_of_log(live), tables_of_paraply(live)) == (before, [])
    live.begin_log()
    live.sql("UPDATE us.item SET price = 2 WHERE id = 777")
    with pytest.raises(RowNotFound) as caught:
        undo(log, live.url, shop.options("many"), dry_run=True)
    assert caught.value.key == "id=777"


def test_r38_a_repeated_undo_is_noticed(shop: Shop) -> None:
    live = shop.live
    live.sql("DROP DATABASE IF EXISTS paraply")
    shop.run("bad", "UPDATE item SET price = 0 WHERE id = 2")
    log = live.log()
    live.begin_log()
    assert undo(log, live.url, shop.options("bad")).earlier == []
    with pytest.raises(RowNotFound, match=rf"paraply\.undo_history holds an undo of {shop.gtids['bad']} already \(row 1, 20.*Z by .*@"):
        undo(log, live.url, shop.options("bad"))
    whole = [*log, *live.log()]
    with pytest.raises(DependentTransactions, match=r"paraply\.undo_history holds an undo of"):
        undo(whole, live.url, shop.options("bad"))
    before = shop.items()
    ended = run_json("undo", *whole, "--to", live.url, "--transactions", shop.gtids["bad"], "--dependents", "include", "--dry-run")
    assert (ended.code, [found["transactions"] for found in ended.report["earlier_undos"]]) == (0, [shop.gtids["bad"]])
    shown = command("undo", *whole, "--to", live.url, "--transactions", shop.gtids["bad"], "--dependents", "include", "--dry-run")
    assert "warning: paraply.undo_history holds an undo" in shown.stdout, shown.stderr
    assert shop.items() == before


def test_r38_a_table_of_undos_of_an_earlier_paraply_is_read_and_extended(shop: Shop) -> None:
    live = shop.live
    live.sql("DROP DATABASE IF EXISTS paraply")
    live.sql("CREATE DATABASE paraply")
    columns = "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, undone_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
    live.sql(f"CREATE TABLE paraply.undo_history ({columns}, transactions LONGTEXT NOT NULL) ENGINE=InnoDB")
    shop.run("bad", "UPDATE item SET price = 0")
    log = live.log()
    live.sql(f"INSERT INTO paraply.undo_history (transactions) VALUES ('3 transactions from x'), ('{shop.gtids['bad']}')")
    report = undo(log, live.url, shop.options("bad"))
    assert [(found.row.id, found.row.undone_by) for found in report.earlier] == [(2, None)]
    assert len(live.sql("SELECT undone_by FROM paraply.undo_history WHERE undone_by IS NOT NULL")) == 1


def test_r38_a_table_that_the_logs_lack_is_refused_and_no_rows_leave_nothing(shop: Shop) -> None:
    live = shop.live
    live.sql("DROP DATABASE IF EXISTS paraply")
    shop.run("bad", "UPDATE item SET price = 0")
    shop.run("part", "INSERT INTO part VALUES (1, 1)")
    before = end_of_log(live)
    options = ("undo", *live.log(), "--to", live.url, "--transactions")
    ended = run_json(*options, shop.gtids["part"], "--table", "us.item", "--table", "us.itme")
    assert (ended.code, "names no table of these logs: us.itme (" in ended.error["message"]) == (2, True)
    ended = run_json(*options, shop.gtids["bad"], "--table", "us.part")
    assert (ended.code, ended.report["rows"], ended.report["applied"]) == (0, 0, False)
    assert (end_of_log(live), tables_of_paraply(live)) == (before, [])
    both = f"{shop.gtids['bad']},{shop.gtids['part']}"
    assert run_json(*options, both, "--table", "us.part").report["rows"] == 1
    assert live.sql("SELECT transactions FROM paraply.undo_history") == [(shop.gtids["part"],)]


def test_r38_postgres_tries_and_notices_too(live_mariadb: LiveServer, database: Database) -> None:
    shop = Shop(live_mariadb)
    shop.run("new", "INSERT INTO item VALUES (4, 'd', 40)")
    log = live_mariadb.log()
    with open_target(database.url) as target:
        Applier(log, target, workers=2, allow_gap=True).run()
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE us.part ADD FOREIGN KEY (item) REFERENCES us.item (id) DEFERRABLE")
        connection.execute("INSERT INTO us.part VALUES (9, 4)")
        options = UndoOptions(transactions=TransactionSet.parse("set", gtids_of(log, "us")[-1]))
        for dry_run in (True, False):
            with pytest.raises(UndoRefused, match="a row would refer to a row that does not exist") as caught:
                undo(log, database.url, options, dry_run=dry_run)
            assert caught.value.key == "id=4"
        connection.execute("DELETE FROM us.part")
        assert undo(log, database.url, options, dry_run=True).applied is False
        assert connection.execute("SELECT to_regclass('paraply.undo_history'), count(*) FROM us.item").fetchone() == (None, 4)
        assert undo(log, database.url, options).applied
        assert connection.execute("SELECT undone_by LIKE '%@%' FROM paraply.undo_history").fetchall() == [(True,)]
        with pytest.raises(RowNotFound, match=r"paraply\.undo_history holds an undo of .* already \(row \d+, 20.*@"):
            undo(log, database.url, options, dry_run=True)
