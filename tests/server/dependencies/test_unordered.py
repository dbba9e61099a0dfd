"""Policy ``unordered``: no conflict control, and the last writer of a row wins by a timestamp column (R21)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from server.history_source import DATABASE, PostgresHistoryPlace, Source

from paraply import open_log
from paraply.applier import Applier
from paraply.errors import UsageError
from paraply.targets import open_target

COLUMN = "changed_at"
TABLES = (
    """CREATE TABLE hot (id INT PRIMARY KEY, n INT UNSIGNED NOT NULL, note VARCHAR(40) CHARACTER SET latin1 NULL, price DECIMAL(12,3) NULL,
       kind ENUM('a','b','c') NULL, flags SET('x','y','z') NULL, at TIMESTAMP(3) NULL, day DATE NULL, span TIME(2) NULL, raw BINARY(6) NULL,
       data BLOB NULL, bits BIT(9) NULL, made YEAR NULL, weight DOUBLE NULL, mass FLOAT NULL, changed_at DATETIME(6) NOT NULL)""",
    """CREATE TABLE pair (a INT NOT NULL, b VARCHAR(10) NOT NULL, v BIGINT UNSIGNED NULL, doubled BIGINT AS (a * 2) STORED,
       changed_at DATETIME(6) NULL, PRIMARY KEY (a, b))""",
    "CREATE TABLE parent (id INT PRIMARY KEY, changed_at DATETIME(6) NOT NULL)",
    """CREATE TABLE child (id INT PRIMARY KEY, parent_id INT NOT NULL, changed_at DATETIME(6) NOT NULL,
       CONSTRAINT of_parent FOREIGN KEY (parent_id) REFERENCES parent (id))""",
)


class Writer:
    """Sessions in turn that write the same few rows, every one with a later time than the last."""

    def __init__(self, source: Source, seed: int) -> None:
        self._place = source.place
        self._draw = random.Random(seed)
        self._clock = 0

    def run(self, transactions: int) -> None:
        connections = [self._place.connect() for _ in range(4)]
        sessions = [connection.cursor() for connection in connections]
        sessions[0].execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        for number, session in enumerate(sessions):
            session.execute(f"USE {DATABASE}")
            if self._place.mariadb:
                session.execute(f"SET SESSION server_id={101 + number}")
        for table in TABLES:
            sessions[0].execute(table)
        for _ in range(transactions):
            session = self._draw.choice(sessions)
            session.execute("BEGIN")
            for _ in range(self._draw.randint(1, 4)):
                session.execute(self._draw.choice([self._hot, self._pair, self._family])())
            session.execute("COMMIT")
        for connection in connections:
            connection.close()

    def _now(self) -> str:
        self._clock += 1
        return f"'2026-01-01 00:00:00' + INTERVAL {self._clock} MICROSECOND"

    def _hot(self) -> str:
        draw = self._draw
        values = [
            str(draw.randrange(4)), str(draw.choice([0, 7, 4294967295])), draw.choice(["NULL", "'caf\u00e9'", "'it''s'"]),
            draw.choice(["NULL", "-12.345", "99.9"]), draw.choice(["NULL", "'b'"]), draw.choice(["NULL", "''", "'x,z'"]),
            draw.choice(["NULL", "FROM_UNIXTIME(1700000000.125)"]), draw.choice(["NULL", "'2026-02-28'"]),
            draw.choice(["NULL", "'-12:34:56.78'"]), draw.choice(["NULL", "X'0102'"]), draw.choice(["NULL", "X'00FF27'"]),
            draw.choice(["NULL", "b'100000001'"]), draw.choice(["NULL", "2026"]), draw.choice(["NULL", "0.1", "-1e300"]),
            draw.choice(["NULL", "0.1"]), self._now(),
        ]  # fmt: skip
        return (
            f"INSERT INTO hot VALUES ({', '.join(values)}) ON DUPLICATE KEY UPDATE n=VALUES(n), note=VALUES(note), price=VALUES(price),"
            " kind=VALUES(kind), flags=VALUES(flags), at=VALUES(at), raw=VALUES(raw), changed_at=VALUES(changed_at)"
        )

    def _pair(self) -> str:
        a, b, v = self._draw.randrange(3), self._draw.choice(["'x'", "'\u00df'"]), self._draw.choice(["NULL", "18446744073709551615", "3"])
        return (
            f"INSERT INTO pair (a, b, v, changed_at) VALUES ({a}, {b}, {v}, {self._now()})"
            " ON DUPLICATE KEY UPDATE v=VALUES(v), changed_at=VALUES(changed_at)"
        )

    def _family(self) -> str:
        self._clock += 1
        if self._draw.random() < 0.5:
            return f"INSERT INTO parent VALUES ({self._clock}, {self._now()})"
        return f"INSERT INTO child SELECT {self._clock}, COALESCE(MAX(id), 0), {self._now()} FROM parent HAVING COUNT(*) > 0"


def log_of(source: Source, into: Path, write: Callable[[], None]) -> Path:
    """The log of what a function writes."""
    source.place.empty()
    write()
    name = source.place.sql("SHOW BINARY LOGS")[-1][0]
    source.place.sql("FLUSH BINARY LOGS")
    return Path(shutil.copy(source.binlogs / name, into / name))


def apply(log: Path, url: str, workers: int, merge: int | str) -> int:
    with open_target(url) as target:
        applier = Applier([log], target, policy="unordered", consistency="eventual", workers=workers, merge=merge, timestamp_column=COLUMN)  # type: ignore[arg-type]
        return applier.run().transactions


@pytest.mark.mariadb
@pytest.mark.parametrize(("workers", "merge"), [(0, "off"), (8, "off"), (8, "auto")])
def test_r21_unordered_ends_as_the_source_where_times_grow_and_no_row_is_deleted(
    history_source: Source, tmp_path: Path, workers: int, merge: str
) -> None:
    log = log_of(history_source, tmp_path, lambda: Writer(history_source, 5).run(80))
    place = history_source.place
    made = place.state()
    place.empty()
    assert apply(log, place.url, workers, merge) >= 80
    assert place.state() == made


@pytest.mark.mariadb
@pytest.mark.postgres
def test_r21_unordered_in_postgresql_is_equal_to_serial_apply(history_source: Source, postgres_server: str, tmp_path: Path) -> None:
    log = log_of(history_source, tmp_path, lambda: Writer(history_source, 6).run(80))
    place = PostgresHistoryPlace(postgres_server)
    place.empty()
    with open_target(place.url) as target:
        Applier([log], target, workers=0, merge="off").run()
    serial = place.state()
    for merge in ("off", "auto"):
        place.empty()
        apply(log, place.url, 8, merge)
        assert place.state() == serial, merge


@pytest.mark.mariadb
def test_r21_a_newer_row_of_the_target_stays_and_an_older_one_goes(history_source: Source, tmp_path: Path) -> None:
    place = history_source.place

    def write() -> None:
        place.sql(
            f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", "CREATE TABLE t (id INT PRIMARY KEY, v INT, changed_at BIGINT)",
            "INSERT INTO t VALUES (1, 1, 10), (2, 1, 10), (3, 1, 10), (4, 1, 10), (5, 1, NULL)",
            "UPDATE t SET v=2, changed_at=20 WHERE id=1",
            "UPDATE t SET id=40, changed_at=20 WHERE id=4", "DELETE FROM t WHERE id=2", "DELETE FROM t WHERE id=3",
        )  # fmt: skip

    log = log_of(history_source, tmp_path, write)
    place.empty()
    place.sql(
        f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", "CREATE TABLE t (id INT PRIMARY KEY, v INT, changed_at BIGINT)",
        "INSERT INTO t VALUES (1, 9, 99), (2, 9, 99), (3, 9, 5), (5, 9, 1)",
    )  # fmt: skip
    passed = gtids_of_statements(log)
    with open_target(place.url) as target:
        Applier(
            [log],
            target,
            policy="unordered",
            consistency="eventual",
            workers=0,
            timestamp_column=COLUMN,
            start_after=passed,
            allow_gap=True,
        ).run()
    assert place.sql(f"SELECT id, v, changed_at FROM {DATABASE}.t ORDER BY id") == [(1, 9, 99), (2, 9, 99), (5, 9, 1), (40, 1, 20)]


def gtids_of_statements(log: Path) -> str:
    """The GTIDs of the statements at the log's beginning, as a set."""
    gtids = [transaction.gtid or "" for transaction in open_log(log) if transaction.statements]
    return ",".join(gtids) if ":" in gtids[0] else gtids[-1]


