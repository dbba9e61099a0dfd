"""The receiver and a source in memory, in a simulation: connections break anywhere, and no time passes in the test."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from simulation.threads import Simulation
from unit.log_events import MAGIC, events_of

from paraply._native import GtidSet, LogReader, RelayLog
from paraply.errors import ConnectionFailed, ConnectionLost, ServerError
from paraply.replication import Receiver
from paraply.replication.receiver import permanent
from paraply.runtime import Event, runtime

if TYPE_CHECKING:
    from paraply.replication.protocol import SourceConnection

LOG = Path(__file__).parents[2] / "rust" / "binlog" / "tests" / "data" / "mysql-9.7.000001"


def transactions(reader: LogReader) -> list[tuple[str | None, int, int]]:
    """Return GTID, number of rows and commit time of everything that the reader has now."""
    found = []
    while (batch := reader.next_batch()) is not None and len(batch):
        found += [(transaction.gtid, transaction.rows, transaction.committed_us or 0) for transaction in batch]
    return found


@dataclass
class MemorySource:
    """A source of one file, whose connections break at random: before they are made, or after some event."""

    chance: random.Random
    log: Path = LOG
    mariadb: bool = False
    timeout: float = 30.0
    refusal: ServerError | None = None
    connects: list[float] = field(default_factory=list)
    prepared: list[str] = field(default_factory=list)
    sent: Event = field(default_factory=lambda: runtime.event())

    def connect(self) -> SourceConnection:
        self.connects.append(runtime.monotonic())
        if self.chance.random() < 0.3:
            raise ConnectionFailed("the source is not available")
        return MemoryConnection(self)

    def semi_sync_refusal(self) -> str | None:
        return None

    def prepare(self, connection: SourceConnection, folder: Path, received: GtidSet | None, *, semi_sync: bool = False) -> None:
        self.prepared.append(str(received))


class MemoryConnection:
    def __init__(self, source: MemorySource) -> None:
        self.source = source

    def execute(self, sql: str) -> None:
        raise AssertionError("the source of this test prepares nothing")

    def receive(self, relay: RelayLog, server_id: int, *, behind: GtidSet | None = None, **_: object) -> None:
        if self.source.refusal is not None:
            raise self.source.refusal
        assert behind is not None
        content = self.source.log.read_bytes()
        wanted: list[bytes] = [events_of(content)[0]]
        reader = LogReader([str(self.source.log)])
        while (batch := reader.next_batch()) is not None:
            for transaction in batch:
                if transaction.gtid not in behind:
                    wanted += events_of(bytes(MAGIC) + content[transaction.offset : transaction.end_offset])
        until = self.source.chance.randint(0, 2 * len(wanted))
        for number, event in enumerate(wanted):
            if number == until:
                relay.interrupted()
                raise ConnectionLost("the connection broke")
            relay.append(event, checksums=True)
            runtime.sleep(0.001)
        self.source.sent.set()
        raise ConnectionLost("the source ended the connection")

    def close(self) -> None:
        pass


def receive(seed: int, folder: Path) -> tuple[list[str], MemorySource]:
    """Receive everything, and return the threads' steps and the source."""
    simulation = Simulation(seed)

    def body() -> MemorySource:
        source = MemorySource(random.Random(seed))
        relay = RelayLog(folder, max_bytes=4096)
        receiver = Receiver(source, relay, server_id=77)
        receiver.start()
        source.sent.wait()
        receiver.stop()
        assert receiver.failure is None
        assert transactions(relay.reader()) == transactions(LogReader([str(LOG)]))
        relay.close()
        return source

    source = simulation.run(body)
    return simulation.trace, source


@pytest.mark.parametrize("seed", range(10))
def test_r28_whatever_breaks_everything_is_received_once(seed: int, tmp_path: Path) -> None:
    trace, source = receive(seed, tmp_path / "one")
    assert receive(seed, tmp_path / "two")[0] == trace
    waits = [later - earlier for earlier, later in zip(source.connects, source.connects[1:], strict=False)]
    assert all(0.25 <= wait < 6 for wait in waits)


def test_a_source_that_refuses_its_log_ends_the_receiver(tmp_path: Path) -> None:
    def body() -> str:
        source = MemorySource(random.Random(0), refusal=ServerError("the source purged required binary logs", 1236))
        relay = RelayLog(tmp_path)
        receiver = Receiver(source, relay, server_id=77)
        receiver.start()
        while receiver.failure is None:
            runtime.sleep(0.1)
        receiver.stop()
        assert transactions(relay.reader()) == []
        return str(receiver.failure)

    assert "--start-after" in Simulation(0).run(body)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "replica has more GTIDs than the source has, using the source's SERVER_UUID.",
            "the source was reset, or lost what",
        ),
        ("A replica with the same server_uuid/server_id as this replica has connected to the source", "--server-id"),
        ("A slave with the same server_uuid/server_id as this slave has connected to the master", "--server-id"),
        ("Requested slave GTID state not found in binlog: 0-1-5, which is not in the master's binlog", "this source never had"),
        ("Cannot replicate because the source purged required binary logs", "purged"),
    ],
)
def test_what_error_1236_advises(message: str, advice: str) -> None:
    error = permanent(ServerError(message, 1236))
    assert error is not None
    assert advice in error.message
    assert ("--server-id" in error.message) == (advice == "--server-id")
