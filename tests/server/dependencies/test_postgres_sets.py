"""Rows of a block as sets: the same rows as in the log's order, and the same errors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mariadb_versions import mariadb_of_version
from server.replay import PostgresPlace, applied, run
from server.value_columns import log_of

from paraply.applier import Applier
from paraply.targets import open_target
from paraply.targets.postgres.session import PostgresSession

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]

ROWS, CHANGES = 40, 500
TYPES = {
    "TINYINT": ("-128", "127"),
    "SMALLINT UNSIGNED": ("0", "65535"),
    "MEDIUMINT": ("-8388608", "7"),
    "INT": ("-2147483648", "2147483647"),
    "BIGINT UNSIGNED": ("0", "18446744073709551615"),
    "DECIMAL(20,6)": ("-12345678901234.000001", "0", "-0.5"),
    "FLOAT": ("0.1", "-1.5", "3.40282e38"),
    "DOUBLE": ("0.1", "-0.0", "1.7976931348623157e308", "2.2250738585072014e-308"),
    "BIT(9)": ("b'1'", "b'100000000'"),
    "YEAR": ("1901", "2155", "0"),
    "DATE": ("'1000-01-01'", "'9999-12-31'"),
    "TIME(6)": ("'-838:59:58.999999'", "'00:00:00'", "'12:34:56.5'"),
    "DATETIME(3)": ("'2024-02-29 12:34:56.789'", "'1000-01-01'"),
    "TIMESTAMP(2) NULL": ("'2001-02-03 04:05:06.07'",),
    "CHAR(5)": ("''", "'é'", "'a'"),
    "VARCHAR(60)": ("''", "'NULL'", "' a '", r"'it''s \"x\" {1,2} \\\\ \\n \n\t'", "'日本😀'", "'}'", "','"),
    "VARCHAR(9) CHARACTER SET latin1": ("'ÿ€'", "'a\\\\b'"),
    "LONGTEXT": ("REPEAT('ß\"', 3000)", "'null'"),
    "BINARY(4)": ("x'00ff0000'", "'a'"),
    "VARBINARY(9)": ("x''", "x'5c22'", "x'00'"),
    "ENUM('a','é','NULL','\"')": ("1", "2", "3", "4"),
    "SET('a','b','ü')": ("''", "'a,ü'"),
    "UUID": ("'6ccd780c-baba-1026-9564-5b8c656024db'",),
    "INET6": ("'::1'", "'2001:db8::1'"),
}
TABLES = (
    "CREATE TABLE hot (id INT PRIMARY KEY, n INT NOT NULL)",
    "CREATE TABLE pair (a VARCHAR(9) COLLATE utf8mb4_general_ci, b TIME, u INT NOT NULL UNIQUE, w INT UNIQUE, v INT, PRIMARY KEY (a, b))",
    "CREATE TABLE bits (k BIT(7) PRIMARY KEY, v DECIMAL(9,2))",
    "CREATE TABLE exact (k DECIMAL(9,2) PRIMARY KEY, v INT)",
    "CREATE TABLE no_key (a INT, b INT)",
    f"CREATE TABLE types (id INT PRIMARY KEY, {', '.join(f'c{n} {kind}' for n, kind in enumerate(TYPES))})",
    f"CREATE TABLE bare (id INT, {', '.join(f'c{n} {kind}' for n, kind in enumerate(TYPES))}, x INT AS (id + 1) STORED)",
)


def transactions(draw: random.Random) -> Iterator[list[str]]:
    """Yield transactions of one to five statements, which few keys bring together; the server ignores what breaks a key."""
    yield [f"INSERT INTO hot VALUES ({n}, 0)" for n in range(3)]
    yield [f"INSERT INTO types (id) VALUES ({n})" for n in range(ROWS // 2)]
    for _ in range(CHANGES):
        yield [draw.choice((_hot, _pair, _pair, _bits, _exact, _no_key, _types, _types, _bare))(draw) for _ in range(draw.randint(1, 5))]


def _hot(draw: random.Random) -> str:
    return f"UPDATE hot SET n = n + 1 WHERE id = {draw.randrange(3)}"


def _pair(draw: random.Random) -> str:
    a, b = draw.choice(("'a'", "'A '", "'ä'", "'b'", "''")), draw.choice(("'00:00:00'", "'-00:00:01'", "'24:00:00'"))
    u, w = draw.randint(1, 9), draw.choice(("NULL", "NULL", "1", "2", "3"))
    return draw.choice(
        (
            f"INSERT IGNORE INTO pair VALUES ({a}, {b}, {u}, {w}, 0)",
            f"INSERT IGNORE INTO pair VALUES ({a}, {b}, {u}, {w}, 0)",
            f"UPDATE IGNORE pair SET u = {u}, w = {w} WHERE a = {a}",
            f"UPDATE IGNORE pair SET a = {a}, v = v + 1 WHERE b = {b}",
            "UPDATE IGNORE pair SET u = u + 1 ORDER BY u DESC",
            f"DELETE FROM pair WHERE u = {u}",
        )
    )


def _bits(draw: random.Random) -> str:
    key = draw.randint(0, 127)
    return draw.choice((f"REPLACE INTO bits VALUES ({key}, {key}.5)", f"DELETE FROM bits WHERE k > {key}", "UPDATE bits SET v = -v"))


def _exact(draw: random.Random) -> str:
    key = draw.choice(("0", "-0.5", "0.5", "1.50", "99"))
    return draw.choice(
        (f"REPLACE INTO exact VALUES ({key}, 1)", f"UPDATE IGNORE exact SET k = {key} LIMIT 1", f"DELETE FROM exact WHERE k = {key}")
    )


def _no_key(draw: random.Random) -> str:
    a = draw.randint(1, 3)
    return draw.choice(
        (f"INSERT INTO no_key VALUES ({a}, NULL)", f"UPDATE no_key SET b = {a} LIMIT 1", f"DELETE FROM no_key WHERE a = {a} LIMIT 1")
    )


def _bare(draw: random.Random) -> str:
    """Return a change of many rows of a table without a key, of which several are equal."""
    [(number, values)] = draw.sample(list(enumerate(TYPES.values())), 1)
    columns = ", ".join(f"c{n}" for n in range(len(TYPES)))
    return draw.choice(
        (
            f"INSERT INTO bare (id, {columns}) SELECT MOD(id, 3), {columns} FROM types",
            f"INSERT INTO bare (id) SELECT {draw.randrange(3)} FROM types",
            f"UPDATE bare SET c{number} = {draw.choice((*values, 'NULL'))}",
            f"UPDATE bare SET c{number} = {draw.choice((*values, 'NULL'))}, id = id + 1 ORDER BY id DESC",
            f"DELETE FROM bare LIMIT {draw.choice((3, 30, 300))}",
            f"DELETE FROM bare WHERE id > {draw.randrange(5)}",
        )
    )


def _types(draw: random.Random) -> str:
    key = draw.randrange(ROWS)
    chosen = draw.sample(list(enumerate(TYPES.values())), 3)
    values = [f"c{n} = {draw.choice((*several, 'NULL'))}" for n, several in chosen]
    return draw.choice(
        (
            f"UPDATE types SET {', '.join(values)} WHERE id IN ({key}, {key + 1}, {key + 2})",
            f"UPDATE types SET {', '.join(values)} WHERE id IN ({key}, {key + 1}, {key + 2})",
            f"INSERT IGNORE INTO types SET id = {key}, {', '.join(values)}",
            f"UPDATE IGNORE types SET id = {draw.randrange(ROWS)} WHERE id = {key}",
            f"DELETE FROM types WHERE id = {key}",
        )
    )


def made(folder: Path, *steps: Sequence[str]) -> list[Path]:
    """Return the logs of these statements in database `d` of a MariaDB, one for each step."""
    with mariadb_of_version("10.11") as server:
        first, *others = steps
        begun = [["CREATE DATABASE d CHARACTER SET utf8mb4", "USE d", *first], *(["USE d", *step] for step in others)]
        return [log_of(server.sql, server.data, folder, step) for step in begun]


def asked(place: PostgresPlace, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(place.url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return list(cursor.fetchall()) if cursor.description else []


def state(place: PostgresPlace) -> dict[str, list[str]]:
    names = [name for (name,) in asked(place, "SELECT tablename FROM pg_tables WHERE schemaname = 'd' ORDER BY 1")]
    return {name: sorted(row[0] for row in asked(place, f'SELECT t::text FROM d."{name}" t')) for name in names}


def apply(log: Path, place: PostgresPlace, workers: int, merge: Any) -> int:
    place.empty()
    with open_target(place.url) as target:
        return Applier([log], target, workers=workers, merge=merge).run().transactions


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Without sets."""
    render = PostgresSession._render
    with monkeypatch.context() as patch:
        patch.setattr(PostgresSession, "_render", lambda self, block, *, sets=True: render(self, block, sets=False))
        yield patch


