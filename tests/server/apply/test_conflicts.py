"""``--on-conflict``: what becomes of rows that a target has otherwise than the log, on all targets (rule R31)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from command_line import paraply, run_json
from server.conflict_model import Change, History, Row, Target, values
from server.conflict_targets import ConflictTarget, conflict_target, own_log_target
from server.replay import SqlPlace, end, start
from servers import MariaDbServer

from paraply import open_target
from paraply.errors import ApplyFailed, ParaplyError, RowNotFound
from paraply.observe.conflicts import ConflictCount

__all__ = ["conflict_target", "own_log_target"]

SEEDS = range(
    int(os.environ.get("PARAPLY_SEED", "1")), int(os.environ.get("PARAPLY_SEED", "1")) + int(os.environ.get("PARAPLY_SEEDS", "1"))
)
FIRST = [Row(1, 101, "one"), Row(2, 102, "two"), Row(3, 103, "three"), Row(4, 104, "four")]
KINDS = {
    "insert of a key": (Change(None, Row(9, 109, "new")), {9: Row(9, 500, "other")}),
    "insert of another row's value": (Change(None, Row(9, 109, "new")), {8: Row(8, 109, "other")}),
    "insert of a key and another row's value": (Change(None, Row(9, 109, "new")), {9: Row(9, None, "a"), 8: Row(8, 109, "b")}),
    "update of a missing row": (Change(FIRST[0], Row(1, 101, "changed")), {1: None}),
    "update of a missing row to another row's value": (Change(FIRST[0], Row(1, 111, "changed")), {1: None, 7: Row(7, 111, "other")}),
    "update to another row's value": (Change(FIRST[0], Row(1, 111, "changed")), {7: Row(7, 111, "other")}),
    "update to another row's key": (Change(FIRST[0], Row(7, 101, "changed")), {7: Row(7, None, "other")}),
    "update of a missing row to another row's key": (Change(FIRST[0], Row(7, 101, "new")), {1: None, 7: Row(7, None, "other")}),
    "delete of a missing row": (Change(FIRST[0], None), {1: None}),
    "update of a row with other values": (Change(FIRST[0], Row(1, 101, "changed")), {1: Row(1, 300, "other")}),
}
"""A change, and the rows of the target that differ from the source's."""
BEFORE, AFTER = Change(FIRST[1], Row(2, 102, "before")), Change(FIRST[2], Row(3, 103, "after"))
"""Changes that fit, in the transaction of one that does not."""


def prepare(target: ConflictTarget, rows: dict[int, Row]) -> None:
    """Make the rows of the target."""
    target.sql("DELETE FROM shop.item", f"INSERT INTO shop.item VALUES {', '.join(map(values, rows.values()))}")


def moved(row: Row | None, number: int) -> Row | None:
    """Return a row of a kind's own keys and values."""
    return None if row is None else Row(row.id + 100 * number, None if row.sku is None else row.sku + 1000 * number, row.name)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("mode", ["log", "overwrite"])
def test_r31_each_kind_of_conflict(conflict_target: ConflictTarget, mode: str, workers: int) -> None:
    first = [Row(row.id + 100 * number, (row.sku or 0) + 1000 * number, row.name) for number in range(len(KINDS)) for row in FIRST]
    transactions = [
        [Change(moved(one.before, number), moved(one.after, number)) for one in (BEFORE, change, AFTER)]
        for number, (change, _) in enumerate(KINDS.values())
    ]
    logs = conflict_target.history(first, transactions)
    model = Target(first)
    for number, (_, differing) in enumerate(KINDS.values()):
        for key, row in differing.items():
            model.rows.pop(key + 100 * number, None)
            new = moved(row, number)
            if new is not None:
                model.rows[new.id] = new
    prepare(conflict_target, model.rows)
    model.apply(transactions, mode)
    report = conflict_target.apply(logs, mode, workers=workers)
    assert conflict_target.rows() == model.rows
    assert conflict_target.kinds() == model.conflicts
    assert sum(found.count for found in report.conflicts) == len(model.conflicts) == len(KINDS) - 1
    assert {(found.operation, found.cause, found.outcome) for found in report.conflicts} == {found[:3] for found in model.conflicts}
    assert report.transactions == len(transactions)
    again = conflict_target.apply(logs, mode, workers=workers)
    assert (again.transactions, again.conflicts, len(conflict_target.conflicts())) == (0, (), len(model.conflicts))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["log", "overwrite"])
def test_r31_a_target_that_someone_changed_becomes_what_the_rules_say(conflict_target: ConflictTarget, mode: str, seed: int) -> None:
    history = History(seed)
    logs = conflict_target.history(history.first, history.transactions)
    model = Target(history.first, seed)
    prepare(conflict_target, model.rows)
    model.apply(history.transactions, mode)
    report = conflict_target.apply(logs, mode)
    assert conflict_target.rows() == model.rows, seed
    assert conflict_target.kinds() == model.conflicts, seed
    assert sum(found.count for found in report.conflicts) == len(model.conflicts)


