"""The counters of a run as metrics for Prometheus and other readers of OpenMetrics; needs the extra ``paraply[metrics]``.

Names follow Prometheus's rules: base units (seconds, bytes), and ``_total`` for counters. Numeric columns of MySQL's tables
``replication_applier_status_by_coordinator`` and ``_by_worker`` keep the names of those columns. GTIDs are not labels, because each
would be a time series of its own; ``/status`` shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client import Metric

    from paraply.observe.counters import Counters, WorkerCounters
    from paraply.observe.status_json import RunIdentity

__all__ = ["registry_of", "render_metrics"]

Sample = tuple["Mapping[str, object]", float]


class _Page:
    """Metrics in the order in which they are added."""

    def __init__(self) -> None:
        self.metrics: list[Metric] = []

    def gauge(self, name: str, text: str, value: float | None) -> None:
        """Add a figure that goes up and down; it is left out where it is not known."""
        if value is not None:
            self.family(name, "gauge", text, [({}, value)])

    def counter(self, name: str, text: str, value: float) -> None:
        """Add a figure that only grows; its name ends with ``_total``."""
        self.family(name, "counter", text, [({}, value)])

    def family(self, name: str, kind: str, text: str, samples: Iterable[Sample]) -> None:
        """Add figures of one name that differ in their labels; without any the name is left out."""
        listed = list(samples)
        if listed:
            labels = list(listed[0][0])
            family = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(f"paraply_{name}", text, labels=labels)
            for values, value in listed:
                family.add_metric([str(values[label]) for label in labels], round(value, 6))
            self.metrics.append(family)


class _Run(Collector):
    """The metrics of one run, read anew for each request."""

    def __init__(
        self, read: Callable[[], tuple[Counters, RunIdentity | None]], receiver: Callable[[], Mapping[str, Any] | None] | None
    ) -> None:
        self._read = read
        self._receiver = receiver

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as they are now."""
        received = self._receiver() if self._receiver is not None else None
        return [*_metrics(*self._read(), received or {}), *(_received_metrics(received) if received else [])]


def registry_of(
    read: Callable[[], tuple[Counters, RunIdentity | None]], receiver: Callable[[], Mapping[str, Any] | None] | None = None
) -> CollectorRegistry:
    """Return a registry with the metrics of a run.

    Args:
        read: Gives the counters and the identity of the run as they are now.
        receiver: Gives the receiver's part of the status; None without a receiver.
    """
    registry = CollectorRegistry(support_collectors_without_names=True)
    registry.register(_Run(read, receiver))
    return registry


def render_metrics(counters: Counters, identity: RunIdentity | None = None, receiver: Mapping[str, Any] | None = None) -> str:
    r"""Return the counters in Prometheus's text format.

    Args:
        counters: A snapshot of a run.
        identity: The run's identity, for the labels of ``paraply_info``.
        receiver: The receiver's part of the status, if there is one.

    >>> from paraply.observe.counters import Counters
    >>> "paraply_rows_committed_total 7.0" in render_metrics(Counters(rows=7)).splitlines()
    True
    """
    return generate_latest(registry_of(lambda: (counters, identity), lambda: receiver)).decode()


def _metrics(counters: Counters, identity: RunIdentity | None, received: Mapping[str, Any]) -> list[Metric]:
    page = _Page()
    if identity is not None:
        from paraply._version import __version__

        labels = {"channel": identity.channel, "policy": identity.policy, "consistency": identity.consistency,
                  "gtid_mode": identity.gtid_mode, "version": __version__}  # fmt: skip
        page.metrics.append(InfoMetricFamily("paraply", "The run, in its labels; always 1.", value=labels))
        page.gauge("start_time_seconds", "Start time of the run, in seconds since 1970.", identity.started)
    _of_progress(page, counters, lag=0.0 if received.get("lag_transactions") == 0 else counters.lag)
    _of_applying(page, counters)
    _of_coordinator(page, counters)
    _of_workers(page, counters.workers)
    return page.metrics


def _received_metrics(receiver: Mapping[str, Any]) -> list[Metric]:
    page = _Page()
    page.gauge("source_connected", "1 while the source is connected, else 0.", float(receiver["connected"]))
    page.counter("source_connections_total", "Connections made to the source.", receiver["connections"])
    page.counter("transactions_received_total", "Transactions received into the relay log.", receiver["received_transactions"])
    page.counter("received_bytes_total", "Bytes received into the relay log.", receiver["received_bytes"])
    page.gauge("source_heard_seconds_ago", "Seconds since the source sent something.", receiver["heard_seconds_ago"])
    page.gauge("lag_transactions", "Transactions received and not applied.", receiver["lag_transactions"])
    return page.metrics


def _of_progress(page: _Page, counters: Counters, lag: float | None) -> None:
    page.counter("transactions_read_total", "Transactions read from the logs.", counters.read)
    page.counter("transactions_committed_total", "Transactions committed on the target.", counters.transactions)
    page.counter("transactions_skipped_total", "Transactions skipped: held by the target, or left out by name.", counters.skipped)
    page.counter("transactions_filtered_total", "Transactions that the filters left empty.", counters.filtered)
    page.counter("transactions_merged_total", "Transactions that shared a commit with others.", counters.merged)
    page.counter("commits_total", "Commits sent to the target.", counters.commits)
    page.counter("rows_committed_total", "Rows committed on the target.", counters.rows)
    page.counter("log_read_bytes_total", "Bytes of the transactions read from the logs.", counters.read_bytes)
    page.gauge("log_position_bytes", "Bytes of the logs up to the last transaction committed.", counters.bytes_done)
    page.gauge("log_end_bytes", "Bytes of the logs up to their end, or up to the stop.", counters.bytes_total)
    page.gauge("remaining_seconds", "Estimated seconds left at the present rate.", counters.seconds_left)
    page.gauge("transactions_per_second", "Transactions committed a second over the last seconds.", counters.rate)
    page.gauge(
        "last_committed_transaction_original_commit_timestamp_seconds",
        "Commit time on the source of the last transaction committed here, in seconds since 1970.",
        _source_seconds(counters.committed_at),
    )
    text = "Time since the last transaction committed here was committed on the source; 0 if a connected source has sent nothing else."
    page.gauge("lag_seconds", text, lag)