@pytest.mark.mariadb
@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "has no column changed_at"),
        ("CREATE TABLE t (id INT, changed_at BIGINT)", "has no primary key"),
        ("CREATE TABLE t (id INT PRIMARY KEY, changed_at VARCHAR(20))", "is no time and no number"),
    ],
)
def test_r21_a_table_without_the_timestamp_column_is_refused_before_the_first_write(
    history_source: Source, tmp_path: Path, table: str, why: str
) -> None:
    place = history_source.place
    log = log_of(
        history_source,
        tmp_path,
        lambda: place.sql(f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", table, "INSERT INTO t VALUES (1, 2)") and None,
    )
    place.empty()
    with pytest.raises(UsageError, match=why):
        apply(log, place.url, 8, "off")
    assert not place.sql(f"SELECT 1 FROM information_schema.schemata WHERE schema_name IN ('{DATABASE}', 'paraply')")


def test_r21_the_timestamp_column_goes_with_unordered_only(tmp_path: Path) -> None:
    class Unused:
        """Not looked at."""

    with pytest.raises(UsageError, match="needs --timestamp-column"):
        Applier([tmp_path / "none"], Unused(), policy="unordered", consistency="eventual")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="goes only with policy 'unordered'"):
        Applier([tmp_path / "none"], Unused(), timestamp_column=COLUMN)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="eventual"):
        Applier([tmp_path / "none"], Unused(), policy="unordered", timestamp_column=COLUMN)  # type: ignore[arg-type]
