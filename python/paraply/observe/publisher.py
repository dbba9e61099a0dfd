"""Keeps a run's status in the target, where ``paraply status`` finds it from any machine."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

from paraply.errors import ParaplyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.targets.protocol import StatusRow

__all__ = ["PUBLISH_SECONDS", "Publisher"]

PUBLISH_SECONDS = 2.0
"""How often the row is written; readers take a row that is several times as old for that of a run that is gone."""
_PATIENCE_SECONDS = 5.0

_log = logging.getLogger("paraply.observe")


class Publisher:
    """Writes the status every two seconds from a thread of its own; whatever goes wrong there does not concern the run.

    Args:
        open_board: Opens the row; may return None where there is no place for it.
        status: Takes the status as a JSON object.
    """

    def __init__(self, open_board: Callable[[], StatusRow | None], status: Callable[[], dict[str, Any]]) -> None:
        self._open_board = open_board
        self._status = status
        self._board: StatusRow | None = None
        self._ended = threading.Event()
        self._last: dict[str, Any] | None = None
        self._thread = threading.Thread(target=self._loop, name="paraply-status", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def end(self, last: dict[str, Any]) -> None:
        """Writes the last status, and ends; does not wait for a target that does not answer."""
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
        """Writes the row; False if there is no use in trying again."""
        try:
            if self._board is None:
                self._board = self._open_board()
            if self._board is None:
                return False
            self._board.publish(json.dumps(status()))
        except ParaplyError as error:
            _log.debug("the status was not published: %s", error)
            self._close()
        except Exception:
            _log.exception("the status is not published any more")
            self._close()
            return False
        return True

    def _close(self) -> None:
        board, self._board = self._board, None
        if board is not None:
            board.close()
