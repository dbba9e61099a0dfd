"""Scaling of the applier with its workers for a distant target and a load without conflicts (E1 of WL#4648)."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from paraply._native import MySqlConnection
from paraply.bench.cpu_ticks import CpuTicks
from paraply.bench.delay import delayed
from paraply.bench.made_load import fetch_log, last_log
from paraply.bench.plain_clients import plain_seconds
from paraply.bench.server import BenchServer, connect
from paraply.errors import ApplyFailed, ParaplyError

__all__ = ["SCALE_WORKERS", "ScaleResult", "ScaleRun", "measure_scale", "summarize"]

DATABASE = "paraply_scale"
CONNECTIONS = 64
SESSIONS = 1024
"""More sessions than transactions in progress: transactions of one session are applied in its order."""
SCALE_WORKERS = (1, 2, 4, 8, 16, 32, 64)
_PINGS = 200


@dataclass(frozen=True, slots=True)
class ScaleRun:
    """One replay through the proxy, and the time of as many clients without coordination.

    Attributes:
        workers: Connections that applied at the same time.
        seconds: From the first block to the last commit; without the start of the process.
        transactions: Transactions of the log.
        round_trip: Milliseconds of an empty statement through the proxy.
        busy: Busy share of this machine's CPUs during those seconds, by all processes; 0 if unknown.
        plain: Seconds of the clients (:func:`plain_seconds`).
    """

    workers: int
    seconds: float
    transactions: int
    round_trip: float
    busy: float
    plain: float


@dataclass(frozen=True, slots=True)
class ScaleResult(ScaleRun):
    """Summary of the replays with one number of workers: medians, of each figure by itself.

    Attributes:
        base: Seconds with the least workers, for the speed-up.
        base_workers: Least number of workers.
        plain_base: Seconds of as many plain clients.
    """

    base: float
    base_workers: int
    plain_base: float

    @property
    def speed_up(self) -> float:
        """Speed as a multiple of the speed with the least workers."""
        return self.base / self.seconds if self.seconds else 0.0

    @property
    def of_linear(self) -> float:
        """Share of a linear speed-up."""
        return self.speed_up * self.base_workers / self.workers

    @property
    def linear_needs(self) -> float:
        """Share of this machine's CPUs that a linear speed-up would need; not possible above 1.

        It is the CPU time of each transaction here, at the rate of a linear speed-up.
        """
        return self.busy / self.of_linear if self.of_linear else 0.0

    @property
    def plain_of_linear(self) -> float:
        """Share of a linear speed-up of the plain clients; below 1 the server and its machine limit more workers."""
        return self.plain_base / self.plain * self.base_workers / self.workers if self.plain else 0.0

    def as_json(self) -> dict[str, object]:
        """Return the fields for the results file."""
        rate = self.transactions / self.seconds if self.seconds else 0.0
        return asdict(self) | {
            "per_second": round(rate),
            "speed_up": round(self.speed_up, 2),
            "of_linear": round(self.of_linear, 2),
            "linear_needs": round(self.linear_needs, 2),
            "plain_of_linear": round(self.plain_of_linear, 2),
        }


def measure_scale(
    server: BenchServer, *, workers: Sequence[int], milliseconds: float, transactions: int, rounds: int = 1, decode: str | None = None
) -> Iterator[ScaleRun]:
    """Make a load without conflicts, and replay it with each number of workers, unmerged and at level ``eventual``.

    The strongest level commits one transaction after the other, each with a round trip, so that more workers would not help.

    Args:
        server: Server on which the load is made and replayed.
        workers: Numbers of workers.
        milliseconds: Delay of the target.
        transactions: Number of transactions of the load.
        rounds: Number of rounds, each with all measurements.
        decode: The command that reads binary logs from a server, if it is not on PATH.

    Raises:
        ApplyFailed: A replay failed.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="paraply-scale-") as folder:
            server.empty([DATABASE])
            log = make_log(server, transactions, Path(folder), decode)
            with delayed(str(server.socket or server.parsed.host), server.parsed.port, milliseconds) as port:
                for count in [*workers] * rounds:
                    yield _measure(server, port, log, count)
    finally:  # after a failure the server must be usable for the next bench
        with contextlib.suppress(ParaplyError):
            server.empty([DATABASE])


