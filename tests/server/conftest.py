"""The databases of the replay tests, and of the tests of errors."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
from server.history_source import HistoryPlace, KillableSource, Source
from server.replay import MARIADB_OPTIONS, PostgresPlace, SqlPlace
from server.undo_servers import LiveServer, Shop
from servers import MariaDbServer, mysql_data, mysql_url, running_mariadb

from tests.pg_databases import database, embedded, running_postgres
from tests.required import missing
from tests.servers import mariadb_server

__all__ = ["database", "embedded", "mariadb_server"]


@pytest.fixture
def mysql_place() -> SqlPlace:
    place = SqlPlace(mysql_url())
    place.empty()
    return place


@pytest.fixture(scope="module")
def durable_mariadb() -> Iterator[MariaDbServer]:
    """A MariaDB that survives kill -9 without losing a commit."""
    with running_mariadb(MARIADB_OPTIONS) as server:
        yield server


@pytest.fixture
def mariadb_place(durable_mariadb: MariaDbServer) -> SqlPlace:
    place = SqlPlace(durable_mariadb.url)
    place.empty()
    return place


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL that outlives the commands of a test."""
    with running_postgres(prepared=8) as url:
        yield url


@pytest.fixture
def postgres_place(postgres_server: str) -> PostgresPlace:
    place = PostgresPlace(postgres_server)
    place.empty()
    return place


@pytest.fixture(params=["mariadb", "mysql"])
def history_source(request: pytest.FixtureRequest) -> Source:
    """A server that random histories run on, each in turn."""
    if request.param == "mariadb":
        server: MariaDbServer = request.getfixturevalue("durable_mariadb")
        return Source(HistoryPlace(server.url), server.data)
    return Source(HistoryPlace(mysql_url()), mysql_data())


@pytest.fixture
def killable(request: pytest.FixtureRequest, history_source: Source) -> KillableSource:
    """Such a server that can be killed: MySQL with the shell command ``PARAPLY_TEST_MYSQL_RESTART``, which starts it again too."""
    place, command = history_source.place, os.environ.get("PARAPLY_TEST_MYSQL_RESTART")
    if place.mariadb:
        server: MariaDbServer = request.getfixturevalue("durable_mariadb")

        def restart() -> None:
            server.kill()
            server.start()
    elif command:

        def restart() -> None:
            subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    else:
        missing("NO WAY TO KILL MYSQL: set PARAPLY_TEST_MYSQL_RESTART to a command that kills the server and starts it again")
    return KillableSource(place, history_source.binlogs, restart)


@pytest.fixture(params=["mariadb", "mysql"])
def live(request: pytest.FixtureRequest) -> Iterator[LiveServer]:
    """A live MariaDB, then a live MySQL."""
    if request.param == "mariadb":
        server: MariaDbServer = request.getfixturevalue("mariadb_server")
        found = LiveServer(server.url, server.data)
    else:
        found = LiveServer(mysql_url(), mysql_data())
    with closing(found.connection):
        found.begin_log()
        yield found


@pytest.fixture
def live_mariadb(mariadb_server: MariaDbServer) -> Iterator[LiveServer]:
    """A live MariaDB."""
    found = LiveServer(mariadb_server.url, mariadb_server.data)
    with closing(found.connection):
        found.begin_log()
        yield found


@pytest.fixture
def shop(live: LiveServer) -> Shop:
    """A few tables on a live server."""
    return Shop(live)
