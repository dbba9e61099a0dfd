"""A stock MySQL replica with eight workers: a log in commit order, the same log after `paraply stamp`, and from `paraply serve --stamp`.

    python benches/stamped_replica.py --to URL --data FOLDER [--transactions N] [--rounds N] [-o FILE]

One session writes two loads: rows of one table, and parents and children of a foreign key. The server is a MySQL 8.0 or later with a
relay_log and must be empty: its logs are reset, and its replication is set up and removed. It is the source first, and then the replica.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from planted_loads import PlantedLoad, make_planted

from paraply import GtidSet, open_log
from paraply.bench.loads import DATABASE, rows
from paraply.bench.own_applier import OwnApplier
from paraply.bench.peers import Replayed, Way, measure_ways, replay_by_server
from paraply.bench.server import BenchServer, bench_server, free_port, text
from paraply.errors import ApplyFailed

WORKERS = 8
PARENTS = 2000
WAIT_SECONDS = 600
PARAPLY = [sys.executable, "-m", "paraply"]
COMMIT_ORDER = 1
"""Size of the source's history of write sets with which it stamps the order of commits."""
RELAY, STAMPED, SERVED, SERVED_STAMPED = "original as relay log", "stamp as relay log", "serve", "serve --stamp"
LEAST = {"rows": 2.0, "foreign-keys": 1.3}
ROW = "{:14} {:24} {:>9} {:>12} {:>7}"


def one_table(count: int) -> PlantedLoad:
    """Return a load that inserts, changes and deletes rows of one table."""
    draw = random.Random(1)

    def transaction(n: int) -> tuple[int, list[str]]:
        kind, key = draw.random(), draw.randrange(max(1, n))
        if kind < 0.7:
            return 0, [f"INSERT INTO t VALUES ({n},{draw.randrange(1000)},'{'x' * draw.randrange(100)}')"]
        if kind < 0.95:
            return 0, [f"INSERT INTO t VALUES ({n},0,'')", f"UPDATE t SET k=k+1 WHERE id={key}"]
        return 0, [f"INSERT INTO t VALUES ({n},0,'')", f"DELETE FROM t WHERE id={key}"]

    schema = ["CREATE TABLE t (id BIGINT PRIMARY KEY, k INT NOT NULL, v VARCHAR(120) NOT NULL, KEY (k))"]
    return PlantedLoad(schema, [], map(transaction, range(count)))


def foreign_key(count: int) -> PlantedLoad:
    """Return a load that inserts and changes children, and changes parents."""
    draw = random.Random(1)

    def transaction(n: int) -> tuple[int, list[str]]:
        kind, parent = draw.random(), draw.randrange(PARENTS)
        if kind < 0.7 or n == 0:
            return 0, [f"INSERT INTO child VALUES ({n},{parent},'{'x' * draw.randrange(60)}')"]
        if kind < 0.9:
            return 0, [f"UPDATE parent SET n=n+1 WHERE id={parent}"]
        return 0, [f"INSERT INTO child VALUES ({n},{parent},'')", f"UPDATE child SET v=CONCAT('z',{n}) WHERE id={draw.randrange(n)}"]

    schema = [
        "CREATE TABLE parent (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
        "CREATE TABLE child (id BIGINT PRIMARY KEY, p BIGINT NOT NULL, v VARCHAR(60) NOT NULL, FOREIGN KEY (p) REFERENCES parent (id))",
    ]
    return PlantedLoad(schema, list(rows("parent", [f"({n},0)" for n in range(PARENTS)])), map(transaction, range(count)))


LOADS: dict[str, Callable[[int], PlantedLoad]] = {"rows": one_table, "foreign-keys": foreign_key}


