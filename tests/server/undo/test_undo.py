"""``undo``: the target ends in the state of a replay without the transactions (R38), or is left as it is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pymysql
import pytest
from command_line import paraply as command
from command_line import run_json
from server.undo_histories import TABLES, Rows, UndoHistory, before_the_first, by_key, gtids_of, replayed
from server.undo_servers import LiveServer, Shop
from tests.pg_databases import Database

from paraply.applier import Applier
from paraply.errors import DependentTransactions, ParaplyError, RowNotFound, UndoRefused
from paraply.logs.transaction_set import TransactionSet
from paraply.targets import open_target
from paraply.undo.options import UndoOptions
from paraply.undo.undo import undo

SEEDS = int(os.environ.get("PARAPLY_SEEDS", "15"))
FIRST_SEED = int(os.environ.get("PARAPLY_SEED", "1"))
TRANSACTIONS = 25


def is_undone(chosen: TransactionSet, dependents: list[str | None]) -> Callable[[str], bool]:
    """Return a function that returns True for a GTID that was undone."""
    others = set(dependents)
    return lambda gtid: gtid in chosen or gtid in others


def check_include(live: LiveServer, seed: int) -> None:
    """Undo random transactions with their dependents, and compare with a replay without them."""
    history = UndoHistory(live.sql, seed, cascades=live.logs_cascades and seed % 2 == 0)
    live.begin_log()
    history.run(TRANSACTIONS)
    log = live.log()
    chosen = TransactionSet.parse("seed", history.choose(gtids_of(log, history.database)[15:]))
    before = replayed(log, history.database, lambda _: False)
    options = {mode: UndoOptions(transactions=chosen, dependents=mode) for mode in ("stop", "include")}
    found: list[str | None] = []
    try:
        found = [each.gtid for each in undo(log, live.url, options["stop"], dry_run=True).dependents]
    except DependentTransactions:
        with pytest.raises(DependentTransactions):
            undo(log, live.url, options["stop"])
        assert replayed(log, history.database, lambda _: False) == before, f"seed {seed}: stop has changed something"
        found = [each.gtid for each in undo(log, live.url, options["include"], dry_run=True).dependents]
        assert found
    expected = replayed(log, history.database, is_undone(chosen, found))
    undo(log, live.url, options["include"])
    # The undo is in the server's own log.
    assert replayed(live.log(), history.database, lambda _: False) == expected, f"seed {seed}"


def test_r38_a_live_source_ends_as_a_replay_without_the_transactions(live: LiveServer) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        check_include(live, seed)


def test_r38_with_keep_each_row_is_as_it_is_or_as_before_the_transactions(live: LiveServer) -> None:
    """No row is left between two of the undone changes, whichever key holds one of them."""
    kept = 0
    for seed in range(FIRST_SEED + 9000, FIRST_SEED + 9000 + SEEDS):
        history = UndoHistory(live.sql, seed)
        live.begin_log()
        history.run(TRANSACTIONS)
        log = live.log()
        chosen = TransactionSet.parse("seed", history.choose(gtids_of(log, history.database)[10:]))
        before, first = (
            by_key(replayed(log, history.database, lambda _: False)),
            before_the_first(log, history.database, chosen.__contains__),
        )
        kept += len(undo(log, live.url, UndoOptions(transactions=chosen, dependents="keep")).kept_rows)
        after = by_key(replayed(live.log(), history.database, lambda _: False))
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        assert {key: after.get(key) for key in changed} == {key: first[key] for key in changed}, f"seed {seed}"
    assert kept


@pytest.mark.parametrize(
    ("bad", "later", "rows"),
    [
        (("DELETE FROM item WHERE id = 1", "INSERT INTO item VALUES (1, 'g', 70)"), "INSERT INTO item VALUES (9, 'a', 0)", [(1, "g", 70)]),
        (
            ("UPDATE item SET code = 'e', price = 50 WHERE id = 1", "UPDATE item SET code = 'f', price = 60 WHERE id = 1"),
            "INSERT INTO item VALUES (9, 'a', 0)",
            [(1, "f", 60)],
        ),
        (
            (
                "UPDATE item SET code = NULL WHERE id = 1", "UPDATE item SET code = 'a' WHERE id = 2",
                "UPDATE item SET code = 'b' WHERE id = 3", "UPDATE item SET code = 'c' WHERE id = 1",
            ),
            "UPDATE item SET code = 'z' WHERE id = 2",
            [(1, "c", 10), (2, "z", 20), (3, "b", 30)],
        ),
        (
            ("UPDATE item SET id = 5 WHERE id = 1", "UPDATE item SET price = 77 WHERE id = 5"),
            "INSERT INTO item VALUES (1, 'y', 0)",
            [(5, "a", 77)],
        ),
    ],
    ids=["deleted and inserted", "changed twice", "exchanged", "another key"],
)  # fmt: skip
def test_a_row_of_which_one_change_is_kept_stays(shop: Shop, bad: Sequence[str], later: str, rows: list[tuple[object, ...]]) -> None:
    shop.run("bad", *bad)
    shop.run("later", later)
    before = shop.items()
    report = shop.undo("bad", dependents="keep")
    assert shop.items() == before
    assert set(rows) <= set(before)
    assert {f"id={row[0]}" for row in rows} <= {key for _, key in report.kept_rows} | {"id=2"}


@pytest.mark.slow(share=False)  # an hour for each kind of target
@pytest.mark.timeout(14_400)
def test_r38_a_live_source_ends_so_for_a_thousand_histories(live: LiveServer) -> None:
    def check(seed: int) -> None:
        check_include(live, seed)
        live.sql(f"DROP DATABASE undo_{seed}")

    check_seeds(check, 1000)


def check_seeds(check: Callable[[int], None], first: int) -> None:
    """Run a check for many seeds, and fail with those for which it failed.

    Args:
        check: The check.
        first: The first seed without ``PARAPLY_SEED``.
    """
    first = int(os.environ.get("PARAPLY_SEED", first))
    failed = {}
    for seed in range(first, first + int(os.environ.get("PARAPLY_SEEDS", "1000"))):
        try:
            check(seed)
        except (AssertionError, pytest.fail.Exception, ParaplyError, pymysql.Error) as error:
            failed[seed] = f"{type(error).__name__}: {error}"
            print(f"seed {seed}: {failed[seed]}")
        else:
            print(f"seed {seed}: equal")
    assert not failed


def postgres_rows(database: Database, schema: str) -> Rows:
    """Return the rows of a PostgreSQL as texts like those of the log."""
    found: Rows = {}
    with psycopg.connect(database.url) as connection:
        for table in TABLES:
            cursor = connection.execute(f'SELECT * FROM "{schema}"."{table}" LIMIT 0'.encode())
            names = [column.name for column in cursor.description or ()]
            listed = ", ".join(f'"{name}"::text' for name in names)
            rows = connection.execute(f'SELECT {listed} FROM "{schema}"."{table}"'.encode()).fetchall()
            values = (tuple(sorted(zip(names, map(as_logged, row), strict=True))) for row in rows)
            found[table] = Counter(values)
    return found


def as_logged(value: str | None) -> str | None:
    """Return PostgreSQL's text of a value as the log has it."""
    return value[2:].upper() if value is not None and value.startswith("\\x") else value