def _measure(server: BenchServer, port: int, log: Path, workers: int) -> ScaleRun:
    """Measure one replay, after the clients without coordination."""
    server.empty([DATABASE])
    make_table(server)
    plain = plain_seconds(server, port, log, clients=workers)
    server.empty([DATABASE])
    make_table(server)
    trip = round_trip(server, port)
    with CpuTicks() as ticks:
        seconds, done = _replay(server, port, log, workers)
    return ScaleRun(workers, seconds, done, trip, ticks.busy(seconds), plain)


def summarize(runs: Sequence[ScaleRun]) -> list[ScaleResult]:
    """Return one result for each number of workers; the speed-up is relative to the least number.

    >>> one, four = summarize([ScaleRun(4, 3.0, 9, 1.2, 0.5, 2.1), ScaleRun(1, 8.0, 9, 1.2, 0.1, 7.9), ScaleRun(4, 2.0, 9, 1.2, 0.4, 2.0)])
    >>> four.seconds, four.speed_up, four.of_linear, round(four.plain_of_linear, 2)
    (2.5, 3.2, 0.8, 0.96)
    >>> round(four.busy, 2), round(four.linear_needs, 2)
    (0.45, 0.56)
    """
    numbers = sorted({run.workers for run in runs})
    groups = [[run for run in runs if run.workers == count] for count in numbers]
    seconds = [median(run.seconds for run in group) for group in groups]
    plain = [median(run.plain for run in group) for group in groups]
    return [
        ScaleResult(
            workers=count,
            seconds=taken,
            transactions=group[0].transactions,
            round_trip=median(run.round_trip for run in group),
            busy=median(run.busy for run in group),
            plain=freely,
            base=seconds[0],
            base_workers=numbers[0],
            plain_base=plain[0],
        )
        for count, group, taken, freely in zip(numbers, groups, seconds, plain, strict=True)
    ]


def make_log(server: BenchServer, transactions: int, folder: Path, decode: str | None) -> Path:
    """Let many sessions in turn insert rows of their own, and return a copy of the log."""
    sessions = [connect(server.parsed) for _ in range(CONNECTIONS)]
    try:
        make_table(server)
        sessions[0].query("FLUSH BINARY LOGS")
        variable = "server_id" if server.mariadb else "pseudo_thread_id"  # MariaDB's logs name servers, not sessions
        for number in range(transactions):
            name = f"SET SESSION {variable}={1000 + number % SESSIONS}"
            sessions[number % CONNECTIONS].query(f"{name}; INSERT INTO {DATABASE}.t VALUES ({number}, REPEAT('x', 80))")
    finally:
        for session in sessions:
            session.close()
    name = last_log(server)
    server.query("FLUSH BINARY LOGS")
    return fetch_log(server, name, folder, decode)


def make_table(server: BenchServer) -> None:
    """Make the table of the load; before the load begins, because every transaction waits for DDL."""
    server.query(f"CREATE DATABASE {DATABASE}")
    server.query(f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, v VARCHAR(100) NOT NULL)")


def round_trip(server: BenchServer, port: int) -> float:
    """Return the milliseconds of an empty statement."""
    url = server.parsed
    connection = MySqlConnection("127.0.0.1", port, url.user, url.password)
    try:
        started = time.perf_counter()
        for _ in range(_PINGS):
            connection.query("DO 0")
        return (time.perf_counter() - started) / _PINGS * 1000
    finally:
        connection.close()


def _replay(server: BenchServer, port: int, log: Path, workers: int) -> tuple[float, int]:
    """Return the seconds of the apply itself, and its transactions."""
    parts = urlsplit(server.url)
    credentials, at, _ = parts.netloc.rpartition("@")
    url = parts._replace(netloc=f"{credentials}{at}127.0.0.1:{port}").geturl()
    options = ["--to", url, "--workers", str(workers), "--merge", "off", "--consistency", "eventual", "--allow-gap", "--json"]
    command = [sys.executable, "-m", "paraply", "apply", str(log), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ApplyFailed(f"paraply apply ended with {done.returncode}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}")
    report = json.loads(done.stdout)
    return float(report["apply_seconds"]), int(report["transactions"])
