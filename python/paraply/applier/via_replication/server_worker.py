"""A worker of the target's own applier, as the run shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.observe.counters import WorkerCounters
from paraply.observe.worker_state import APPLYING, IDLE

if TYPE_CHECKING:
    from paraply.applier.schedule.job_list import Job
    from paraply.targets.mysql.replication.common import ChannelWorker

__all__ = ["ServerWorker"]


class ServerWorker:
    """A worker of the server's applier, as the run's counters show it."""

    job: Job | None = None

    def __init__(self, number: int) -> None:
        self.counters = WorkerCounters(number)

    def show(self, worker: ChannelWorker) -> None:
        """Copy the worker's state on the server into the counters."""
        counters = self.counters
        counters.connection_id = worker.connection_id or counters.connection_id  # a stopping worker has none
        counters.gtid, counters.tries = worker.applying or None, worker.retries
        counters.state = APPLYING if worker.busy else IDLE
        counters.last_gtid = worker.last or None
