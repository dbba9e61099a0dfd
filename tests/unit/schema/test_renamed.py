"""Statements of a log with the names of the target."""

from __future__ import annotations

import pytest

from paraply.schema.catalog import Database, SchemaCatalog
from paraply.schema.ddl.renamed import CannotRename, rename_statement
from paraply.schema.ddl.rules import MODE_ANSI_QUOTES, Rules
from paraply.schema.model import Column, ForeignKey, Table
from paraply.schema.renames import NameTaken, Renames

TABLES = Renames(tables=((("shop", "orders"), ("restore", "orders")), (("shop", "lines"), ("restore", "order`lines"))))
DATABASE = Renames(databases=(("shop", "restore"),))
MARIADB = Rules(mariadb=True, version=(10, 11, 0))


def renamed(sql: str, renames: Renames = TABLES, default: str = "shop", rules: Rules | None = None, **options: bool) -> tuple[str, str]:
    found = rename_statement(sql, default, rules or Rules(), renames, **options)
    assert found.runs
    return found.text, found.database


#: <o> and <l> stand for the new names.
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE orders (id INT PRIMARY KEY, n INT REFERENCES customers (id), FOREIGN KEY (n) REFERENCES shop . lines (id))",
         "CREATE TABLE <o> (id INT PRIMARY KEY, n INT REFERENCES `shop`.`customers` (id), FOREIGN KEY (n) REFERENCES <l> (id))"),
        ("/*!40101 ALTER */ TABLE `shop`.`orders` ADD orders INT COMMENT 'shop.orders' /* shop.orders */, ADD CHECK (n > 0)",
         "/*!40101 ALTER */ TABLE <o> ADD orders INT COMMENT 'shop.orders' /* shop.orders */, ADD CHECK (n > 0)"),
        ("ALTER TABLE lines ADD FOREIGN KEY (o) REFERENCES orders (id)", "ALTER TABLE <l> ADD FOREIGN KEY (o) REFERENCES <o> (id)"),
        ("DROP TABLE IF EXISTS orders, x.y", "DROP TABLE IF EXISTS <o>, `x`.`y`"),
        ("RENAME TABLE orders TO old, lines TO orders", "RENAME TABLE <o> TO `shop`.`old`, <l> TO <o>"),
        ("ALTER TABLE orders RENAME TO old", "ALTER TABLE <o> RENAME TO `shop`.`old`"),
        ("TRUNCATE orders", "TRUNCATE <o>"),
        ("CREATE UNIQUE INDEX orders ON orders (id)", "CREATE UNIQUE INDEX orders ON <o> (id)"),
        ("DROP INDEX orders ON shop.orders", "DROP INDEX orders ON <o>"),
        ("CREATE TABLE t LIKE orders", "CREATE TABLE `shop`.`t` LIKE <o>"),
        ("ALTER TABLE orders EXCHANGE PARTITION p WITH TABLE lines", "ALTER TABLE <o> EXCHANGE PARTITION p WITH TABLE <l>"),
        ("CREATE TABLE hr.t (a INT)", "CREATE TABLE hr.t (a INT)"),
        ("CREATE TABLE other (orders INT, KEY orders (orders))", "CREATE TABLE other (orders INT, KEY orders (orders))"),
        ("CREATE DATABASE shop", "CREATE DATABASE shop"),
        ("CREATE USER shop@localhost IDENTIFIED BY 'orders'", "CREATE USER shop@localhost IDENTIFIED BY 'orders'"),
    ],
)  # fmt: skip
def test_names_of_tables_are_replaced_and_nothing_else(sql: str, expected: str) -> None:
    assert renamed(sql)[0] == expected.replace("<o>", "`restore`.`orders`").replace("<l>", "`restore`.`order``lines`")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE o (a INT REFERENCES c (id))", "CREATE TABLE `restore`.`o` (a INT REFERENCES `restore`.`c` (id))"),
        ("CREATE TABLE hr.t (a INT REFERENCES b (id), FOREIGN KEY (a) REFERENCES shop.c (id))",
         "CREATE TABLE `hr`.`t` (a INT REFERENCES `hr`.`b` (id), FOREIGN KEY (a) REFERENCES `restore`.`c` (id))"),
        ("CREATE DATABASE IF NOT EXISTS shop CHARACTER SET latin1", "CREATE DATABASE IF NOT EXISTS `restore` CHARACTER SET latin1"),
        ("ALTER DATABASE COLLATE latin1_bin", "ALTER DATABASE COLLATE latin1_bin"),
        ("ALTER DATABASE `shop` COLLATE latin1_bin", "ALTER DATABASE `restore` COLLATE latin1_bin"),
        ("DROP DATABASE shop", "DROP DATABASE `restore`"),
        ("CREATE TABLE t (a INT DEFAULT NEXT VALUE FOR s)", "CREATE TABLE `restore`.`t` (a INT DEFAULT NEXT VALUE FOR `restore`.`s`)"),
    ],
)  # fmt: skip
def test_a_database_and_its_default_are_replaced(sql: str, expected: str) -> None:
    text, default = renamed(sql, DATABASE, rules=MARIADB)
    assert text == expected
    assert default in ("restore", "hr")


