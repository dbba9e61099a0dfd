"""R13: an apply into PostgreSQL that goes on knows the tables, also where the files with their DDL are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from server.history_source import DATABASE, PostgresHistoryPlace, Source

from paraply.applier import Applier, ApplyReport
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.model import Table
from paraply.targets import open_target

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]
ROWS = 60
CREATE = f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL)"


@pytest.fixture
def files(history_source: Source, tmp_path: Path) -> list[Path]:
    """Three files without metadata of the tables: one makes a table, one gives it a unique key, one has rows of it alone."""
    steps = [
        [f"CREATE DATABASE {DATABASE}", CREATE, f"INSERT INTO {DATABASE}.t VALUES (1, 'one')"],
        [f"ALTER TABLE {DATABASE}.t ADD UNIQUE KEY (v)", f"INSERT INTO {DATABASE}.t VALUES (2, 'two')"],
        [f"INSERT INTO {DATABASE}.t VALUES ({number}, 'row {number}')" for number in range(3, 3 + ROWS)]
        + [f"UPDATE {DATABASE}.t SET v='ONE!' WHERE id=1", f"UPDATE {DATABASE}.t SET v='One' WHERE id=2"],
    ]
    return history_source.logs(steps, tmp_path)


def apply(files: list[Path], url: str, **options: Any) -> ApplyReport:
    with open_target(url) as target, Applier([str(file) for file in files], target, workers=4, **options) as applier:
        return applier.run()


def as_dumped() -> SchemaCatalog:
    schema = SchemaCatalog(complete=True)
    advance(schema, CREATE, DATABASE, {}, mariadb=False, version=(9, 7, 0))
    return schema


@pytest.mark.parametrize("dumped", [False, True])
def test_r13_the_tables_are_known_without_the_files_that_made_them(
    history_source: Source, files: list[Path], postgres_server: str, dumped: bool
) -> None:
    place = PostgresHistoryPlace(postgres_server)
    place.empty()
    schema = {"schema": as_dumped()} if dumped else {}
    apply(files[:1], place.url)
    apply(files[1:2], place.url, **schema)
    report = apply(files[2:], place.url, **schema)
    assert report.fallbacks == []
    assert report.commits < report.transactions == ROWS + 2
    assert report.merged > 0
    assert len(place.state()["t"]) == ROWS + 2
    again = apply(files, place.url, **schema)
    assert (again.transactions, again.fallbacks) == (0, [])


def test_r13_what_is_kept_is_read_back_as_it_was(files: list[Path], postgres_server: str) -> None:
    place = PostgresHistoryPlace(postgres_server)
    place.empty()
    seen: list[Table] = []
    with open_target(place.url) as target, Applier([str(file) for file in files], target) as applier:
        applier.run()
        seen += target.seed_tables()
    with open_target(place.url) as target, Applier([str(file) for file in files], target) as applier:
        applier.run()
        assert target.seed_tables() == seen
    assert [len(table.keys) for table in seen] == [2]


@pytest.mark.parametrize("ends", [f"DROP TABLE {DATABASE}.t", f"RENAME TABLE {DATABASE}.t TO {DATABASE}.old", f"DROP DATABASE {DATABASE}"])
def test_r13_a_dump_does_not_bring_back_what_the_log_has_dropped(
    history_source: Source, tmp_path: Path, postgres_server: str, ends: str
) -> None:
    steps = [
        [f"CREATE DATABASE IF NOT EXISTS {DATABASE}", CREATE, f"INSERT INTO {DATABASE}.t VALUES (1, 'one')", ends],
        [f"CREATE DATABASE IF NOT EXISTS {DATABASE}", CREATE, f"INSERT INTO {DATABASE}.t VALUES (7, 'seven')"],
    ]
    files = history_source.logs(steps, tmp_path)
    target = PostgresHistoryPlace(postgres_server)
    target.empty()
    apply(files[:1], target.url)
    apply(files[1:], target.url, schema=as_dumped())
    assert target.state()["t"] == ["(7,seven)"]
