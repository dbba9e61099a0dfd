"""Rows of MariaDB's sequences reach the target's sequences, whatever its version, and in every kind of transaction."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mariadb_versions import MariaDbInTree, mariadb_of_version
from server.replay import applied
from servers import MariaDbServer

Server = MariaDbServer | MariaDbInTree

SEQUENCES = ("d.s", "d.c", "d.renamed")
LOAD = [
    "CREATE DATABASE d",
    "CREATE SEQUENCE d.s START WITH 10 INCREMENT BY 5 MAXVALUE 100000 CACHE 10",
    "CREATE SEQUENCE d.c MINVALUE -5 MAXVALUE -1 INCREMENT BY -1 NOCACHE CYCLE",
    "CREATE SEQUENCE d.first",
    "CREATE TABLE d.t (id INT PRIMARY KEY, v BIGINT)",
    "INSERT INTO d.t VALUES (1, NEXT VALUE FOR d.s), (2, NEXTVAL(d.s))",
    "DO SETVAL(d.s, 500)",
    *(f"INSERT INTO d.t VALUES ({number}, NEXTVAL(d.c))" for number in range(3, 30)),
    *(f"INSERT INTO d.t VALUES ({number}, NEXTVAL(d.s))" for number in range(30, 60)),
    "ALTER SEQUENCE d.s INCREMENT BY 2 RESTART 6000",
    "BEGIN",
    "INSERT INTO d.t VALUES (60, NEXTVAL(d.s)), (61, NEXTVAL(d.c))",
    "UPDATE d.t SET v=NEXTVAL(d.first) WHERE id=1",
    "COMMIT",
    "RENAME TABLE d.first TO d.renamed",
    "DO NEXTVAL(d.renamed)",
    "CREATE TABLE d.selected SELECT NEXTVAL(d.renamed) AS v, id FROM d.t WHERE id < 5",
    "DO SETVAL(d.c, -3, 0, 7)",
    "DROP SEQUENCE d.renamed",
    "CREATE SEQUENCE d.renamed INCREMENT BY 3",
    "DO NEXTVAL(d.renamed)",
    "DROP SEQUENCE d.s",
    "CREATE TABLE d.s (a BIGINT PRIMARY KEY, b BIGINT, c BIGINT, d BIGINT, e BIGINT, f BIGINT UNSIGNED, g TINYINT UNSIGNED, h BIGINT)",
    "INSERT INTO d.s VALUES (1, 2, 3, 4, 5, 6, 1, 8)",
    "XA START 'a'", "INSERT INTO d.t VALUES (70, NEXTVAL(d.c))", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'",
]  # fmt: skip


@pytest.fixture(scope="module", params=["10.5", "10.11"])
def source(request: pytest.FixtureRequest) -> Iterator[Server]:
    with mariadb_of_version(request.param) as server:
        yield server


@pytest.fixture(scope="module", params=["10.5", "10.11", "11.8"])
def target(request: pytest.FixtureRequest) -> Iterator[Server]:
    with mariadb_of_version(request.param) as server:
        yield server


def state(server: Server) -> list[list[tuple[object, ...]]]:
    """Return the rows of all tables and sequences."""
    return [server.sql(f"SELECT * FROM {name}") for name in (*SEQUENCES, "d.selected", "d.t")]


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_r31_sequences_are_those_of_the_source(source: Server, target: Server, tmp_path: Path, image: str) -> None:
    source.sql("DROP DATABASE IF EXISTS d", "RESET MASTER")
    source.sql(f"SET SESSION binlog_row_image={image}, sql_mode=''", *LOAD)
    (row,) = source.sql("SHOW BINARY LOGS")
    source.sql("FLUSH BINARY LOGS")
    log = Path(shutil.copy(source.data / str(row[0]), tmp_path / "source.binlog"))
    for options in (["--workers", "4"], ["--merge", "off"], ["--gtid", "preserve"], ["--policy", "row", "--consistency", "eventual"]):
        target.sql("DROP DATABASE IF EXISTS d", "DROP DATABASE IF EXISTS paraply", "RESET MASTER", "SET GLOBAL gtid_slave_pos=''")
        applied(log, target.url, *options)
        assert state(target) == state(source), options
