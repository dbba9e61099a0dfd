"""One log replayed in turn by the server's own client pipeline, by its own applier and by ours."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from paraply.bench.own_applier import OwnApplier
from paraply.bench.server import BenchServer
from paraply.errors import ApplyFailed, UsageError

__all__ = ["Measurement", "Pipeline", "measure_all", "pipeline_for"]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The command pair that users have today."""

    decode: list[str]
    client: list[str]

    @property
    def name(self) -> str:
        """The pipeline as a user knows it."""
        return " | ".join(Path(command[0]).name for command in (self.decode, self.client))


@dataclass(slots=True)
class Measurement:
    """One replay.

    Attributes:
        name: What replayed.
        seconds: Whole-process time, from the start of the command to its end; for the server's own applier from its start to its idling.
        transactions: Transactions of the log.
        checksums: Of all tables afterwards.
    """

    name: str
    seconds: float
    transactions: int
    checksums: dict[str, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Transactions a second."""
        return self.transactions / self.seconds if self.seconds else 0.0

    def as_json(self, slowest: float) -> dict[str, object]:
        """For the results file."""
        return asdict(self) | {"per_second": round(self.rate), "ratio": round(slowest / self.seconds, 2)}


def pipeline_for(server: BenchServer, decode: str | None, client: str | None) -> Pipeline:
    """The pipeline of the server's family, found on PATH unless given.

    Raises:
        UsageError: A command is not there.
    """
    names = ("mariadb-binlog", "mariadb") if server.mariadb else ("mysqlbinlog", "mysql")
    commands = [shlex.split(given) if given else [found(name)] for name, given in zip(names, (decode, client), strict=True)]
    url = server.parsed
    place = [f"--socket={url.socket}"] if url.socket else ["-h", url.host, "-P", str(url.port), "--protocol=TCP"]
    return Pipeline(commands[0], [*commands[1], f"--user={url.user}", *place, "--binary-mode"])


def found(name: str) -> str:
    """The path of a command."""
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"{name} is not installed; give the command with --decode and --client, or leave the peer out with --no-peer")
    return path


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
    """Replays the log once in every way and checks that all end alike.

    Raises:
        ApplyFailed: A replay failed, or its tables are not the first one's.
    """
    ways: list[tuple[str, Callable[[], tuple[float, int]]]] = []
    if pipeline is not None:
        ways.append((pipeline.name, partial(replay_by_client, pipeline, server, logs)))
    if own is not None:
        ways += [(own.name(count), partial(replay_by_server, own, logs, count)) for count in sorted({1, max(workers, default=1)})]
    for count in workers:
        for merge in merges if count else ("off",):
            ways.append((f"paraply, {count} workers, merge {merge}", partial(replay_by_paraply, server, logs, count, merge)))
    first: dict[str, int] | None = None
    transactions = 0
    for name, replay in ways:
        server.empty(databases)
        seconds, applied = replay()
        transactions = applied or transactions
        measurement = Measurement(name, seconds, transactions, server.checksums())
        first = first if first is not None else measurement.checksums
        if measurement.checksums != first:
            raise ApplyFailed(f"{name} left other tables than the first replay")
        yield measurement
    server.empty(databases)


def replay_by_server(own: OwnApplier, logs: Sequence[Path], workers: int) -> tuple[float, int]:
    """The server's own applier; copying the log to it does not count."""
    with own.ready(logs, workers):
        started = time.monotonic()
        own.replay()
        return time.monotonic() - started, 0


def replay_by_client(pipeline: Pipeline, server: BenchServer, logs: Sequence[Path]) -> tuple[float, int]:
    """``mysqlbinlog | mysql``, or MariaDB's."""
    started = time.monotonic()
    environment = os.environ | ({"MYSQL_PWD": server.parsed.password} if server.parsed.password else {})
    for log in logs:
        with subprocess.Popen([*pipeline.decode, str(log)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as decode:
            done = subprocess.run(pipeline.client, stdin=decode.stdout, capture_output=True, env=environment, check=False)
        if done.returncode != 0:
            raise ApplyFailed(f"the client pipeline failed: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
    return time.monotonic() - started, 0


def replay_by_paraply(server: BenchServer, logs: Sequence[Path], workers: int, merge: str) -> tuple[float, int]:
    """``paraply apply`` as a process of its own."""
    started = time.monotonic()
    options = ["--to", server.url, "--workers", str(workers), "--merge", merge, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "paraply", "apply", *map(str, logs), *options], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ApplyFailed(f"paraply apply ended with {done.returncode}: {done.stderr.strip()}")
    return time.monotonic() - started, int(json.loads(done.stdout)["transactions"])
