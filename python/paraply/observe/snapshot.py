"""Snapshots and reports of a run."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply.observe.counters import ApplyReport, Counters, WorkerCounters
from paraply.observe.worker_state import APPLYING, COMMITTING, IDLE, RESTING, WAITING_DEPENDENCY, WAITING_TURN
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.logs.feed import Feed
    from paraply.observe.parts import BatchSize, ObservedRun, ObservedWorker
    from paraply.observe.progress_estimate import ProgressEstimate

__all__ = ["RateMeter", "make_report", "take_counters"]


class RateMeter:
    """Transactions per second over the last seconds.

    Args:
        seconds: Length of the period.

    >>> meter = RateMeter()
    >>> meter.add(0.0, 0), meter.add(2.0, 500)
    (None, None)
    >>> meter.rate
    250.0
    """

    def __init__(self, seconds: float = 5.0) -> None:
        self._seconds = seconds
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now: float, transactions: int) -> None:
        """Add a sample of the count."""
        self._samples.append((now, transactions))
        while len(self._samples) > 2 and self._samples[0][0] < now - self._seconds:
            self._samples.popleft()

    @property
    def rate(self) -> float:
        """Transactions per second; 0 before there are two samples."""
        samples = list(self._samples)
        if len(samples) < 2:
            return 0.0
        (begin, before), (end, after) = samples[0], samples[-1]
        return (after - before) / (end - begin) if end > begin else 0.0


def take_counters(
    run: ObservedRun, feed: Feed, workers: Sequence[ObservedWorker], merge: BatchSize, rate: float, estimate: ProgressEstimate | None = None
) -> Counters:
    """Return a snapshot, without making any thread wait."""
    counters = tuple(_of_worker(worker) for worker in workers)
    states = [counter.state for counter in counters]
    last, handed = run.last_block, run.handed
    committed_at = last.committed_at if last is not None else None
    done = estimate.done(run, feed) if estimate is not None else 0
    return Counters(
        seconds=runtime.perf_counter() - run.started,
        read=feed.read,
        read_bytes=feed.read_bytes,
        queue=len(run.jobs) if run.jobs is not None else 0,
        backlog=feed.backlog,
        low_water_mark=run.order.low_water_mark,
        ahead=run.order.ahead,
        transactions=run.transactions,
        commits=run.commits,
        skipped=run.skipped,
        merged=run.merged,
        rows=run.rows,
        running=states.count(APPLYING) + states.count(COMMITTING),
        waiting_dependency=states.count(WAITING_DEPENDENCY),
        waiting_input=states.count(IDLE),
        resting=states.count(RESTING),
        waiting_turn=states.count(WAITING_TURN),
        retries=sum(counter.retries for counter in counters),
        rollbacks=sum(counter.rollbacks for counter in counters),
        reconnects=sum(counter.reconnects for counter in counters),
        serial=run.jobs is not None and run.jobs.serial,
        merge=merge.current,
        rate=rate,
        last_gtid=last.last_gtid if last is not None else None,
        committed_at=committed_at,
        lag=None if committed_at is None else max(0.0, runtime.now() - committed_at / 1e6),
        handed_gtid=handed.last_gtid if handed is not None else None,
        handed_committed_at=handed.committed_at if handed is not None else None,
        handed_at=run.handed_at,
        filtered=run.filtered,
        bytes_done=done,
        bytes_total=estimate.total if estimate is not None else 0,
        seconds_left=estimate.seconds_left if estimate is not None else None,
        foreign_blockers=run.foreign_blockers,
        conflicts=run.conflicts.total,
        workers=counters,
    )


def _of_worker(worker: ObservedWorker) -> WorkerCounters:
    """Return a copy of a worker's counters with its present transaction."""
    job, counters = worker.job, worker.counters
    gtid = job.block.first_gtid if job is not None else counters.gtid
    return replace(counters, waits=dict(counters.waits), gtid=gtid, committed_at=job.block.committed_at if job is not None else None)


def make_report(run: ObservedRun, feed: Feed, workers: Sequence[ObservedWorker]) -> ApplyReport:
    """Return the result of the run."""
    counters = [worker.counters for worker in workers]
    waits: dict[str, float] = {"reader": feed.wait_seconds}
    for counter in counters:
        for kind, seconds in counter.waits.items():
            waits[kind] = waits.get(kind, 0.0) + seconds
    return ApplyReport(
        transactions=run.transactions,
        commits=run.commits,
        skipped=run.skipped,
        filtered=run.filtered,
        rows=run.rows,
        merged=run.merged,
        executed=run.executed_text(),
        seconds=runtime.perf_counter() - run.started,
        retries=sum(counter.retries for counter in counters),
        rollbacks=sum(counter.rollbacks for counter in counters),
        replays=sum(counter.replays for counter in counters),
        reconnects=sum(counter.reconnects for counter in counters),
        storms=run.storm.storms,
        waits=waits,
        fallbacks=feed.fallbacks,
        notes=_notes(run),
        own_left_out=run.own_left_out,
        workers=counters,
        conflicts=run.conflicts.counts(),
        on_conflict=run.on_conflict.value if run.on_conflict is not None else "stop",
        cpu=run.cpu.cost(run.rows),
    )


def _notes(run: ObservedRun) -> list[str]:
    if not run.own_left_out:
        return list(run.notes)
    from paraply.schema.own_tables import left_out_note

    return [*run.notes, left_out_note(run.own_left_out)]
