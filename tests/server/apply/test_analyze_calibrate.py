"""The measurement of the cost model of ``paraply analyze`` on real servers."""

from __future__ import annotations

import psycopg
import pytest
from servers import MariaDbServer, mysql_url

from paraply.analysis.analyze import CostModel
from paraply.analysis.analyze.calibrate import calibrate
from paraply.errors import ConnectionFailed
from paraply.targets.mysql.target import connect
from paraply.targets.url import parse_url

LEFT = "paraply\\_calibrate\\_%"


def plausible(model: CostModel) -> bool:
    """Return True if every time is positive and none is above a second."""
    times = (model.transaction_us, model.row_us, model.commit_us, model.ddl_us)
    slower = [(found.rows, found.commit) for found in model.capacity.measured]
    grows = slower == sorted(slower) and slower[0] == (1.0, 1.0) and len(slower) == 4
    return grows and all(0 < time < 1e6 for time in times) and 0 <= model.byte_ns < 1e6


def databases(url: str) -> list[object]:
    """Return the databases that a measurement left."""
    connection = connect(parse_url(url))
    return list(connection.query(f"SHOW DATABASES LIKE '{LEFT}'")[0][1])


def test_mariadb_is_measured_and_left_as_it_was(durable_mariadb: MariaDbServer) -> None:
    model = calibrate(durable_mariadb.url)
    assert plausible(model), model
    assert model.measured_on is not None
    assert databases(durable_mariadb.url) == []


def test_mysql_is_measured_and_left_as_it_was() -> None:
    assert plausible(calibrate(mysql_url()))
    assert databases(mysql_url()) == []


def test_postgresql_is_measured_and_left_as_it_was(postgres_server: str) -> None:
    assert plausible(calibrate(postgres_server))
    with psycopg.connect(postgres_server) as connection:
        assert connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", [LEFT]).fetchall() == []


def test_a_server_that_is_not_there_is_an_error() -> None:
    for url in ("mysql://app@127.0.0.1:1", "postgresql://app@127.0.0.1:1/db"):
        with pytest.raises(ConnectionFailed):
            calibrate(url)