def test_quotes_follow_the_mode_of_the_statement() -> None:
    rules = Rules(sql_mode=MODE_ANSI_QUOTES)
    assert renamed("ALTER TABLE \"orders\" ADD c CHAR(9) DEFAULT 'orders'", rules=rules)[0].startswith(
        "ALTER TABLE `restore`.`orders` ADD c"
    )


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("ALTER TABLE orders ADD CHECK (orders.n > 1)", "stands in an expression"),
        ("CREATE TABLE o (a INT, b INT AS (shop.o.a) STORED)", "stands in an expression"),
        ("CREATE TABLE u (a INT) ENGINE=MERGE UNION=(orders)", "UNION"),
        ("CREATE TABLE orders (id INT DEFAULT (NEXTVAL(s)))", "sequence"),
        ("CREATE TABLE orders SELECT * FROM lines", "query"),
        ("CREATE VIEW v AS SELECT * FROM orders", "create view"),
        ("DROP TRIGGER t", "drop trigger"),
        ("CREATE PROCEDURE p() DELETE FROM hr.x", "create procedure"),
        ("GRANT SELECT ON shop.* TO a", "grant"),
        ("DROP DATABASE shop", "dropped shop.orders, shop.lines"),
        ("ALTER TABLE Orders ADD c INT", "upper and lower case"),
        ("ALTER TABLE orders FROBNICATE", "not understood"),
        ("CREATE TABLE /*!50000 shop.*/orders (a INT)", "read again"),
        ("CREATE TABLE restore.orders (a INT)", "another table of the log is renamed to restore.orders"),
    ],
)
def test_a_statement_that_is_not_understood_for_certain_is_refused(sql: str, reason: str) -> None:
    with pytest.raises(CannotRename, match=reason.replace("(", r"\(")):
        renamed(sql)


def test_what_changes_no_rows_is_left_out() -> None:
    assert not rename_statement("ANALYZE TABLE orders", "shop", Rules(), TABLES).runs
    assert not rename_statement("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`", "shop", MARIADB, DATABASE).runs
    assert rename_statement("ANALYZE TABLE x", "hr", Rules(), TABLES).runs


def test_a_database_of_which_only_renamed_tables_are_applied_is_left_out() -> None:
    assert not rename_statement("CREATE DATABASE shop", "", Rules(), TABLES, lambda _: False).runs
    assert rename_statement("CREATE DATABASE hr", "", Rules(), TABLES, lambda _: False).runs


def test_beside_the_tables_in_use_no_foreign_key_binds_them() -> None:
    with pytest.raises(CannotRename, match=r"shop\.customers would tie"):
        renamed("ALTER TABLE orders ADD FOREIGN KEY (c) REFERENCES customers (id)", beside=True)
    assert renamed("ALTER TABLE lines ADD FOREIGN KEY (c) REFERENCES orders (id)", beside=True)


def test_lower_case_names_of_the_log_are_found() -> None:
    renames = Renames(tables=((("Shop", "Orders"), ("restore", "Orders")),)).in_lower_case()
    assert renamed("TRUNCATE ORDERS", renames, "SHOP")[0] == "TRUNCATE `restore`.`Orders`"


def test_a_chain_of_renames_needs_every_name() -> None:
    chain = Renames(databases=(("a", "b"),))
    with pytest.raises(NameTaken, match="another database of the log is renamed to b"):
        chain.table("b", "t")
    swap = Renames(databases=(("a", "b"), ("b", "a")))
    assert swap.table("a", "t"), swap.table("b", "t") == (("b", "t"), ("a", "t"))
    assert swap.log_names("a", "t") == [("b", "t")]


def test_definitions_get_the_names_of_the_target() -> None:
    catalog = SchemaCatalog()
    catalog.put_database(Database("shop", "latin1", "latin1_bin"))
    key = ForeignKey("f", ("o",), "shop", "orders", ("id",))
    catalog.put(Table("shop", "orders", (Column("id", "int"),)))
    catalog.put(Table("shop", "lines", (Column("o", "int"),), foreign_keys=(key,)))
    found = DATABASE.catalog(catalog)
    line = found.table("restore", "lines")
    assert line is not None
    assert line.foreign_keys[0].parent_database == "restore"
    assert found.table("shop", "orders") is None
    assert (found.database("restore"), found.database("shop")) == (Database("restore", "latin1", "latin1_bin"), None)
