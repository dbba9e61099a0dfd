"""The floor of a load: its statements, recorded once, and its best number of connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.bench.floor.recording import Recording, Tape, record
from paraply.bench.floor.replay import replay
from paraply.bench.peers import Measurement, Replayed, ReplayServer, Way, measure_ways

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from paraply.bench.floor.family import Family

__all__ = ["FLOOR", "FLOOR_CONNECTIONS", "Floor"]

FLOOR = "the floor"
"""Name of the replay in tables."""
FLOOR_CONNECTIONS = (1, 2, 3, 4, 8)
"""Numbers of connections, of which the best one counts."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The client of the floor for one log.

    Attributes:
        server: The server.
        family: Its family.
        recording: The statements of the log.
        databases: Databases that a replay makes.
    """

    server: ReplayServer
    family: Family
    recording: Recording
    databases: Sequence[str]

    @classmethod
    def of(cls, server: ReplayServer, family: Family, log: Path, databases: Sequence[str]) -> Floor:
        """Record the statements of a log on the emptied server.

        Raises:
            ParaplyError: The log could not be applied, or its statements cannot be repeated by the client.
        """
        server.empty(databases)
        tape = Tape()
        return cls(server, family, record(log, tape, family.target(tape), family.plan, family), databases)

    def search(self, expected: Mapping[str, int] | None, connections: Sequence[int]) -> Iterator[Measurement]:
        """Yield a replay with each number of connections.

        Args:
            expected: Checksums of the tables.
            connections: The numbers.

        Raises:
            ApplyFailed: A replay failed, or its tables differ.
        """
        ways = [Way(f"{FLOOR}, {count} connections", partial(self._replay, count)) for count in connections]
        yield from measure_ways(self.server, ways, self.databases, expected)

    def _replay(self, connections: int) -> Replayed:
        """Replay; the target's own tables are made before, and what an empty apply leaves there is not counted."""
        target = self.family.target()
        target.open(self.family.plan)
        try:
            done = replay(self.recording, lambda: self.family.connect(target), connections)
        finally:
            target.close()
        commits = sum(1 for block in self.recording.blocks if block.parts)
        return Replayed(done.seconds, self.recording.transactions, commits, connections, done.client_cpu)
