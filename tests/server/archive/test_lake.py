"""``lake``: every published state is one state of the source in all tables, whatever is killed, and the last one is the source's."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import PACKAGE, run_json
from required import required_module
from servers import MariaDbServer

from paraply._native import log_head
from paraply.applier.selection.filters import Filters
from paraply.errors import ApplyFailed, LogNotUnderstood, ParaplyError, UsageError
from paraply.lake import LakeOptions, LakeReport, LakeWriter, publications, read
from paraply.schema.readers.dump import read_dump

required_module("deltalake")
required_module("pyiceberg")

KILLS = int(os.environ.get("PARAPLY_LAKE_KILLS", "5"))
SEED = int(os.environ.get("PARAPLY_SEED", "1"))
ACCOUNTS = 12
TRANSFERS = 90
BALANCE = 1000
FORMATS = ("delta", "iceberg")
#: Files that a run makes at least.
FILES = {"delta": 80, "iceberg": 200}


class Source:
    """A MariaDB with a database ``lake`` and a new log.

    Args:
        server: The server.
    """

    def __init__(self, server: MariaDbServer) -> None:
        self._server = server
        server.sql("DROP DATABASE IF EXISTS lake", "FLUSH BINARY LOGS", "CREATE DATABASE lake CHARACTER SET utf8mb4")
        self._connection = server.connect("lake")

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, and return the rows of the last one."""
        with self._connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def log(self) -> Path:
        """Return the log of the database."""
        name = self._server.sql("SHOW BINARY LOGS")[-1][0]
        return self._server.data / str(name)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table in the order of their first column."""
        names = [str(column[0]) for column in self.run(f"SHOW COLUMNS FROM {table}")]
        return [dict(zip(names, found, strict=True)) for found in self.run(f"SELECT * FROM {table} ORDER BY 1, 2")]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@pytest.fixture
def source(mariadb_server: MariaDbServer) -> Iterator[Source]:
    found = Source(mariadb_server)
    yield found
    found.close()


def make_transfers(source: Source, chance: random.Random) -> None:
    """Run a load whose sum of balances is constant, and whose balances follow from the transfers."""
    source.run(
        "CREATE TABLE account (id INT PRIMARY KEY, balance DECIMAL(20,2) NOT NULL)",
        "CREATE TABLE transfer (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, giver INT, taker INT, amount DECIMAL(12,2))",
        "CREATE TABLE visit (day VARCHAR(9), account INT, PRIMARY KEY (day, account))",
        "INSERT INTO account VALUES " + ", ".join(f"({number}, {BALANCE})" for number in range(ACCOUNTS)),
    )
    for number in range(TRANSFERS):
        giver, taker = chance.sample(range(ACCOUNTS), 2)
        amount = chance.randrange(1, 5000) / 100
        source.run(
            "BEGIN",
            f"UPDATE account SET balance = balance - {amount} WHERE id = {giver}",
            f"UPDATE account SET balance = balance + {amount} WHERE id = {taker}",
            f"INSERT INTO transfer (giver, taker, amount) VALUES ({giver}, {taker}, {amount})",
            f"INSERT IGNORE INTO visit VALUES ('é{chance.randrange(9)}', {giver})",
            f"DELETE FROM visit WHERE account = {taker} LIMIT 2",
            f"UPDATE IGNORE visit SET account = {taker} WHERE account = {giver} ORDER BY day LIMIT 1",
            "COMMIT",
        )
        if number == TRANSFERS // 3:
            source.run("ALTER TABLE transfer ADD note VARCHAR(20) DEFAULT 'none', MODIFY amount DECIMAL(20,3)")
        if number == TRANSFERS // 2:
            source.run("RENAME TABLE visit TO old_visit", "CREATE TABLE visit LIKE old_visit", "DROP TABLE old_visit")


def check_state(into: Path, form: str, number: int) -> None:
    """Check that the tables of a published state belong together."""
    state = read(str(into), form, publication=number)
    if "lake.account" not in set(state) or "lake.transfer" not in set(state):
        return
    balances = {row["id"]: row["balance"] for row in state["lake.account"].to_arrow().to_pylist()}
    assert sum(balances.values()) in (0, ACCOUNTS * BALANCE), number
    expected = dict.fromkeys(balances, Decimal(BALANCE))
    for row in state["lake.transfer"].to_arrow().to_pylist():
        expected[row["giver"]] -= row["amount"]
        expected[row["taker"]] += row["amount"]
    assert balances == expected, number


def killed(log: Path, into: Path, form: str, chance: random.Random) -> bool:
    """Start the command, and kill it after some new files; return False if it ended before."""
    command = [sys.executable, "-m", "paraply", "lake", str(log), "--into", str(into), "--format", form, "--batch-rows", "50", "-q"]
    start_after = executed_before(log)
    command += [] if start_after is None else ["--start-after", start_after]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
    before, more = files(into), chance.randrange(1, FILES[form] // KILLS)
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and files(into) < before + more:
        time.sleep(0.001)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    _, messages = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), messages
    return process.returncode != 0


def files(folder: Path) -> int:
    """Return the number of files below a folder."""
    return sum(len(names) for _, _, names in os.walk(folder))


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.parametrize("form", FORMATS)
def test_every_published_state_is_one_of_the_source_although_the_writer_is_killed(source: Source, tmp_path: Path, form: str) -> None:
    chance = random.Random(f"{SEED} {form}")
    make_transfers(source, chance)
    log, into = source.log(), tmp_path / "lake"
    kills = 0
    for _ in range(KILLS):
        kills += killed(log, into, form, chance)
    assert kills == KILLS
    done = write(log, into, form, batch_rows=50)
    assert done.executed == str(source.run("SELECT @@gtid_binlog_pos")[0][0])
    numbers = publications(str(into), form)
    assert len(numbers) > KILLS
    assert numbers == list(range(1, len(numbers) + 1))
    for number in numbers:
        check_state(into, form, number)
    state = read(str(into), form)
    assert sorted(state) == ["lake.account", "lake.transfer", "lake.visit"]
    for table in ("account", "transfer", "visit"):
        assert rows_of(state[f"lake.{table}"].to_arrow().to_pylist()) == rows_of(source.rows(table)), table
    again = run_json("lake", log, "--into", into, "--format", form)
    assert (again.code, again.report["published"], again.report["transactions"]) == (0, 0, 0)
    assert again.report["skipped"] > TRANSFERS


def write(log: Path, into: Path, form: str = "delta", **options: Any) -> LakeReport:
    """Write a log into a lake, in this process."""
    filters = Filters(exclude_tables=tuple(options.pop("exclude_tables", ())), **options.pop("filters", {}))
    options.setdefault("start_after", executed_before(log))
    return LakeWriter(LakeOptions([log], str(into), form, filters, **options)).run()


def executed_before(log: Path) -> str | None:
    """Return the GTID set that was executed before a log; None if it is empty."""
    return str(log_head(str(log)).previous_gtids or "") or None


def rows_of(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return rows in an order of their own."""
    return sorted((tuple(row.values()) for row in found), key=repr)


