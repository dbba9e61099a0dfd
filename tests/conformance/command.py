"""The model database of the simulation beside real servers: the same random steps, compared one by one."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from conformance.compare import compare
from conformance.play import play_server
from conformance.servers import Server, server_of
from conformance.steps import draw_schedule

__all__ = ["compare_all", "main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a step differs."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "urls", nargs="*", help="servers; without any, an embedded PostgreSQL, a MariaDB, and the MySQL of PARAPLY_TEST_MYSQL"
    )
    parser.add_argument("--seeds", default="0-999", help="first and last seed, or one seed")
    parser.add_argument("--seconds", type=float, help="end after this time for each server")
    parser.add_argument("--show", action="store_true", help="print every step")
    options = parser.parse_args(arguments)
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "conformance", *(sys.argv[1:] if arguments is None else arguments)])
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    different = 0
    with contextlib.ExitStack() as stack:
        servers = [server_of(url) for url in options.urls] or [stack.enter_context(one) for one in _own_servers()]
        for server in servers:
            different += compare_all(server, seeds, options.seconds, show=options.show)
    return bool(different)


def compare_all(server: Server, seeds: range, seconds: float | None, *, show: bool = False) -> int:
    """Compare seeds on a server, print the outcome, and return how many differ."""
    server.prepare()
    begin, total, differences = time.monotonic(), Counter[str](), 0
    for seed in seeds:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        schedule = draw_schedule(seed)
        records = play_server(schedule, server)
        if show:
            print(*schedule.initial.items(), *records, sep="\n")
        result = compare(schedule, records, server.locking)
        total += Counter(schedules=1, steps=result.steps, waits=result.waits, gaps=result.gaps, orders=result.orders)
        total.update(answer for record in records for answer in record.answers.values())
        if result.difference:
            differences += 1
            print(f"{server.name} seed {seed}, {result.difference}", flush=True)
    server.close()
    answers = ", ".join(f"{count} {name}" for name, count in total.items() if name not in ("schedules", "steps", "waits", "gaps", "orders"))
    print(
        f"{server.name}: {total['schedules']} schedules, {total['steps']} steps, {total['waits']} lock waits, {answers};"
        f" {total['gaps']} by locks between keys, {total['orders']} in another order; {differences} schedules differ",
        flush=True,
    )
    return differences


def _own_servers() -> Iterator[contextlib.AbstractContextManager[Server]]:
    """Return the servers that can be started here, and the one that is named."""
    yield _postgres()
    yield _mariadb()
    if url := os.environ.get("PARAPLY_TEST_MYSQL"):
        yield contextlib.nullcontext(server_of(url))


@contextlib.contextmanager
def _postgres() -> Iterator[Server]:
    from paraply.targets.postgres.embedded import EmbeddedPostgres

    with tempfile.TemporaryDirectory(prefix="paraply-") as folder, EmbeddedPostgres(Path(folder) / "data") as server:
        yield server_of(server.uri)


@contextlib.contextmanager
def _mariadb() -> Iterator[Server]:
    from servers import running_mariadb

    with running_mariadb() as server:
        yield server_of(server.url)