def _of_applying(page: _Page, counters: Counters) -> None:
    page.gauge("queue_jobs", "Jobs handed out that no worker has begun.", counters.queue)
    page.gauge("backlog_transactions", "Transactions read and not handed out.", counters.backlog)
    page.gauge("low_water_mark", "Number of the block up to which everything is committed.", counters.low_water_mark)
    page.gauge("ahead_of_low_water_mark_blocks", "Blocks committed after a gap, above the low-water mark.", counters.ahead)
    states = {
        "running": counters.running,
        "waiting_dependency": counters.waiting_dependency,
        "waiting_turn": counters.waiting_turn,
        "waiting_input": counters.waiting_input,
        "resting": counters.resting,
    }
    others = len(counters.workers) - sum(states.values())
    page.family(
        "workers",
        "gauge",
        "Workers by state: apply or commit, blocked by dependency, waiting to commit, waiting for input, resting, recovering.",
        [({"state": state}, count) for state, count in (states | {"recovering": max(0, others)}).items()],
    )
    page.counter("retries_total", "Blocks rolled back and applied again, whatever the reason.", counters.retries)
    page.counter("younger_rolled_back_total", "Retries in which a younger transaction released locks for an older one.", counters.rollbacks)
    page.counter("reconnects_total", "New connections after lost ones.", counters.reconnects)
    page.counter("conflicts_total", "Row changes that did not fit the target.", counters.conflicts)
    page.gauge("serial", "1 while a storm of retries restricts the apply to one block at a time.", int(counters.serial))
    page.gauge("merge_transactions", "Most transactions that become one commit now.", counters.merge)
    page.gauge("foreign_blockers", "Connections of other processes that block the oldest block.", len(counters.foreign_blockers))


def _of_coordinator(page: _Page, counters: Counters) -> None:
    prefix = "coordinator_last_processed_transaction"
    page.gauge(
        f"{prefix}_original_commit_timestamp_seconds",
        "Commit time on the source of the last transaction handed to a worker, in seconds since 1970.",
        _source_seconds(counters.handed_committed_at),
    )
    page.gauge(
        f"{prefix}_end_buffer_timestamp_seconds",
        "Time at which the last transaction was handed to a worker, in seconds since 1970.",
        counters.handed_at or None,
    )


def _of_workers(page: _Page, workers: Iterable[WorkerCounters]) -> None:
    named = [({"worker": str(worker.number + 1)}, worker) for worker in workers]

    def family(name: str, kind: str, text: str, values: Iterable[tuple[Mapping[str, object], float | None]]) -> None:
        page.family(f"worker_{name}", kind, text, [(labels, value) for labels, value in values if value is not None])

    family("service_state", "gauge", "1 while the worker runs.", ((who, int(w.state != "Ended")) for who, w in named))
    family("transactions_total", "counter", "Transactions that the worker committed.", ((who, w.transactions) for who, w in named))
    family("commits_total", "counter", "Blocks that the worker committed.", ((who, w.blocks) for who, w in named))
    family("rows_total", "counter", "Rows that the worker committed.", ((who, w.rows) for who, w in named))
    family("retries_total", "counter", "Blocks rolled back and applied again, whatever the reason.", ((who, w.retries) for who, w in named))
    family(
        "younger_rolled_back_total",
        "counter",
        "Rollbacks that released locks for an older transaction.",
        ((who, w.rollbacks) for who, w in named),
    )
    family("reconnects_total", "counter", "New connections after lost ones.", ((who, w.reconnects) for who, w in named))
    family("apply_seconds_total", "counter", "Time spent applying and committing.", ((who, w.apply_seconds) for who, w in named))
    family(
        "wait_seconds_total",
        "counter",
        "Time spent waiting, by reason: a job, a dependency, the turn to commit, another try, an older transaction, a connection.",
        ((who | {"for": kind}, seconds) for who, w in named for kind, seconds in w.waits.items()),
    )
    for name, text, moment in _MOMENTS:
        family(f"{name}_seconds", "gauge", f"{text}, in seconds since 1970.", ((who, moment(w)) for who, w in named))
    last_tries = "Retries of the last transaction applied."
    family("last_applied_transaction_retries_count", "gauge", last_tries, ((who, w.last_tries) for who, w in named))
    tries = "Retries of the transaction in progress."
    family("applying_transaction_retries_count", "gauge", tries, ((who, w.tries if w.block else 0) for who, w in named))


def _source_seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


_MOMENTS: tuple[tuple[str, str, Callable[[WorkerCounters], float | None]], ...] = (
    (
        "last_applied_transaction_original_commit_timestamp",
        "Commit time on the source of the last transaction applied",
        lambda worker: _source_seconds(worker.last_committed_at),
    ),
    ("last_applied_transaction_start_apply_timestamp", "Start time of its apply", lambda worker: worker.last_began or None),
    ("last_applied_transaction_end_apply_timestamp", "Commit time on the target", lambda worker: worker.last_ended or None),
    (
        "applying_transaction_original_commit_timestamp",
        "Commit time on the source of the transaction in progress",
        lambda worker: _source_seconds(worker.committed_at),
    ),
    ("applying_transaction_start_apply_timestamp", "Start time of its apply", lambda worker: worker.began or None),
)
