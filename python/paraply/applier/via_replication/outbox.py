"""Transactions on their way to a replica, sent or not, until they are known to be committed."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed
from paraply.runtime import runtime

if TYPE_CHECKING:
    from paraply._native import GtidSet
    from paraply.applier.schedule.job_list import Job

__all__ = ["DomainOutbox", "Outbox", "Sending"]

MOST_JOBS = 16 * 1024
MOST_BYTES = 64 * 1024 * 1024
_SENT_AT_ONCE = 256
_BYTES_AT_ONCE = 4 * 1024 * 1024


def gtid_of(job: Job) -> str:
    """Return the GTID of a job's transaction; logs without GTIDs are refused before."""
    return job.block.first_gtid or ""


class Sending:
    """Jobs still to be sent on one connection of the replica."""

    def __init__(self, jobs: deque[Job]) -> None:
        self.jobs = jobs
        self.ended = False


class Outbox:
    """Jobs between the coordinator and the report of their commit on the replica.

    Args:
        most_jobs: Most uncommitted jobs.
        most_bytes: Most bytes of log of these jobs; a single job may be larger.
    """

    def __init__(self, most_jobs: int = MOST_JOBS, most_bytes: int = MOST_BYTES) -> None:
        self._changed = runtime.condition()
        self._most_jobs = most_jobs
        self._most_bytes = most_bytes
        self._jobs: deque[Job] = deque()
        self._bytes = 0
        self._sending: Sending | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: Job) -> bool:
        """Append a job; waits for free space.

        Returns:
            False if no more jobs are accepted.
        """
        with self._changed:
            while not self._closed and self._jobs and not self._takes(job.block.bytes):
                self._changed.wait()
            if self._closed:
                return False
            self._jobs.append(job)
            self._bytes += job.block.bytes
            if self._sending is not None:
                self._sending.jobs.append(job)
                if len(self._sending.jobs) == 1:
                    self._changed.notify_all()
            return True

    def _takes(self, size: int) -> bool:
        return len(self._jobs) < self._most_jobs and self._bytes + size <= self._most_bytes

    def begin(self, received: GtidSet) -> Sending:
        """Begin to send on a new connection of the replica, and end the previous one.

        Args:
            received: Transactions that the replica has committed, or whole in its relay log.
        """
        with self._changed:
            if self._sending is not None:
                self._sending.ended = True
            jobs = (job for job in self._jobs if gtid_of(job) not in received)
            sending = self._sending = Sending(deque(jobs))
            sending.ended = self._closed
            self._changed.notify_all()
            return sending

    def take(self, sending: Sending, seconds: float) -> list[Job] | None:
        """Return the next jobs to send; waits for some.

        Returns:
            None if nothing more may be sent on this connection; an empty list after that time.
        """
        with self._changed:
            if not sending.jobs and not sending.ended:
                self._changed.wait_for(lambda: sending.jobs or sending.ended, seconds)
            if sending.ended:
                return None
            taken: list[Job] = []
            size = 0
            while sending.jobs and len(taken) < _SENT_AT_ONCE and (not taken or size < _BYTES_AT_ONCE):
                job = sending.jobs.popleft()
                taken.append(job)
                size += job.block.bytes
            return taken

    def oldest(self) -> Job | None:
        """Return the oldest job that is not known to be committed."""
        with self._changed:
            return self._jobs[0] if self._jobs else None

    def newest_gtid(self) -> str | None:
        """Return the GTID of the newest job."""
        with self._changed:
            return self._jobs[-1].block.first_gtid if self._jobs else None

    def committed(self, executed: GtidSet, *, exact: bool = True) -> list[Job]:  # noqa: ARG002
        """Remove and return the committed jobs, oldest first, up to the first uncommitted one.

        Args:
            executed: Transactions that the replica has committed.
            exact: True if it must have them from this run, as far as the run can know that.
        """
        done: list[Job] = []
        with self._changed:
            while self._jobs and gtid_of(self._jobs[0]) in executed:
                job = self._jobs.popleft()
                self._bytes -= job.block.bytes
                done.append(job)
            if done:
                self._changed.notify_all()
        return done

    def close(self) -> None:
        """Accept and send no more jobs."""
        with self._changed:
            self._closed = True
            if self._sending is not None:
                self._sending.ended = True
            self._changed.notify_all()


class DomainOutbox(Outbox):
    """Jobs of MariaDB, all of one domain at a time; a position names the last committed one.

    The replica gets every uncommitted job on each new connection, because it keeps no relay log from one to the next.
    """

    def __init__(self, most_jobs: int = MOST_JOBS, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(most_jobs, most_bytes)
        self._numbers: dict[str, int] = {}
        #: The last known transaction of each domain.
        self._known: dict[str, str] = {}

    def put(self, job: Job) -> bool:
        """Append a job; waits for free space."""
        self._numbers[gtid_of(job)] = job.number
        return super().put(job)

    def begin(self, received: GtidSet) -> Sending:
        """Begin to send on a new connection of the replica, and end the previous one."""
        return super().begin(type(received)(""))

    def committed(self, executed: GtidSet, *, exact: bool = True) -> list[Job]:
        """Remove and return the committed jobs, oldest first.

        Raises:
            ApplyFailed: The position is at a transaction that this run has not sent: somebody else applies in the domain.
        """
        oldest = self.oldest()
        if oldest is None:
            return []
        domain = gtid_of(oldest).partition("-")[0]
        position = next((gtid for gtid in str(executed).split(",") if gtid.partition("-")[0] == domain), "")
        number = self._numbers.get(position)
        if number is None:
            if exact and self._known.setdefault(domain, position) != position:
                raise ApplyFailed(
                    f"the target's gtid_slave_pos came to {position}, which this run has not sent: somebody else applies transactions of"
                    f" domain {domain} there, so that it is not known what is applied; end that, and compare the tables with the source's"
                )
            return []
        self._known[domain] = position
        done: list[Job] = []
        with self._changed:
            while self._jobs and self._jobs[0].number <= number:
                job = self._jobs.popleft()
                self._bytes -= job.block.bytes
                self._numbers.pop(gtid_of(job), None)
                done.append(job)
            if done:
                self._changed.notify_all()
        return done
