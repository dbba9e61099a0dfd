"""Targets of the tests of ``--on-conflict``, each with a log whose tables they hold, and what they hold afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from server.conflict_model import TABLE, Change, Row, values
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from servers import MariaDbServer

from paraply import Applier, make_target
from paraply.observe.counters import ApplyReport

CONFLICTS = (
    "SELECT operation, cause, outcome, row_key, row_before, row_after, gtid, table_database, table_name, detail FROM paraply.conflict"
)


class ConflictTarget:
    """A target, and the server that its log comes from.

    Args:
        source: The server of the log, which may be the target too.
        postgres: The target, if it is a PostgreSQL.
        data: Folder of a MariaDB's binlogs.
        folder: Folder of the test.
    """

    def __init__(self, source: SqlPlace, postgres: PostgresPlace | None, data: Path | None, folder: Path) -> None:
        self.source = source
        self.postgres = postgres
        self._data = data
        self._folder = folder
        self.url = postgres.url if postgres is not None else source.url

    def log(self, first: Sequence[str], statements: Sequence[str], **options: Any) -> list[Path]:
        """Run statements on the source, and empty it; return the logs. The target then holds what the first statements made."""
        self.source.sql("CREATE DATABASE shop", *first, "FLUSH BINARY LOGS", *statements, "FLUSH BINARY LOGS")
        if self._data is None:
            logs = copy_binlogs(self.source.url, self._folder)[:2]
        else:
            names = [str(row[0]) for row in self.source.sql("SHOW BINARY LOGS")][:2]
            logs = [Path(shutil.copy(self._data / name, self._folder / name)) for name in names]
        self.source.empty()
        self.apply(logs[:1], "stop", **options)
        return logs

    def history(self, first: Sequence[Row], transactions: Sequence[Sequence[Change]], **options: Any) -> list[Path]:
        """Return the logs of transactions on the model's table, which the target then has without rows."""
        rows = f"INSERT INTO shop.item VALUES {', '.join(map(values, first))}"
        bodies = [("BEGIN", *(change.sql for change in changes), "COMMIT") for changes in transactions]
        logs = self.log([TABLE, rows], [statement for body in bodies for statement in body], **options)
        self.sql("DELETE FROM shop.item")
        return logs

    def apply(self, logs: Sequence[Path], mode: str, **options: Any) -> ApplyReport:
        """Apply the logs."""
        with Applier(logs, make_target(self.url), on_conflict=mode, **{"workers": 4, **options}) as applier:  # type: ignore[arg-type]
            return applier.run()

    def sql(self, *texts: str) -> list[tuple[Any, ...]]:
        """Run statements on the target, and return the rows of the last one."""
        if self.postgres is None:
            return self.source.sql("SET sql_log_bin=0", *texts)
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.cursor()
            for text in texts:
                cursor.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

    def rows(self) -> dict[int, Row]:
        """Return the rows of the model's table."""
        return {row[0]: Row(*row) for row in self.sql("SELECT id, sku, name FROM shop.item")}

    def conflicts(self, channel: str = "default") -> list[dict[str, Any]]:
        """Return the table of conflicts in order; keys and images as dictionaries."""
        names = [name.strip() for name in CONFLICTS.removeprefix("SELECT").split(" FROM ")[0].split(",")]
        found = []
        for row in self.sql(f"{CONFLICTS} WHERE channel_name='{channel}' ORDER BY id"):
            one = dict(zip(names, row, strict=True))
            for name in ("row_key", "row_before", "row_after"):
                one[name] = json.loads(one[name]) if one[name] is not None else None
            found.append(one)
        return found

    def kinds(self) -> list[tuple[str, str, str, int]]:
        """Return operation, cause, outcome and key of the conflicts of the model's table."""
        return [(one["operation"], one["cause"], one["outcome"], int(one["row_key"]["id"])) for one in self.conflicts()]


def target_of(request: pytest.FixtureRequest, folder: Path) -> ConflictTarget:
    """Return the target that a test asks for; the log of a PostgreSQL comes from MariaDB."""
    source: SqlPlace = request.getfixturevalue("mysql_place" if request.param == "mysql" else "mariadb_place")
    server: MariaDbServer | None = request.getfixturevalue("durable_mariadb") if source.mariadb else None
    postgres: PostgresPlace | None = request.getfixturevalue("postgres_place") if request.param == "postgres" else None
    return ConflictTarget(source, postgres, server.data if server is not None else None, folder)


@pytest.fixture(params=[pytest.param("mysql", marks=pytest.mark.mysql), pytest.param("mariadb", marks=pytest.mark.mariadb)])
def own_log_target(request: pytest.FixtureRequest, tmp_path: Path) -> ConflictTarget:
    """A target with a binlog of its own."""
    return target_of(request, tmp_path)


@pytest.fixture(
    params=[
        pytest.param("mysql", marks=pytest.mark.mysql),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
        pytest.param("postgres", marks=pytest.mark.mariadb),
    ]
)
def conflict_target(request: pytest.FixtureRequest, tmp_path: Path) -> ConflictTarget:
    """A target of each family."""
    return target_of(request, tmp_path)
