"""The cost model of simulated appliers."""

from __future__ import annotations

from dataclasses import dataclass, field

from paraply._native import Costs
from paraply.analysis.analyze.capacity import Capacity

__all__ = ["CostModel"]


@dataclass(frozen=True, slots=True)
class CostModel:
    """Time that a worker needs for a transaction.

    The defaults are those of a server with durable commits on a disk that needs about a tenth of a millisecond for a forced write.

    Attributes:
        transaction_us: Microseconds for each transaction besides its rows.
        row_us: Microseconds for each row.
        byte_ns: Nanoseconds for each byte in the log.
        commit_us: Microseconds for each commit.
        ddl_us: Microseconds for each DDL statement; it counts for longer where the log says that it took a second or more.
        measured_on: Server on which the times were measured; None for the defaults.
        capacity: Slow-down of the server by the number of busy workers; by default none, as if it had a processor for each worker.
    """

    transaction_us: float = 60.0
    row_us: float = 15.0
    byte_ns: float = 4.0
    commit_us: float = 400.0
    ddl_us: float = 10_000.0
    measured_on: str | None = None
    capacity: Capacity = field(default_factory=Capacity)

    def native(self) -> Costs:
        """Return the model in the integers of the simulation.

        >>> CostModel().native().commit_ns
        400000
        """
        return Costs(
            transaction_ns=round(self.transaction_us * 1000),
            row_ns=round(self.row_us * 1000),
            byte_ps=round(self.byte_ns * 1000),
            commit_ns=round(self.commit_us * 1000),
            ddl_ns=round(self.ddl_us * 1000),
        )
