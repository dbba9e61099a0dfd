"""Replays of one log in turn by the server's own client pipeline, by its own applier and by paraply."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from paraply.bench.client_tools import client_of, decoder_of
from paraply.bench.floor.server_cpu import server_cpu
from paraply.bench.own_applier import OwnApplier
from paraply.bench.server import BenchServer
from paraply.bench.sync_counts import SyncCounts, sync_counts
from paraply.errors import ApplyFailed

__all__ = [
    "Measurement",
    "Pipeline",
    "ReplayServer",
    "Replayed",
    "Way",
    "measure_all",
    "measure_ways",
    "pipeline_for",
    "replay_by_client",
    "replay_by_paraply",
    "replay_by_server",
]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The pair of commands in common use.

    Attributes:
        name: Name of the pipeline.
        decode: Command that prints a log as SQL.
        client: Command that runs the SQL.
    """

    name: str
    decode: list[str]
    client: list[str]


class ReplayServer(Protocol):
    """Server that logs are replayed into."""

    @property
    def url(self) -> str:
        """URL for ``paraply apply --to``."""

    @property
    def folder(self) -> Path | None:
        """Its data folder, if it is on this machine; read for the CPU time of its processes."""

    def empty(self, databases: Sequence[str]) -> None:
        """Drop everything that a run made."""

    def checksums(self) -> dict[str, int]:
        """Return a checksum of every table."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Result of one replay.

    Attributes:
        seconds: Time of the whole process; for the server's own applier from its start until it is idle.
        transactions: Transactions of the log; 0 if unknown.
        commits: Number of commits; 0 if unknown.
        connections: Connections of the client of the floor; else 0.
        client_cpu: CPU seconds of the client; None if unknown.
        cpu: The field ``cpu`` of paraply's report; None for others.
    """

    seconds: float
    transactions: int = 0
    commits: int = 0
    connections: int = 0
    client_cpu: float | None = None
    cpu: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """Variant of a replay.

    Attributes:
        name: Name of the variant.
        replay: Replays the log on an empty server.
    """

    name: str
    replay: Callable[[], Replayed]


@dataclass(slots=True)
class Measurement:
    """Measurement of one replay.

    Attributes:
        name: Name of the variant.
        seconds: As in ``Replayed``.
        transactions: Transactions of the log.
        commits: Number of commits; 0 if unknown.
        syncs: Counters of the server during the replay.
        checksums: Checksums of all tables afterwards.
        connections: Connections of the client of the floor; else 0.
        client_cpu: CPU seconds of the client; None if unknown.
        server_cpu: CPU seconds of the server, of all its processes; None if unknown.
        floors: Seconds as a multiple of the floor's in the same round; None if that was not measured.
        cpu: The field ``cpu`` of paraply's report; None for others.
    """

    name: str
    seconds: float
    transactions: int
    commits: int
    syncs: SyncCounts
    checksums: dict[str, int] = field(default_factory=dict)
    connections: int = 0
    client_cpu: float | None = None
    server_cpu: float | None = None
    floors: float | None = None
    cpu: dict[str, Any] | None = None

    @property
    def rate(self) -> float:
        """Transactions per second."""
        return self.transactions / self.seconds if self.seconds else 0.0

    def as_json(self, slowest: float) -> dict[str, object]:
        """Return the fields for the results file."""
        figures = {"per_second": round(self.rate), "ratio": round(slowest / self.seconds, 2)}
        return asdict(self) | figures | {"syncs": self.syncs.as_json(max(1, self.transactions))}


def pipeline_for(server: BenchServer, decode: str | None, client: str | None) -> Pipeline:
    """Return the pipeline of the server's family, found on PATH unless given.

    Raises:
        UsageError: A command is missing.
    """
    name = "mariadb-binlog | mariadb" if server.mariadb else "mysqlbinlog | mysql"
    url = server.parsed
    place = [f"--socket={url.socket}"] if url.socket else ["-h", url.host, "-P", str(url.port), "--protocol=TCP"]
    sender = [*client_of(server, client), f"--user={url.user}", *place, "--binary-mode"]
    return Pipeline(name, decoder_of(server, decode), sender)