def test_r32_sets_leave_the_rows_of_the_logs_order(
    postgres_place: PostgresPlace, tmp_path: Path, in_order: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    changes = [["BEGIN", *several, "COMMIT"] for several in transactions(random.Random(seed))]
    [log] = made(tmp_path, [*TABLES, *(statement for several in changes for statement in several)])
    count = apply(log, postgres_place, 0, "off")
    expected = state(postgres_place)
    in_order.undo()
    repeated: list[str] = []
    monkeypatch.setattr(PostgresSession, "_note_repeated", lambda _, failed: repeated.append(str(failed)))
    for workers, merge in ((0, 100), (1, "off"), (4, "auto")):
        assert apply(log, postgres_place, workers, merge) == count
        assert state(postgres_place) == expected, f"seed {seed}, {workers} workers, merge {merge}"
    assert repeated == [], f"seed {seed}: no set had to be repeated"


@pytest.mark.parametrize("merge", ["off", "100"])
def test_r32_an_error_of_a_set_names_its_row(postgres_place: PostgresPlace, tmp_path: Path, merge: str) -> None:
    first, second = made(
        tmp_path,
        ["CREATE TABLE item (id INT PRIMARY KEY, n INT)", "INSERT INTO item VALUES (1, 1), (2, 2), (3, 3), (4, 4)"],
        ["UPDATE item SET n = n + 10 WHERE id > 1"],
    )
    applied(first, postgres_place.url)
    asked(postgres_place, "DELETE FROM d.item WHERE id = 3")
    outcome = run(second, postgres_place.url, "--merge", merge)
    error = outcome.report["error"]
    assert (outcome.code, error["class"]) == (1, "RowNotFound")
    assert "table d.item" in error["message"]
    assert "key \"id\"='3'" in error["message"]
    assert asked(postgres_place, "SELECT id, n FROM d.item ORDER BY 1") == [(1, 1), (2, 2), (4, 4)]


def test_rules_of_the_target_about_the_order_are_kept(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    changes: list[str] = []
    for n in range(0, 60, 2):
        changes += [
            "BEGIN",
            f"INSERT INTO parent VALUES ({n}, {n}), ({n + 1}, {n + 1})",
            f"INSERT INTO child VALUES ({n}, {n})",
            f"INSERT INTO parent VALUES ({n + 1000}, {n + 1000})",
            f"UPDATE parent SET u = -1 WHERE id = {n}",
            f"UPDATE parent SET u = {n} WHERE id = {n + 1}",
            f"UPDATE parent SET u = {n + 1} WHERE id = {n}",
            f"UPDATE child SET parent = {n + 1000}",
            "COMMIT",
        ]
    tables = ["CREATE TABLE parent (id INT PRIMARY KEY, u INT)", "CREATE TABLE child (id INT PRIMARY KEY, parent INT)"]
    first, second = made(tmp_path, tables, changes)
    applied(first, postgres_place.url)
    asked(postgres_place, "ALTER TABLE d.child ADD FOREIGN KEY (parent) REFERENCES d.parent; CREATE UNIQUE INDEX ON d.parent (u)")
    applied(second, postgres_place.url, "--merge", "7")
    assert asked(postgres_place, "SELECT count(*), sum(u - id) FROM d.parent") == [(90, 0)]
    assert asked(postgres_place, "SELECT count(*), min(parent) FROM d.child") == [(30, 1058)]


@pytest.mark.parametrize("change", ["UPDATE big SET v = v + 10 WHERE k IN ('a', 'b')", "DELETE FROM big WHERE k IN ('a', 'b')"])
def test_r32_a_row_too_many_does_not_make_up_for_a_missing_one(postgres_place: PostgresPlace, tmp_path: Path, change: str) -> None:
    """The key is too long for an index of PostgreSQL, so that the target cannot keep it unique."""
    first, second = made(
        tmp_path,
        ["CREATE TABLE big (k VARCHAR(700) PRIMARY KEY, v INT)", "INSERT INTO big VALUES ('a', 1), ('b', 2), ('c', 3)"],
        [change],
    )
    applied(first, postgres_place.url)
    asked(postgres_place, "DELETE FROM d.big WHERE k = 'b'; INSERT INTO d.big VALUES ('a', 1)")
    outcome = run(second, postgres_place.url, "--merge", "100")
    assert (outcome.code, outcome.report["error"]["class"]) == (1, "RowNotFound"), outcome.report
    for mode in ("log", "overwrite"):  # which find a row that is there already by its key
        outcome = run(second, postgres_place.url, "--on-conflict", mode)
        assert (outcome.code, outcome.report["error"]["class"]) == (1, "SchemaMismatch"), outcome.report
        assert "no unique index" in outcome.report["error"]["message"]
    assert asked(postgres_place, "SELECT k, v FROM d.big ORDER BY 1, 2") == [("a", 1), ("a", 1), ("c", 3)]


def test_r32_null_is_null_where_the_database_reads_it_as_text_in_arrays(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    rows = [f"({n}, {n % 2 and 'NULL'})".replace("0)", "'x')") for n in range(1, 9)]
    [log] = made(
        tmp_path,
        [
            "CREATE TABLE a (id INT PRIMARY KEY, s TEXT)",
            f"INSERT INTO a VALUES {', '.join(rows)}",
            "UPDATE a SET s = NULL WHERE id IN (2, 4)",
        ],
    )
    [(name,)] = asked(postgres_place, "SELECT current_database()")
    asked(postgres_place, f'ALTER DATABASE "{name}" SET array_nulls TO off')
    try:
        applied(log, postgres_place.url)
    finally:
        asked(postgres_place, f'ALTER DATABASE "{name}" RESET array_nulls')
    assert asked(postgres_place, "SELECT id FROM d.a WHERE s IS NULL ORDER BY 1") == [(1,), (2,), (3,), (4,), (5,), (7,)]


def test_settings_of_the_database_do_not_change_how_its_tables_are_read(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    [log] = made(
        tmp_path,
        [
            "CREATE TABLE q (id INT PRIMARY KEY, u BIGINT UNSIGNED, t TIMESTAMP NULL, v VARCHAR(9), e TIME, x TEXT, d DATE)",
            "INSERT INTO q VALUES (1, 18446744073709551615, '2026-01-02 03:04:05', 'x', '-838:59:59', '', NULL)",
            "UPDATE q SET v = 'y'",
            "ALTER TABLE q ADD c DECIMAL(5,2) DEFAULT 1.25",
            "UPDATE q SET c = 2.5",
        ],
    )
    settings = {
        "quote_all_identifiers": "on",
        "transform_null_equals": "on",
        "idle_in_transaction_session_timeout": "100",
        "idle_session_timeout": "100",
        "DateStyle": "'SQL, DMY'",
    }
    [(name,)] = asked(postgres_place, "SELECT current_database()")
    for setting, value in settings.items():
        asked(postgres_place, f'ALTER DATABASE "{name}" SET {setting} TO {value}')
    try:
        applied(log, postgres_place.url)
    finally:
        asked(postgres_place, f'ALTER DATABASE "{name}" RESET ALL')
    assert asked(postgres_place, "SELECT v, c::text FROM d.q") == [("y", "2.50")]
