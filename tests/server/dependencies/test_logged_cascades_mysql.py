"""Statements whose cascades MySQL 9.6 and later log otherwise than they were: the target ends with the source's rows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from required import missing
from server.cascade_load import CascadeLoad
from server.point_in_time import apply
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from servers import mysql_url, sql_connect

pytestmark = pytest.mark.mysql

PARENT = "CREATE TABLE p (id INT PRIMARY KEY, n INT)"
ROWS = ["INSERT INTO p VALUES (1,1),(2,2),(3,3),(4,4)", "INSERT INTO c VALUES (1,1),(2,1),(3,2),(4,3)"]


def child(actions: str) -> str:
    return f"CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id){actions})"


TWO = ["INSERT INTO p VALUES (1,1),(2,2)", "INSERT INTO c VALUES (1,1),(2,2)"]
KEYS_ONLY = [
    "CREATE TABLE p (id INT PRIMARY KEY)", child(" ON DELETE CASCADE"),
    "INSERT INTO p VALUES (1),(2)", "INSERT INTO c VALUES (1,1),(2,1),(3,2)",
]  # fmt: skip
CASCADE = [PARENT, child(" ON DELETE CASCADE ON UPDATE CASCADE"), *ROWS]
SET_NULL = [PARENT, child(" ON DELETE SET NULL ON UPDATE SET NULL"), *ROWS]
RESTRICT = [PARENT, child(""), *ROWS]
BOTH = "DELETE p, c FROM p STRAIGHT_JOIN c ON c.p=p.id WHERE p.id=1"
SELF = [
    "CREATE TABLE t (id INT PRIMARY KEY, up INT, u INT UNIQUE, FOREIGN KEY (up) REFERENCES t (id) ON DELETE CASCADE)",
    "INSERT INTO t VALUES (1,NULL,1),(2,1,2),(3,2,3),(4,1,4),(5,5,5),(6,5,6),(7,NULL,7),(8,7,8)",
]
TWO_KEYS = [
    "CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, v INT UNIQUE)",
    "CREATE TABLE c (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE)",
    "CREATE TABLE x (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES p (u) ON DELETE CASCADE)",
    "INSERT INTO p VALUES (1,1,1),(2,2,2),(3,3,3),(4,4,4)",
    "INSERT INTO c VALUES (1,1),(2,2),(3,3)",
    "INSERT INTO x VALUES (1,1),(2,2),(3,3),(4,4)",
]
TEXT = [
    "CREATE TABLE p (k VARCHAR(5) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, n INT)",
    """CREATE TABLE c (id INT PRIMARY KEY, k VARCHAR(5) COLLATE utf8mb4_0900_ai_ci,
      FOREIGN KEY (k) REFERENCES p (k) ON DELETE CASCADE ON UPDATE CASCADE)""",
    "INSERT INTO p VALUES ('a',1),('b',1)",
    "INSERT INTO c VALUES (1,'a'),(2,'b')",
]
TWO_TEXT_KEYS = [
    "CREATE TABLE p (a INT, b INT, k VARCHAR(5) COLLATE utf8mb4_0900_ai_ci, PRIMARY KEY (a, b), UNIQUE (k))",
    """CREATE TABLE c (id INT PRIMARY KEY, a INT, b INT, k VARCHAR(5) COLLATE utf8mb4_0900_ai_ci,
      FOREIGN KEY (a, b) REFERENCES p (a, b) ON UPDATE CASCADE, FOREIGN KEY (k) REFERENCES p (k) ON UPDATE CASCADE)""",
    "INSERT INTO p VALUES (1,1,'x'),(1,2,'y'),(2,1,NULL)",
    "INSERT INTO c VALUES (1,1,1,'x'),(2,1,NULL,'y'),(3,1,2,NULL),(4,2,1,'x')",
]
KEYLESS = [
    "CREATE TABLE p (id INT PRIMARY KEY)",
    "CREATE TABLE c (p INT, n INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    "CREATE TABLE s (p INT, n INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL)",
    "INSERT INTO p VALUES (1),(2),(3)",
    "INSERT INTO c VALUES (1,1),(1,1),(1,2),(2,2)",
    "INSERT INTO s VALUES (1,1),(1,1),(NULL,1),(2,2)",
]
CHAIN = [
    PARENT,
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    "CREATE TABLE g (id INT PRIMARY KEY, c INT, v INT AS (c + 1) VIRTUAL, FOREIGN KEY (c) REFERENCES c (id) ON DELETE SET NULL)",
    *ROWS,
    "INSERT INTO g (id, c) VALUES (1,1),(2,2),(3,3),(4,4)",
]

#: A name, tables with rows, and statements behind them.
CASES: list[tuple[str, list[str], list[str]]] = [
    ("replace_delete_only", [PARENT, child(" ON DELETE CASCADE"), *TWO], ["REPLACE INTO p VALUES (1,5)"]),
    ("both_keys_only", KEYS_ONLY, ["DELETE p, c FROM p JOIN c ON c.p=p.id WHERE p.id=1"]),
    ("replace", CASCADE, ["REPLACE INTO p VALUES (1,5)", "UPDATE c SET id=id+10 WHERE p=1"]),
    ("replace_many", CASCADE, ["REPLACE INTO p VALUES (1,5),(2,6),(9,9)", "REPLACE INTO p SELECT id, n+1 FROM p"]),
    ("replace_set_null", SET_NULL, ["REPLACE INTO p VALUES (1,5)"]),
    ("replace_restrict", RESTRICT, ["REPLACE INTO p VALUES (1,5)"]),
    ("replace_minimal", CASCADE, ["SET SESSION binlog_row_image=MINIMAL", "REPLACE INTO p VALUES (1,5)", BOTH]),
    ("replace_two_keys", TWO_KEYS, ["REPLACE INTO p VALUES (1,2,3)", "REPLACE INTO p VALUES (4,44,4)"]),
    ("replace_self", SELF, ["REPLACE INTO t VALUES (2,NULL,7),(9,NULL,4)"]),
    ("replace_text", TEXT, ["REPLACE INTO p VALUES ('A',2)", "REPLACE INTO p VALUES ('b',2)"]),
    ("replace_chain", CHAIN, ["REPLACE INTO p VALUES (1,5)", "REPLACE INTO c VALUES (1,2)"]),
    (
        "update_two_keys_one_equal",
        TWO_TEXT_KEYS,
        ["UPDATE p SET a=a+10, k=UPPER(k)", "UPDATE p SET a=a+10, k=LOWER(k) WHERE k='y'", "UPDATE p SET b=5, k=UPPER(k)"],
    ),
    ("on_duplicate", CASCADE, ["INSERT INTO p VALUES (1,9) ON DUPLICATE KEY UPDATE id=11"]),
    ("both", CASCADE, [BOTH, "DELETE c, p FROM p STRAIGHT_JOIN c ON c.p=p.id WHERE p.id=2"]),
    ("both_child_first", CASCADE, ["DELETE c, p FROM c STRAIGHT_JOIN p ON c.p=p.id WHERE p.id=1"]),
    ("both_set_null", SET_NULL, [BOTH, "DELETE p, c FROM c STRAIGHT_JOIN p ON c.p=p.id WHERE p.id=2"]),
    ("both_self", SELF, ["DELETE a, b FROM t a STRAIGHT_JOIN t b ON b.up=a.id WHERE a.id=1"]),
    ("both_chain", CHAIN, ["DELETE p, g FROM p STRAIGHT_JOIN c ON c.p=p.id STRAIGHT_JOIN g ON g.c=c.id WHERE p.id=1"]),
    ("both_in_transaction", CASCADE, ["BEGIN", BOTH, "INSERT INTO p VALUES (1,7)", "INSERT INTO c VALUES (1,1)", BOTH, "COMMIT"]),
    (
        "both_keyless",
        KEYLESS,
        [
            "DELETE p, c FROM p STRAIGHT_JOIN c ON c.p=p.id WHERE p.id=1",
            "DELETE p, s FROM p STRAIGHT_JOIN s ON s.p=p.id WHERE p.id=2",
            "DELETE p, s FROM p STRAIGHT_JOIN s ON p.id=3",
        ],
    ),
    ("update_child_first", CASCADE, ["UPDATE c STRAIGHT_JOIN p ON c.p=p.id SET p.id=p.id+20, c.id=c.id+100 WHERE p.id<3"]),
    ("update_child_only_key", CASCADE, ["UPDATE c STRAIGHT_JOIN p ON c.p=p.id SET p.id=p.id+20, c.id=c.id WHERE p.id=1"]),
    (
        "update_child_minimal",
        CASCADE,
        ["SET SESSION binlog_row_image=MINIMAL", "UPDATE c STRAIGHT_JOIN p ON c.p=p.id SET p.id=p.id+20, c.id=c.id+100 WHERE p.id=1"],
    ),
    ("update_child_set_null", SET_NULL, ["UPDATE c STRAIGHT_JOIN p ON c.p=p.id SET p.id=p.id+20, c.id=c.id+100 WHERE p.id=1"]),
    ("update_child_chain", CHAIN, ["UPDATE g STRAIGHT_JOIN c ON g.c=c.id SET c.p=NULL, g.id=g.id+100 WHERE c.id=1"]),
    (
        "update_child_two_keys",
        [
            "CREATE TABLE p (id INT PRIMARY KEY, u INT, UNIQUE (id, u))",
            "CREATE TABLE q (id INT PRIMARY KEY)",
            """CREATE TABLE c (id INT PRIMARY KEY, p INT, u INT, q INT, FOREIGN KEY (p, u) REFERENCES p (id, u) ON UPDATE CASCADE,
              FOREIGN KEY (q) REFERENCES q (id) ON UPDATE CASCADE)""",
            "INSERT INTO p VALUES (1,1),(2,2)",
            "INSERT INTO q VALUES (1),(2)",
            "INSERT INTO c VALUES (1,1,1,1),(2,1,1,2),(3,2,2,1)",
        ],
        [
            "UPDATE c STRAIGHT_JOIN p ON c.p=p.id SET p.u=9, c.id=c.id+100 WHERE p.id=1",
            "UPDATE c STRAIGHT_JOIN q ON c.q=q.id STRAIGHT_JOIN p ON c.p=p.id SET q.id=q.id+10, p.u=7, c.id=c.id+100 WHERE p.id=1",
        ],
    ),
    ("update_both", CASCADE, ["UPDATE p STRAIGHT_JOIN c ON c.p=p.id SET p.id=p.id+20, c.id=c.id+100 WHERE p.id=1"]),
    (
        "trigger",
        [*CASCADE, "CREATE TABLE noted (c INT)", "CREATE TRIGGER tr BEFORE DELETE ON p FOR EACH ROW DELETE FROM c WHERE p=OLD.id AND id<2"],
        ["DELETE FROM p WHERE id=1", "REPLACE INTO p VALUES (2,9)"],
    ),
]  # fmt: skip

MODES = [
    [],
    ["--merge", "off"],
    ["--workers", "0"],
    ["--workers", "4", "--policy", "optimistic"],
    ["--workers", "4", "--consistency", "eventual", "--merge", "off"],
    ["--gtid", "preserve"],
    ["--via", "replication", "--workers", "4"],
]

Content = dict[str, list[tuple[Any, ...]]]


class Source(SqlPlace):
    """The MySQL, as source and then as target."""

    def clear(self) -> None:
        databases = [name for (name,) in self.sql("SHOW DATABASES") if str(name).startswith("casc_")]
        self.sql("SET foreign_key_checks=0", *(f"DROP DATABASE {name}" for name in databases))
        self.empty()

    def run(self, statements: Sequence[str], *, may_fail: bool = False) -> None:
        """Run statements in one session."""
        parts = self._parts
        made = sql_connect(host=parts.hostname, port=parts.port, user=parts.username, password=parts.password, autocommit=True)
        with made, made.cursor() as cursor:
            for statement in statements:
                with contextlib.suppress(*([pymysql.MySQLError] if may_fail else [])):
                    cursor.execute(statement)

    def content(self) -> Content:
        """Return every table of the test as a reader sees it."""
        tables = self.sql("SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'casc\\_%'")
        return {f"{schema}.{name}": sorted(self.sql(f"SELECT * FROM {schema}.{name}"), key=repr) for schema, name in tables}


@pytest.fixture
def source() -> Iterator[Source]:
    made = Source(mysql_url())
    setting = made.sql("SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
    if not setting:
        pytest.skip("a MySQL before 9.6 leaves foreign keys to InnoDB")
    if setting[0][1] != "OFF":
        missing("MYSQL LEAVES FOREIGN KEYS TO INNODB: start it with innodb_native_foreign_keys=OFF")
    made.clear()
    yield made
    made.clear()


def in_database(name: str, statements: Sequence[str]) -> list[str]:
    return [f"USE casc_{name}", *statements, "SET SESSION binlog_row_image=FULL"]


def recorded(source: Source, folder: Path) -> tuple[list[Path], Content]:
    """Return the logs and what the source held; the server is empty behind it."""
    files, content = copy_binlogs(source.url, folder), source.content()
    source.clear()
    return files, content


def all_cases(source: Source, folder: Path) -> tuple[list[Path], Content]:
    for name, tables, statements in CASES:
        source.run([f"CREATE DATABASE casc_{name}", *in_database(name, [*tables, *statements])])
    return recorded(source, folder)


def test_the_target_ends_with_the_sources_rows_in_every_mode(source: Source, tmp_path: Path) -> None:
    files, expected = all_cases(source, tmp_path)
    assert expected["casc_replace.c"] == [(11, 1), (12, 1), (3, 2), (4, 3)]
    assert expected["casc_replace_delete_only.c"] == [(1, 1), (2, 2)]
    assert expected["casc_both_keys_only.c"] == [(3, 2)]
    for options in MODES:
        outcome = apply(files, source.url, *options)
        assert outcome.code == 0, (options, outcome.report.get("error"), outcome.stderr)
        assert source.content() == expected, options
        source.clear()


def test_mysql_into_postgresql_ends_with_the_sources_rows(source: Source, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    files, expected = all_cases(source, tmp_path)
    postgres_place.empty()
    outcome = apply(files, postgres_place.url)
    assert outcome.code == 0, (outcome.report.get("error"), outcome.stderr)
    with psycopg.connect(postgres_place.url) as connection:
        for name, rows in expected.items():
            found = connection.execute(f"SELECT * FROM {name}".encode()).fetchall()
            assert sorted(found, key=repr) == rows, name


def test_random_changes_end_with_the_sources_rows(source: Source, tmp_path: Path) -> None:
    for seed in range(int(os.environ.get("PARAPLY_CASCADE_SEEDS", "8"))):
        load = CascadeLoad(seed)
        image = ["SET SESSION binlog_row_image=MINIMAL"] if seed % 4 == 3 else []
        source.run([*load.setup, *image, *load.changes(60)], may_fail=True)
    files, expected = recorded(source, tmp_path)
    for options in ([], ["--merge", "off", "--workers", "4"]):
        outcome = apply(files, source.url, *options)
        assert outcome.code == 0, (options, outcome.report.get("error"), outcome.stderr)
        assert source.content() == expected, options
        source.clear()


def test_children_that_only_the_target_has_stay_with_a_replaced_parent_and_go_with_a_deleted_one(source: Source, tmp_path: Path) -> None:
    source.run(["CREATE DATABASE casc_own", "USE casc_own", *CASCADE, "FLUSH BINARY LOGS"])
    source.run(["USE casc_own", "REPLACE INTO p VALUES (1,5)", "DELETE FROM p WHERE id=2"])
    files, _ = recorded(source, tmp_path)
    assert apply(files[:1], source.url).code == 0
    mine = "CREATE TABLE mine (p INT PRIMARY KEY, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)"
    source.run(["SET sql_log_bin=0", "USE casc_own", mine, "INSERT INTO mine VALUES (1),(2),(3)"])
    outcome = apply(files, source.url)
    assert outcome.code == 0, outcome.report.get("error")
    assert source.content()["casc_own.mine"] == [(1,), (3,)]


def test_a_child_left_out_by_a_filter_stays_with_a_replaced_parent(source: Source, tmp_path: Path) -> None:
    source.run(["CREATE DATABASE casc_cut", "USE casc_cut", *CASCADE, "FLUSH BINARY LOGS"])
    source.run(["USE casc_cut", "REPLACE INTO p VALUES (1,5)", "DELETE FROM p WHERE id=2"])
    files, _ = recorded(source, tmp_path)
    assert apply(files[:1], source.url).code == 0
    executed = source.sql("SELECT @@GLOBAL.gtid_executed")[0][0]
    filtered = ["--table", "casc_cut.p", "--channel", "cut", "--start-after", executed]
    outcome = apply(files[1:], source.url, *filtered)
    assert outcome.code == 0, outcome.report.get("error")
    assert source.content()["casc_cut.c"] == [(1, 1), (2, 1), (4, 3)], "foreign keys hold across the filter"


def test_a_row_that_is_truly_missing_is_still_an_error(source: Source, tmp_path: Path) -> None:
    source.run(["CREATE DATABASE casc_gone", "USE casc_gone", *CASCADE, "FLUSH BINARY LOGS"])
    source.run(["USE casc_gone", BOTH])
    files, _ = recorded(source, tmp_path)
    assert apply(files[:1], source.url).code == 0
    source.run(["SET sql_log_bin=0", "DELETE FROM casc_gone.c WHERE id=1"])
    outcome = apply(files, source.url)
    assert outcome.code == 1
    assert outcome.report["error"]["class"] == "RowNotFound"
    assert "bugs 102586 and 80821 of bugs.mysql.com" in outcome.report["error"]["message"]


def test_a_reference_to_nothing_that_the_source_holds_names_the_reports(source: Source, tmp_path: Path) -> None:
    """A row that refers to the row that it takes the place of."""
    source.run(["CREATE DATABASE casc_open", "USE casc_open", *SELF, "REPLACE INTO t VALUES (8,7,7)"])
    files, expected = recorded(source, tmp_path)
    assert (8, 7, 7) in expected["casc_open.t"]
    assert not any(row[0] == 7 for row in expected["casc_open.t"])
    outcome = apply(files, source.url)
    assert outcome.code == 1
    assert "bugs 102586 and 80821 of bugs.mysql.com" in outcome.report["error"]["message"]