def measure_all(
    server: BenchServer,
    logs: Sequence[Path],
    *,
    pipeline: Pipeline | None,
    workers: Sequence[int],
    merges: Sequence[str],
    databases: Sequence[str],
    own: OwnApplier | None = None,
) -> Iterator[Measurement]:
    """Replay the log once in every variant, and check that all end with the same tables.

    Raises:
        ApplyFailed: A replay failed, or its tables differ from the first one's.
    """
    ways: list[Way] = []
    if pipeline is not None:
        ways.append(Way(pipeline.name, partial(replay_by_client, pipeline, server, logs)))
    if own is not None:
        ways += [Way(own.name(count), partial(replay_by_server, own, logs, count)) for count in sorted({1, max(workers, default=1)})]
    for count in workers:
        for merge in merges if count else ("off",):
            options = ("--workers", str(count), "--merge", merge)
            ways.append(Way(f"paraply, {count} workers, merge {merge}", partial(replay_by_paraply, server, logs, *options)))
    yield from measure_ways(server, ways, databases)


def measure_ways(
    server: ReplayServer, ways: Sequence[Way], databases: Sequence[str], expected: Mapping[str, int] | None = None
) -> Iterator[Measurement]:
    """Replay in every variant, each on an emptied server.

    Args:
        server: The server.
        ways: The variants, in this order.
        databases: Databases that a replay makes.
        expected: ``CHECKSUM TABLE`` of the source's tables; by default those after the first replay.

    Raises:
        ApplyFailed: A replay failed, or its tables differ.
    """
    transactions, first = 0, "the first replay" if expected is None else "the source"
    for way in ways:
        server.empty(databases)
        before, used = sync_counts(server), server_cpu(server.folder)
        done = way.replay()
        syncs, used_after = sync_counts(server).since(before), server_cpu(server.folder)
        transactions = done.transactions or transactions
        measurement = Measurement(way.name, done.seconds, transactions, done.commits, syncs, server.checksums())
        measurement.connections, measurement.client_cpu, measurement.cpu = done.connections, done.client_cpu, done.cpu
        measurement.server_cpu = None if used is None or used_after is None else round(used_after - used, 2)
        expected = expected if expected is not None else measurement.checksums
        if measurement.checksums != expected:
            raise ApplyFailed(f"the tables after {way.name} differ from those of {first}")
        yield measurement
    server.empty(databases)


def replay_by_server(own: OwnApplier, logs: Sequence[Path], workers: int) -> Replayed:
    """Replay by the server's own applier; the time to copy the log does not count."""
    with own.ready(logs, workers):
        started = time.monotonic()
        own.replay()
        return Replayed(time.monotonic() - started)


def replay_by_client(pipeline: Pipeline, server: BenchServer, logs: Sequence[Path]) -> Replayed:
    """Replay by ``mysqlbinlog | mysql``, or MariaDB's pair."""
    started = time.monotonic()
    environment = os.environ | ({"MYSQL_PWD": server.parsed.password} if server.parsed.password else {})
    for log in logs:
        with subprocess.Popen([*pipeline.decode, str(log)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as decode:
            done = subprocess.run(pipeline.client, stdin=decode.stdout, capture_output=True, env=environment, check=False)
        if done.returncode != 0:
            raise ApplyFailed(f"the client pipeline failed: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
    return Replayed(time.monotonic() - started)


def replay_by_paraply(server: ReplayServer, logs: Sequence[Path], *options: str) -> Replayed:
    """Replay by ``paraply apply`` in a process of its own."""
    started = time.monotonic()
    command = [sys.executable, "-m", "paraply", "apply", *map(str, logs), "--to", server.url, *options, "--json"]
    # An installed package has compiled bytecode.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise ApplyFailed(f"paraply apply ended with {done.returncode}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    cpu = report["cpu"]
    return Replayed(time.monotonic() - started, int(report["transactions"]), int(report["commits"]), client_cpu=cpu["process"], cpu=cpu)
