"""CREATE TABLE IF NOT EXISTS into PostgreSQL: what the target has not, the source had not either when the log began."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest
from server.history_source import DATABASE, PostgresHistoryPlace, Source

from paraply.applier import Applier
from paraply.errors import ParaplyError
from paraply.schema.catalog import SchemaCatalog
from paraply.targets import open_target

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]
CREATE = f"CREATE TABLE IF NOT EXISTS {DATABASE}.t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL)"


@pytest.fixture
def files(history_source: Source, tmp_path: Path) -> list[str]:
    """Two files of a source whose start-up script runs again and again."""
    script = [f"CREATE DATABASE IF NOT EXISTS {DATABASE}", CREATE]
    steps = [
        [*script, f"INSERT INTO {DATABASE}.t VALUES (1, 'one')"],
        [*script, f"INSERT INTO {DATABASE}.t VALUES (2, 'two')", f"UPDATE {DATABASE}.t SET v='ONE' WHERE id=1"],
    ]
    return [str(file) for file in history_source.logs(steps, tmp_path)]


def apply(files: Sequence[str], url: str, schema: SchemaCatalog | None = None) -> int:
    with open_target(url) as target, Applier(files, target, workers=4, schema=schema) as applier:
        return applier.run().transactions


@pytest.mark.parametrize("dumped", [False, True])
@pytest.mark.parametrize("parts", [[(0, 2)], [(0, 1), (1, 2)], [(0, 1), (0, 2)]], ids=["at once", "later files", "all files again"])
def test_a_start_up_script_is_applied(files: list[str], postgres_server: str, parts: list[tuple[int, int]], dumped: bool) -> None:
    place = PostgresHistoryPlace(postgres_server)
    place.empty()
    for begin, end in parts:
        assert apply(files[begin:end], place.url, SchemaCatalog() if dumped else None)
    assert place.state()["t"] == ["(1,ONE)", "(2,two)"]


def test_a_table_that_somebody_else_made_is_not_taken_for_the_logs(files: list[str], postgres_server: str) -> None:
    place = PostgresHistoryPlace(postgres_server)
    place.empty()
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {DATABASE}")
        connection.execute(f"CREATE TABLE {DATABASE}.t (other TEXT)")
    with pytest.raises(ParaplyError, match="already exists"):
        apply(files, place.url)
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE {DATABASE}.t")
    assert apply(files, place.url)
