"""Rows of a table under its last definition are the source's own, after random ALTERs that change names, types, order and defaults."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from altered_table import AlteredTable
from server.mysql_fixtures import Server
from server.source_log import copy_binlogs
from servers import mysql_url

from paraply._native import Selection
from paraply.analysis.carried.plan import TablePlan, plan_of
from paraply.analysis.carried.rows import CarriedRows
from paraply.analysis.parts import divide
from paraply.analysis.table_versions import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from servers import MariaDbServer

    from paraply.analysis.parts import Division

ROUNDS = int(os.environ.get("PARAPLY_ALTERS", "30"))
Rows = dict[Any, dict[str, Any]]


def plan_in(division: Division, name: tuple[str, str]) -> TablePlan:
    lines = lines_of([[step for _, step in found.steps] for found in division.scans], [])
    line = lines.last(name)
    assert line is not None
    return plan_of(line, [], name)


def changes(division: Division, plan: TablePlan) -> Iterator[dict[str, Any]]:
    """Row changes in the order of the log, and the places at which the table has no rows."""
    columns = ["position", "row", "operation", "before", "after", "key_before", "key_after", "absent"]
    for part in division.parts:
        for item, batches in CarriedRows(part, plan, columns, Selection()):
            for batch in batches:
                yield from batch.to_pylist()
            if any(type(change).__name__ == "TruncateTable" for change in item.changes):
                yield {"operation": "truncate"}


def folded(division: Division, name: tuple[str, str]) -> Rows:
    """The rows at the end, by their keys."""
    plan = plan_in(division, name)
    rows: Rows = {}
    for change in changes(division, plan):
        if change["operation"] == "truncate":
            rows.clear()
            continue
        if change["key_before"] is not None:
            del rows[tuple(change["key_before"].values())]
        if change["key_after"] is not None:
            assert change["absent"] == [], change
            rows[tuple(change["key_after"].values())] = change["after"]
    return rows


def check(sql: Callable[[str], object], folder: Path, seed: int, copy: Callable[[Path], list[Path]]) -> None:
    table = AlteredTable(sql, seed)
    table.run(ROUNDS)
    division = divide([str(path) for path in copy(folder)], [], 40_000)
    assert len(division.parts) > 1
    expected, found = folded(division, ("d", "copy")), folded(division, ("d", "t"))
    assert len(expected) > 5
    assert sorted(found) == sorted(expected), table.statements
    for key, row in expected.items():
        different = {name: (value, found[key][name]) for name, value in row.items() if repr(value) != repr(found[key][name])}
        assert not different, (key, table.statements)


@pytest.mark.parametrize("seed", [1])
def test_rows_are_carried_through_alters_of_mysql(tmp_path: Path, seed: int) -> None:
    server = Server(mysql_url())
    server.empty()
    with contextlib.closing(server.connection()) as connection:
        check(connection.query, tmp_path, seed, lambda folder: copy_binlogs(mysql_url(), folder))
        connection.query("DROP DATABASE d")


@pytest.mark.parametrize("seed", [3])
def test_rows_are_carried_through_alters_of_mariadb(mariadb_server: MariaDbServer, tmp_path: Path, seed: int) -> None:
    mariadb_server.sql("RESET MASTER")

    def copied(folder: Path) -> list[Path]:
        mariadb_server.sql("FLUSH BINARY LOGS")
        logs = [path for path in sorted(mariadb_server.data.glob("binlog.0*")) if path.suffix != ".idx"]
        return [Path(shutil.copy(path, folder)) for path in logs]

    with mariadb_server.connect() as connection, connection.cursor() as cursor:
        check(cursor.execute, tmp_path, seed, copied)
        cursor.execute("DROP DATABASE d")
