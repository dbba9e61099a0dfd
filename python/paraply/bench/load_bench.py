"""The five loads, each replayed in one run by the server's own client pipeline, by its own applier and by paraply."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from paraply.bench.loads import DATABASE, Load
from paraply.bench.made_load import SESSIONS, MadeLoad, make_load
from paraply.bench.own_applier import OwnApplier
from paraply.bench.peers import Measurement, Pipeline, Way, measure_ways, replay_by_client, replay_by_paraply, replay_by_server
from paraply.bench.server import BenchServer
from paraply.errors import ApplyFailed

__all__ = ["LoadBench", "LoadResult"]

_LEVELS = ("any-time", "most-of-the-time", "eventual")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Replays of one load.

    Attributes:
        load: Name of the load.
        title: Title in tables.
        transactions: Transactions of its log.
        log_bytes: Size of its log.
        replays: One measurement for each variant; of several rounds the median.
    """

    load: str
    title: str
    transactions: int
    log_bytes: int
    replays: list[Measurement]

    def as_json(self) -> dict[str, object]:
        """Return the fields for the results file."""
        slowest = self.replays[0].seconds
        head: dict[str, object] = {"load": self.load, "title": self.title, "transactions": self.transactions, "log_bytes": self.log_bytes}
        return head | {"sessions": SESSIONS, "replays": [one.as_json(slowest) for one in self.replays]}


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
        tell: Called with a load's title and each replay's measurement, as soon as it is known.
        sizes: Fixed numbers of transactions in a commit for which mode ``record`` is measured too, with the most workers.
    """

    server: BenchServer
    pipeline: Pipeline | None
    own: OwnApplier | None
    workers: Sequence[int]
    transactions: int
    seed: int
    rounds: int = 1
    decode: str | None = None
    tell: Callable[[str, Measurement], None] | None = None
    sizes: Sequence[str] = ()

    def measure(self, loads: Sequence[Load]) -> Iterator[LoadResult]:
        """Make each load's log, and replay it in every variant.

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
                finally:
                    self.server.empty([DATABASE])

    def _replayed(self, load: Load, made: MadeLoad) -> LoadResult:
        peers, ours = self._ways(made.log)
        found: dict[str, list[Measurement]] = {}
        for turn in range(self.rounds):
            ways = [*peers[0 if turn == 0 or self.pipeline is None else 1 :], *ours]
            for one in measure_ways(self.server, ways, [DATABASE], made.checksums):
                found.setdefault(one.name, []).append(one)
                if self.tell is not None:
                    self.tell(load.title, one)
        transactions = max(one.transactions for several in found.values() for one in several)
        if not transactions:
            raise ApplyFailed(f"the log of the load {load.name} has no transactions")
        replays = [_middle(several) for several in found.values()]
        for one in replays:
            one.transactions = transactions
        return LoadResult(load.name, load.title, transactions, made.log.stat().st_size, replays)

    def _ways(self, log: Path) -> tuple[list[Way], list[Way]]:
        """Return the peers' variants and paraply's."""
        peers = [] if self.pipeline is None else [Way(self.pipeline.name, partial(replay_by_client, self.pipeline, self.server, [log]))]
        most = max(self.workers)
        if self.own is not None:
            peers.append(Way(self.own.name(most), partial(replay_by_server, self.own, [log], most)))
        ours = [self._ours(log, "record", count, "auto") for count in self.workers]
        ours += [self._ours(log, "record", most, size) for size in self.sizes]
        ours += [self._ours(log, "record", most, "off"), self._ours(log, "preserve", most, "off")]
        if self.server.mariadb:  # MariaDB keeps no GTIDs with gaps, and its logs name no sessions: the levels are alike
            return peers, [*ours, *(self._ours(log, "none", most, "off", level) for level in (_LEVELS[0], _LEVELS[-1]))]
        # Commits form groups only if the replay is logged.
        ours += [self._ours(log, "preserve", most, "off", level) for level in _LEVELS[1:]]
        ours.append(self._ours(log, "preserve", 2 * most, "off", _LEVELS[-1]))
        return peers, [*ours, *(self._ours(log, "preserve", count, "off", via="replication") for count in (most, 2 * most))]

    def _ours(self, log: Path, gtid: str, workers: int, merge: str, level: str = "any-time", via: str = "sessions") -> Way:
        name = f"paraply, {gtid}, {workers} workers, merge {merge}"
        name += (f", {level}" if level != "any-time" else "") + (f", via {via}" if via != "sessions" else "")
        options = ("--gtid", gtid, "--workers", str(workers), "--merge", merge, "--consistency", level, "--via", via)
        return Way(name, partial(replay_by_paraply, self.server, [log], *options))


def _middle(several: list[Measurement]) -> Measurement:
    """Return the measurement with the median of the seconds."""
    wanted = median(one.seconds for one in several)
    return min(several, key=lambda one: abs(one.seconds - wanted))
