"""Flow control: writers slow down while a member lags, as with group_replication_flow_control_mode QUOTA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paraply.group.delivery.messages import ExecutedMessage
from paraply.runtime import runtime

__all__ = ["FlowControl", "FlowOptions"]


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """Thresholds and effects of flow control; the defaults are those of MySQL's variables of these names.

    Attributes:
        certifier_threshold: Messages that wait for certification at a member.
        applier_threshold: Transactions that wait for the applier of a member.
        hold_percent: Part of the quota that stays unused, so that the backlog shrinks.
        release_percent: Growth of the quota in each period without a backlog.
        enabled: True to use flow control.
    """

    certifier_threshold: int = 25_000
    applier_threshold: int = 25_000
    hold_percent: int = 10
    release_percent: int = 50
    enabled: bool = True


class FlowControl:
    """Flow control at one member: the reports of all members, and the quota of this period.

    >>> from paraply import GtidSet
    >>> from paraply.group.delivery.messages import MemberId
    >>> flow = FlowControl(FlowOptions(applier_threshold=10), "a")
    >>> flow.keep(["a", "b"])
    >>> other = MemberId("b", 2, 1)
    >>> flow.observe(ExecutedMessage(other, GtidSet(), applier_queue=5, applied=100))
    >>> flow.next_period()
    >>> flow.quota is None
    True
    >>> flow.observe(ExecutedMessage(other, GtidSet(), applier_queue=50, applied=200, sent=7))
    >>> flow.next_period()
    >>> flow.quota
    90
    """

    def __init__(self, options: FlowOptions, me: str) -> None:
        self._options = options
        self._me = me
        self._mutex = runtime.lock()
        self._free = runtime.condition(self._mutex)
        self._last: dict[str, ExecutedMessage] = {}
        self._now: dict[str, ExecutedMessage] = {}
        self._used = 0
        self._closed = False
        self.quota: int | None = None
        """Transactions that this member may send in a period; None without a limit."""
        self.throttled = 0
        """Number of transactions that had to wait for a period."""

    def keep(self, names: Iterable[str]) -> None:
        """Forget members that are not in the list."""
        kept = set(names)
        with self._mutex:
            for known in (self._last, self._now):
                for name in set(known) - kept:
                    del known[name]

    def observe(self, message: ExecutedMessage) -> None:
        """Record a member's report."""
        with self._mutex:
            self._now[message.sender.name] = message

    def next_period(self) -> None:
        """End a period, and set the quota of the next one."""
        with self._mutex:
            lagging = [message for message in self._now.values() if self._lags(message)]
            if not self._options.enabled:
                self.quota = None
            elif lagging:
                self.quota = self._share(lagging)
            elif self.quota is not None:
                self.quota += max(1, self.quota * self._options.release_percent // 100)
                if self.quota > self._options.applier_threshold:
                    self.quota = None
            self._last = dict(self._now)
            self._used = 0
            self._free.notify_all()

    def acquire(self, wait: float = 5.0) -> None:
        """Count a transaction; if the quota of this period is used up, wait for the next period first."""
        with self._mutex:
            if self.quota is not None and self._used >= self.quota and not self._closed:
                self.throttled += 1
                self._free.wait(wait)
            self._used += 1

    def close(self) -> None:
        """End all waits."""
        with self._mutex:
            self._closed = True
            self._free.notify_all()

    def _lags(self, message: ExecutedMessage) -> bool:
        options = self._options
        return message.certifier_queue > options.certifier_threshold or message.applier_queue > options.applier_threshold

    def _share(self, lagging: list[ExecutedMessage]) -> int:
        """Return the slowest member's throughput in the last period, less a reserve, divided by the number of sending members."""
        done = []
        for message in lagging:
            before = self._last.get(message.sender.name)
            done.append(message.applied - (before.applied if before is not None else 0))
        capacity = max(1, min(done)) * (100 - self._options.hold_percent) // 100
        return max(1, capacity // max(1, self._writers()))

    def _writers(self) -> int:
        """Return the number of members that sent transactions in this period."""
        return sum(message.sent > (self._last[name].sent if name in self._last else 0) for name, message in self._now.items())
