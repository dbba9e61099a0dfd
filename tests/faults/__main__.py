"""Runs the matrix and prints what struck where."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.history_source import HistoryPlace, Source

from paraply.applier.commit.consistency import Consistency
from tests.faults.kinds import FAULTS, LOG_FAULTS
from tests.faults.rounds import Broken, Matrix, Round
from tests.faults.servers import MariaDbTarget, MySqlTarget, PostgresTarget, ServerLost, Target, small_disk

MERGES = ("off", "auto")
SESSIONS = 24
"""Of a history: so many that workers take batches of transactions where nothing is merged."""


def main() -> int:
    """The command line; 1 if a round ended with other tables than the source's."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--faults", type=int, default=300, help="how many strike at least")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PARAPLY_SEED", time.time_ns() % 1_000_000)))
    parser.add_argument("--transactions", type=int, default=3000, help="of each history")
    parser.add_argument("--targets", default="mysql,mariadb,postgresql")
    parser.add_argument("--ways", default="sessions,replication", help="through whom the transactions go")
    parser.add_argument("-o", "--out", type=Path, help="write the counts as JSON")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    draw, matrix = random.Random(options.seed), Matrix()
    with tempfile.TemporaryDirectory(prefix="pf", dir="/tmp") as folder, small_disk() as disk:
        Path(folder).chmod(0o755)
        with contextlib.ExitStack() as stack:
            rounds = list(settings(options, Path(folder), disk, stack))
            try:
                while matrix.faults < options.faults:
                    for one in rounds:
                        matrix = run(one, matrix, draw, Path(folder))
            except Broken as broken:
                print(f"BROKEN with seed {options.seed}: {broken}", file=sys.stderr)
                return 1
            finally:
                report(matrix, options.out)
    return 0


def run(one: Round, before: Matrix, draw: random.Random, folder: Path) -> Matrix:
    """One round; where the server lost its own data, the round and its faults do not count."""
    matrix = Matrix(before.strikes.copy(), before.rounds)
    try:
        one.run(matrix, draw, folder)
    except ServerLost as lost:
        print(f"{before.faults:4} faults, {before.rounds:3} rounds: {one}: left out. {lost}", flush=True)
        assert isinstance(one.target, MariaDbTarget)
        one.target.renew()
        return before
    print(f"{matrix.faults:4} faults, {matrix.rounds:3} rounds: {one}: equal", flush=True)
    return matrix


def settings(options: argparse.Namespace, folder: Path, disk: Any, stack: contextlib.ExitStack) -> Iterator[Round]:
    """Every target that is here, with every consistency level and merge setting."""
    wanted = options.targets.split(",")
    mariadb = MariaDbTarget(folder, disk("m"))
    stack.callback(mariadb.server.stop)
    targets: list[tuple[Target, Path, dict[str, Any]]] = []
    source = Source(HistoryPlace(mariadb.url), mariadb.server.data)
    log = source.log(options.seed, options.transactions, folder / "maria", sessions=SESSIONS)
    if "mariadb" in wanted:
        targets.append((mariadb, log, mariadb.state()))
    if "postgresql" in wanted:
        postgres = PostgresTarget(folder, disk("p"))
        targets.append((postgres, log, plain_state(postgres, log)))
    url, data = os.environ.get("PARAPLY_TEST_MYSQL"), os.environ.get("PARAPLY_TEST_MYSQL_DATA")
    if "mysql" in wanted and url and data:
        mysql = MySqlTarget(url, Path(data), disk("s"))
        stack.callback(mysql.leave)
        log = Source(HistoryPlace(url), Path(data)).log(options.seed, options.transactions, folder / "mysql", sessions=SESSIONS)
        targets.append((mysql, log, mysql.state()))
    elif "mysql" in wanted:
        print("NO MYSQL SERVER: set PARAPLY_TEST_MYSQL and PARAPLY_TEST_MYSQL_DATA to have it in the matrix", flush=True)
    ways = options.ways.split(",")
    for level in Consistency if "sessions" in ways else ():
        for merge in MERGES:
            for target, log, expected in targets:
                yield Round(target, log, expected, level.value, merge)
    for target, log, expected in targets:
        if "replication" in ways and isinstance(target, MySqlTarget):
            yield Round(target, log, expected, Consistency.ANY_TIME.value, "off", "replication")


def plain_state(target: PostgresTarget, log: Path) -> dict[str, Any]:
    """Return the state after serial apply without a fault."""
    from server.replay import applied

    target.empty()
    applied(log, target.url, "--workers", "0", "--merge", "off")
    return target.state()


def report(matrix: Matrix, out: Path | None) -> None:
    """Prints the table of faults by target, and writes all counts."""
    targets = sorted({key[0] for key in matrix.strikes})
    print("| fault |" + "".join(f" {target} |" for target in targets), "|---|" + "--:|" * len(targets), sep="\n")
    for name in [fault.name for fault in (*FAULTS, *LOG_FAULTS)]:
        counts = [sum(n for key, n in matrix.strikes.items() if key[0] == target and key[3] == name) for target in targets]
        print(f"| {name} |" + "".join(f" {count} |" for count in counts))
    print(f"{matrix.faults} faults in {matrix.rounds} rounds, tables equal after every one", flush=True)
    if out is not None:
        rows = [
            dict(zip(("target", "consistency", "merge", "fault", "count"), (*key, n), strict=True)) for key, n in matrix.strikes.items()
        ]
        out.write_text(json.dumps({"faults": matrix.faults, "rounds": matrix.rounds, "strikes": rows}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
