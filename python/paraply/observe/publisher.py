"""Publication of a run's status in the target, so that ``paraply status`` works from any machine."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from paraply.cpu_time import thread_counted
from paraply.errors import ConnectionFailed, ParaplyError
from paraply.observe.outage import Outage
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.targets.channel_status import Pause
    from paraply.targets.protocol import StatusRow

__all__ = ["PUBLISH_SECONDS", "Publisher"]

PUBLISH_SECONDS = 2.0
"""Seconds between two writes of the row; a row several times as old counts as that of an ended run."""
_LOOKS = 2
"""Looks for a pause for each write of the row."""
_PATIENCE_SECONDS = 5.0

_log = logging.getLogger("paraply.observe")


class Publisher:
    """Publisher of the status, every two seconds from a thread of its own; its errors do not affect the run.

    Args:
        open_status_row: Opens the status row; returns None if the target has none.
        status: Returns the status as a JSON object.
        on_pause: Called with the pause that is noted in the target, or None, about once a second.
        outage: Told if the target is lost, also while no worker has anything to do.
    """

    def __init__(
        self,
        open_status_row: Callable[[], StatusRow | None],
        status: Callable[[], dict[str, Any]],
        on_pause: Callable[[Pause | None], None] | None = None,
        outage: Outage | None = None,
    ) -> None:
        self._outage = outage or Outage()
        self._open_status_row = open_status_row
        self._status = status
        self._on_pause = on_pause
        self._status_row: StatusRow | None = None
        self._ended = runtime.event()
        self._pause: Pause | None = None
        self._looked = runtime.event()
        self._last: dict[str, Any] | None = None
        self._thread = runtime.thread(self._loop, name="paraply-status")

    def start(self) -> None:
        """Start the thread, and wait until it has looked for a pause: a paused run applies nothing.

        Does not wait for long for a target that does not answer.
        """
        self._thread.start()
        if self._on_pause is not None:
            self._looked.wait(_PATIENCE_SECONDS)

    def end(self, last: dict[str, Any]) -> None:
        """Write the last status, and end; does not wait for a target that does not answer."""
        self._last = last
        self._ended.set()
        self._thread.join(_PATIENCE_SECONDS)

    @thread_counted("watcher")
    def _loop(self) -> None:
        self._look()
        self._looked.set()
        while not self._ended.is_set():
            if not self._publish(self._status):
                return
            for _ in range(_LOOKS if self._on_pause is not None else 1):
                if self._ended.wait(PUBLISH_SECONDS / (_LOOKS if self._on_pause is not None else 1)) or self._look():
                    break
        last = self._last
        if last is not None:
            self._publish(lambda: last)
        self._close()

    def _look(self) -> bool:
        """Look for a pause in the target; return True if it began or ended."""
        on_pause = self._on_pause
        if on_pause is None:
            return False
        try:
            if self._status_row is None:
                self._status_row = self._open_status_row()
            if self._status_row is None:
                return False
            pause = self._status_row.paused()
        except ParaplyError as error:
            _log.debug("the pause was not read: %s", error)
            self._close()
            return False
        except Exception:
            _log.exception("a pause is not noticed any more")
            self._on_pause = None
            return False
        changed, self._pause = pause != self._pause, pause
        if changed:
            on_pause(pause)
        return changed

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
