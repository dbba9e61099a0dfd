"""``undo`` of foreign keys' changes, of many rows, and beside DDL on other tables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from server.undo_histories import gtids_of
from server.undo_servers import LiveServer, Shop
from tests.pg_databases import Database

from paraply._native import TableFilter
from paraply.applier import Applier
from paraply.errors import ParaplyError, RowNotFound, UndoRefused
from paraply.logs.transaction_set import TransactionSet
from paraply.targets import open_target
from paraply.undo.options import UndoOptions
from paraply.undo.undo import undo

MANY = 1500
"""Rows enough to be changed through a temporary table."""


def with_children(live: LiveServer, actions: str) -> Shop:
    """Return a shop with a table whose foreign key has these actions."""
    shop = Shop(live)
    live.sql(f"CREATE TABLE us.leaf (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES us.item (id) {actions}) ENGINE=InnoDB")
    live.sql("INSERT INTO us.leaf VALUES (1, 3), (2, 3), (3, 2)")
    return shop


def leaves(live: LiveServer) -> list[tuple[object, ...]]:
    """Return the rows of that table."""
    return live.sql("SELECT * FROM us.leaf ORDER BY id")


def test_r38_a_cascade_in_the_log_is_taken_back(live: LiveServer) -> None:
    if not live.logs_cascades:
        pytest.skip("this server does not log cascades")
    shop = with_children(live, "ON UPDATE CASCADE ON DELETE SET NULL")
    before = (shop.items(), leaves(live))
    shop.run("key", "UPDATE item SET id = 30 WHERE id = 3")
    shop.undo("key")
    assert (shop.items(), leaves(live)) == before
    shop.run("gone", "DELETE FROM item WHERE id = 3")
    shop.undo("gone")
    assert (shop.items(), leaves(live)) == before


@pytest.mark.parametrize("first", ["item", "leaf"])
@pytest.mark.parametrize("actions", ["", "ON UPDATE CASCADE ON DELETE CASCADE"])
def test_r38_changes_without_foreign_key_checks_are_taken_back_in_any_order(live: LiveServer, actions: str, first: str) -> None:
    shop = with_children(live, actions)
    before = (shop.items(), leaves(live))
    keys = ["UPDATE item SET id = 30 WHERE id = 3", "UPDATE leaf SET item = 30 WHERE item = 3"]
    gone = ["DELETE FROM item WHERE id = 2", "DELETE FROM leaf WHERE item = 2"]
    new = ["INSERT INTO item VALUES (7, 'h', 1)", "INSERT INTO leaf VALUES (7, 7)"]
    for pair in (keys, gone, new):
        live.sql("SET foreign_key_checks=0")
        shop.run("bad", *(pair if first == "item" else reversed(pair)))
        live.sql("SET foreign_key_checks=1")
        shop.undo("bad")
        assert (shop.items(), leaves(live)) == before


def test_r38_a_foreign_key_to_the_same_table_is_checked_at_the_end(live: LiveServer) -> None:
    shop = Shop(live)
    live.sql("CREATE TABLE us.tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES us.tree (id) ON DELETE CASCADE) ENGINE=InnoDB")
    shop.run("bad", "INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2)")
    shop.undo("bad")
    assert live.sql("SELECT * FROM us.tree") == []


@pytest.mark.parametrize("actions", ["", "ON UPDATE CASCADE ON DELETE CASCADE"])
def test_r38_a_row_that_the_logs_do_not_hold_is_named_with_its_key(live: LiveServer, actions: str) -> None:
    shop = with_children(live, actions)
    shop.run("new", "INSERT INTO item VALUES (4, 'd', 40)")
    log = live.log()
    live.begin_log()
    live.sql("INSERT INTO us.leaf VALUES (9, 4)")
    before = (shop.items(), leaves(live))
    with pytest.raises(UndoRefused, match=r"a row of us\.leaf would refer to a row of us\.item that does not exist") as caught:
        undo(log, live.url, shop.options("new"))
    assert (caught.value.table, caught.value.key) == ("us.leaf", "4")
    assert (shop.items(), leaves(live)) == before


def test_r38_a_parent_that_somebody_removed_is_named(shop: Shop) -> None:
    live = shop.live
    shop.run("child", "INSERT INTO part VALUES (1, 3)")
    shop.run("bad", "DELETE FROM part WHERE id = 1")
    log = live.log()
    live.begin_log()
    live.sql("DELETE FROM us.item WHERE id = 3")
    with pytest.raises(UndoRefused, match=r"a row of us\.part would refer to a row of us\.item"):
        undo(log, live.url, shop.options("bad"))
    assert live.sql("SELECT * FROM us.part") == []


@pytest.mark.skipif(shutil.which("mariadb") is None, reason="needs MariaDB's client")
def test_r38_a_script_checks_foreign_keys_too(live_mariadb: LiveServer, tmp_path: Path) -> None:
    shop = with_children(live_mariadb, "ON UPDATE CASCADE")
    before = (shop.items(), leaves(live_mariadb))
    live_mariadb.sql("SET foreign_key_checks=0")
    shop.run("bad", "UPDATE item SET id = 30 WHERE id = 3", "UPDATE leaf SET item = 30 WHERE item = 3")
    live_mariadb.sql("SET foreign_key_checks=1")
    place = tmp_path / "undo.sql"
    undo(live_mariadb.log(), live_mariadb.url, shop.options("bad"), sql=place)
    host, port = live_mariadb.url.rpartition("@")[2].split(":")
    client = ["mariadb", "--no-defaults", "-uapp", "-papp", f"-h{host}", f"-P{port}"]
    live_mariadb.sql("INSERT INTO us.leaf VALUES (9, 30)")
    failed = subprocess.run(client, input=place.read_bytes(), capture_output=True, check=False)
    assert (failed.returncode, b"Subquery returns more than 1 row" in failed.stderr) == (1, True)
    assert len(leaves(live_mariadb)) == 4
    assert shop.items()[-1][0] == 30
    live_mariadb.sql("DELETE FROM us.leaf WHERE id = 9")
    assert subprocess.run(client, input=place.read_bytes(), capture_output=True, check=False).returncode == 0
    assert (shop.items(), leaves(live_mariadb)) == before


def test_r38_ddl_on_another_table_does_not_matter(shop: Shop) -> None:
    live = shop.live
    for text in ("CREATE TABLE us.other (id INT PRIMARY KEY) ENGINE=InnoDB", "CREATE TABLE us.short (id INT PRIMARY KEY) ENGINE=InnoDB"):
        live.sql(text)
    shop.run("bad", "UPDATE item SET price = 0", "INSERT INTO other VALUES (1)", "INSERT INTO short VALUES (1)")
    live.sql("ALTER TABLE us.other ADD more INT")
    live.sql("DROP TABLE us.short")
    shop.run("more", "INSERT INTO other VALUES (2, 2)")
    tables = TransactionSet.parse("set", f"{shop.gtids['bad']},{shop.gtids['more']}")
    undo(live.log(), live.url, UndoOptions(transactions=tables, tables=TableFilter((), (("us", "item"),))))
    assert [row[2] for row in shop.items()] == [10, 20, 30]
    assert live.sql("SELECT id FROM us.other ORDER BY id") == [(1,), (2,)]
    with pytest.raises(UndoRefused, match="ALTER TABLE"):
        shop.undo("bad")


def test_r38_ddl_on_the_other_table_of_a_foreign_key_is_refused(shop: Shop) -> None:
    live = shop.live
    shop.run("bad", "INSERT INTO item VALUES (4, 'd', 40)", "INSERT INTO part VALUES (1, 4)")
    live.sql("ALTER TABLE us.part ADD more INT")
    options = UndoOptions(transactions=TransactionSet.parse("set", shop.gtids["bad"]), tables=TableFilter((), (("us", "item"),)))
    with pytest.raises(ParaplyError, match=r"us\.part"):
        undo(live.log(), live.url, options)
    assert len(shop.items()) == 4


def many(live: LiveServer) -> None:
    """Make a table with many rows of odd values."""
    for text in ("DROP DATABASE IF EXISTS um", "CREATE DATABASE um", "USE um"):
        live.sql(text)
    live.sql(
        "CREATE TABLE many (id INT PRIMARY KEY, u INT NOT NULL UNIQUE, a VARCHAR(20) CHARACTER SET latin1 NOT NULL, f FLOAT,"
        " n DECIMAL(9,3), at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),"
        " b VARBINARY(9), e ENUM('x','y') NOT NULL,"
        " js JSON, t TEXT CHARACTER SET utf8mb4, g INT AS (id + u) STORED) ENGINE=InnoDB"
    )
    rows = ",".join(
        f"({n}, {n}, 'caf\u00e9 {n % 7}', {n} / 7, {n} / 9, '2026-01-02 03:04:05.{n % 1000:03}', X'00{n % 256:02X}', 'x',"
        f" {'NULL' if n % 3 else repr('[1, 2.50]')}, {'NULL' if n % 5 else repr('l' * 300)})"
        for n in range(MANY)
    )
    live.sql(f"INSERT INTO many (id, u, a, f, n, at, b, e, js, t) VALUES {rows}")


UPDATES = (
    "UPDATE many SET a = CONCAT(a, '!'), n = n + 1 WHERE id % 2 = 0",
    "UPDATE many SET f = f * 3, t = 'new', e = 'y' WHERE id % 3 = 0",
    "UPDATE many SET js = '{}', b = NULL, g = DEFAULT",
    "DELETE FROM many WHERE id > 1000",
    "UPDATE many SET u = u + 5000",
    "INSERT INTO many (id, u, a, e) SELECT id + 100000, id + 100000, 'new', 'x' FROM many",
)


def test_r38_many_rows_come_back_exactly(live: LiveServer) -> None:
    many(live)
    before = live.sql("CHECKSUM TABLE um.many")
    live.begin_log()
    live.sql("BEGIN")
    for text in UPDATES:
        live.sql(text)
    live.sql("COMMIT")
    log = live.log()
    chosen = UndoOptions(transactions=TransactionSet.parse("set", gtids_of(log, "um")[-1]))
    live.begin_log()
    live.sql("UPDATE um.many SET a = 'mine', at = at WHERE id = 777")
    changed = live.sql("CHECKSUM TABLE um.many")
    with pytest.raises(RowNotFound) as caught:
        undo(log, live.url, chosen)
    assert (caught.value.table, caught.value.key) == ("um.many", "id=777")
    assert live.sql("CHECKSUM TABLE um.many") == changed
    live.sql("UPDATE um.many SET a = 'caf\u00e9 0', at = at WHERE id = 777")
    report = undo(log, live.url, chosen)
    assert live.sql("CHECKSUM TABLE um.many") == before
    assert report.row_count > 5000
    logged = b"".join(path.read_bytes() for path in live.log())
    assert b"TEMPORARY TABLE" not in logged, "temporary tables are not the replicas' business"


def test_r38_a_user_without_temporary_tables_undoes_many_rows(live: LiveServer) -> None:
    many(live)
    before = live.sql("CHECKSUM TABLE um.many")
    live.begin_log()
    live.sql(UPDATES[2])
    chosen = UndoOptions(transactions=TransactionSet.parse("set", gtids_of(live.log(), "um")[-1]))
    live.sql("DROP USER IF EXISTS plain@'%'")
    live.sql("CREATE USER plain@'%' IDENTIFIED BY 'plain'")
    live.sql("GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON um.* TO plain@'%'")
    live.sql("GRANT CREATE, INSERT, SELECT ON paraply.* TO plain@'%'")
    try:
        undo(live.log(), live.url.replace("app:app@", "plain:plain@"), chosen)
    finally:
        live.sql("DROP USER plain@'%'")
    assert live.sql("CHECKSUM TABLE um.many") == before


def replayed_into(live_mariadb: LiveServer, database: Database, channel: str) -> None:
    """Replay the newest log into a PostgreSQL."""
    with open_target(database.url) as target:
        Applier(live_mariadb.log(), target, channel=channel, workers=2, allow_gap=True).run()


def test_r38_postgres_many_rows_come_back_exactly(live_mariadb: LiveServer, database: Database) -> None:
    live_mariadb.begin_log()
    many(live_mariadb)
    live_mariadb.sql("BEGIN")
    for text in UPDATES:
        live_mariadb.sql(text)
    live_mariadb.sql("COMMIT")
    replayed_into(live_mariadb, database, "many")
    chosen = UndoOptions(transactions=TransactionSet.parse("set", gtids_of(live_mariadb.log(), "um")[-1]), channel="many")
    content = "SELECT md5(string_agg(m::text, ',' ORDER BY id)), count(*) FROM um.many m"
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("UPDATE um.many SET a = 'mine' WHERE id = 777")
        with pytest.raises(RowNotFound) as caught:
            undo(live_mariadb.log(), database.url, chosen)
        assert (caught.value.table, caught.value.key) == ("um.many", "'777'")
        connection.execute("UPDATE um.many SET a = 'caf\u00e9 0' WHERE id = 777")
        undo(live_mariadb.log(), database.url, chosen)
        found = connection.execute(content).fetchone()
        live_mariadb.sql("DROP DATABASE um")
        live_mariadb.begin_log()
        many(live_mariadb)
        connection.execute("DROP SCHEMA um CASCADE")
        replayed_into(live_mariadb, database, "again")
        assert found == connection.execute(content).fetchone()


def test_r38_postgres_checks_deferrable_foreign_keys_at_the_end(live_mariadb: LiveServer, database: Database) -> None:
    live_mariadb.begin_log()
    shop = with_children(live_mariadb, "")
    live_mariadb.sql("SET foreign_key_checks=0")
    shop.run("bad", "UPDATE leaf SET item = 30 WHERE item = 3", "UPDATE item SET id = 30 WHERE id = 3")
    live_mariadb.sql("SET foreign_key_checks=1")
    replayed_into(live_mariadb, database, "keys")
    options = shop.options("bad", channel="keys")
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE us.leaf ADD CONSTRAINT leaf_item FOREIGN KEY (item) REFERENCES us.item (id)")
        with pytest.raises(UndoRefused, match=r"ALTER CONSTRAINT .* DEFERRABLE"):
            undo(live_mariadb.log(), database.url, options)
        connection.execute("ALTER TABLE us.leaf ALTER CONSTRAINT leaf_item DEFERRABLE")
        connection.execute("INSERT INTO us.leaf VALUES (9, 30)")
        with pytest.raises(UndoRefused, match="a row would refer to a row that does not exist"):
            undo(live_mariadb.log(), database.url, options)
        connection.execute("DELETE FROM us.leaf WHERE id = 9")
        undo(live_mariadb.log(), database.url, options)
        assert connection.execute("SELECT id, item FROM us.leaf ORDER BY id").fetchall() == [(1, 3), (2, 3), (3, 2)]
