"""Values that mean something else in another version of MariaDB (R36): the end of current rows in system-versioned tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.live import replicating
from server.replay import run
from server.version_servers import VersionServers, logged, make_version_servers, replayed, seen

__all__ = ["make_version_servers"]

#: Options under which 11.8 writes DDL that an older server understands.
PLAIN = ("--collation-server=utf8mb4_general_ci", "--character-set-collations=")
SESSION = "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci"
PAIRS = [("10.5", "11.8"), ("10.11", "11.8"), ("11.8", "10.5"), ("11.8", "10.11"), ("10.5", "10.11"), ("11.8", "11.8")]
TABLES = {
    "plain": "(id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
    "keyless": "(id INT, v INT) WITH SYSTEM VERSIONING",
    "hashed": "(id INT PRIMARY KEY, v INT, t TEXT, UNIQUE (t)) WITH SYSTEM VERSIONING",
    "named": (
        "(id INT PRIMARY KEY, v INT, b TIMESTAMP(6) GENERATED ALWAYS AS ROW START, "
        "e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING"
    ),
    "invisible": (
        "(e TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, id INT PRIMARY KEY, b TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE,"
        " v INT, PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING"
    ),
    "keyed_by_end": (
        "(id INT, v INT, b TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, "
        "PRIMARY KEY (id, e), UNIQUE (e, v), PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING"
    ),
    "parted": ("(id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION p0 HISTORY, PARTITION p1 CURRENT)"),
}
#: MariaDB logs changes of such a table in statement format, whatever its binlog_format.
NUMBERED = (
    "(id INT PRIMARY KEY, v INT, b BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, "
    "e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING"
)
#: In these the log holds the times of row versions as plain values, which stay as they are.
UNVERSIONED = "(id INT PRIMARY KEY, v INT, b TIMESTAMP(6) NULL, e TIMESTAMP(6) NULL)"
READS = [f"SELECT id, v FROM d.{table} ORDER BY id, v" for table in TABLES]
HISTORY = [f"SELECT id, v FROM d.{table} FOR SYSTEM_TIME ALL ORDER BY id, v" for table in TABLES]
#: A version's beginning and end, except for those of current rows, which have another end in each version.
TIMES = [
    f"SELECT id, v, {start}, IF({end}>'2038-01-01', 'now', {end}) FROM d.{table} FOR SYSTEM_TIME ALL ORDER BY 1, 2, 3"
    for table, (start, end) in {
        "plain": ("row_start", "row_end"), "keyless": ("row_start", "row_end"), "hashed": ("row_start", "row_end"),
        "named": ("b", "e"), "invisible": ("b", "e"), "keyed_by_end": ("b", "e"), "parted": ("row_start", "row_end"),
    }.items()
]  # fmt: skip
LAST = "SELECT * FROM d.unversioned ORDER BY id"


def changes() -> list[str]:
    """Statements that make versions of rows in each table."""
    statements = [SESSION, "SET time_zone='+00:00'", "CREATE DATABASE d"]
    statements += [f"CREATE TABLE d.{table} {definition}" for table, definition in TABLES.items()]
    statements.append(f"CREATE TABLE d.unversioned {UNVERSIONED}")
    for table in TABLES:
        statements += [
            f"INSERT INTO d.{table} (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
            f"UPDATE d.{table} SET v=v+10 WHERE id<3",
            f"UPDATE d.{table} SET v=v+10 WHERE id=1",
            f"DELETE FROM d.{table} WHERE id=2",
        ]
    statements.append("INSERT INTO d.unversioned VALUES (1, 1, '2000-01-01', '2038-01-19 03:14:07.999999'), (2, 2, NULL, NULL)")
    statements += ["UPDATE d.unversioned SET v=3 WHERE id=1", "DELETE FROM d.unversioned WHERE id=2"]
    return statements


@pytest.mark.parametrize("options", [("--workers", "0"), ("--workers", "4"), ("--merge", "off"), ("--gtid", "preserve")])
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_r36_current_rows_stay_current(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str, options: tuple[str, ...]
) -> None:
    source = make_version_servers.source(old, *(PLAIN if old == "11.8" else ()))
    target = make_version_servers.target(new)
    log = logged(source, tmp_path, *changes())
    replayed(log, target, *options)
    reads = [*READS, *HISTORY, *TIMES, LAST]
    assert seen(target, *reads) == seen(source, *reads)
    assert seen(target, READS[0]) == [[(1, 21), (3, 3), (4, 4)]]
    end = "2106-02-07 06:28:15.999999" if new == "11.8" else "2038-01-19 03:14:07.999999"
    assert seen(target, "SELECT DISTINCT CAST(row_end AS CHAR) FROM d.plain") == [[(end,)]]


@pytest.mark.parametrize(("old", "new"), [("10.5", "11.8"), ("10.11", "11.8"), ("11.8", "10.5"), ("11.8", "10.11")])
def test_r36_current_rows_stay_current_in_a_live_replication(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str
) -> None:
    source = make_version_servers.source(old, *(PLAIN if old == "11.8" else ()))
    target = make_version_servers.target(new)
    source.sql(*changes())
    until = str(source.sql("SELECT @@gtid_binlog_pos")[0][0])
    with replicating(source.url, target.url, tmp_path, "--until", until) as replica:
        report = replica.report()
    assert report["exit_code"] == 0, report
    reads = [*READS, *HISTORY, *TIMES, LAST]
    assert seen(target, *reads) == seen(source, *reads)


@pytest.mark.parametrize(("old", "new"), [("10.11", "11.8"), ("11.8", "10.5")])
def test_r36_the_log_finds_rows_that_stood_there(make_version_servers: VersionServers, tmp_path: Path, old: str, new: str) -> None:
    """As in a backup that was restored by a dump: the target's rows have the end of its own version."""
    source = make_version_servers.source(old, *(PLAIN if old == "11.8" else ()))
    target = make_version_servers.target(new)
    made = changes()
    # The same beginning of every row: tables without a key find their rows by all values.
    standing = ["SET timestamp=1760000000", *(statement for statement in made if not statement.startswith(("UPDATE", "DELETE")))]
    source.sql(*standing)
    target.sql(*standing)
    log = logged(source, tmp_path, *(statement for statement in made if statement.startswith(("UPDATE", "DELETE"))))
    replayed(log, target, "--allow-gap")
    assert seen(target, *READS, LAST) == seen(source, *READS, LAST)


