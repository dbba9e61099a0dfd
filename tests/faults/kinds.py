"""The faults: how each begins and ends, and how a command may end because of it."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pymysql

from tests.faults.servers import Target

__all__ = ["FAULTS", "LOG_FAULTS", "Fault", "LogFault"]

ServerErrors = (pymysql.MySQLError, psycopg.Error, OSError)


@dataclass(frozen=True)
class Fault:
    """One that strikes while a command runs.

    Attributes:
        name: As tables print it.
        strike: Called with the target, the running command and the moments' source; returns when it is over.
    """

    name: str
    strike: Callable[[Target, subprocess.Popen[str], random.Random], None]


@dataclass(frozen=True)
class LogFault:
    """One that a command finds in its log.

    Attributes:
        name: As tables print it.
        spoil: Gives the damaged bytes of a log.
        grows: True if the log's rest comes while the command runs.
    """

    name: str
    spoil: Callable[[bytes, random.Random], bytes]
    grows: bool = False


def kill_apply(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    process.send_signal(signal.SIGKILL)


def kill_server(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    target.kill()
    time.sleep(draw.uniform(0, 1))
    target.ensure_up()


def drop_connections(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    target.drop_connections()


def interrupt_statements(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    target.interrupt_statements()


def lock_storm(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    """Several sessions of others lock what the replay writes, one after the other."""

    def hold(seconds: float) -> None:
        with contextlib.suppress(*ServerErrors):
            target.hold_locks(seconds)

    holders = [threading.Thread(target=hold, args=(draw.uniform(0.1, 1.5),)) for _ in range(3)]
    for holder in holders:
        holder.start()
        time.sleep(draw.uniform(0, 0.3))
    for holder in holders:
        holder.join()


def read_only(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    target.read_only(True)
    try:
        time.sleep(draw.uniform(0.1, 1))
    finally:
        target.read_only(False)


def full_disk(target: Target, process: subprocess.Popen[str], draw: random.Random) -> None:
    target.fill_disk()
    try:
        time.sleep(draw.uniform(0.2, 2))
    finally:
        target.free_disk()
    target.ensure_up()


def torn(content: bytes, draw: random.Random) -> bytes:
    """Ends anywhere, most often inside an event."""
    return content[: draw.randrange(len(content) // 10, len(content))]


def flipped(content: bytes, draw: random.Random) -> bytes:
    """One bit is another one; not in the file's first events, without which nothing begins."""
    at = draw.randrange(2000, len(content))
    return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]


FAULTS = (
    Fault("killed apply", kill_apply),
    Fault("killed server", kill_server),
    Fault("dropped connections", drop_connections),
    Fault("interrupted statements", interrupt_statements),
    Fault("lock storm", lock_storm),
    Fault("read-only target", read_only),
    Fault("full disk", full_disk),
)
LOG_FAULTS = (LogFault("truncated log", torn), LogFault("corrupted log", flipped), LogFault("growing log", torn, grows=True))


def grow(path: Path, content: bytes, process: subprocess.Popen[str], draw: random.Random) -> None:
    """Writes a log's rest while a command reads it, as a receiver would."""
    with path.open("ab") as file:
        while (size := file.tell()) < len(content) and process.poll() is None:
            file.write(content[size : size + draw.randrange(1, 1 << 16)])
            file.flush()
            time.sleep(0.002)
        file.write(content[file.tell() :])
