"""The connections that apply the parts of a split transaction besides the worker's own."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from paraply.errors import ConnectionFailed, ConnectionLost, ParaplyError, TemporaryFailure
from paraply.targets.two_phase import Branch, BranchSession, BranchTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block
    from paraply.applier.execute.split.parts import PartMaker

__all__ = ["SplitCrew"]

_log = logging.getLogger("paraply.applier")


class _Member:
    """One connection and the branch that it works on."""

    def __init__(self, session: BranchSession) -> None:
        self.session = session
        self.branch: Branch | None = None


class SplitCrew:
    """Works on one split transaction at a time; who does not get it applies the transaction whole.

    Args:
        target: The target.
        parts: Has the parts of transactions.
        most: Connections at most; they are opened when they are first needed.
    """

    def __init__(self, target: BranchTarget, parts: PartMaker, most: int) -> None:
        self.parts = parts
        self._target = target
        self._pool = ThreadPoolExecutor(max_workers=max(1, most), thread_name_prefix="paraply-part")
        self._idle: list[_Member] = []
        self._busy: list[_Member] = []
        self._work: list[Future[None]] = []
        self._engaged = threading.Lock()
        self._block: Block | None = None
        self._deciding = False
        self.splits = 0
        """Transactions that were committed in parts."""

    def engage(self, block: Block) -> bool:
        """Takes the crew for a block; False if it is taken already. Nobody ever waits for it, so that no wait can be a circle."""
        if not self._engaged.acquire(blocking=False):
            return False
        self._block, self._deciding = block, False
        return True

    def begin(self, parts: Sequence[Block]) -> str:
        """Starts to apply and prepare parts; gives the name that their branches share."""
        split = self._target.new_split()
        for number, part in enumerate(parts, start=1):
            member = self._idle.pop() if self._idle else _Member(self._target.session())
            member.branch = Branch(split, number)
            self._busy.append(member)
            self._work.append(self._pool.submit(member.session.prepare, part, member.branch))
        return split

    def join(self) -> None:
        """Waits until every part is prepared.

        Raises:
            ParaplyError: One was not.
        """
        wait(self._work)
        errors = [error for work in self._work if (error := work.exception()) is not None]
        self._work.clear()
        # A lock that was not to be had says less than any other error.
        for error in sorted(errors, key=lambda error: isinstance(error, TemporaryFailure)):
            if isinstance(error, ConnectionLost):
                # Not the worker's own connection: the transaction is tried again, and this one is opened anew.
                raise TemporaryFailure(f"the connection of one part was lost: {error}") from error
            raise error

    def deciding(self) -> None:
        """The leader is about to commit: from here on only the target knows what becomes of the branches."""
        self._deciding = True

    def end(self, *, commit: bool) -> None:
        """Ends every branch, at the same time, and lets the crew go.

        Raises:
            ConnectionLost: Not every branch could be reached; ``decided`` tries again.
        """
        busy = list(self._busy)
        ended = [self._pool.submit(self._end, member, commit=commit) for member in busy]
        wait(ended)
        for work in ended:
            error = work.exception()
            if isinstance(error, ConnectionLost):
                raise error
            if error is not None:
                raise ConnectionLost(f"a prepared part could not be ended: {error}") from error
        if commit:
            self.splits += 1
        self._let_go()

    def undo(self) -> None:
        """Rolls every branch back, however far it came; never raises."""
        for member, work in zip(self._busy, self._work, strict=False):
            if not work.done():
                self._quietly(member.session.interrupt)
        wait(self._work)
        self._work.clear()
        try:
            self.end(commit=False)
        except ParaplyError as error:
            _log.warning("parts of a transaction wait for their end, which the next start gives them: %s", error)
            for member in self._busy:
                self._quietly(member.session.close)
            self._busy.clear()
            self._let_go()

    def decided(self, block: Block, *, committed: bool) -> None:
        """The leader's connection broke while it committed, and it is known now whether it had.

        Raises:
            ConnectionFailed: A branch could not be reached.
        """
        if self._deciding and self._block is not None and self._block.id == block.id:
            self.end(commit=committed)

    def interrupt(self) -> None:
        """Ends the statements under way, from another thread."""
        for member in list(self._busy):
            self._quietly(member.session.interrupt)

    def rescue(self) -> None:
        """Ends connections that wait for an answer that will not come, from another thread."""
        for member in list(self._busy):
            self._quietly(member.session.rescue)

    def close(self) -> None:
        """Closes the connections; never raises. Branches that are not ended stay for the next start."""
        self._pool.shutdown(wait=True)
        for member in (*self._idle, *self._busy):
            self._quietly(member.session.close)
        self._idle.clear()
        self._busy.clear()

    def _end(self, member: _Member, *, commit: bool) -> None:
        branch = member.branch
        if branch is None:
            return
        try:
            member.session.end_branch(branch, commit=commit)
        except ConnectionFailed:
            self._quietly(member.session.close)
            self._target.end_branch(branch, member.session.connection_id, commit=commit)
            member.session = self._target.session()
        member.branch = None

    def _let_go(self) -> None:
        self._idle.extend(self._busy)
        self._busy.clear()
        self._block, self._deciding = None, False
        self._engaged.release()

    @staticmethod
    def _quietly(action: Callable[[], None]) -> None:
        with contextlib.suppress(ParaplyError, OSError):
            action()