TYPES = """CREATE TABLE typed (
  id BIGINT UNSIGNED, c VARCHAR(9) CHARACTER SET latin1, PRIMARY KEY (id, c), t TINYINT, s SMALLINT UNSIGNED, m MEDIUMINT, i INT UNSIGNED,
  d DECIMAL(38,9), f FLOAT, g DOUBLE, day DATE, at DATETIME(6), ts TIMESTAMP(6) NULL, y YEAR, b VARBINARY(9), e ENUM('x','ö'), `Order` INT
) CHARSET utf8mb4"""


@pytest.mark.mariadb
@pytest.mark.parametrize("form", FORMATS)
def test_types_and_changes_of_the_schema(source: Source, tmp_path: Path, form: str) -> None:
    log, into = source.log(), tmp_path / "lake"
    source.run("SET time_zone = '+03:00'", TYPES)
    values = "'é', -128, 65535, -8388608, 4294967295, 12345678901234567890123456789.123456789, 1.5, 0.1, '1000-01-01'"
    rest = "'9999-12-31 23:59:59.999999', '2026-01-01 03:00:00.5', 2155, x'00ff', 'ö', 1"
    source.run(f"INSERT INTO typed VALUES (18446744073709551615, {values}, {rest}), (1, 'a', {'NULL, ' * 13} 2)")
    write(log, into, form)
    first = read(str(into), form)
    found = {row["id"]: row for row in first["lake.typed"].to_arrow().to_pylist()}
    top = found[Decimal(18446744073709551615)]
    assert (top["c"], top["b"], top["e"], top["y"]) == ("é", b"\x00\xff", "ö", 2155)
    assert top["d"] == Decimal("12345678901234567890123456789.123456789")
    assert top["ts"].isoformat() == "2026-01-01T00:00:00.500000+00:00"
    assert found[Decimal(1)]["ts"] is None
    source.run(
        "UPDATE typed SET id = 2, f = 2.5 WHERE id = 1",
        "ALTER TABLE typed ADD n INT, DROP f, CHANGE `Order` number BIGINT",
        "INSERT INTO typed (id, c, n, number) VALUES (3, 'z', 5, 6)",
        "ALTER TABLE typed ADD late INT",
        "RENAME TABLE typed TO other",
        "CREATE TABLE typed (id INT PRIMARY KEY)",
        "INSERT INTO typed VALUES (1), (2)",
        "DELETE FROM typed WHERE id = 1",
        "CREATE TABLE gone (id INT PRIMARY KEY)",
        "INSERT INTO gone VALUES (1)",
        "CREATE TABLE emptied LIKE gone",
        "INSERT INTO emptied VALUES (1)",
    )
    write(log, into, form, batch_rows=1)
    source.run("DROP TABLE gone", "TRUNCATE TABLE emptied", "INSERT INTO emptied VALUES (7)")
    write(log, into, form)
    state = read(str(into), form)
    assert sorted(state) == ["lake.emptied", "lake.other", "lake.typed"]
    other = sorted(state["lake.other"].to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [(row["id"], row["number"], row["n"], row["late"]) for row in other][:2] == [(2, 2, None, None), (3, 6, 5, None)]
    assert state["lake.other"].to_arrow().schema.names == [str(column[0]) for column in source.run("SHOW COLUMNS FROM other")]
    assert state["lake.typed"].to_arrow().to_pylist() == [{"id": 2}]
    assert state["lake.emptied"].to_arrow().to_pylist() == [{"id": 7}]
    assert rows_of(first["lake.typed"].to_arrow().to_pylist()) == rows_of(list(found.values()))


@pytest.mark.mariadb
@pytest.mark.parametrize(
    ("statements", "code", "message"),
    [
        (["CREATE TABLE t (id INT)"], 1, "--exclude-table lake.t"),
        (["CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))",
          "ALTER TABLE t ADD PARTITION (PARTITION q VALUES LESS THAN (99))", "ALTER TABLE t DROP PARTITION p"], 3, "without logging"),
        (["CREATE TABLE t (id INT PRIMARY KEY) WITH SYSTEM VERSIONING"], 3, "not known"),
        (["CREATE TABLE IF NOT EXISTS mysql_like.t (id INT PRIMARY KEY)"], 3, "IF NOT EXISTS"),
    ],
)  # fmt: skip
def test_what_a_lake_cannot_follow_is_refused_before_anything_is_written(
    source: Source, tmp_path: Path, statements: list[str], code: int, message: str
) -> None:
    source.run("DROP DATABASE IF EXISTS mysql_like", "CREATE DATABASE mysql_like")
    source._server.sql("FLUSH BINARY LOGS")
    source.run("CREATE DATABASE IF NOT EXISTS lake", "CREATE TABLE lake.good (id INT PRIMARY KEY)", "INSERT INTO lake.good VALUES (1)")
    source.run(*statements)
    filters = {"tables": (("lake", "t"),), "databases": ("mysql_like",)}
    with pytest.raises(ParaplyError, match=message) as refusal:
        write(source.log(), tmp_path / "lake", filters=filters)
    assert refusal.value.exit_code == code
    assert refusal.value.gtid
    assert not [path for path in (tmp_path / "lake").rglob("*") if path.name != "_paraply_lock"]


@pytest.mark.mariadb
def test_rows_that_cannot_be_followed_leave_the_published_state(source: Source, tmp_path: Path) -> None:
    into = tmp_path / "lake"
    source.run(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, of INT, FOREIGN KEY (of) REFERENCES parent (id) ON DELETE CASCADE)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1, 1)",
        "DELETE FROM parent WHERE id = 1",
    )
    with pytest.raises(LogNotUnderstood, match=r"--exclude-table lake\.child"):
        write(source.log(), into, batch_rows=1)
    assert read(str(into))["lake.child"].to_arrow().num_rows == 1
    without = tmp_path / "without"
    child = (("lake", "child"),)
    write(source.log(), without, exclude_tables=child)
    assert read(str(without))["lake.parent"].to_arrow().to_pylist() == [{"id": 2}]
    with pytest.raises(UsageError, match="filters"):
        write(source.log(), without)
    source.run("SET binlog_row_image = MINIMAL", "ALTER TABLE parent ADD v INT, ADD w INT", "UPDATE parent SET v = 1")
    gtid = source.run("SELECT @@last_gtid")[0][0]
    source.run("SET binlog_row_image = FULL", "INSERT INTO parent VALUES (9, 9, 9)")
    with pytest.raises(LogNotUnderstood, match="binlog_row_image=FULL") as refused:
        write(source.log(), without, exclude_tables=child)
    assert refused.value.gtid == gtid
    assert read(str(without))["lake.parent"].to_arrow().to_pylist() == [{"id": 2}]


