"""A catalog that follows a server's own binary log holds what the server holds, or says that it does not know (R13).

MySQL: ``PARAPLY_TEST_MYSQL`` names the server, ``PARAPLY_TEST_MYSQL_DATA`` the folder with its binary logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.server.schema.test_schema_against_server import Run, comparable, difference, mysql_connection, runner
from tests.server.schema_scenarios import BOTH_FAMILIES, OF_MARIADB, OF_MYSQL, UNKNOWN
from tests.servers import MariaDbServer, mariadb_server, mysql_data

from paraply.logs import open_log
from paraply.logs.statement_text import decode_statement
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.live import read_tables

__all__ = ["mariadb_server"]

DATABASES = ("ws_a", "ws_b", "ws c`d", "é")


@dataclass(frozen=True)
class Logged:
    """A session, and the folder with what its server logs."""

    run: Run
    session: int
    folder: Path
    mariadb: bool

    def log(self) -> Path:
        """Begins a new log file."""
        self.run("FLUSH BINARY LOGS")
        return self.folder / self.run("SHOW MASTER STATUS" if self.mariadb else "SHOW BINARY LOG STATUS")[0][0]

    def drop_all(self) -> None:
        self.run("SET foreign_key_checks=0")
        for name in DATABASES:
            self.run("DROP DATABASE IF EXISTS `{}`".format(name.replace("`", "``")))
        self.run("SET foreign_key_checks=1")


def logged(connection: Any, folder: Path, mariadb: bool) -> Iterator[Logged]:
    run = runner(connection)
    session = Logged(run, run("SELECT CONNECTION_ID()")[0][0], folder, mariadb)
    try:
        session.drop_all()
        if not mariadb:
            run("SET restrict_fk_on_non_standard_key=0")
        yield session
        session.drop_all()
    finally:
        connection.close()


@pytest.fixture
def mysql() -> Iterator[Logged]:
    yield from logged(mysql_connection(), mysql_data(), mariadb=False)


@pytest.fixture
def mariadb(mariadb_server: MariaDbServer) -> Iterator[Logged]:
    yield from logged(mariadb_server.connect(), mariadb_server.data, mariadb=True)


@pytest.mark.parametrize("scenario", [*BOTH_FAMILIES, *OF_MARIADB])
def test_the_catalog_follows_mariadb(mariadb: Logged, scenario: str) -> None:
    follow(mariadb, scenario, (BOTH_FAMILIES | OF_MARIADB)[scenario])


@pytest.mark.parametrize("scenario", [*BOTH_FAMILIES, *OF_MYSQL])
def test_the_catalog_follows_mysql(mysql: Logged, scenario: str) -> None:
    follow(mysql, scenario, (BOTH_FAMILIES | OF_MYSQL)[scenario])


def follow(server: Logged, scenario: str, statements: tuple[str, ...]) -> None:
    log = server.log()
    for sql in ("create database ws_a", "create database ws_b character set latin1", "use ws_a", *statements):
        server.run(sql)
    server.run("FLUSH BINARY LOGS")
    catalog = catalog_of(log, server)
    parsed = {(table.database, table.name): comparable(table) for table in catalog if table.database in DATABASES}
    held = {(table.database, table.name): comparable(table) for table in read_tables(server.run, DATABASES)}
    wrong = [f"{name}\n{difference(table, held.get(name))}" for name, table in parsed.items() if table != held.get(name)]
    assert not wrong, "\n".join(wrong)
    missing = {name for name in held if name not in parsed}
    assert all(catalog.is_unknown(*name) for name in missing)
    assert {name for _, name in missing} == set(UNKNOWN.get(scenario, ()))


def catalog_of(log: Path, server: Logged) -> SchemaCatalog:
    """The catalog after the log's own DDL, read as every command reads it."""
    catalog = SchemaCatalog(complete=True)
    for transaction in open_log(log):
        if transaction.session != server.session:
            continue
        for statement in transaction.statements:
            written = transaction.format
            sql = decode_statement(statement, mariadb=written.mariadb)
            advance(catalog, sql, statement.database, statement.context, mariadb=written.mariadb, version=written.version)
    return catalog