def stamped(log: Path, folder: Path) -> Path:
    """Stamp a log, and check that no number is too low.

    Raises:
        ApplyFailed: A command failed, or a number is too low.
    """
    for command in (
        ["stamp", str(log), "-o", str(folder), "--workers", str(WORKERS), "--json"],
        ["verify", str(folder / log.name), "--scheme", "fine", "--json"],
    ):
        done = subprocess.run([*PARAPLY, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ApplyFailed(f"paraply {command[0]} ended with {done.returncode}: {done.stdout} {done.stderr}")
    return folder / log.name


@contextlib.contextmanager
def serving(log: Path, folder: Path, *options: str) -> Iterator[int]:
    """Serve a log, and yield the port once it listens."""
    port, password, printed = free_port(), folder / "password", folder / "serve.log"
    password.write_text("secret\n")
    password.chmod(0o600)
    own = ["--listen", f"127.0.0.1:{port}", "--user", "repl", "--password-file", str(password)]
    with printed.open("w") as output:
        process = subprocess.Popen([*PARAPLY, "serve", str(log), *own, *options], stdout=output, stderr=output)
    try:
        while "listening" not in printed.read_text():
            if process.poll() is not None:
                raise ApplyFailed(f"paraply serve ended: {printed.read_text()}")
            time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def replicate(server: BenchServer, log: Path, gtids: str, *options: str) -> Replayed:
    """Replicate from ``paraply serve``; the time is from the start of the replica to its last commit."""
    ((own_id,),) = server.query("SELECT @@GLOBAL.server_id")
    with tempfile.TemporaryDirectory(prefix="paraply-serve-") as folder, serving(log, Path(folder), *options) as port:
        server.query("SET GLOBAL server_id=4294967295")
        server.query(f"SET GLOBAL replica_parallel_workers={WORKERS}, GLOBAL replica_preserve_commit_order=ON")
        server.query(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', SOURCE_PASSWORD='secret',"
            " SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_SSL=0"
        )
        try:
            started = time.monotonic()
            server.query("START REPLICA")
            ((late,),) = server.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', {WAIT_SECONDS})")
            seconds = time.monotonic() - started
            if int(text(late)):
                raise ApplyFailed(f"the replica has not applied everything in {WAIT_SECONDS} seconds")
        finally:
            server.query("STOP REPLICA")
            server.query("RESET REPLICA ALL")
            server.query(f"SET GLOBAL server_id={text(own_id)}")
    return Replayed(seconds)


def gtids_of(log: Path) -> str:
    """Return the GTIDs of a log."""
    found = GtidSet()
    for transaction in open_log(log):
        found.add(transaction.gtid)
    return str(found)


def compare(server: BenchServer, own: OwnApplier, name: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Make, stamp and replicate one load, and print its rows."""
    server.empty([DATABASE])
    (history,) = server.query("SELECT @@GLOBAL.binlog_transaction_dependency_history_size")[0]
    with tempfile.TemporaryDirectory(prefix="paraply-stamped-") as given:
        folder = Path(given)
        server.query(f"SET GLOBAL binlog_transaction_dependency_history_size={COMMIT_ORDER}")
        try:
            made = make_planted(server, LOADS[name](arguments.transactions), folder)
        finally:
            server.query(f"SET GLOBAL binlog_transaction_dependency_history_size={text(history)}")
        wider, gtids = stamped(made.log, folder / "stamped"), gtids_of(made.log)
        ways = [
            Way(RELAY, partial(replay_by_server, own, [made.log], WORKERS)),
            Way(STAMPED, partial(replay_by_server, own, [wider], WORKERS)),
            Way(SERVED, partial(replicate, server, made.log, gtids)),
            Way(SERVED_STAMPED, partial(replicate, server, made.log, gtids, "--stamp", "--workers", str(WORKERS))),
        ]
        found: dict[str, list[float]] = {}
        for _ in range(arguments.rounds):
            for one in measure_ways(server, ways, [DATABASE], made.checksums):
                found.setdefault(one.name, []).append(one.seconds)
    seconds = {way: median(times) for way, times in found.items()}
    ratios = {STAMPED: seconds[RELAY] / seconds[STAMPED], SERVED_STAMPED: seconds[SERVED] / seconds[SERVED_STAMPED]}
    for way, time_of in seconds.items():
        rate = f"{arguments.transactions / time_of:,.0f}"
        print(ROW.format(name, way, f"{time_of:.2f}", rate, f"{ratios[way]:.2f}" if way in ratios else ""), flush=True)
    return {"load": name, "seconds": found, "ratios": ratios, "enough": min(ratios.values()) >= LEAST[name]}


def main() -> int:
    """Print a table of times, and write it as JSON; the exit code is 1 if a stamped log is not fast enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--to", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--transactions", type=int, default=25_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "stamped.json")
    arguments = parser.parse_args()
    with bench_server(arguments.to, reset=True, data=arguments.data) as server:
        print(ROW.format("load", "replica's source", "seconds", "a second", "faster"))
        found = [compare(server, OwnApplier(server, arguments.data), name, arguments) for name in arguments.loads.split(",")]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps({"server": server.version, "transactions": arguments.transactions, "loads": found}, indent=1))
    return 0 if all(one["enough"] for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