def test_r36_versions_that_come_and_go_are_followed(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("10.11"), make_version_servers.target("11.8")
    log = logged(
        source, tmp_path, SESSION, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "ALTER TABLE d.t ADD SYSTEM VERSIONING", "UPDATE d.t SET v=5 WHERE id=1", "INSERT INTO d.t VALUES (3, 3)",
        "SET system_versioning_alter_history=KEEP", "ALTER TABLE d.t ADD w INT DEFAULT 7", "UPDATE d.t SET v=6 WHERE id=1",
        "ALTER TABLE d.t DROP SYSTEM VERSIONING", "INSERT INTO d.t VALUES (4, 4, 4)", "UPDATE d.t SET v=9",
    )  # fmt: skip
    replayed(log, target)
    assert seen(target, "SELECT * FROM d.t ORDER BY id") == seen(source, "SELECT * FROM d.t ORDER BY id")


def test_r36_history_that_was_inserted_stays_history(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("10.11"), make_version_servers.target("11.8")
    log = logged(
        source, tmp_path, SESSION, "SET time_zone='+00:00'", "CREATE DATABASE d", f"CREATE TABLE d.plain {TABLES['plain']}",
        "SET system_versioning_insert_history=1",
        "INSERT INTO d.plain (id, v, row_start, row_end) VALUES (1, 1, '2001-01-01', '2002-01-01'),"
        " (1, 2, '2002-01-01', '2038-01-19 03:14:07.999999'), (2, 5, '2002-01-01', '2038-01-19 03:14:07')",
    )  # fmt: skip
    replayed(log, target)
    reads = (READS[0], HISTORY[0], TIMES[0])
    assert seen(target, *reads) == seen(source, *reads)
    assert seen(target, READS[0]) == [[(1, 2)]]


@pytest.mark.parametrize("row", ["'2050-01-01', NULL", "NULL, '2106-02-07 06:28:15.999999'", "'2038-01-19 03:14:08', NULL"])
@pytest.mark.parametrize("new", ["10.5", "10.11", "11.8"])
def test_r36_times_behind_2038_are_refused_where_the_target_ends_there(
    make_version_servers: VersionServers, tmp_path: Path, new: str, row: str
) -> None:
    """An older server stores such a value from a row event, and does not find it by an index, or fails without a reason."""
    source, target = make_version_servers.source("11.8", *PLAIN), make_version_servers.target(new)
    log = logged(
        source, tmp_path, SESSION, "SET time_zone='+00:00'", "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a TIMESTAMP NULL, b TIMESTAMP(6) NULL, KEY (a))",
        "INSERT INTO d.t VALUES (1, '2038-01-19 03:14:07', '2038-01-19 03:14:07.999999'), (2, '1970-01-01 00:00:01', NULL)",
        f"INSERT INTO d.t VALUES (3, {row})",
    )  # fmt: skip
    read = "SELECT * FROM d.t ORDER BY id"
    if new == "11.8":
        replayed(log, target)
        assert seen(target, read) == seen(source, read)
        return
    outcome = run(log, target.url)
    assert outcome.code == 1
    assert "has a TIMESTAMP later than 2038-01-19 03:14:07 UTC" in outcome.report["error"]["message"]
    assert seen(target, read) == [seen(source, read)[0][:2]]


def test_r36_rows_that_are_versioned_by_transactions_are_refused(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("10.11"), make_version_servers.target("11.8")
    log = logged(source, tmp_path, "CREATE DATABASE d", f"CREATE TABLE d.t {NUMBERED}", "INSERT INTO d.t (id, v) VALUES (1, 1)")
    outcome = run(log, target.url)
    assert outcome.code == 3
    assert "statement format" in outcome.report["error"]["message"]


def test_r36_unordered_policy_refuses_tables_with_versions(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("10.11"), make_version_servers.target("10.11")
    definition = TABLES["named"].replace("v INT", "v TIMESTAMP NOT NULL")
    log = logged(source, tmp_path, "CREATE DATABASE d", f"CREATE TABLE d.t {definition}", "INSERT INTO d.t (id, v) VALUES (1, NOW())")
    options = ("--policy", "unordered", "--timestamp-column", "v", "--consistency", "eventual")
    outcome = run(log, target.url, *options)
    assert outcome.code != 0
    assert "versions" in outcome.report["error"]["message"]
