"""``serve`` in this process, and receivers that read from it, over logs of random histories."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from unit.stamp_history import DDL, Transaction, random_history, write_log

from paraply import open_log
from paraply._native import GtidSet, RelayLog, ReplicaConnection
from paraply.errors import ParaplyError, Stopped
from paraply.replication.renumbering import RenumberOptions
from paraply.replication.retention import Retention
from paraply.replication.serving import LogService, ServeOptions, served_logs

SECONDS = 20
Numbers = list[tuple[int, int]]


def numbers_of(*paths: Path | str) -> Numbers:
    """Return both numbers of each transaction."""
    return [(one.last_committed or 0, one.sequence_number or 0) for one in open_log(paths)]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def is_ready(service: LogService, *, stamped: bool) -> bool:
    """Return True if a service listens, and gives numbers if it shall."""
    return service.address is not None and (service.status()["stamp"] is not None) == stamped


@contextlib.contextmanager
def running(
    folder: Path,
    *,
    workers: int = 8,
    schema: Path | None = None,
    relay_log: bool = False,
    stamped: bool = True,
    retention: Retention | None = None,
    ends: bool = False,
) -> Iterator[LogService]:
    """A running service, which is stopped after the block; with ``ends`` it has to end by itself then."""
    numbers = RenumberOptions(workers, schema, folder if relay_log else None) if stamped else None
    service = LogService(
        ServeOptions(folder, served_logs(folder, []), ("127.0.0.1", 0), "repl", "secret", retention=retention, renumber=numbers)
    )
    ended: list[BaseException] = []

    def run() -> None:
        try:
            service.run()
        except ParaplyError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: bool(ended) or is_ready(service, stamped=stamped), "the service listens")
        if ended:
            raise ended[0]
        yield service
        if ends:
            thread.join(SECONDS)
            assert not thread.is_alive(), "the service has not ended"
    finally:
        service.stop()
        thread.join()
    if not isinstance(ended[0], Stopped):
        raise ended[0]


class Receiving:
    """A relay log that a receiver fills, as a replica does.

    Args:
        service: The running service.
        folder: Folder of the relay log.
        received: GTIDs that are not asked for.
        place: File and position to begin at, in place of GTIDs.
        size: Size at which the relay log begins a new file.
        uuid: UUID of the replica; empty for none.
    """

    def __init__(
        self, service: LogService, folder: Path, received: str, place: tuple[str, int] | None, size: int = 1 << 30, uuid: str = ""
    ) -> None:
        assert service.address is not None
        self._connection = ReplicaConnection(*service.address, "repl", "secret", tls={"mode": "disabled"})
        self._connection.execute(f"SET @source_binlog_checksum = 'CRC32', @source_heartbeat_period = 100000000, @replica_uuid = '{uuid}'")
        self.relay = RelayLog(folder, max_bytes=size)
        self._received, self._place = GtidSet(received), place
        self._ended: list[ParaplyError] = []
        self.thread = threading.Thread(target=self._receive)
        self.thread.start()

    def _receive(self) -> None:
        try:
            if self._place is None:
                self._connection.receive(self.relay, 7, behind=self._received)
            else:
                self._connection.receive(self.relay, 7, file=self._place[0], position=self._place[1])
        except ParaplyError as error:
            self._ended.append(error)

    def wait_for(self, count: int) -> None:
        """Wait until so many transactions have come; raise the error that ended it before."""

        def came() -> bool:
            if self.relay.status().transactions >= count:
                return True
            if self._ended:
                raise self._ended[0]
            return False

        wait_until(came, f"{count} transactions")


@contextlib.contextmanager
def receiving(
    service: LogService, folder: Path, received: str = "", place: tuple[str, int] | None = None, size: int = 1 << 30, uuid: str = ""
) -> Iterator[Receiving]:
    """A receiver that is stopped at the end."""
    receiver = Receiving(service, folder, received, place, size, uuid)
    try:
        yield receiver
    finally:
        receiver.relay.stop_receiving()
        receiver.thread.join()
        receiver.relay.close()


def received_numbers(
    service: LogService, folder: Path, count: int, received: str = "", place: tuple[str, int] | None = None, uuid: str = ""
) -> Numbers:
    """Return the numbers of the transactions that a replica gets, once there are so many."""
    with receiving(service, folder, received, place, uuid=uuid) as receiver:
        receiver.wait_for(count)
        return numbers_of(*receiver.relay.files)


def make_logs(folder: Path, seed: int = 1) -> tuple[list[Path], list[Transaction]]:
    """Write a history as a source's log of two files."""
    folder.mkdir()
    history = random_history(random.Random(seed), 90)
    first = write_log(folder / "binlog.000001", history[:50])
    second = write_log(folder / "binlog.000002", history[50:], ddl=False, first=len(DDL) + 51)
    return [first, second], history


def make_relay_log(folder: Path, seed: int = 5) -> tuple[list[Path], list[Transaction]]:
    """Receive a source's log of two files into a relay log of many; return the source's files and the history."""
    logs, history = make_logs(folder.parent / f"{folder.name}-source", seed)
    with running(logs[0].parent, stamped=False) as service, receiving(service, folder, size=4096) as receiver:
        receiver.wait_for(len(DDL) + len(history))
    return logs, history
