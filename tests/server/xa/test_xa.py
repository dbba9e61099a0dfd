"""XA transactions that are prepared and ended apart, on real servers: each part exactly once (R25, R35)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from server.histories import DATABASE
from server.history_source import KillableSource, Source, with_other_uuid
from server.live import replicating
from server.xa_target import LEFT, ODD, XaTarget, killing_server, losing_connections, make_log
from servers import running_mariadb

from paraply import open_log
from paraply.errors import ApplyFailed, ConnectionFailed, UsageError

pytestmark = pytest.mark.mariadb
POLICIES = [{"policy": "dependency", "merge": 4}, {"policy": "barrier"}, {"policy": "optimistic"},
            {"policy": "table", "consistency": "eventual"}, {"policy": "row", "consistency": "eventual"},
            {"policy": "dependency", "consistency": "most-of-the-time"}, {"policy": "dependency", "consistency": "eventual"}]  # fmt: skip
#: At every fifth statement there is a kill; the slow tests begin at each of the first five, and so reach all.
STRIDE = 5


@pytest.fixture
def target(history_source: Source) -> XaTarget:
    return XaTarget(history_source.place.url)


@pytest.fixture
def long_log(history_source: Source, tmp_path: Path) -> Path:
    return make_log(history_source, tmp_path)


@pytest.fixture
def short_log(history_source: Source, tmp_path: Path) -> Path:
    return make_log(history_source, tmp_path, short=True)


def ids(target: XaTarget) -> list[int]:
    return [row[0] for row in target.sql(f"SELECT id FROM {DATABASE}.t ORDER BY id")]


def parts_of(log: Path, kind: str) -> list[Any]:
    return [transaction for transaction in open_log(log) if transaction.kind == kind]


def check_tables(target: XaTarget) -> None:
    assert ids(target) == [1, 2, 11, 12, 13, 50, 70, 100, 101, 102, 103]
    assert target.sql(f"SELECT id FROM {DATABASE}.u ORDER BY id") == [(1,), (2,), (3,), (70,)]
    assert target.prepared() == {LEFT}


@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
@pytest.mark.parametrize("workers", [0, 8])
def test_r35_a_log_with_xa_gives_the_sources_tables(target: XaTarget, long_log: Path, tmp_path: Path, mode: str, workers: int) -> None:
    log = with_other_uuid(long_log, tmp_path / "other.000001") if mode == "none" and not target.mariadb else long_log
    report = target.apply(log, workers=workers, gtid=mode)
    check_tables(target)
    assert [note for note in report.notes if LEFT in note], report.notes
    again = target.apply(log, workers=workers, gtid=mode)
    assert (again.transactions, again.skipped) == (0, report.transactions)
    check_tables(target)
    target.end_all("COMMIT")
    assert 60 in ids(target)


@pytest.mark.parametrize("options", POLICIES, ids=lambda options: "-".join(str(value) for value in options.values()))
def test_r35_every_policy_takes_xa_as_a_barrier(target: XaTarget, long_log: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    log = long_log if target.mariadb else with_other_uuid(long_log, tmp_path / "other.000001")
    target.apply(log, workers=4, **options)
    check_tables(target)


def test_r35_without_gtids(target: XaTarget, history_source: Source, tmp_path: Path) -> None:
    if target.mariadb:
        pytest.skip("MariaDB's transactions all have GTIDs")
    modes = ["ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"]
    for mode in modes:
        target.sql(f"SET GLOBAL gtid_mode={mode}")
    try:
        log = make_log(history_source, tmp_path)
        for at in (0, 14, 31, 47):
            target.empty()
            assert target.killed_at(log, at, in_progress=False)
            target.apply(log)
            check_tables(target)
    finally:
        for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"):
            target.sql(f"SET GLOBAL gtid_mode={mode}")


def check_kills(target: XaTarget, log: Path, steps: range, *, in_progress: bool, **options: Any) -> None:
    """A process killed at these statements, and the same command again: as if nothing had happened."""
    target.empty()
    target.apply(log, **options)
    serial = target.all_state()
    killed = 0
    for step in steps:
        target.empty()
        if not target.killed_at(log, step, in_progress=in_progress, **options):
            break
        killed += 1
        target.apply(log, **options)
        assert target.all_state() == serial, step
        rows = target.sql("SELECT COUNT(*) FROM paraply.xa")[0][0]
        assert rows == 0, step
    assert killed > 20 // steps.step


@pytest.mark.by_turns
@pytest.mark.parametrize(
    ("in_progress", "mode"),
    [
        (False, "preserve"),
        (True, "record"),
        pytest.param(False, "record", marks=pytest.mark.slow),
        pytest.param(True, "preserve", marks=pytest.mark.slow),
    ],
)
def test_r35_killed_at_a_statement_and_started_again(target: XaTarget, short_log: Path, mode: str, in_progress: bool) -> None:
    check_kills(target, short_log, range(int(in_progress), 500, STRIDE), in_progress=in_progress, gtid=mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
@pytest.mark.parametrize("in_progress", [False, True])
@pytest.mark.parametrize("workers", [0, 4])
@pytest.mark.parametrize("first", range(STRIDE))
def test_r35_killed_at_every_statement(
    target: XaTarget, short_log: Path, tmp_path: Path, mode: str, in_progress: bool, workers: int, first: int
) -> None:
    log = with_other_uuid(short_log, tmp_path / "other.000001") if mode == "none" and not target.mariadb else short_log
    check_kills(target, log, range(first, 500, STRIDE), in_progress=in_progress, gtid=mode, workers=workers)


@pytest.mark.by_turns
@pytest.mark.parametrize("mode", ["record", "preserve"])
def test_r35_connections_broken_at_a_statement(target: XaTarget, short_log: Path, mode: str) -> None:
    target.apply(short_log, gtid=mode)
    serial = target.all_state()
    for step in range(0, 60, STRIDE):
        target.empty()
        target.apply(short_log, losing_connections(step, target), gtid=mode)
        assert target.all_state() == serial, step


@pytest.mark.by_turns
@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
def test_r35_a_server_killed_at_a_statement(killable: KillableSource, tmp_path: Path, mode: str) -> None:
    target, log = XaTarget(killable.place.url), make_log(killable, tmp_path, short=True)
    if mode == "none" and not target.mariadb:
        log = with_other_uuid(log, tmp_path / "other.000001")
    target.apply(log, gtid=mode)
    serial = target.all_state()
    for step in range(STRIDE, 60, 2 * STRIDE):
        target.empty()
        try:
            target.apply(log, killing_server(step, killable.restart), gtid=mode)
        except ConnectionFailed:
            target.apply(log, gtid=mode)
        assert target.all_state() == serial, step


@pytest.mark.parametrize("mode", ["record", "preserve"])
def test_r35_a_stop_between_the_parts(target: XaTarget, short_log: Path, mode: str) -> None:
    prepare, _ = parts_of(short_log, "xa_prepare")
    report = target.apply(short_log, gtid=mode, stop_at=prepare.gtid)
    assert target.prepared() == {ODD}
    assert ids(target) == [1, 2, 3]
    assert any(ODD in note for note in report.notes)
    report = target.apply(short_log, gtid=mode)
    assert target.prepared() == frozenset()
    assert (ids(target), report.skipped) == ([1, 2, 3, 10], 5)
    assert not any(ODD in note for note in report.notes)


@pytest.mark.parametrize("mode", ["record", "preserve"])
@pytest.mark.parametrize("filters", [{"table": f"{DATABASE}.t"}, {"exclude": f"{DATABASE}.u"}])
def test_r35_filters_that_leave_nothing_of_an_xa_transaction(target: XaTarget, long_log: Path, mode: str, filters: dict[str, str]) -> None:
    target.apply(long_log, gtid=mode, **filters)
    assert ids(target) == [1, 2, 11, 12, 13, 50, 70, 100, 101, 102, 103]
    assert target.prepared() == {LEFT}
    assert target.sql("SELECT xid, state FROM paraply.xa") == [(LEFT, "prepared")]


def test_r35_an_end_without_its_beginning_is_refused_before_the_first_write(target: XaTarget, short_log: Path) -> None:
    prepare, _ = parts_of(short_log, "xa_prepare")
    first = next(iter(open_log(short_log))).gtid
    held = prepare.gtid if target.mariadb else f"{first}-{prepare.gtid.split(':')[1]}"
    with pytest.raises(UsageError, match="does not hold it prepared"):
        target.apply(short_log, start_after=held)
    assert target.sql("SHOW DATABASES LIKE 'paraply'") == []
    target.sql(f"CREATE DATABASE {DATABASE}", f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, v VARCHAR(200) NOT NULL)",
              f"INSERT INTO {DATABASE}.t VALUES (1,'a'),(2,'b'),(3,'c')")  # fmt: skip
    with target.connect() as connection, connection.cursor() as cursor:
        for text in (f"XA START {ODD}", f"INSERT INTO {DATABASE}.t VALUES (10,'xa')", f"XA END {ODD}", f"XA PREPARE {ODD}"):
            cursor.execute(text)
    target.apply(short_log, start_after=held)
    assert ids(target) == [1, 2, 3, 10]
    assert target.prepared() == frozenset()


def test_r35_a_name_that_is_taken_is_refused(target: XaTarget, short_log: Path) -> None:
    target.sql("SET sql_log_bin=0", "CREATE DATABASE foreigner", "CREATE TABLE foreigner.f (id INT PRIMARY KEY)")
    try:
        with target.connect() as connection, connection.cursor() as cursor:
            for text in (
                "SET sql_log_bin=0",
                f"XA START {ODD}",
                "INSERT INTO foreigner.f VALUES (1)",
                f"XA END {ODD}",
                f"XA PREPARE {ODD}",
            ):
                cursor.execute(text)
        with pytest.raises(ApplyFailed, match=r"prepared XA transaction .* already"):
            target.apply(short_log)
        target.end_all("ROLLBACK")
        target.apply(short_log)
        assert ids(target) == [1, 2, 3, 10]
    finally:
        target.end_all("ROLLBACK")
        target.sql("SET sql_log_bin=0", "DROP DATABASE foreigner")


def test_r35_replication_takes_xa_too(history_source: Source, tmp_path: Path) -> None:
    if not history_source.place.mariadb:
        pytest.skip("the other server is a MariaDB")
    source = XaTarget(history_source.place.url)
    log = make_log(history_source, tmp_path)
    source.apply(log, gtid="preserve")
    last = [transaction.gtid for transaction in open_log(log)][-1]
    with running_mariadb(["--server-id=9", "--log-bin=binlog"]) as server:
        target = XaTarget(server.url)
        with replicating(source.url, server.url, tmp_path, "--until", str(last)) as replica:
            report = replica.report()
        assert report["exit_code"] == 0, report
        assert any(LEFT in note for note in report["notes"])
        check_tables(target)
    source.empty()
