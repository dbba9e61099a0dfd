"""``paraply undo`` without ``--to``: the embedded PostgreSQL, as of ``paraply apply``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import run_json
from mariadb_versions import ROW_LOG
from servers import own_folder, running_mariadb

from paraply.targets.postgres.embedded import EmbeddedPostgres

STATEMENTS = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT NOT NULL)",
    "INSERT INTO shop.item VALUES (1, 1), (2, 2)",
    "UPDATE shop.item SET n = 9",
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of four transactions, the last of which is a mistake."""
    with running_mariadb(ROW_LOG) as server:
        server.sql("RESET MASTER", *STATEMENTS, "FLUSH BINARY LOGS")
        return Path(shutil.copy(server.data / "binlog.000001", tmp_path_factory.mktemp("log")))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short path, in which an embedded server may have its socket."""
    with own_folder("paraply-undo-") as made:
        yield made


@pytest.mark.mariadb
def test_r38_without_a_target_the_embedded_one_is_undone_in(log: Path, folder: Path) -> None:
    assert run_json("apply", log, cwd=folder).code == 0
    undone = run_json("undo", log, "--transactions", "0-1-4", cwd=folder)
    assert (undone.code, undone.report["rows"], undone.report["applied"]) == (0, 2, True), undone.line
    with EmbeddedPostgres(folder / "paraply-data") as server, psycopg.connect(server.uri) as connection:
        assert connection.execute("SELECT id, n FROM shop.item ORDER BY 1").fetchall() == [(1, 1), (2, 2)]
        assert connection.execute("SELECT count(*) FROM paraply.undo_history").fetchall() == [(1,)]
    assert not (folder / "paraply-data" / "postmaster.pid").exists(), "the server is stopped again"


@pytest.mark.mariadb
def test_r38_without_a_target_and_an_embedded_one_nothing_is_made(log: Path, folder: Path) -> None:
    refused = run_json("undo", log, "--transactions", "0-1-4", cwd=folder)
    assert (refused.code, refused.error["class"], "--to URL" in refused.line) == (2, "UsageError", True), refused.line
    assert not list(folder.iterdir())
