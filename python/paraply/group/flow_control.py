"""Flow control: writers slow down when a member cannot keep up, as group_replication_flow_control_mode QUOTA does."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from paraply.group.messages import ExecutedMessage

__all__ = ["FlowControl", "FlowOptions"]


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """When writers are slowed down, and by how much; defaults as of MySQL's variables of these names.

    Attributes:
        certifier_threshold: Messages waiting for certification at a member.
        applier_threshold: Transactions waiting for the applier of a member.
        hold_percent: Part of the quota that stays unused, so that the backlog shrinks.
        release_percent: How much the quota grows in each period without a backlog.
        enabled: Whether flow control acts at all.
    """

    certifier_threshold: int = 25_000
    applier_threshold: int = 25_000
    hold_percent: int = 10
    release_percent: int = 50
    enabled: bool = True


class FlowControl:
    """One member's view of how all keep up, and the transactions that it may send in this period.

    >>> from paraply import GtidSet
    >>> from paraply.group.messages import MemberId
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
        self._mutex = threading.Lock()
        self._free = threading.Condition(self._mutex)
        self._last: dict[str, ExecutedMessage] = {}
        self._now: dict[str, ExecutedMessage] = {}
        self._used = 0
        self._closed = False
        self.quota: int | None = None
        """Transactions that this member may send in a period; None for no limit."""
        self.throttled = 0
        """Transactions that had to wait for a period."""

    def keep(self, names: Iterable[str]) -> None:
        """Forgets members that are gone."""
        kept = set(names)
        with self._mutex:
            for known in (self._last, self._now):
                for name in set(known) - kept:
                    del known[name]

    def observe(self, message: ExecutedMessage) -> None:
        """How a member keeps up."""
        with self._mutex:
            self._now[message.sender.name] = message

    def next_period(self) -> None:
        """A period ends: sets the quota of the next one."""
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
        """Counts a transaction; waits for the next period if the quota of this one is used up."""
        with self._mutex:
            if self.quota is not None and self._used >= self.quota and not self._closed:
                self.throttled += 1
                self._free.wait(wait)
            self._used += 1

    def close(self) -> None:
        """Nobody waits any more."""
        with self._mutex:
            self._closed = True
            self._free.notify_all()

    def _lags(self, message: ExecutedMessage) -> bool:
        options = self._options
        return message.certifier_queue > options.certifier_threshold or message.applier_queue > options.applier_threshold

    def _share(self, lagging: list[ExecutedMessage]) -> int:
        """What the slowest member got done in the last period, less a part, divided among those that send."""
        done = []
        for message in lagging:
            before = self._last.get(message.sender.name)
            done.append(message.applied - (before.applied if before is not None else 0))
        capacity = max(1, min(done)) * (100 - self._options.hold_percent) // 100
        return max(1, capacity // max(1, self._writers()))

    def _writers(self) -> int:
        """Members that sent something in this period."""
        return sum(
            message.sent > (self._last[name].sent if name in self._last else 0) for name, message in self._now.items()
        )
