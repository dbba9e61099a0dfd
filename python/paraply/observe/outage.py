"""The loss of the target during a run, for people: one line when it is lost, and one when it answers again."""

from __future__ import annotations

import logging

from paraply.runtime import runtime

__all__ = ["Outage"]

_log = logging.getLogger("paraply.applier")

_KNOWN_SECONDS = 10.0
"""Time after an outage in which further broken connections are not reported: workers that were idle find theirs broken later."""


class Outage:
    """The state of the connections to the target. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = runtime.lock()
        self._lost_at: float | None = None
        self._known_until = 0.0

    def broken(self, error: BaseException) -> None:
        """Note that a connection broke, which may be an effect of the last outage."""
        if runtime.monotonic() >= self._known_until:
            self.lost(error)

    def lost(self, error: BaseException) -> None:
        """Note that a connection broke or could not be made; only the first one of an outage is reported."""
        with self._lock:
            first, self._lost_at = self._lost_at is None, self._lost_at or runtime.monotonic()
        if first:
            _log.warning("a connection to the target was lost, and is made again: %s", error, extra={"event": "target-lost"})

    def back(self) -> None:
        """Note that the target answers."""
        if self._lost_at is None:
            return
        with self._lock:
            lost_at, self._lost_at = self._lost_at, None
            self._known_until = runtime.monotonic() + _KNOWN_SECONDS
        if lost_at is not None:
            seconds = runtime.monotonic() - lost_at
            _log.warning("the target answers again, after %.1f s", seconds, extra={"event": "connected"})
