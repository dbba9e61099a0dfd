"""Supervision of a run: lock watchdog, stop requests, progress reports."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from paraply.cpu_time import thread_counted
from paraply.errors import Stopped
from paraply.observe.worker_state import COMMITTING
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply.applier.execute.lock_watchdog import LockWatchdog
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.execute.worker import Worker
    from paraply.applier.schedule.job_list import Job
    from paraply.logs.feed import Feed

__all__ = ["Supervisor", "stopped_error"]

_TICK = 0.005
_PROGRESS_SECONDS = 0.25
_INTERRUPT_SECONDS = 0.2
_RESCUE_SECONDS = 1.0
_CONCURRENCY_SECONDS = 0.25


def stopped_error() -> Stopped:
    """Return the error that ends a stopped run."""
    return Stopped("stopped on request at a transaction boundary; the same command continues from here")


def _interrupt_all(workers: Sequence[Worker]) -> None:
    """End the running statements except commits, whose outcome would then be unknown."""
    for worker in workers:
        if worker.job is not None and worker.counters.state != COMMITTING:
            worker.interrupt()


class Supervisor:
    """Supervisor of a run in threads of its own, which wait for neither workers nor coordinator.

    Progress has a thread of its own, because its callback may be slow and the watchdog must not be.

    Args:
        run: The run.
        withdraw: Ends the distribution of jobs, and returns those that no worker has begun.
        feed: The reader stage.
        workers: The workers.
        watchdog: The lock watchdog, called at every tick.
        stop_requests: Returns the number of stop requests so far.
        on_tick: Called about four times a second; must not raise.
    """

    def __init__(
        self,
        run: RunState,
        withdraw: Callable[[], Sequence[Job]],
        feed: Feed,
        workers: Sequence[Worker],
        watchdog: LockWatchdog,
        stop_requests: Callable[[], int],
        on_tick: Callable[[], None],
    ) -> None:
        self._run = run
        self._withdraw = withdraw
        self._feed = feed
        self._workers = workers
        self._watchdog = watchdog
        self._stop_requests = stop_requests
        self._on_tick = on_tick
        self._stops_seen = 0
        self._next_interrupt = 0.0
        self._next_rescue = runtime.perf_counter() + _RESCUE_SECONDS
        self._next_adjustment = runtime.perf_counter() + _CONCURRENCY_SECONDS
        self._ended = runtime.event()
        self._threads = [
            runtime.thread(self._loop, name="paraply-watchdog"),
            runtime.thread(self._report, name="paraply-progress"),
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End the threads, and wait for their end."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    @thread_counted("watcher")
    def _report(self) -> None:
        while not self._ended.wait(_PROGRESS_SECONDS):
            self._on_tick()

    @thread_counted("watcher")
    def _loop(self) -> None:
        while not self._ended.wait(_TICK):
            try:
                self._tick()
            except Exception as error:  # the run must not lose its watchdog silently
                logging.getLogger("paraply.applier").exception("the watchdog failed")
                self._run.abort(error)
                self._feed.stop()
                return

    def _tick(self) -> None:
        self._stop_if_asked()
        now = runtime.perf_counter()
        if now >= self._next_rescue:
            self._next_rescue = now + _RESCUE_SECONDS
            for worker in self._workers:
                worker.rescue()
        if now >= self._next_adjustment:
            self._next_adjustment = now + _CONCURRENCY_SECONDS
            self._run.adjust_concurrency()
        if self._run.order.failure is not None:
            if now >= self._next_interrupt:
                self._next_interrupt = now + _INTERRUPT_SECONDS
                self._feed.stop()
                _interrupt_all(self._workers)
        else:
            self._watchdog.check()
            self._run.relax()

    def _stop_if_asked(self) -> None:
        """Carry out stop requests: the first lets blocks in progress finish, the second rolls them back."""
        requests = self._stop_requests()
        if requests >= 1 and self._stops_seen == 0:
            self._stops_seen = 1
            self._feed.stop()
            for job in self._withdraw():
                self._run.order.withdraw(job.ticket)
        if requests >= 2 and self._stops_seen == 1:
            self._stops_seen = 2
            self._run.abort(stopped_error())
