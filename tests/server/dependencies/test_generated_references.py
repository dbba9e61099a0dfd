"""R14, R31: foreign keys of and to generated columns order transactions as those of plain columns do."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pymysql
import pytest
from mariadb_versions import MARIADB_VERSIONS
from server.live import connect, database_differences
from server.replay import PostgresPlace, SqlPlace, applied
from server.source_log import copy_binlogs
from server.version_servers import Server, VersionServers, make_version_servers, replayed

__all__ = ["make_version_servers"]

#: A child's column refers to a parent's; each server takes the pairs that it knows.
PARENTS = {
    "plain": "k INT NOT NULL UNIQUE, n INT",
    "stored": "n INT, k INT AS (n + 1) STORED UNIQUE",
    "virtual": "n INT, k INT AS (n + 1) VIRTUAL UNIQUE",
}
CHILDREN = {"plain": "r INT, m INT", "stored": "m INT, r INT AS (m - 1) STORED", "virtual": "m INT, r INT AS (m - 1) VIRTUAL, KEY (r)"}
ACTIONS = {"restrict": "", "cascade": " ON DELETE CASCADE"}
CHANGES = 800


def tables_of(cursor: pymysql.cursors.Cursor) -> list[tuple[str, str, bool, bool]]:
    """Make the tables that the server takes; return the parents, the children, and True for each generated column."""
    made = []
    for parent, parent_columns in PARENTS.items():
        for child, child_columns in CHILDREN.items():
            for action, text in ACTIONS.items():
                names = (f"p_{parent}_{child}_{action}", f"c_{parent}_{child}_{action}")
                if (parent, child) == ("plain", "plain"):
                    continue
                cursor.execute(f"CREATE TABLE {names[0]} (id INT PRIMARY KEY, {parent_columns})")
                with contextlib.suppress(pymysql.Error):
                    cursor.execute(
                        f"CREATE TABLE {names[1]} (id INT PRIMARY KEY, {child_columns}, FOREIGN KEY (r) REFERENCES {names[0]} (k){text})"
                    )
                    made.append((*names, parent != "plain", child != "plain"))
    return made


def write(url: str) -> list[tuple[str, str, bool, bool]]:
    """Change parents and children, each change a transaction; a change that a key does not allow is none."""
    chance = random.Random(11)
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("USE shop")
        made = tables_of(cursor)
        for _ in range(CHANGES):
            for statement in change(chance, *chance.choice(made)):
                with contextlib.suppress(pymysql.Error):
                    cursor.execute(statement)
            connection.commit()
    return made


def change(chance: random.Random, parent: str, child: str, parent_is_generated: bool, child_is_generated: bool) -> Iterator[str]:
    key, row = chance.randrange(6), chance.randrange(12)
    number = f"n = {key - 1}" if parent_is_generated else f"k = {key}"
    reference = f"m = {key + 1}" if child_is_generated else f"r = {key}"
    yield chance.choice([
        f"INSERT INTO {parent} SET id = {key}, {number}", f"INSERT INTO {child} SET id = {row}, {reference}",
        f"INSERT INTO {child} SET id = {row}, {reference}", f"UPDATE {parent} SET {number} WHERE id = {chance.randrange(6)}",
        f"UPDATE {child} SET {reference} WHERE id = {row}", f"DELETE FROM {child} WHERE id = {row}",
        f"DELETE FROM {parent} WHERE id = {key}",
    ])  # fmt: skip
    if chance.random() < 0.2:
        yield from change(chance, parent, child, parent_is_generated, child_is_generated)


def first_log(source: Server, folder: Path) -> Path:
    (name, _), *_ = source.sql("SHOW BINARY LOGS")
    source.sql("FLUSH BINARY LOGS")
    return Path(shutil.copy(source.data / str(name), folder))


@pytest.mark.parametrize("options", [("--merge", "off"), ()], ids=["alone", "merged"])
@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_r14_foreign_keys_of_generated_columns_on_mariadb(
    make_version_servers: VersionServers, tmp_path: Path, version: str, options: tuple[str, ...]
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    made = write(source.url)
    assert len(made) >= 8
    replayed(first_log(source, tmp_path), target, "--workers", "8", *options)
    assert database_differences(source.url, target.url, "shop") == []


@pytest.mark.by_turns
@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_r14_foreign_keys_of_generated_columns_in_postgresql(
    make_version_servers: VersionServers, postgres_place: PostgresPlace, tmp_path: Path, version: str
) -> None:
    source = make_version_servers.source(version)
    made = write(source.url)
    # The source does not log what CASCADE changes.
    left_out = [word for names in made for name in names[:2] if name.endswith("cascade") for word in ("--exclude-table", f"shop.{name}")]
    applied(first_log(source, tmp_path), postgres_place.url, "--workers", "8", *left_out)
    with psycopg.connect(postgres_place.url) as connection:
        for name in (name for names in made for name in names[:2] if name.endswith("restrict")):
            assert connection.execute(f"SELECT * FROM shop.{name} ORDER BY id".encode()).fetchall() == [
                tuple(row) for row in source.sql(f"SELECT * FROM shop.{name} ORDER BY id")
            ], name


@pytest.mark.mysql
def test_r14_foreign_keys_of_generated_columns_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    made = write(mysql_place.url)
    tables = [f"shop.{name}" for names in made for name in names[:2]]
    rows = [mysql_place.sql(f"SELECT * FROM {table} ORDER BY 1") for table in tables]
    assert len(made) >= 6
    assert any(rows)
    log = copy_binlogs(mysql_place.url, tmp_path)[0]
    for options in (["--merge", "off"], []):
        mysql_place.empty()
        applied(log, mysql_place.url, "--workers", "8", *options)
        assert [mysql_place.sql(f"SELECT * FROM {table} ORDER BY 1") for table in tables] == rows
