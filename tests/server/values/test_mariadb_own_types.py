"""Types that only MariaDB has, in ``lake`` and ``undo``: UUID, INET4, INET6 and VECTOR, as values and as keys."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import paraply as command
from command_line import run_json
from required import required_module
from server.undo_histories import gtids_of
from server.value_columns import BYTES, INET4, INET6, UUIDS, VECTOR, Kind, log_of
from server.version_servers import Server, VersionServers, make_version_servers

__all__ = ["make_version_servers"]

pytestmark = pytest.mark.mariadb

KINDS = (UUIDS, INET4, INET6, VECTOR)
OTHER = {
    UUIDS.type: "'12345678-9abc-1def-8123-456789abcdef'", INET4.type: "'9.8.7.6'", INET6.type: "'fe80::1:2'",
    VECTOR.type: "VEC_FromText('[-0.5,3]')",
}  # fmt: skip
Content = dict[str, list[tuple[Any, ...]]]
Undo = Callable[[Path, Server, str, Path], None]


def tables_of(kind: Kind) -> list[str]:
    """Return a kind's tables: one with values, and one with keys if a key may be of the kind."""
    name = kind.type.partition("(")[0].lower()
    return [f"v_{name}"] if kind is VECTOR else [f"v_{name}", f"k_{name}"]


def made() -> list[str]:
    """Return the statements that make the tables with their first rows."""
    statements = ["CREATE DATABASE d CHARACTER SET utf8mb4"]
    for kind in KINDS:
        values, *keys = tables_of(kind)
        statements.append(f"CREATE TABLE d.{values} (id INT PRIMARY KEY, v {kind.type})")
        statements += [f"INSERT INTO d.{values} VALUES ({row}, {value})" for row, value in enumerate((*kind.values, "NULL"), 1)]
        for table in keys:
            statements.append(f"CREATE TABLE d.{table} (id {kind.type} PRIMARY KEY, v INT)")
            statements.append(f"INSERT INTO d.{table} VALUES " + ", ".join(f"({value}, {row})" for row, value in enumerate(kind.values, 1)))
    return statements


def changed() -> list[str]:
    """Return one transaction that inserts, updates and deletes rows of each table."""
    statements = ["BEGIN"]
    for kind in KINDS:
        values, *keys = tables_of(kind)
        first, second, *_ = kind.values
        last, other = len(kind.values) + 1, OTHER[kind.type]
        statements += [
            f"INSERT INTO d.{values} VALUES (100, {first}), (101, NULL)",
            f"UPDATE d.{values} SET v={other} WHERE id=1",
            f"DELETE FROM d.{values} WHERE id=2",
            f"UPDATE d.{values} SET v={second} WHERE id={last}",
            f"UPDATE d.{values} SET v=NULL WHERE id={last - 1} AND id<>2",
        ]
        for table in keys:
            statements += [
                f"UPDATE d.{table} SET v=v+100 WHERE id={first}",
                f"DELETE FROM d.{table} WHERE id={second}",
                f"UPDATE d.{table} SET id={other} WHERE id={kind.values[2]}",
                f"INSERT INTO d.{table} VALUES ({second}, 77)",
                f"DELETE FROM d.{table} WHERE id={kind.values[3]}",
            ]
    return [*statements, "COMMIT"]


def asked(column: str, kind: str) -> str:
    """Return the expression that reads a column from the server."""
    return BYTES.format(column) if kind.startswith("vector") else column


def content(server: Server) -> Content:
    """Return every table's rows as the server shows them."""
    found: Content = {}
    for kind in KINDS:
        for table in tables_of(kind):
            columns = [asked(name, shown) for name, shown, *_ in server.sql(f"SHOW COLUMNS FROM d.{table}")]
            found[table] = sorted(server.sql("SET NAMES utf8mb4", f"SELECT {', '.join(columns)} FROM d.{table}"), key=repr)
    return found


@pytest.fixture
def server(make_version_servers: VersionServers) -> Server:
    return make_version_servers.source("11.8")


@pytest.mark.parametrize("batch_rows", ["1", "100000"], ids=["transactions", "one batch"])
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_lake_has_the_values_that_the_server_shows(server: Server, tmp_path: Path, form: str, batch_rows: str) -> None:
    required_module("deltalake" if form == "delta" else "pyiceberg")
    from paraply.lake import read

    into = tmp_path / "lake"
    log = log_of(server.sql, server.data, tmp_path, [*made(), *changed()])
    done = run_json("lake", log, "--into", into, "--format", form, "--batch-rows", batch_rows)
    assert done.code == 0, done.line
    state = read(str(into), form)
    expected = content(server)
    assert sorted(state) == sorted(f"d.{table}" for table in expected)
    for table, rows in expected.items():
        found = [tuple(row.values()) for row in state[f"d.{table}"].to_arrow().to_pylist()]
        found = [tuple(value.hex().upper() if isinstance(value, bytes) else value for value in row) for row in found]
        assert sorted(found, key=repr) == rows, table


def directly(log: Path, server: Server, gtid: str, _: Path) -> None:
    """Undo a transaction on the server."""
    done = run_json("undo", log, "--to", server.url, "--transactions", gtid)
    assert (done.code, done.report["applied"]) == (0, True), done.line


def by_hand(log: Path, server: Server, gtid: str, folder: Path) -> None:
    """Let the client run the script."""
    script = folder / "undo.sql"
    shown = command("undo", log, "--to", server.url, "--transactions", gtid, "--sql", script)
    assert shown.returncode == 0, shown.stderr
    before = content(server)
    client = ["mariadb", "--no-defaults", "--host=127.0.0.1", f"--port={server.port}", "--user=app", "--password=app"]
    with script.open() as file:
        ran = subprocess.run(client, stdin=file, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert content(server) != before


@pytest.mark.parametrize("undo", [directly, by_hand])
def test_r38_undone_rows_come_back(server: Server, tmp_path: Path, undo: Undo) -> None:
    server.sql(*made())
    before = content(server)
    log = log_of(server.sql, server.data, tmp_path, changed())
    after = content(server)
    assert [table for table in before if before[table] == after[table]] == []
    (gtid,) = gtids_of([log], "d")
    undo(log, server, gtid, tmp_path)
    assert content(server) == before