@pytest.mark.mariadb
def test_a_lake_that_has_its_tables_already_is_continued(source: Source, tmp_path: Path) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    into = tmp_path / "lake"
    source.run("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9))", "INSERT INTO item VALUES (1, 'a'), (2, 'b')")
    after = str(source.run("SELECT @@gtid_binlog_pos")[0][0])
    source.run("FLUSH BINARY LOGS", "UPDATE item SET name = 'c' WHERE id = 2")
    dump = tmp_path / "dump.sql"
    dump.write_text("CREATE DATABASE lake; USE lake; CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9)) CHARSET utf8mb4;")
    with pytest.raises(LogNotUnderstood, match="--start-after"):
        write(source.log(), tmp_path / "none")
    loaded = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]})
    options = {"definitions": list(read_dump(dump)), "start_after": after}
    with pytest.raises(LogNotUnderstood, match="load them into a new lake"):
        write(source.log(), into, **options)
    assert publications(str(into)) == []
    write_deltalake(str(into / "lake" / "item"), loaded)
    write(source.log(), into, **options)
    assert publications(str(into)) == [1, 2]
    assert read(str(into), publication=1).gtids == after
    assert sorted(row["name"] for row in read(str(into))["lake.item"].to_arrow().to_pylist()) == ["a", "c"]
    assert write(source.log(), into, **options).published == 0
    write_deltalake(str(into / "lake" / "item"), loaded, mode="append")
    source.run("INSERT INTO item VALUES (3, 'd')")
    with pytest.raises(ApplyFailed, match="another program"):
        write(source.log(), into)


