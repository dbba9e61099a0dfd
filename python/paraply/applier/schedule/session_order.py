"""Order of each session of the source, which is always kept (R23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block, SourceSession

__all__ = ["SessionOrder"]

_KEPT = 4096
"""Number of known sessions above which those with a committed last block are forgotten."""


class SessionOrder:
    """Last block of every session of the source; needed where commits are not in order.

    A session is a thread of a server. Where the log does not name the thread, all such transactions of a server count as one session,
    so that their order is kept.

    Args:
        on_unknown: Called once if the log does not name a session.
    """

    def __init__(self, on_unknown: Callable[[], None] | None = None) -> None:
        self._last: dict[tuple[int, int | None], int] = {}
        self._most = _KEPT
        self._on_unknown = on_unknown

    def before(self, block: Block, committed: int) -> tuple[int, ...]:
        """Return the blocks that must be committed before this one.

        Args:
            block: The next block of the source's order.
            committed: The low-water mark now.
        """
        return self.before_all([block], committed)[0]

    def before_all(self, blocks: Sequence[Block], committed: int) -> list[tuple[int, ...]]:
        """Return the same as ``before`` for each of the next blocks."""
        if len(self._last) > self._most:
            self._last = {session: last for session, last in self._last.items() if last > committed}
            self._most = max(_KEPT, 2 * len(self._last))  # after a gap all may be needed
        newest = self._last
        before: list[tuple[int, ...]] = []
        for block in blocks:
            sessions, number = block.sessions, block.id
            if self._on_unknown is not None:
                self._report_unknown(sessions)
            if len(sessions) == 1:  # the case of nearly all blocks, on the path of every job
                last = newest.get(sessions[0], 0)
                newest[sessions[0]] = number
                before.append((last,) if committed < last < number else ())
            else:
                older = {newest.get(session, 0) for session in sessions}
                newest.update(dict.fromkeys(sessions, number))
                before.append(tuple(n for n in older if committed < n < number))
        return before

    def _report_unknown(self, sessions: Sequence[SourceSession]) -> None:
        if self._on_unknown is not None and any(one.session is None for one in sessions):
            self._on_unknown()
            self._on_unknown = None
