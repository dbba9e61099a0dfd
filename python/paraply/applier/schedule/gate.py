"""The gate between the coordinator and the workers: it holds blocks back while a run is paused, or faster than its rate."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block
    from paraply.targets.channel_status import Pause

__all__ = ["Gate"]

_LOOK_SECONDS = 0.05
_log = logging.getLogger("paraply.applier")


class Gate:
    """Gate that a block passes before it gets its place in the commit order.

    No block that has passed ever waits for the gate, so the ordered commit cannot deadlock with it, and everything that was handed out
    before a pause is committed.

    The rate is kept by a bucket of tokens that holds at most the rows of one second. A block passes while the bucket is not empty, and
    takes its rows out of it, also more than it holds: the blocks after a large one wait until its rows are paid for.

    Args:
        max_rate: Rows a second; None for no limit.
        ended: Returns True once the run hands out nothing more.
    """

    def __init__(self, max_rate: int | None, ended: Callable[[], bool]) -> None:
        self._rate = max_rate
        self._ended = ended
        self._tokens = float(max_rate or 0)
        self._filled_at = runtime.monotonic()
        self._changed = runtime.condition()
        self._pause: Pause | None = None

    @property
    def most_at_once(self) -> int | None:
        """Most blocks that may pass together; None for any number."""
        return None if self._rate is None else 1

    @property
    def pause(self) -> Pause | None:
        """The pause in force; None while blocks pass."""
        return self._pause

    def set_pause(self, pause: Pause | None) -> None:
        """Begin or end a pause; called by the thread that reads it from the target."""
        with self._changed:
            before, self._pause = self._pause, pause
            if pause is None:
                self._changed.notify_all()
        if pause is not None and before is None:
            _log.warning("paused by %s: no more transactions are applied until paraply resume", pause.by, extra={"event": "paused"})
        elif pause is None and before is not None:
            _log.warning("resumed after a pause since %s", before.since, extra={"event": "resumed"})

    def let_pass(self, blocks: Sequence[Block]) -> bool:
        """Wait until blocks may be handed out; return False if the run has ended meanwhile."""
        if self._pause is None and self._rate is None:
            return True
        with self._changed:
            while not self._ended():
                if self._pause is None and self._has_tokens():
                    self._tokens -= sum(block.rows for block in blocks)
                    return True
                self._changed.wait(_LOOK_SECONDS)
        return False

    def _has_tokens(self) -> bool:
        if self._rate is None:
            return True
        now = runtime.monotonic()
        self._tokens = min(float(self._rate), self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        return self._tokens > 0
