"""Stopping at a point in time, filters, gaps and the dry run, on logs of real servers and into them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from server.point_in_time import History, apply, clear, marks, read_history, write_history
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from tests.servers import MariaDbServer, mysql_url

from paraply import Applier, GtidSet, make_target, open_log
from paraply.applier.preflight.plan import RunPlan
from paraply.applier.selection.filters import parse_filters
from paraply.errors import ApplyFailed

MARKS = 7


@pytest.fixture(scope="module")
def mysql_history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Written on the very server that the tests replay into: it is emptied before each."""
    place = SqlPlace(mysql_url())
    clear(place)
    place.empty()
    write_history(place, MARKS)
    return read_history(copy_binlogs(place.url, tmp_path_factory.mktemp("mysql")))


@pytest.fixture(scope="module")
def mariadb_history(durable_mariadb: MariaDbServer, tmp_path_factory: pytest.TempPathFactory) -> History:
    place = SqlPlace(durable_mariadb.url)
    clear(place)
    place.empty()
    write_history(place, MARKS, pause=1.1)
    place.sql("FLUSH BINARY LOGS")
    folder = tmp_path_factory.mktemp("mariadb")
    names = [str(row[0]) for row in place.sql("SHOW BINARY LOGS")][:-1]
    return read_history([Path(shutil.copy(durable_mariadb.data / name, folder / name)) for name in names])


