"""Loads, each replayed in one run by the server's own client pipeline, by its own applier, by paraply, and by the client of the floor."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from paraply.bench.floor.measure import FLOOR, Floor
from paraply.bench.floor.mysql_family import MySqlFamily
from paraply.bench.loads import DATABASE, Load
from paraply.bench.made_load import SESSIONS, MadeLoad, make_load
from paraply.bench.own_applier import OwnApplier
from paraply.bench.peers import (
    Measurement,
    Pipeline,
    ReplayServer,
    Way,
    measure_ways,
    replay_by_client,
    replay_by_paraply,
    replay_by_server,
)
from paraply.bench.server import BenchServer
from paraply.errors import ApplyFailed

if TYPE_CHECKING:
    from paraply.bench.floor.family import Family
    from paraply.bench.postgres_server import PostgresServer

__all__ = ["LoadBench", "LoadResult"]

_LEVELS = ("any-time", "most-of-the-time", "eventual")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Replays of one load into one server.

    Attributes:
        load: Name of the load.
        title: Title in tables.
        server: Version of the server.
        transactions: Transactions of its log.
        rows: Row changes of its log; 0 if unknown.
        log_bytes: Size of its log.
        replays: One measurement for each variant; of several rounds the median.
    """

    load: str
    title: str
    server: str
    transactions: int
    rows: int
    log_bytes: int
    replays: list[Measurement]

    def as_json(self) -> dict[str, object]:
        """Return the fields for the results file."""
        slowest = self.replays[0].seconds
        head: dict[str, object] = {"load": self.load, "title": self.title, "transactions": self.transactions, "log_bytes": self.log_bytes}
        replays = [one.as_json(slowest) | self.rates(one) for one in self.replays]
        return head | {"rows": self.rows, "sessions": SESSIONS, "replays": replays}

    def rates(self, one: Measurement) -> dict[str, float]:
        """Return the row changes and the megabytes of log that a replay applied in a second."""
        seconds = one.seconds or 1.0
        return {"rows_per_second": round(self.rows / seconds), "megabytes_per_second": round(self.log_bytes / 1e6 / seconds, 1)}


