"""Publication of a run's status in the target, so that ``paraply status`` works from any machine."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from paraply.errors import ConnectionFailed, ParaplyError
from paraply.observe.outage import Outage
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.targets.protocol import StatusRow

__all__ = ["PUBLISH_SECONDS", "Publisher"]

PUBLISH_SECONDS = 2.0
"""Seconds between two writes of the row; a row several times as old counts as that of an ended run."""
_PATIENCE_SECONDS = 5.0

_log = logging.getLogger("paraply.observe")


class Publisher:
    """Publisher of the status, every two seconds from a thread of its own; its errors do not affect the run.

    Args:
        open_status_row: Opens the status row; returns None if the target has none.
        status: Returns the status as a JSON object.
        outage: Told if the target is lost, also while no worker has anything to do.
    """

    def __init__(
        self, open_status_row: Callable[[], StatusRow | None], status: Callable[[], dict[str, Any]], outage: Outage | None = None
    ) -> None:
        self._outage = outage or Outage()
        self._open_status_row = open_status_row
        self._status = status
        self._status_row: StatusRow | None = None
        self._ended = runtime.event()
        self._last: dict[str, Any] | None = None
        self._thread = runtime.thread(self._loop, name="paraply-status")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self, last: dict[str, Any]) -> None:
        """Write the last status, and end; does not wait for a target that does not answer."""
        self._last = last
        self._ended.set()
        self._thread.join(_PATIENCE_SECONDS)

    def _loop(self) -> None:
        while not self._ended.is_set():
            if not self._publish(self._status):
                return
            self._ended.wait(PUBLISH_SECONDS)
        last = self._last
        if last is not None:
            self._publish(lambda: last)
        self._close()

    def _publish(self, status: Callable[[], dict[str, Any]]) -> bool:
        """Write the row; return False if further attempts are useless."""
        try:
            if self._status_row is None:
                self._status_row = self._open_status_row()
            if self._status_row is None:
                return False
            self._status_row.publish(json.dumps(status()))
            self._outage.back()
        except ParaplyError as error:
            if isinstance(error, ConnectionFailed) and not self._ended.is_set():
                self._outage.lost(error)
            _log.debug("the status was not published: %s", error)
            self._close()
        except Exception:
            _log.exception("the status is not published any more")
            self._close()
            return False
        return True

    def _close(self) -> None:
        status_row, self._status_row = self._status_row, None
        if status_row is not None:
            status_row.close()