def test_r31_a_conflict_stops_by_default_and_the_same_run_goes_on_with_another_mode(conflict_target: ConflictTarget) -> None:
    transactions = [[AFTER], [BEFORE, Change(FIRST[0], Row(1, 101, "it''s"))], [Change(FIRST[3], None)]]
    logs = conflict_target.history(FIRST, transactions)
    prepare(conflict_target, {row.id: row for row in FIRST[1:]})
    with pytest.raises(RowNotFound, match=r"or go on with --on-conflict log, .* or overwrite"):
        conflict_target.apply(logs, "stop")
    assert conflict_target.rows()[2].name == "two"
    with open_target(conflict_target.url) as target:
        assert [found.conflicts for found in target.read_channels()] == [0]
    report = conflict_target.apply(logs, "log")
    with open_target(conflict_target.url) as target:
        assert [found.conflicts for found in target.read_channels()] == [1]
    shown = paraply("status", "--to", conflict_target.url)
    assert "conflicts  1 row change did not fit this target: see paraply.conflict" in shown.stdout, shown.stderr
    assert [found["conflicts"] for found in run_json("status", "--to", conflict_target.url).report["channels"]] == [1]
    assert (report.on_conflict, report.conflicts) == ("log", (ConflictCount("shop.item", "update", "missing row", "left", 1),))
    assert conflict_target.rows() == {2: Row(2, 102, "before"), 3: Row(3, 103, "after")}
    found = conflict_target.conflicts()[0]
    assert found["row_key"] == {"id": "1"}
    assert found["row_before"] == {"id": "1", "sku": "101", "name": "one"}
    assert found["row_after"] == {"id": "1", "sku": "101", "name": "it's"}
    assert (found["table_database"], found["table_name"]) == ("shop", "item")
    assert found["gtid"]


def test_r31_a_row_that_exists_names_the_way_on_too(conflict_target: ConflictTarget) -> None:
    logs = conflict_target.history(FIRST, [[Change(None, Row(9, 109, "new"))]])
    prepare(conflict_target, {9: Row(9, 500, "other")})
    with pytest.raises(ApplyFailed, match=r"or go on with --on-conflict log, .* or overwrite") as caught:
        conflict_target.apply(logs, "stop")
    assert caught.value.key == "id=9"


def test_r31_foreign_keys_and_tables_without_a_key_stop(conflict_target: ConflictTarget) -> None:
    tables = [
        "CREATE TABLE shop.parent (id INT PRIMARY KEY)",
        "CREATE TABLE shop.child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES shop.parent (id))",
        "CREATE TABLE shop.plain (a INT, b INT UNIQUE)",
        "INSERT INTO shop.parent VALUES (1)",
        "INSERT INTO shop.plain VALUES (1, 1)",
    ]
    changes = ["UPDATE shop.plain SET a=2 WHERE a=1", "INSERT INTO shop.child VALUES (1, 1)"]
    logs = conflict_target.log(tables, changes)
    conflict_target.sql("DELETE FROM shop.plain", "DELETE FROM shop.parent")
    with pytest.raises(ApplyFailed, match="no primary key"):
        conflict_target.apply(logs, "overwrite")
    conflict_target.sql("INSERT INTO shop.plain VALUES (1, 1)")
    if conflict_target.postgres is None:  # the tables that are made in PostgreSQL have no foreign keys
        with pytest.raises(ParaplyError, match="foreign key constraint fails"):
            conflict_target.apply(logs, "log")
        assert [tuple(row) for row in conflict_target.sql("SELECT a FROM shop.plain")] == [(2,)]
    assert conflict_target.conflicts() == []


def test_r31_values_are_written_as_the_source_has_them(conflict_target: ConflictTarget) -> None:
    json = not conflict_target.source.mariadb
    names = "id, part, f, d, n, b, t, s, x, c, e, y, l" + (", j" if json else "")
    types = (
        "id VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL, part INT NOT NULL, f FLOAT, d DOUBLE, n DECIMAL(20,6), b BIT(9), t DATETIME(6),"
        " s TIMESTAMP(3) NULL, x VARBINARY(9), c VARCHAR(20) CHARACTER SET latin1, e ENUM('a','ß'), y YEAR, l LONGTEXT"
        + (", j JSON" if json else "")
        + (", g INT AS (part + 1) STORED, v INT AS (part + 2) VIRTUAL" if conflict_target.postgres is None else "")
    )
    row = (
        "('ü', {part}, 1e-7, -0.0, 12.5, b'101', '2024-02-29 23:59:59.999999', '2024-01-01 00:00:00.125', x'00FF', 'é', 'ß', 1999, 'l'"
        + (""", '{{"a": [1, 1.0, 12345678901234567890, 1e300]}}'""" if json else "")
        + ")"
    )
    insert = f"INSERT INTO shop.kinds ({names}) VALUES {row}"
    table = f"CREATE TABLE shop.kinds ({types}, PRIMARY KEY (id, part))"
    changes = [insert.format(part=1), "UPDATE shop.kinds SET y=2001 WHERE part=7"]
    logs = conflict_target.log([table, insert.format(part=7)], changes)
    whole = "SELECT * FROM shop.kinds ORDER BY part"
    kept = conflict_target.sql(whole)[0]
    conflict_target.sql("DELETE FROM shop.kinds", "INSERT INTO shop.kinds (id, part) VALUES ('ü', 1)")
    report = conflict_target.apply(logs, "overwrite")
    assert [found.outcome for found in report.conflicts] == ["replaced", "inserted"]
    assert [one["row_key"] for one in conflict_target.conflicts()] == [{"id": "ü", "part": "1"}, {"id": "ü", "part": "7"}]
    replaced, inserted = conflict_target.sql(whole)
    year, count = 11, len(names.split(","))
    assert replaced[:1] + replaced[2:count] == kept[:1] + kept[2:count]
    assert inserted[:year] + inserted[year + 1 :] == kept[:year] + kept[year + 1 :]
    assert int(inserted[year]) == 2001
    if conflict_target.postgres is None:
        assert [int(one) for one in replaced[-2:]] == [2, 3]


