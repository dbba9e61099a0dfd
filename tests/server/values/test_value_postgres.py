"""Values of MariaDB that PostgreSQL has types for, and those that it has no room for."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from mariadb_versions import mariadb_of_version
from server.replay import PostgresPlace, applied, run
from server.value_columns import INET4, INET6, UUIDS, log_of
from server.values.test_value_text import old_log

STRICT = "SET sql_mode='STRICT_ALL_TABLES'"


def made(folder: Path, *statements: str, version: str = "10.11") -> Path:
    """Return the log of these statements in database `d` of a MariaDB."""
    with mariadb_of_version(version) as server:
        return log_of(server.sql, server.data, folder, ["CREATE DATABASE d CHARACTER SET utf8mb4", STRICT, "USE d", *statements])


def asked(place: PostgresPlace, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(place.url) as connection:
        return list(connection.execute(query.encode()).fetchall())


@pytest.mark.parametrize(("kind", "target"), [(UUIDS, "uuid"), (INET4, "inet"), (INET6, "inet")], ids=["uuid", "inet4", "inet6"])
def test_uuid_and_addresses_are_keys_in_postgresql(postgres_place: PostgresPlace, tmp_path: Path, kind, target: str) -> None:  # type: ignore[no-untyped-def]
    values = kind.values
    statements = [
        f"CREATE TABLE t (k {kind.type} PRIMARY KEY, v {kind.type}, n INT)",
        *(
            f"INSERT INTO t VALUES ({value}, {other}, {n})"
            for n, (value, other) in enumerate(zip(values, (*values[1:], "NULL"), strict=True))
        ),
        "UPDATE t SET n=n+100",
        f"UPDATE t SET v=NULL WHERE k={values[0]}",
        f"DELETE FROM t WHERE k={values[1]}",
    ]
    log = made(tmp_path, *statements)
    applied(log, postgres_place.url, "--workers", "4", "--merge", "off")
    assert asked(postgres_place, "SELECT DISTINCT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid='d.t'::regclass"
                 " AND attname IN ('k', 'v')") == [(target,)]  # fmt: skip
    expected = [(n + 100, value, None if n in (0, len(values) - 1) else values[n + 1]) for n, value in enumerate(values) if n != 1]
    for n, key, value in expected:
        same = f"v IS NOT DISTINCT FROM {'NULL' if value is None else value}::{target}"
        assert asked(postgres_place, f"SELECT n FROM d.t WHERE k={key}::{target} AND {same}") == [(n,)], key
    assert asked(postgres_place, "SELECT count(*) FROM d.t") == [(len(values) - 1,)]


def test_added_columns_get_the_sources_defaults(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    added = [
        "a UUID NOT NULL", "b INET4 NOT NULL", "c INET6 NOT NULL", "e UUID",
        "f UUID DEFAULT '6CCD780CBABA102695645B8C65-6024DB'", "g INET4 DEFAULT '010.1.02.3'", "h INET6 DEFAULT '1.2.3.4'",
        "i INET6 DEFAULT '2001:DB8::1'", "j BINARY(0) NOT NULL", "k CHAR(0) NOT NULL",
    ]  # fmt: skip
    log = made(
        tmp_path,
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        *(f"ALTER TABLE t ADD {column}" for column in added),
        version="11.8",
    )
    applied(log, postgres_place.url)
    nil = "00000000-0000-0000-0000-000000000000"
    row = asked(postgres_place, "SELECT a::text, host(b), host(c), e, f::text, host(g), host(h), host(i), j, k FROM d.t")
    assert row == [
        (nil, "0.0.0.0", "::", None, "6ccd780c-baba-1026-9564-5b8c656024db", "10.1.2.3", "::ffff:1.2.3.4", "2001:db8::1", b"", "")
    ]


def test_changes_of_these_types_keep_the_values(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    uuid = "6ccd780c-baba-1026-9564-5b8c656024db"
    log = made(
        tmp_path,
        "CREATE TABLE t (id INT PRIMARY KEY, a UUID, b UUID, c BINARY(16), d VARCHAR(50), e INET4, f INET4)",
        f"INSERT INTO t VALUES (1, '{uuid}', '{uuid}', x'6ccd780cbaba102695645b8c656024db', UPPER('{uuid}'), '1.2.3.4', '1.2.3.4')",
        "ALTER TABLE t MODIFY a VARCHAR(36), MODIFY b BINARY(16), MODIFY c UUID, MODIFY d UUID, MODIFY e VARCHAR(15), MODIFY f INET6",
        "INSERT INTO t SELECT 2, a, b, c, d, e, f FROM t",
        version="11.8",
    )
    applied(log, postgres_place.url)
    rows = asked(postgres_place, "SELECT a, encode(b, 'hex'), c::text, d::text, e, host(f) FROM d.t ORDER BY id")
    assert rows == [(uuid, uuid.replace("-", ""), uuid, uuid, "1.2.3.4", "::ffff:1.2.3.4")] * 2


def test_the_text_of_an_inet6_differs_so_that_its_change_is_refused(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    log = made(
        tmp_path,
        "CREATE TABLE t (id INT PRIMARY KEY, a INET6)",
        "INSERT INTO t VALUES (1, '1:0:2:3:4:5:6:7')",
        "ALTER TABLE t MODIFY a TEXT",
    )
    outcome = run(log, postgres_place.url)
    assert outcome.code == 3
    assert "column a changed (from inet to text)" in outcome.report["error"]["message"]


def test_types_without_a_counterpart_are_named(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    log = made(tmp_path, "CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(2) NOT NULL)", version="11.8")
    outcome = run(log, postgres_place.url)
    assert outcome.code != 0
    assert "column v has type VECTOR, which has no counterpart in PostgreSQL" in outcome.report["error"]["message"]


def test_strings_without_room_for_a_byte_stay_so(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    log = made(
        tmp_path,
        "CREATE TABLE t (id INT PRIMARY KEY, a BINARY(0), b VARBINARY(0), c CHAR(0), e VARCHAR(0), f BIT(0))",
        "INSERT INTO t VALUES (1, '', '', '', '', 1), (2, NULL, NULL, NULL, NULL, NULL)",
        "UPDATE t SET a='' WHERE id=2",
        "CREATE TABLE w (id INT PRIMARY KEY, a BINARY(0))",
        "INSERT INTO w VALUES (1, '')",
        "ALTER TABLE w MODIFY a BINARY(3)",
        "INSERT INTO w VALUES (2, 'x')",
    )
    applied(log, postgres_place.url)
    assert asked(postgres_place, "SELECT * FROM d.t ORDER BY id") == [(1, b"", b"", "", "", "1"), (2, b"", None, None, None, None)]
    assert asked(postgres_place, "SELECT a FROM d.w ORDER BY id") == [(b"\0\0\0",), (b"x\0\0",)]


@pytest.mark.parametrize("version", ["10.5", "11.8"])
def test_old_temporal_columns_come_to_postgresql(postgres_place: PostgresPlace, tmp_path: Path, version: str) -> None:
    definitions, rows, expected = old_log(version, tmp_path)
    outcome = run(definitions, postgres_place.url)
    assert outcome.code == 0, outcome.report
    outcome = run(rows, postgres_place.url)
    assert outcome.code == 1
    assert "0000-00-00" in outcome.report["error"]["message"], "the first row with a zero date ends it, as documented"
    assert expected


OLD_REAL = (
    "SET GLOBAL mysql56_temporal_format=OFF",
    *(f"CREATE TABLE t{n} (id INT PRIMARY KEY, a TIME({n}), b DATETIME({n}), c TIMESTAMP({n}) NULL)" for n in range(7)),
    "SET GLOBAL mysql56_temporal_format=ON",
    "SET time_zone='+00:00'",
    *(f"INSERT INTO t{n} VALUES (1, '-838:59:58.999999', '9999-12-31 23:59:58.999999', '2001-02-03 04:05:06.789123')" for n in range(7)),
    *(f"UPDATE t{n} SET a='12:34:56.123456', b='2024-02-29 00:00:00.000001'" for n in range(7)),
)


def test_fractions_of_old_temporal_columns_are_right_in_postgresql(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    applied(made(tmp_path, *OLD_REAL), postgres_place.url)
    for digits in range(7):
        cut = lambda micros, digits=digits: int(f"{micros:06d}"[:digits].ljust(6, "0"))  # noqa: E731
        row = asked(
            postgres_place,
            "SELECT extract(epoch FROM a)::numeric, b::text, extract(epoch FROM c)::numeric "
            f"FROM d.t{digits}",
        )  # fmt: skip
        time, text, instant = row[0]
        assert float(str(time)) == pytest.approx(45296 + cut(123456) / 1e6, abs=1e-9)
        assert float(str(instant)) == pytest.approx(981173106 + cut(789123) / 1e6, abs=1e-6)
        assert str(text) == ("2024-02-29 00:00:00.000001" if digits == 6 else "2024-02-29 00:00:00")


def test_a_row_that_is_too_big_is_named_with_what_to_do(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number} TIME" for number in range(600))
    values = ", ".join(["'1:00:00'"] * 600)
    log = made(tmp_path, f"CREATE TABLE t (id INT PRIMARY KEY, {columns})", f"INSERT INTO t VALUES (7, {values})")
    outcome = run(log, postgres_place.url)
    error = outcome.report["error"]
    assert outcome.code == 1
    assert "row is too big" in error["message"]
    assert "larger than PostgreSQL takes" in error["message"]
    assert "table d.t" in error["message"]
    assert "key id=7" in error["message"]


def test_an_update_that_makes_a_row_too_big_is_named(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number} TIME" for number in range(600))
    sets = ", ".join(f"c{number}='1:00:00'" for number in range(600))
    log = made(
        tmp_path, f"CREATE TABLE t (id INT PRIMARY KEY, {columns})", "INSERT INTO t (id) VALUES (7), (8)", f"UPDATE t SET {sets} WHERE id=8"
    )
    outcome = run(log, postgres_place.url)
    assert outcome.code == 1
    assert "key id=8" in outcome.report["error"]["message"]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (("CREATE TABLE t (id INT PRIMARY KEY, j VARCHAR(9))", "INSERT INTO t VALUES (7, 'a\\0b')"), "text with a NUL byte"),
        (("CREATE TABLE t (id INT PRIMARY KEY, d DATE)", "SET sql_mode=''", "INSERT INTO t VALUES (7, '2024-02-00')"), "2024-02-00"),
    ],
)
def test_values_without_a_counterpart_name_the_row(
    postgres_place: PostgresPlace, tmp_path: Path, statements: tuple[str, ...], message: str
) -> None:
    outcome = run(made(tmp_path, *statements), postgres_place.url)
    error = outcome.report["error"]
    assert outcome.code == 1
    assert message in error["message"]
    assert "key '7'" in error["message"]


def test_keys_that_fit_no_index_row_are_left_out(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    log = made(
        tmp_path,
        "CREATE TABLE t (id VARCHAR(700) PRIMARY KEY, v VARCHAR(700) NOT NULL, n INT, KEY (v))",
        "INSERT INTO t VALUES (REPEAT('😀', 700), REPEAT('é', 700), 1), (REPEAT('x', 700), 'b', 2)",
        "UPDATE t SET n=3 WHERE n=1",
        "DELETE FROM t WHERE n=2",
    )
    applied(log, postgres_place.url)
    assert asked(postgres_place, "SELECT char_length(id), n FROM d.t") == [(700, 3)]


def test_more_columns_than_postgresql_takes_are_refused_before_a_row(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number} TINYINT" for number in range(1010))
    made_of = f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) ENGINE=InnoDB"
    log = made(tmp_path, made_of, "INSERT INTO t (id) VALUES (1)")
    applied(log, postgres_place.url)
    assert asked(postgres_place, "SELECT id FROM d.t") == [(1,)], "InnoDB's own limit of 1,017 columns lies below PostgreSQL's 1,600"