@pytest.fixture(params=["mysql", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def replayed(request: pytest.FixtureRequest) -> Iterator[tuple[History, SqlPlace]]:
    """A history and an empty server of its kind."""
    history: History = request.getfixturevalue(f"{request.param}_history")
    place: SqlPlace = request.getfixturevalue(f"{request.param}_place")
    clear(place)
    place.empty()  # last, because the drops have GTIDs of the very server that wrote the history
    yield history, place
    clear(place)


def test_a_stop_at_a_time_is_before_the_first_transaction_that_is_not_earlier(replayed: tuple[History, SqlPlace]) -> None:
    history, place = replayed
    outcome = apply(history.files, place.url, "--stop-at", history.time(4))
    assert outcome.code == 0, outcome.stderr
    assert marks(place) == [1, 2, 3]
    assert outcome.report["stop"]["gtid"] == history.gtids[3]
    assert outcome.report["stop"]["included"] is False
    # The same command again has nothing to do; a later stop goes on.
    assert apply(history.files, place.url, "--stop-at", history.time(4)).report["transactions"] == 0
    assert apply(history.files, place.url, "--stop-at", history.gtids[4]).code == 0
    assert marks(place) == [1, 2, 3, 4, 5]


def test_a_gtid_is_the_last_or_the_first_that_is_not(replayed: tuple[History, SqlPlace]) -> None:
    history, place = replayed
    outcome = apply(history.files, place.url, "--stop-before", history.gtids[2], "--workers", "2")
    assert (outcome.code, marks(place)) == (0, [1, 2]), outcome.stderr
    outcome = apply(history.files, place.url, "--stop-at", history.gtids[2], "--workers", "2")
    assert (outcome.code, marks(place), outcome.report["stop"]["included"]) == (0, [1, 2, 3], True), outcome.stderr
    # The target is behind the stop already.
    outcome = apply(history.files, place.url, "--stop-before", history.gtids[1])
    assert (outcome.code, outcome.report["error"]["class"]) == (2, "UsageError")
    outcome = apply(history.files, place.url, "--stop-at", history.time(2))
    assert outcome.code == 2
    assert "older backup" in outcome.report["error"]["message"]
    assert marks(place) == [1, 2, 3]


def test_a_stop_that_never_comes_is_found_before_the_first_write(replayed: tuple[History, SqlPlace]) -> None:
    history, place = replayed
    origin, separator, _ = history.gtids[0].rpartition(":" if ":" in history.gtids[0] else "-")
    for option in ("--stop-at", "--stop-before"):
        outcome = apply(history.files, place.url, option, f"{origin}{separator}999999")
        assert outcome.code == 2
        assert "none of the logs holds" in outcome.report["error"]["message"]
    other = "0-1-5" if separator == ":" else "3e11fa47-71ca-11e1-9e33-c80aa9429562:5"
    assert apply(history.files, place.url, "--stop-at", other).code == 2
    assert marks(place) == []
    # A time that never comes is the logs' end.
    outcome = apply(history.files, place.url, "--stop-at", "2100-01-01T00:00:00Z")
    assert (outcome.code, outcome.report["stop"]) == (0, None)
    assert any("ended before the stop" in note for note in outcome.report["notes"])


def test_gaps_and_order_are_refused_before_the_first_write(replayed: tuple[History, SqlPlace]) -> None:
    history, place = replayed
    first, second, third = history.files[:3]
    for files, message in (
        ([first, third], second.name),
        ([second, first], f"{first} {second}"),
        ([first, first], "twice"),
        ([second, third], "--start-after"),
    ):
        outcome = apply(files, place.url)
        assert outcome.code == 2, files
        assert message in outcome.report["error"]["message"]
    assert marks(place) == []
    assert apply([second, third], place.url, "--allow-gap", "--dry-run").code == 0
    # What the backup holds is no gap.
    assert apply([first], place.url).code == 0
    assert apply([second, third], place.url, "--channel", "later").code == 0
    assert marks(place)[:6] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
def test_r19_filtered_transactions_are_recorded_as_done(replayed: tuple[History, SqlPlace], mode: str) -> None:
    history, place = replayed
    if mode == "none" and not place.mariadb:
        pytest.skip("the target wrote the history itself: its own GTIDs would be those of the log")
    filters = ("--database", "pitr_shop", "--gtid", mode, "--workers", "2")
    outcome = apply(history.files, place.url, *filters)
    assert outcome.code == 0, outcome.stderr
    assert marks(place) == list(range(1, MARKS + 1))
    assert marks(place, "pitr_shop.line") == list(range(1, MARKS + 1))
    assert place.sql("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name='pitr_other'")[0][0] == 0
    report = outcome.report
    assert report["filtered"] == MARKS + 2
    everything = all_gtids(history)
    assert everything <= GtidSet(report["executed"])
    if mode == "record" or (mode == "preserve" and not place.mariadb):
        own = "SELECT @@GLOBAL.gtid_slave_pos" if place.mariadb else "SELECT @@GLOBAL.gtid_executed"
        assert everything <= GtidSet(str(place.sql(own)[0][0]).replace("\n", ""))
    again = apply(history.files, place.url, *filters).report
    assert (again["transactions"], again["filtered"]) == (0, 0)
    # Other filters are another apply.
    assert apply(history.files, place.url, "--database", "pitr_other").report["error"]["class"] == "ConfigurationMismatch"


def all_gtids(history: History) -> GtidSet:
    gtids = GtidSet()
    for transaction in open_log(history.files):
        if transaction.gtid:
            gtids.add(transaction.gtid)
    return gtids


def test_one_table_of_a_transaction_is_applied(replayed: tuple[History, SqlPlace]) -> None:
    history, place = replayed
    outcome = apply(history.files, place.url, "--table", "pitr_shop.item", "--exclude-database", "pitr_other", "--merge", "off")
    assert outcome.code == 0, outcome.stderr
    assert marks(place) == list(range(1, MARKS + 1))
    assert list(place.sql("SHOW TABLES FROM pitr_shop")) == [("item",)]
    # A filtered transaction costs no commit of its own; the three statements that are left out stand in batches of their own.
    assert outcome.report["commits"] <= outcome.report["transactions"] + 3


def test_a_dry_run_says_what_a_run_does_and_writes_nothing(replayed: tuple[History, SqlPlace]) -> None:
    history, place = replayed
    options = ("--stop-before", history.gtids[5], "--database", "pitr_shop")
    dry = apply(history.files, place.url, *options, "--dry-run").report
    assert place.sql("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name IN ('paraply', 'pitr_shop')")[0][0] == 0
    done = apply(history.files, place.url, *options).report
    for field in ("transactions", "rows", "filtered", "skipped", "stop"):
        assert dry[field] == done[field], field
    assert [statement["runs"] for statement in dry["statements"]] == [True, False, True, True, False]
    assert dry["plan"]["gtid_mode"] == "record"
    assert dry["last"]["gtid"] == history.gtids[4]
    again = apply(history.files, place.url, *options, "--dry-run").report
    assert (again["transactions"], again["plan"]["resumed"]) == (0, True)


def test_postgresql_stops_and_filters_too(mysql_or_mariadb: History, postgres_place: PostgresPlace) -> None:
    history = mysql_or_mariadb
    options = ("--database", "pitr_shop", "--stop-at", history.gtids[3], "--gtid", "auto")
    dry = apply(history.files, postgres_place.url, *options, "--dry-run").report
    outcome = apply(history.files, postgres_place.url, *options)
    assert outcome.code == 0, outcome.stderr
    assert dry["transactions"] == outcome.report["transactions"]
    with psycopg.connect(postgres_place.url) as connection:
        assert connection.execute("SELECT id FROM pitr_shop.item ORDER BY id").fetchall() == [(1,), (2,), (3,), (4,)]
        assert connection.execute("SELECT count(*) FROM information_schema.schemata WHERE schema_name='pitr_other'").fetchone() == (0,)
    assert apply(history.files, postgres_place.url, *options).report["transactions"] == 0


@pytest.fixture(params=["mysql", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def mysql_or_mariadb(request: pytest.FixtureRequest) -> History:
    history: History = request.getfixturevalue(f"{request.param}_history")
    return history


def test_the_library_takes_the_same_options(mariadb_history: History, mariadb_place: SqlPlace) -> None:
    history = mariadb_history
    clear(mariadb_place)
    mariadb_place.empty()
    plans: list[RunPlan] = []
    options = {"stop_before": history.gtids[4], "filters": parse_filters(tables=["pitr_shop.line"]), "on_plan": plans.append, "workers": 2}
    # The parent of the only table is left out: the target's is empty.
    mariadb_place.sql("CREATE DATABASE pitr_shop", "CREATE TABLE pitr_shop.item (id INT PRIMARY KEY, mark INT NOT NULL)")
    dry = Applier(history.files, make_target(mariadb_place.url), **options).dry_run()
    assert dry is not None
    assert [statement.runs for statement in dry.statements] == [True, False, False, True, False]
    mariadb_place.sql("DROP DATABASE pitr_shop")
    with Applier(history.files, make_target(mariadb_place.url), **options) as applier, pytest.raises(ApplyFailed):
        applier.run()
    assert [plan.filters for plan in plans] == ["--table pitr_shop.line"]
    clear(mariadb_place)
