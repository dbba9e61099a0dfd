"""Monitoring of a run: rate, progress estimate, timeline, published status."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from paraply.errors import Stopped
from paraply.observe.counters import Counters
from paraply.observe.progress_estimate import ProgressEstimate, StopFinder
from paraply.observe.publisher import Publisher
from paraply.observe.snapshot import RateMeter, take_counters
from paraply.observe.status_json import status_object
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paraply._native import GtidSet
    from paraply.logs.feed import Feed
    from paraply.logs.file_order import LogFile
    from paraply.logs.stop_point import StopPoint
    from paraply.observe.outage import Outage
    from paraply.observe.parts import BatchSize, ObservedRun, ObservedWorker, Pausable
    from paraply.observe.status_json import RunIdentity
    from paraply.observe.timeline import Timeline
    from paraply.targets.protocol import Target

__all__ = ["RunMonitor"]

_log = logging.getLogger("paraply.applier")


class RunMonitor:
    """Monitor of one run, which collects its counters and distributes them.

    Args:
        identity: The run's identity.
        files: Its logs.
        stop: The stop, if one was asked for.
        on_progress: Called with the counters at every tick; after an error it is not called any more.
        timeline: Timeline of the run, if there is one.
        receiver: Called with the executed GTIDs if a relay log is followed; returns the receiver's part of the status.
        live: True if a relay log is followed, whose end is unknown.
    """

    def __init__(
        self,
        identity: RunIdentity,
        files: Sequence[LogFile],
        stop: StopPoint | None,
        on_progress: Callable[[Counters], None] | None,
        timeline: Timeline | None,
        receiver: Callable[[GtidSet], Mapping[str, Any]] | None = None,
        *,
        live: bool = False,
    ) -> None:
        self.identity = identity
        self._receiver = receiver
        self._estimate = ProgressEstimate(identity.logs) if not live else None
        self._finder = StopFinder(self._estimate, stop, files) if self._estimate is not None and stop is not None else None
        self._on_progress = on_progress
        self._timeline = timeline
        self._meter = RateMeter()
        self._publisher: Publisher | None = None
        self._gate: Pausable | None = None
        self._parts: tuple[ObservedRun, Feed, Sequence[ObservedWorker], BatchSize] | None = None

    def watch(self, run: ObservedRun, feed: Feed, workers: Sequence[ObservedWorker], merge: BatchSize) -> None:
        """Set the parts of the run, before its first block."""
        self._parts = run, feed, workers, merge
        run.timeline = self._timeline
        if self._timeline is not None:
            for worker in workers:
                self._timeline.name_track(worker.counters.number + 1, f"worker {worker.counters.number + 1}")

    def start(self, target: Target, gate: Pausable | None = None, outage: Outage | None = None) -> None:
        """Start to search for the stop, and to publish the status if the target has a status row.

        Args:
            target: The open target.
            gate: Gets each pause that is noted in the target; the first one before this method returns.
            outage: Reports the loss of the target.
        """
        self._gate = gate
        if self._finder is not None:
            self._finder.start()
        self._publisher = Publisher(target.open_status_row, self.status, gate.set_pause if gate is not None else None, outage)

        self._publisher.start()

    def counters(self) -> Counters:
        """Return a snapshot of the run. May be called from any thread at any time."""
        if self._parts is None:
            return Counters()
        return take_counters(*self._parts, self._meter.rate, self._estimate)

    def status(self) -> dict[str, Any]:
        """Return the run as a JSON object."""
        return status_object(self.identity, self.counters()) | {"paused": self.paused()} | self._received()

    def paused(self) -> str | None:
        """Return ``pausing`` while transactions that were handed out are still applied, then ``paused``; None without a pause."""
        if self._gate is None or self._gate.pause is None or self._parts is None:
            return None
        run = self._parts[0]
        return "pausing" if run.handed is not None and run.order.low_water_mark < run.handed.id else "paused"

    def _received(self) -> dict[str, Any]:
        if self._receiver is None or self._parts is None:
            return {}
        return {"receiver": dict(self._receiver(self._parts[0].executed()))}

    def tick(self) -> None:
        """Sample the rates and report progress; called about four times a second by one thread."""
        if self._parts is None:
            return
        run, feed, *_ = self._parts
        self._meter.add(runtime.perf_counter(), run.transactions)
        if self._estimate is not None:
            self._estimate.sample(run, feed)
        if self._timeline is None and self._on_progress is None:
            return
        counters = self.counters()
        if self._timeline is not None:
            self._timeline.counters(counters)
        if self._on_progress is not None:
            try:
                self._on_progress(counters)
            except Exception:
                self._on_progress = None
                _log.exception("on_progress failed and is not called any more")

    def end(self, error: BaseException | None) -> None:
        """End the monitoring, and publish the outcome of the run."""
        if self._finder is not None:
            self._finder.end()
        self.tick()
        timeline = self._timeline
        if timeline is not None and timeline.problem is not None and self._parts is not None:
            self._parts[0].note(f"the timeline is not complete: {timeline.problem}")
        if self._publisher is not None:
            outcome = "done" if error is None else "stopped" if isinstance(error, Stopped) else "failed"
            self._publisher.end(
                status_object(self.identity, self.counters(), outcome=outcome, error=error) | {"paused": None} | self._received()
            )