@pytest.mark.mariadb
def test_logs_with_a_missing_one_are_refused_and_the_whole_series_is_continued(source: Source, tmp_path: Path) -> None:
    into, logs = str(tmp_path / "lake"), [source.log()]
    start = executed_before(logs[0])
    source.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 1)", "FLUSH BINARY LOGS")
    LakeWriter(LakeOptions(logs, into, start_after=start)).run()
    for value in (2, 3):
        logs.append(source.log())
        source.run(f"UPDATE t SET v = {value} WHERE id < {4 - value + 1}", "FLUSH BINARY LOGS")
    with pytest.raises(UsageError, match=f"does not hold it: add {logs[0].name}, .* up to {logs[1].name}"):
        LakeWriter(LakeOptions(logs[2:], into)).run()
    assert publications(into) == [1]
    LakeWriter(LakeOptions(logs, into)).run()
    assert rows_of(read(into)["lake.t"].to_arrow().to_pylist()) == rows_of(source.rows("t"))
    with pytest.raises(UsageError, match="--start-after"):
        LakeWriter(LakeOptions(logs[1:], str(tmp_path / "new"))).run()


@pytest.mark.mariadb
def test_names_of_filters(source: Source, tmp_path: Path) -> None:
    source.run(
        "CREATE TABLE good (id INT PRIMARY KEY)",
        "CREATE DATABASE lake_two",
        "CREATE TABLE lake_two.x (id INT)",
        "CREATE TABLE lake_two.y (id INT PRIMARY KEY)",
        "INSERT INTO lake_two.y VALUES (1)",
        "DROP DATABASE lake_two",
    )
    excluded = (("lake_two", "x"),)
    write(source.log(), tmp_path / "lake", exclude_tables=excluded)
    assert list(read(str(tmp_path / "lake"))) == ["lake.good"]
    start = executed_before(source.log())
    options = ["--start-after", start] if start else []
    done = run_json("lake", source.log(), "--into", tmp_path / "none", "--format", "delta", "--database", "nosuch", *options)
    assert done.code == 0
    assert done.report["notes"][0].startswith("NOTHING OF THESE LOGS IS APPLIED")
    source.run("CREATE TABLE out_of (id INT)", "DROP TABLE good, out_of")
    with pytest.raises(LogNotUnderstood, match="start a new lake after the statement") as refused:
        write(source.log(), tmp_path / "other", exclude_tables=(*excluded, ("lake", "out_of")))
    assert "--channel" not in str(refused.value)


