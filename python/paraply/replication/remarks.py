"""Remarks about the course of a replication: to the caller's function, or as events of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from paraply.errors import ConnectionFailed
from paraply.observe.outage import Outage
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Remarks"]

_log = logging.getLogger("paraply.replication")


class Remarks:
    """Remarks about the course of a replication.

    Args:
        on_event: Called with each remark; None to write it to the log as an event.
    """

    def __init__(self, on_event: Callable[[str], None] | None) -> None:
        self._on_event = on_event
        self._missing_since: float | None = None
        self.outage = Outage()
        """Loss of the target, over all applies of the replication."""

    def note(self, text: str) -> None:
        """Give an information."""
        self._add(logging.INFO, None, text)

    def warn(self, text: str) -> None:
        """Warn."""
        self._add(logging.WARNING, None, text)

    def lost(self, error: BaseException) -> None:
        """Report that the target was lost, and is tried again."""
        if isinstance(error, ConnectionFailed):
            self.outage.lost(error)
        self._add(logging.WARNING, "target-lost", f"the target was lost, and is tried again: {error}")

    def missing(self, what: Literal["source", "target"], error: BaseException) -> None:
        """Report that a server is missing at the start, and is tried again."""
        self._missing_since = self._missing_since or runtime.monotonic()
        self._add(logging.WARNING, f"{what}-lost", f"the {what} is tried again: {error}")

    def found(self, what: Literal["source", "target"]) -> None:
        """Report that a server answers, if it was missing at the start."""
        since, self._missing_since = self._missing_since, None
        if since is not None:
            self._add(logging.WARNING, "connected", f"the {what} answers, after {runtime.monotonic() - since:.1f} s")

    def _add(self, level: int, event: str | None, text: str) -> None:
        if self._on_event is not None:
            self._on_event(text)
        else:
            _log.log(level, "%s", text, extra={"event": event})
