"""``paraply replicate`` as a service: events as JSON, metrics and a timeline, a file with options, and a pause while it receives."""

from __future__ import annotations

import json
import re
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import run_json
from server.live import replicating
from server.replay import PostgresPlace, SqlPlace
from servers import free_port

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-replicate-") as name:
        yield Path(name)


def count(place: PostgresPlace) -> int:
    with psycopg.connect(place.url, autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM shop.t").fetchone()
        return int(row[0]) if row else 0


def test_events_metrics_timeline_and_pause(mariadb_place: SqlPlace, postgres_place: PostgresPlace, folder: Path) -> None:
    mariadb_place.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    config = folder / "paraply.toml"
    port = free_port()
    config.write_text(f'log-format = "json"\n[replicate]\nmetrics = {port}\ntrace = "{folder / "trace.json"}"\nmax-rate = 100000\n')
    with replicating(mariadb_place.url, postgres_place.url, folder, "--config", str(config)) as replica:
        replica.wait_until(lambda: count(postgres_place) == 1, "the first row")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            page = answer.read().decode()
        assert "paraply_source_connected 1.0" in page
        assert re.search(r"paraply_transactions_committed_total [1-9]", page)
        paused = run_json("pause", "--to", postgres_place.url)
        assert paused.code == 0, paused.line
        for number in range(2, 12):
            mariadb_place.sql(f"INSERT INTO shop.t VALUES ({number})")
        replica.wait_until(
            lambda: run_json("status", "--to", postgres_place.url).report["channels"][0]["run"]["receiver"]["lag_transactions"] == 10,
            "ten transactions that are received and not applied",
        )
        assert count(postgres_place) == 1
        assert run_json("resume", "--to", postgres_place.url).code == 0
        replica.wait_until(lambda: count(postgres_place) == 11, "all rows")
        replica.process.send_signal(signal.SIGTERM)
        report = replica.report()
    assert (report["exit_code"], report["receiver"]["lag_transactions"]) == (4, 0)
    events = [json.loads(line) for line in replica.messages().splitlines()]
    names = [event["event"] for event in events]
    assert {"connected", "paused", "resumed", "stopping", "stopped"} <= set(names)
    assert names.index("paused") < names.index("resumed") < names.index("stopped")
    slices = json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert any(event["name"] == "commit" for event in slices)