def check_postgres(live_mariadb: LiveServer, database: Database, seed: int) -> None:
    """Undo random transactions in a PostgreSQL into which they were replayed."""
    history = UndoHistory(live_mariadb.sql, seed)
    live_mariadb.begin_log()
    history.run(TRANSACTIONS)
    log = live_mariadb.log()
    channel = f"c{seed}"
    with open_target(database.url) as target:
        Applier(log, target, channel=channel, workers=2, allow_gap=True).run()
    chosen = TransactionSet.parse("seed", history.choose(gtids_of(log, history.database)[15:]))
    options = UndoOptions(transactions=chosen, dependents="include", channel=channel)
    found = [each.gtid for each in undo(log, database.url, options).dependents]
    assert postgres_rows(database, history.database) == replayed(log, history.database, is_undone(chosen, found)), f"seed {seed}"


def test_r38_postgres_ends_as_a_replay_without_the_transactions(live_mariadb: LiveServer, database: Database) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + max(SEEDS // 2, 1)):
        check_postgres(live_mariadb, database, seed)


@pytest.mark.slow(share=False)  # an hour for each kind of target
@pytest.mark.timeout(14_400)
def test_r38_postgres_ends_so_for_a_thousand_histories(live_mariadb: LiveServer, database: Database) -> None:
    def check(seed: int) -> None:
        check_postgres(live_mariadb, database, seed)
        live_mariadb.sql(f"DROP DATABASE undo_{seed}")
        database.sql(f'DROP SCHEMA "undo_{seed}" CASCADE')

    check_seeds(check, 5000)


def test_dependents_are_listed_with_their_keys_and_nothing_is_changed(shop: Shop) -> None:
    shop.run("bad", "UPDATE item SET price = 0")
    shop.run("later", "UPDATE item SET price = price + 1 WHERE id = 2")
    before = shop.items()
    ended = run_json("undo", *shop.live.log(), "--to", shop.live.url, "--transactions", shop.gtids["bad"])
    assert ended.code == 1
    assert ended.error["class"] == "DependentTransactions"
    (dependent,) = ended.report["dependents"]
    assert dependent["gtid"] == shop.gtids["later"]
    assert "us.item PRIMARY 2" in dependent["keys"]
    assert not ended.report["applied"]
    assert shop.items() == before


def test_dependents_are_taken_along(shop: Shop) -> None:
    shop.run("bad", "UPDATE item SET price = 0")
    shop.run("later", "UPDATE item SET price = price + 1 WHERE id = 2")
    shop.run("other", "INSERT INTO item VALUES (9, 'z', 90)")
    ended = run_json("undo", *shop.live.log(), "--to", shop.live.url, "--transactions", shop.gtids["bad"], "--dependents", "include")
    assert (ended.code, ended.report["transactions"], ended.report["rows"]) == (0, 2, 4)
    assert shop.items() == [(1, "a", 10), (2, "b", 20), (3, "c", 30), (9, "z", 90)]
    (note,) = shop.live.sql("SELECT transactions FROM paraply.undo_history ORDER BY id DESC LIMIT 1")[0]
    undone = TransactionSet.parse("", note)
    assert [shop.gtids[name] in undone for name in ("bad", "later", "other")] == [True, True, False]


def test_kept_dependents_keep_their_rows(shop: Shop) -> None:
    shop.run("bad", "UPDATE item SET price = 0")
    shop.run("later", "UPDATE item SET price = price + 1 WHERE id = 2")
    report = shop.undo("bad", dependents="keep")
    assert shop.items() == [(1, "a", 10), (2, "b", 1), (3, "c", 30)]
    assert report.kept_rows == [("us.item", "id=2")]


def test_a_unique_value_and_a_parent_row_make_dependents(shop: Shop) -> None:
    shop.run("free", "DELETE FROM item WHERE id = 3")
    shop.run("taken", "INSERT INTO item VALUES (4, 'c', 40)")
    shop.run("child", "INSERT INTO part VALUES (1, 4)")
    report = shop.undo("free", dependents="include")
    assert [each.gtid for each in report.dependents] == [shop.gtids["taken"], shop.gtids["child"]]
    assert shop.items() == [(1, "a", 10), (2, "b", 20), (3, "c", 30)]


def test_a_deleted_parent_of_a_returning_child_makes_a_dependent(shop: Shop) -> None:
    shop.run("child", "INSERT INTO part VALUES (1, 3)")
    shop.run("bad", "DELETE FROM part WHERE id = 1")
    shop.run("price", "UPDATE item SET price = 31 WHERE id = 3")
    shop.run("parent", "DELETE FROM item WHERE id = 3")
    report = shop.undo("bad", dependents="include")
    assert [each.gtid for each in report.dependents] == [shop.gtids["parent"]]
    assert shop.items()[-1] == (3, "c", 31)


def test_a_change_that_the_log_does_not_hold_is_never_overwritten(shop: Shop) -> None:
    shop.run("bad", "UPDATE item SET price = 0")
    log = [Path(str(path)) for path in shop.live.log()]
    shop.live.begin_log()
    shop.live.sql("UPDATE us.item SET code = 'B' WHERE id = 2")
    before = shop.items()
    with pytest.raises(RowNotFound) as caught:
        undo(log, shop.live.url, shop.options("bad"))
    assert (caught.value.table, caught.value.key) == ("us.item", "id=2")
    assert shop.items() == before


def test_the_row_of_a_statement_for_several_is_named(shop: Shop) -> None:
    shop.run("bad", "INSERT INTO item VALUES (7, 'x', 1), (8, 'y', 2), (9, 'z', 3)")
    log = shop.live.log()
    shop.live.begin_log()
    shop.live.sql("UPDATE us.item SET price = 99 WHERE id = 8")
    with pytest.raises(RowNotFound) as caught:
        undo(log, shop.live.url, shop.options("bad"))
    assert caught.value.key == "id=8"


def test_a_later_statement_on_the_table_is_named(shop: Shop) -> None:
    shop.run("bad", "UPDATE item SET price = 0")
    shop.live.sql("ALTER TABLE us.item ADD more INT")
    with pytest.raises(UndoRefused, match=r"ALTER TABLE us\.item ADD more INT"):
        shop.undo("bad")


def test_an_earlier_statement_on_the_table_is_none(shop: Shop) -> None:
    shop.live.sql("ALTER TABLE us.item ADD more INT DEFAULT 5")
    shop.run("bad", "UPDATE item SET price = 0, more = 6")
    shop.undo("bad")
    assert shop.items() == [(1, "a", 10, 5), (2, "b", 20, 5), (3, "c", 30, 5)]


def test_a_log_that_begins_later_takes_the_definitions_of_the_target(shop: Shop) -> None:
    shop.live.begin_log()
    shop.run("bad", "UPDATE item SET price = 0")
    shop.undo("bad")
    assert shop.items() == [(1, "a", 10), (2, "b", 20), (3, "c", 30)]


def test_triggers_of_the_target_are_refused(shop: Shop) -> None:
    shop.run("bad", "UPDATE item SET price = 0")
    shop.live.sql("CREATE TRIGGER us.t BEFORE UPDATE ON us.item FOR EACH ROW SET NEW.price = 5")
    with pytest.raises(UndoRefused, match="triggers in the target"):
        shop.undo("bad")


def test_cascades_that_the_log_does_not_hold_are_refused(live: LiveServer) -> None:
    if live.logs_cascades:
        pytest.skip("this server logs cascades")
    shop = Shop(live)
    live.sql("CREATE TABLE us.leaf (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id) ON DELETE CASCADE) ENGINE=InnoDB")
    shop.run("bad", "DELETE FROM item WHERE id = 3")
    with pytest.raises(ParaplyError, match="CASCADE or SET NULL"):
        shop.undo("bad")


def test_a_cascade_never_takes_rows_that_the_log_does_not_know(live: LiveServer) -> None:
    shop = Shop(live)
    live.sql("CREATE TABLE us.leaf (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id) ON DELETE CASCADE) ENGINE=InnoDB")
    shop.run("bad", "INSERT INTO item VALUES (4, 'd', 40)")
    log = live.log()
    live.begin_log()
    live.sql("INSERT INTO us.leaf VALUES (1, 4)")
    with pytest.raises(UndoRefused, match=r"a row of us\.leaf would refer to a row of us\.item that does not exist"):
        undo(log, live.url, shop.options("bad"))
    assert live.sql("SELECT * FROM us.leaf") == [(1, 4)]


def test_one_table_between_two_times(shop: Shop) -> None:
    shop.run("both", "UPDATE item SET price = 0 WHERE id = 1", "INSERT INTO part VALUES (5, 2)")
    options = ("--between", "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "--table", "us.part")
    ended = run_json("undo", *shop.live.log(), "--to", shop.live.url, *options)
    assert (ended.code, ended.report["tables"]) == (0, {"us.part": 1})
    assert shop.items()[0] == (1, "a", 0)
    assert shop.live.sql("SELECT * FROM us.part") == []


def test_a_dry_run_and_a_script_change_nothing(shop: Shop, tmp_path: Path) -> None:
    shop.run("bad", "UPDATE item SET price = 0 WHERE id = 2")
    before = shop.items()
    options = ("undo", *shop.live.log(), "--to", shop.live.url, "--transactions", shop.gtids["bad"])
    assert run_json(*options, "--dry-run").report["applied"] is False
    shown = command(*options, "--sql", tmp_path / "undo.sql")
    assert shown.returncode == 0, shown.stderr
    text = (tmp_path / "undo.sql").read_text()
    assert "UPDATE `us`.`item` SET `price`=20 WHERE `id`=2 AND CAST(`code` AS BINARY)='b' AND `price`=0; -- must affect 1 row" in text
    assert shop.items() == before


def test_every_type_comes_back_exactly(live: LiveServer) -> None:
    for text in ("DROP DATABASE IF EXISTS ut", "CREATE DATABASE ut", "USE ut"):
        live.sql(text)
    live.sql("SET time_zone='+05:30'")
    live.sql(
        "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(30,9), bits BIT(17), e ENUM('a','\u00e9','c'),"
        " s SET('x','y','z'), dt DATETIME(6), ts TIMESTAMP(2) NULL, ti TIME(3), da DATE, y YEAR, bin BINARY(5), vb VARBINARY(5), bl BLOB,"
        " tx TEXT CHARACTER SET utf16, la CHAR(5) CHARACTER SET latin1, js JSON, g GEOMETRY, big BIGINT UNSIGNED,"
        " up TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, sum INT AS (id + 1) STORED) ENGINE=InnoDB"
    )
    values = (
        "{id}, 0.1, -1.7976931348623157e308, 123456789012345678901.123456789, b'10101', '\u00e9', 'x,z', '2026-01-02 03:04:05.123456',"
        " '2026-06-01 00:00:00.55', '-12:34:56.789', '0001-01-01', 2026, x'0100', x'01 00', x'00FF27',"
        " '\U0001f600''\\\\', 'caf\u00e9', '{{\"a\": [1, 2.5, null, \"q\\\\\"\"]}}', POINT(1, 2), 18446744073709551615,"
        " '2020-01-01 00:00:00', DEFAULT"
    ).replace("x'01 00'", "x'0100'")
    for number in (1, 2, 3):
        live.sql(f"INSERT INTO t VALUES ({values.format(id=number)})")
    live.sql("INSERT INTO t (id, tx) VALUES (4, NULL)")
    before = live.sql("CHECKSUM TABLE ut.t")
    live.sql("BEGIN")
    live.sql("DELETE FROM t WHERE id = 1")
    live.sql("UPDATE t SET f = 0.3, js = '[]', tx = 'x', g = POINT(3, 4), bin = x'05' WHERE id = 2")
    live.sql("UPDATE t SET id = 77 WHERE id = 3")
    live.sql("DELETE FROM t WHERE id = 4")
    live.sql("COMMIT")
    live.sql("SET time_zone=SYSTEM")
    gtid = gtids_of(live.log(), "ut")[-1]
    undo(live.log(), live.url, UndoOptions(transactions=TransactionSet.parse("set", gtid)))
    assert live.sql("CHECKSUM TABLE ut.t") == before


def test_an_unknown_transaction_and_missing_options_are_mistakes_of_use(shop: Shop) -> None:
    log = shop.live.log()
    ended = run_json("undo", *log, "--to", shop.live.url, "--transactions", "0-99-1")
    assert (ended.code, "these logs do not hold" in ended.error["message"]) == (2, True)
    assert run_json("undo", *log, "--to", shop.live.url).code == 2


def test_the_progress_of_a_channel_is_never_undone(shop: Shop) -> None:
    shop.live.sql("CREATE DATABASE IF NOT EXISTS paraply")
    shop.live.sql("CREATE TABLE IF NOT EXISTS paraply.mine (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
    shop.live.sql("REPLACE INTO paraply.mine VALUES (1, 0)")
    shop.run("bad", "UPDATE us.item SET price = 0 WHERE id = 1", "UPDATE paraply.mine SET n = 1")
    shop.run("later", "UPDATE us.item SET price = 5 WHERE id = 1", "UPDATE paraply.mine SET n = 2")
    shop.run("other", "UPDATE us.item SET price = 7 WHERE id = 2", "UPDATE paraply.mine SET n = 3")
    report = shop.undo("bad", dependents="include")
    assert [each.gtid for each in report.dependents] == [shop.gtids["later"]]
    assert shop.items()[:2] == [(1, "a", 10), (2, "b", 7)]
    assert shop.live.sql("SELECT n FROM paraply.mine") == [(3,)]


def test_updates_of_several_rows_share_a_statement(shop: Shop, tmp_path: Path) -> None:
    shop.run("bad", "UPDATE item SET price = NULL", "UPDATE item SET price = 4 WHERE id = 2")
    options = ("undo", *shop.live.log(), "--to", shop.live.url, "--transactions", shop.gtids["bad"])
    shown = command(*options, "--sql", tmp_path / "undo.sql")
    assert shown.returncode == 0, shown.stderr
    text = (tmp_path / "undo.sql").read_text()
    assert text.index("`price`=CASE `id` WHEN 2 THEN NULL WHEN 3 THEN 30 END WHERE (") < text.index(
        "CASE `id` WHEN 2 THEN 20 WHEN 1 THEN 10 END"
    )
    shop.undo("bad")
    assert shop.items() == [(1, "a", 10), (2, "b", 20), (3, "c", 30)]


def test_rows_without_all_columns_are_refused(shop: Shop) -> None:
    shop.live.sql("SET SESSION binlog_row_image=MINIMAL")
    shop.run("bad", "UPDATE item SET price = 0 WHERE id = 2")
    shop.live.sql("SET SESSION binlog_row_image=FULL")
    with pytest.raises(ParaplyError, match="leave out column"):
        shop.undo("bad")
    assert shop.items()[1] == (2, "b", 0)
