"""A day of ``paraply replicate`` in fast motion: load with DDL, restarts of both servers, SIGHUP, SIGTERM, kills, a promotion (R25, R26).

At every stop the target holds the source's rows and the source's GTIDs. The short form takes some seconds; the long one runs for
``PARAPLY_DAY`` seconds, half an hour by default.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest
from own_mysql import OwnMySql, running_mysql
from server.live import Load, Replica, Rows, connect, mysql_rows, replicating
from server.serving import gtids, sql
from server.waiting import wait_until

LONG = float(os.environ.get("PARAPLY_DAY", "1800"))
SHORT = 3.0
DURABLE = ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"]

pytestmark = [pytest.mark.mysql, pytest.mark.timeout(600 + 2 * LONG)]


class DayLoad(Load):
    """A load that can rest, so that nothing is in progress on the source, and that changes tables meanwhile.

    Args:
        url: The source.
    """

    def __init__(self, url: str) -> None:
        self._may_work = threading.Event()
        self._may_work.set()
        self._changes = 0
        super().__init__(url, sessions=3)
        sql(url, "CREATE TABLE shop.day (id INT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(40))")
        self.url = url

    def _change(self, cursor: pymysql.cursors.Cursor, chance: random.Random, key: int) -> None:
        if not self._may_work.is_set():
            cursor.connection.commit()
            self._may_work.wait()
        if self._ended.is_set():
            return
        super()._change(cursor, chance, key)

    def change_tables(self) -> None:
        """Run DDL of several kinds, each with rows before and after it."""
        self._changes += 1
        number = self._changes
        statements = (
            f"INSERT INTO shop.day (note) VALUES ('before {number}')",
            f"ALTER TABLE shop.day ADD made_{number} DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)",
            f"INSERT INTO shop.day (note) VALUES ('after {number}')",
            f"CREATE TABLE shop.hour_{number} AS SELECT id, note FROM shop.day",
            f"ALTER TABLE shop.day ADD KEY note_{number} (note)",
            f"DROP TABLE shop.hour_{number}",
        )
        earlier = (f"ALTER TABLE shop.day DROP made_{number - 1}, DROP KEY note_{number - 1}",) if number > 1 else ()
        sql(self.url, *statements, *earlier)

    def rest(self) -> None:
        """Stop the changes, and wait until no transaction is in progress."""
        self._may_work.clear()
        before = ""

        def is_quiet() -> bool:
            nonlocal before
            last, before = before, gtids(self.url)
            time.sleep(0.15)
            return before == last

        wait_until(is_quiet, "the end of the load's transactions")

    def go_on(self) -> None:
        """Change rows again."""
        self._may_work.set()

    def end(self) -> None:
        """Wait for the sessions' ends."""
        self._ended.set()
        self._may_work.set()
        super().end()


@dataclass
class Day:
    """The two servers, and the replication between them."""

    source: OwnMySql
    target: OwnMySql
    folder: Path
    load: DayLoad
    stops: int = 0

    def check_stop(self, replica: Replica, how: signal.Signals) -> None:
        """Stop the replication, compare the GTIDs, bring the target to the source's state, and compare everything."""
        replica.wait_until(lambda: catches(replica.process.pid, signal.SIGHUP), "its handlers")
        replica.process.send_signal(how)
        report = replica.report()
        assert report["exit_code"] == 4, replica.messages()
        executed = report.get("executed")
        if executed is not None:  # something was applied since the last start, which the signal did not interrupt
            assert executed.replace("\n", "") == gtids(self.target.url)
        self.load.rest()
        self.check_equal()
        self.load.go_on()
        self.stops += 1

    def check_equal(self) -> None:
        """Apply what the resting source has, and compare rows and GTIDs."""
        wanted = gtids(self.source.url)
        last = f"{wanted.partition(':')[0]}:{wanted.rpartition(':')[2].rpartition('-')[2]}"
        with replicating(self.source.url, self.target.url, self.folder, "--until", last) as replica:
            assert replica.report()["exit_code"] == 0, replica.messages()
        assert gtids(self.target.url) == wanted
        assert all_rows(self.target.url) == all_rows(self.source.url)


def catches(pid: int, number: signal.Signals) -> bool:
    """Return True if a process has a handler for a signal; Python sets it some time after the start."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def all_rows(url: str) -> Rows:
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM shop.day ORDER BY id")
        return {**mysql_rows(url), "shop.day": list(cursor.fetchall())}


@contextlib.contextmanager
def day(folder: Path) -> Iterator[Day]:
    with running_mysql([*DURABLE, "--server-id=41"]) as source, running_mysql([*DURABLE, "--server-id=42"]) as target:
        sql(source.url, "RESET BINARY LOGS AND GTIDS")
        sql(target.url, "RESET BINARY LOGS AND GTIDS")
        load = DayLoad(source.url)
        try:
            yield Day(source, target, folder, load)
        finally:
            load.end()


def restart(server: OwnMySql, *, kill: bool) -> None:
    """Restart a server in order, or as after a power cut."""
    if kill:
        server.kill()
    else:
        server.stop()
    server.start()


def live_through(one: Day, seconds: float, rounds: list[str]) -> None:
    """Let events happen in turn until the time is over and all have happened; each kind of stop ends with a comparison."""
    until, number = time.monotonic() + seconds, 0
    while number < len(rounds) or time.monotonic() < until:
        with replicating(one.source.url, one.target.url, one.folder, "--relay-log-size", "200000") as replica:
            replica.wait_for_begin()
            for event in rounds[number % len(rounds)].split():
                time.sleep(min(10.0, seconds / 20))
                one.load.change_tables()
                if event in ("source", "target"):
                    restart(getattr(one, event), kill=number % 2 == 0)
                    replica.wait_until(lambda back=f"the {event} ": back in replica.messages(), f"the mention of the {event}")
                elif event == "kill":
                    replica.kill()
                else:
                    one.check_stop(replica, signal.Signals[event])
            number += 1


def promote(one: Day) -> None:
    """Make the target the source, and the old source its replica."""
    one.load.rest()
    one.check_equal()
    one.load.end()
    sql(one.target.url, "INSERT INTO shop.account VALUES (-7, 'the new source', 0)", "ALTER TABLE shop.day ADD promoted INT")
    wanted = gtids(one.target.url)
    folder = one.folder / "back"
    folder.mkdir()
    last = next(part for part in wanted.split(",") if part not in gtids(one.source.url).split(",")).strip()
    until = f"{last.partition(':')[0]}:{last.rpartition(':')[2].rpartition('-')[2]}"
    with replicating(one.target.url, one.source.url, folder, "--until", until) as replica:
        assert replica.report()["exit_code"] == 0, replica.messages()
    assert gtids(one.source.url) == wanted
    assert all_rows(one.source.url) == all_rows(one.target.url)


def test_a_short_day(tmp_path: Path) -> None:
    with day(tmp_path) as one:
        live_through(one, SHORT, ["target SIGTERM", "source kill SIGHUP"])
        assert one.stops == 2
        promote(one)


@pytest.mark.slow(share=False)  # half an hour
def test_a_long_day(tmp_path: Path) -> None:
    with day(tmp_path) as one:
        live_through(one, LONG, ["target SIGTERM", "source SIGHUP", "kill SIGINT", "source target kill SIGTERM", "kill kill target SIGHUP"])
        print(f"{one.load.committed} transactions, {one.stops} stops")
        promote(one)
