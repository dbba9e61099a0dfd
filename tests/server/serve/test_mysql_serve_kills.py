"""A relay between a source and three replicas, one of them slow, while each side is killed again and again (R25, R37)."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
import pytest
from own_mysql import OwnMySql, running_mysql
from server.serving import Receiving, Serving, content, follow, gtids, load, sql, state
from server.waiting import wait_until

pytestmark = pytest.mark.mysql

MOST_MEGABYTES = 400
PAUSES = (0.5, 3.0)


@pytest.fixture
def servers() -> Iterator[list[OwnMySql]]:
    with contextlib.ExitStack() as stack:
        options = ["--replica-parallel-workers=4", "--replica-max-allowed-packet=67108864", "--sync-binlog=0"]
        yield [stack.enter_context(running_mysql([f"--server-id={41 + number}", *options])) for number in range(4)]


def test_r37_many_kills_the_short_form(servers: list[OwnMySql], tmp_path: Path) -> None:
    rounds(servers, tmp_path, 20)


@pytest.mark.slow(share=False)  # ten minutes
@pytest.mark.timeout(1200)
def test_r37_many_kills_for_ten_minutes(servers: list[OwnMySql], tmp_path: Path) -> None:
    rounds(servers, tmp_path, 600)


def rounds(servers: list[OwnMySql], folder: Path, seconds: float) -> None:
    """Write to the source and kill one side after the other for so long; then all replicas have the source's content."""
    source, *replicas = servers
    chance = random.Random(7)
    load(source.url, 5)
    receiver = Receiving(folder, source.url, "--relay-log-size", "1000000")
    server = Serving(folder, "--relay-log", receiver.relay, "--stamp", "--workers", "4", "--keep-hours", "1")
    for replica in replicas:
        follow(replica, server)
    kills: list[tuple[str, Callable[[], None]]] = [
        ("serve", server.kill),
        ("the receiver", receiver.kill),
        ("a replica", lambda: again(replicas[0])),
        ("the source", lambda: again(source)),
        ("a connection", lambda: reconnected(replicas[1])),
    ]
    counts = dict.fromkeys((name for name, _ in kills), 0)
    end = time.monotonic() + seconds
    with writing(source), slowed(replicas[2]):
        number = 0
        while time.monotonic() < end or number < len(kills):
            time.sleep(chance.uniform(*PAUSES))
            name, kill = kills[number % len(kills)] if number < len(kills) else chance.choice(kills)
            number += 1
            kill()
            counts[name] += 1
    assert min(counts.values()) > 0, counts
    wanted = gtids(source.url)
    for replica in replicas:
        wait_until(lambda replica=replica: gtids(replica.url) == wanted, f"{state(replica)}; everything", 120 + seconds)  # type: ignore[misc]
        assert content(replica.url) == content(source.url)
    assert peak_megabytes(server.process.pid) < MOST_MEGABYTES
    assert server.end() == receiver.end() == 4


def again(server: OwnMySql) -> None:
    """Kill a server, and start it again."""
    server.kill()
    server.start()


def reconnected(replica: OwnMySql) -> None:
    """End the connection of a replica's receiver, and let it begin a new one."""
    sql(replica.url, "STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD")


@contextlib.contextmanager
def writing(source: OwnMySql) -> Iterator[None]:
    """Write to the source, also while it is killed and started."""

    def write() -> None:
        try:
            load(source.url, 5, rotate_every=4)
        except (pymysql.Error, OSError):
            time.sleep(0.2)

    with repeated(write):
        yield


@contextlib.contextmanager
def slowed(replica: OwnMySql) -> Iterator[None]:
    """Let a replica run for a part of the time only: what is sent to it fills the buffers of its connection."""

    def slow() -> None:
        replica.process.send_signal(signal.SIGSTOP)
        time.sleep(0.8)
        replica.process.send_signal(signal.SIGCONT)
        time.sleep(0.2)

    with repeated(slow):
        yield


@contextlib.contextmanager
def repeated(action: Callable[[], None]) -> Iterator[None]:
    """Do something again and again in a thread, until the block ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            action()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def peak_megabytes(process: int) -> float:
    """Return the most memory that a process had."""
    line = next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