def test_r26_in_mode_preserve_the_conflicts_stay_out_of_the_binlog(own_log_target: ConflictTarget) -> None:
    target, history = own_log_target, History(7)
    logs = target.history(history.first, history.transactions, gtid="preserve")
    model = Target(history.first, 7)
    prepare(target, model.rows)
    model.apply(history.transactions, "log")
    target.apply(logs, "log", gtid="preserve")
    assert (target.rows(), target.kinds()) == (model.rows, model.conflicts)
    files = [row[0] for row in target.source.sql("SHOW BINARY LOGS")]
    assert not any("paraply" in str(event) for name in files for event in target.source.sql(f"SHOW BINLOG EVENTS IN '{name}'"))
    kept = (
        "log_file, log_position, committed_at, found_at, table_database, table_name, operation, cause, outcome, detail, row_key, row_after"
    )
    unknown = "'0-1-9999'" if target.source.mariadb else "CONCAT(LEFT(gtid, 37), '9999')"
    target.sql(
        f"INSERT INTO paraply.conflict (channel_name, gtid, {kept}) SELECT channel_name, {unknown}, {kept} FROM paraply.conflict LIMIT 1"
    )
    target.apply(logs, "stop", gtid="preserve")
    assert target.kinds() == model.conflicts, "a conflict of a transaction that did not commit is gone"


def test_r25_conflicts_are_written_once_although_the_apply_is_killed(conflict_target: ConflictTarget) -> None:
    history = History(11)
    logs = conflict_target.history(history.first, history.transactions)
    model = Target(history.first, 11)
    prepare(conflict_target, model.rows)
    model.apply(history.transactions, "overwrite")
    options = ("--on-conflict", "overwrite", "--workers", "2", "--merge", "4")
    conflict_target.apply(logs[:1], "log")  # makes the table
    process = start(logs[0], conflict_target.url, str(logs[1]), *options, "--max-rate", "40")
    while process.poll() is None and len(conflict_target.conflicts()) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    end(process)
    report = conflict_target.apply(logs, "overwrite", workers=2, merge=4)
    assert report.transactions < len(history.transactions)
    assert (conflict_target.rows(), conflict_target.kinds()) == (model.rows, model.conflicts)


@pytest.mark.mariadb
def test_the_report_names_the_conflicts_mariadb(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path) -> None:
    target = ConflictTarget(mariadb_place, None, durable_mariadb.data, tmp_path)
    logs = target.history(FIRST, [[Change(FIRST[0], None)], [Change(FIRST[1], Row(2, 102, "new"))]])
    prepare(target, {row.id: row for row in FIRST[2:]})
    outcome = run_json("apply", *logs, "--to", target.url, "--on-conflict", "overwrite")
    assert outcome.code == 0, outcome.line
    tables = [
        {"table": "shop.item", "operation": "delete", "cause": "missing row", "outcome": "none", "count": 1},
        {"table": "shop.item", "operation": "update", "cause": "missing row", "outcome": "inserted", "count": 1},
    ]
    assert outcome.report["conflicts"] == {"mode": "overwrite", "rows": 2, "logged_in": "paraply.conflict", "tables": tables}
    assert run_json("apply", *logs, "--to", target.url).report["conflicts"] is None
    held = "--start-after", str(target.sql("SELECT @@gtid_slave_pos")[0][0]).rpartition("-")[0] + "-3"
    prepare(target, {row.id: row for row in FIRST[2:]})
    shown = paraply("apply", logs[1], "--to", target.url, "--on-conflict", "log", "--gtid", "none", "--channel", "other", *held)
    assert "2 row changes did not fit the target (--on-conflict):" in shown.stdout, shown.stderr
    assert "  shop.item: 1 x delete, missing row: left out" in shown.stdout
    assert "each of them is a row of paraply.conflict in the target" in shown.stdout