@pytest.mark.mariadb
def test_defaults_in_older_rows_are_those_of_the_server(source: Source, tmp_path: Path) -> None:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY) CHARSET utf8mb4",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD a CHAR(5) DEFAULT 'ab ', ADD b CHAR(5) NOT NULL, ADD c CHAR(3) CHARACTER SET latin1 DEFAULT 'é',"
        " ADD d SET('a','b','c') DEFAULT 'c,a', ADD e BINARY(4) NOT NULL, ADD f VARBINARY(4) DEFAULT 'xy', ADD g BLOB NOT NULL,"
        " ADD h TIME(3) DEFAULT '-10:00:00.5', ADD i BIT(3) NOT NULL",
        "INSERT INTO t SELECT 2, a, b, c, d, e, f, g, h, i FROM t",
    )
    write(source.log(), tmp_path / "lake")
    old, new = sorted(read(str(tmp_path / "lake"))["lake.t"].to_arrow().to_pylist(), key=lambda row: row["id"])
    assert {**old, "id": 2} == new


@pytest.mark.mariadb
def test_a_lake_stops_at_a_transaction(source: Source, tmp_path: Path) -> None:
    into, log = tmp_path / "lake", source.log()
    source.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    first = str(source.run("SELECT @@last_gtid")[0][0])
    source.run("INSERT INTO t VALUES (2)", "CREATE TABLE keyless (id INT)", "INSERT INTO t VALUES (3)")
    with pytest.raises(UsageError, match="is not in these logs"):
        write(log, into, stop_at="7-7-7")
    assert publications(str(into)) == []
    done = write(log, into, stop_at=first)  # what comes later is not looked at
    assert (done.published, done.executed) == (1, first)
    assert read(str(into))["lake.t"].to_arrow().to_pylist() == [{"id": 1}]
    assert write(log, into, stop_at=first).published == 0
    with pytest.raises(ParaplyError, match=r"--exclude-table lake\.keyless"):
        write(log, into)
    assert read(str(into)).gtids == first
