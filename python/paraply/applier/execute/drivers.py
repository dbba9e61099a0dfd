"""Drivers of a run: one connection inline, workers in threads, or the target's own replication."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from paraply.applier.execute.lock_watchdog import LockWatchdog
from paraply.applier.execute.supervisor import Supervisor
from paraply.applier.schedule.coordinator import Executor, InlineExecutor, ThreadExecutor
from paraply.cpu_time import thread_counted
from paraply.errors import ParaplyError
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply.applier.execute.lock_watchdog import Patience
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.execute.split import PartWorkers
    from paraply.applier.execute.worker import Worker
    from paraply.applier.schedule.coordinator import Coordinator
    from paraply.applier.schedule.job_list import Job, JobList
    from paraply.logs.feed import Feed
    from paraply.observe.counters import WorkerCounters

__all__ = ["Driver", "InlineDriver", "ThreadDriver", "WorkerView"]


class WorkerView(Protocol):
    """One worker as the run's counters show it."""

    @property
    def job(self) -> Job | None:
        """Current job."""

    @property
    def counters(self) -> WorkerCounters:
        """Counters of the work done."""


class Driver(Protocol):
    """A way to execute a run: hands the coordinator an executor and supervises it."""

    @property
    def executor(self) -> Executor:
        """Executor of the jobs."""

    @property
    def workers(self) -> Sequence[WorkerView]:
        """Workers as the run's counters show them."""

    def coordinate(self, coordinator: Coordinator) -> bool:
        """Run to the end; return False if the run was stopped before it.

        Raises:
            ParaplyError: As ``Coordinator.coordinate``; the run's commit order holds the root cause of a failure.
        """


class InlineDriver:
    """Driver with one worker in the coordinator's thread (R22), and a supervisor thread.

    The calling thread only waits, so that signals are handled while a statement runs.

    Args:
        run: The run.
        feed: The reader stage.
        worker: The only worker.
        patience: Waiting times before the target is asked for the blockers of its transaction.
        stop_requests: Returns the number of stop requests so far.
        on_tick: Called about four times a second; must not raise.
    """

    def __init__(
        self,
        run: RunState,
        feed: Feed,
        worker: Worker,
        patience: Patience | None,
        stop_requests: Callable[[], int],
        on_tick: Callable[[], None],
    ) -> None:
        self._run = run
        self.workers = (worker,)
        self.executor = InlineExecutor(run, worker)
        if stop_requests():
            self.executor.stop()
        self._supervisor = Supervisor(
            run, self.executor.stop, feed, self.workers, LockWatchdog(run, self.workers, patience), stop_requests, on_tick
        )

    def coordinate(self, coordinator: Coordinator) -> bool:
        """Run to the end; return False if the run was stopped before it."""

        def work() -> bool:
            with closing(self.workers[0]) as worker, thread_counted("worker"):
                worker.open()
                return coordinator.coordinate()

        self._supervisor.start()
        try:
            with runtime.pool(1, "paraply-inline") as thread:
                done = thread.submit(work)
                try:
                    return done.result()
                except BaseException as error:
                    if not done.done():  # Ctrl-C without a handler: nothing more is committed
                        self._run.abort(error)
                    raise
        finally:
            self._supervisor.end()


class ThreadDriver:
    """Driver with workers in threads, and a supervisor thread.

    Args:
        run: The run.
        jobs: Its job list.
        feed: The reader stage.
        workers: The workers.
        patience: Waiting times before the target is asked for the blockers of the oldest transaction.
        stop_requests: Returns the number of stop requests so far.
        on_tick: Called about four times a second; must not raise.
        split: Part workers for large transactions, if the policy splits them.
    """

    def __init__(
        self,
        run: RunState,
        jobs: JobList,
        feed: Feed,
        workers: Sequence[Worker],
        patience: Patience | None,
        stop_requests: Callable[[], int],
        on_tick: Callable[[], None],
        split: PartWorkers | None,
    ) -> None:
        self._run = run
        self._jobs = jobs
        self._feed = feed
        self.workers = workers
        self._supervisor = Supervisor(run, jobs.stop, feed, workers, LockWatchdog(run, workers, patience), stop_requests, on_tick)
        self._split = split
        self.executor = ThreadExecutor(jobs)

    def coordinate(self, coordinator: Coordinator) -> bool:
        """Run to the end; return False if the run was stopped before it."""
        threads = [
            runtime.thread(_loop, args=(worker, self._jobs), name=f"paraply-worker-{worker.counters.number}") for worker in self.workers
        ]
        self._supervisor.start()
        for thread in threads:
            thread.start()
        try:
            with thread_counted("coordinator"):
                return coordinator.coordinate()
        except ParaplyError:
            raise
        except BaseException as error:  # a defect, or Ctrl-C without a handler: nothing more is committed
            self._run.abort(error)
            raise
        finally:
            self._feed.stop()
            self._jobs.close()
            for thread in threads:
                thread.join()
            self._supervisor.end()
            self._feed.join()
            if self._split is not None:
                self._split.close()


def _loop(worker: Worker, jobs: JobList) -> None:
    """Let a worker process jobs; the body of its thread."""
    with thread_counted("worker"):
        worker.loop(jobs)