@dataclass(frozen=True, slots=True)
class LoadBench:
    """Bench of loads.

    Attributes:
        server: Server on which the logs are made and replayed.
        pipeline: The client pipeline; None leaves it out.
        own: The server's own applier; None leaves it out.
        workers: Numbers of workers of the merged replays; the others use the largest, and one of MySQL's twice as many.
        transactions: Transactions of a load with a share of 1.
        seed: Seed of the sessions' random choices.
        rounds: Number of measurements of each variant, except the client pipeline.
        decode: The command that reads binary logs from the server, if it is not on PATH.
        on_measured: Called with a load's title and each replay's measurement, as soon as it is known.
        sizes: Fixed numbers of transactions in a commit for which mode ``record`` is measured too, with the most workers.
        floor: Numbers of connections of the client of the floor, of which the best one counts; none leaves the floor out.
        brief: True to measure of paraply's variants only the default one.
        postgres: PostgreSQL into which the logs are replayed too; None for none.
    """

    server: BenchServer
    pipeline: Pipeline | None
    own: OwnApplier | None
    workers: Sequence[int]
    transactions: int
    seed: int
    rounds: int = 1
    decode: str | None = None
    on_measured: Callable[[str, Measurement], None] | None = None
    sizes: Sequence[str] = ()
    floor: Sequence[int] = ()
    brief: bool = False
    postgres: PostgresServer | None = None

    def measure(self, loads: Sequence[Load]) -> Iterator[LoadResult]:
        """Make each load's log, and replay it in every variant, into each server.

        Raises:
            ApplyFailed: A load could not be made, a replay failed, or its tables differ from the source's.
        """
        for load in loads:
            with tempfile.TemporaryDirectory(prefix="paraply-load-") as folder:
                self.server.empty([DATABASE])
                try:
                    count = load.count(self.transactions)
                    made = make_load(self.server, load, transactions=count, seed=self.seed, folder=Path(folder), decode=self.decode)
                    yield self._replayed(load, made)
                    if self.postgres is not None:
                        yield self._replayed_into(self.postgres, load, made)
                finally:
                    self.server.empty([DATABASE])
                    if self.postgres is not None:
                        self.postgres.empty([DATABASE])

    def _replayed(self, load: Load, made: MadeLoad) -> LoadResult:
        peers, variants = self._ways(made.log)
        family = MySqlFamily(self.server.url, mariadb=self.server.mariadb)
        found = self._rounds(self.server, load.title, peers, variants, made.checksums, self._floor(self.server, family, made))
        return self._result(load, made, self.server.version, found)

    def _replayed_into(self, postgres: PostgresServer, load: Load, made: MadeLoad) -> LoadResult:
        """Replay into PostgreSQL; all replays must leave the same tables as the first one."""
        from paraply.bench.floor.postgres_family import PostgresFamily  # needs psycopg

        most = max(self.workers)
        variants = [_into(postgres, made.log, most, merge) for merge in (("auto",) if self.brief else ("off", "auto", *self.sizes))]
        family = PostgresFamily(postgres.url, mariadb=self.server.mariadb)
        found = self._rounds(postgres, load.title, [], variants, None, self._floor(postgres, family, made))
        return self._result(load, made, postgres.version, found)

    def _floor(self, server: ReplayServer, family: Family, made: MadeLoad) -> Floor | None:
        return Floor.of(server, family, made.log, [DATABASE]) if self.floor else None

    def _rounds(
        self,
        server: ReplayServer,
        title: str,
        peers: list[Way],
        variants: list[Way],
        expected: dict[str, int] | None,
        floor: Floor | None,
    ) -> list[Measurement]:
        """Replay in every variant, round by round, and return a measurement for each.

        The first round looks for the floor's best number of connections; the client then runs once in each round, as the others do.
        """
        found: dict[str, list[Measurement]] = {}
        connections = 0
        for turn in range(self.rounds):
            ways = [*peers[0 if turn == 0 or self.pipeline is None else 1 :], *variants]
            for one in measure_ways(server, ways, [DATABASE], expected):
                found.setdefault(one.name, []).append(one)
                expected = expected or one.checksums
                self._report(title, one)
            if floor is not None:
                connections = connections or self._best(title, floor, expected)
                found.setdefault(FLOOR, []).append(self._floor_once(title, floor, connections, expected))
        if floor is not None:
            for several in found.values():
                for one, least in zip(several, found[FLOOR], strict=False):
                    one.floors = round(one.seconds / least.seconds, 2)
        return [_middle(several) for several in found.values()]

    def _best(self, title: str, floor: Floor, expected: dict[str, int] | None) -> int:
        """Return the number of connections with which the client is fastest."""
        tries = []
        for one in floor.search(expected, self.floor):
            self._report(title, one)
            tries.append(one)
        return min(tries, key=lambda one: one.seconds).connections

    def _floor_once(self, title: str, floor: Floor, connections: int, expected: dict[str, int] | None) -> Measurement:
        (one,) = floor.search(expected, [connections])
        self._report(title, one)
        one.name = FLOOR
        return one

    def _report(self, title: str, one: Measurement) -> None:
        if self.on_measured is not None:
            self.on_measured(title, one)

    def _result(self, load: Load, made: MadeLoad, version: str, replays: list[Measurement]) -> LoadResult:
        transactions = max(one.transactions for one in replays)
        if not transactions:
            raise ApplyFailed(f"the log of the load {load.name} has no transactions")
        for one in replays:
            one.transactions = transactions
        return LoadResult(load.name, load.title, version, transactions, made.rows, made.log.stat().st_size, replays)

    def _ways(self, log: Path) -> tuple[list[Way], list[Way]]:
        """Return the peers' variants and paraply's."""
        peers = [] if self.pipeline is None else [Way(self.pipeline.name, partial(replay_by_client, self.pipeline, self.server, [log]))]
        most = max(self.workers)
        if self.own is not None:
            peers.append(Way(self.own.name(most), partial(replay_by_server, self.own, [log], most)))
        if self.brief:
            return peers, [self._paraply(log, "record", most, "auto")]
        variants = [self._paraply(log, "record", count, "auto") for count in self.workers]
        variants += [self._paraply(log, "record", most, size) for size in self.sizes]
        variants += [self._paraply(log, "record", most, "off"), self._paraply(log, "preserve", most, "off")]
        if self.server.mariadb:  # MariaDB keeps no GTIDs with gaps, and its logs name no sessions: the levels are alike
            variants += [self._paraply(log, "none", most, "off", level) for level in (_LEVELS[0], _LEVELS[-1])]
            return peers, [*variants, *(self._via_replication(log, most) if self.server.logs_replication() else ())]
        # Commits form groups only if the replay is logged.
        variants += [self._paraply(log, "preserve", most, "off", level) for level in _LEVELS[1:]]
        variants.append(self._paraply(log, "preserve", 2 * most, "off", _LEVELS[-1]))
        return peers, [*variants, *self._via_replication(log, most)]

    def _via_replication(self, log: Path, most: int) -> list[Way]:
        return [self._paraply(log, "preserve", count, "off", via="replication") for count in (most, 2 * most)]

    def _paraply(self, log: Path, gtid: str, workers: int, merge: str, level: str = "any-time", via: str = "sessions") -> Way:
        name = f"paraply, {gtid}, {workers} workers, merge {merge}"
        name += (f", {level}" if level != "any-time" else "") + (f", via {via}" if via != "sessions" else "")
        options = ("--gtid", gtid, "--workers", str(workers), "--merge", merge, "--consistency", level, "--via", via)
        return Way(name, partial(replay_by_paraply, self.server, [log], *options))


def _into(postgres: PostgresServer, log: Path, workers: int, merge: str) -> Way:
    name = f"paraply, {workers} workers, merge {merge}"
    return Way(name, partial(replay_by_paraply, postgres, [log], "--workers", str(workers), "--merge", merge))


def _middle(several: list[Measurement]) -> Measurement:
    """Return the measurement with the median of the seconds; its multiple of the floor is the median of all rounds."""
    wanted = median(one.seconds for one in several)
    middle = min(several, key=lambda one: abs(one.seconds - wanted))
    multiples = [one.floors for one in several if one.floors is not None]
    middle.floors = round(median(multiples), 2) if multiples else None
    return middle
