"""Connections that apply the parts of a split transaction, besides the worker's own."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from paraply.errors import ConnectionFailed, ConnectionLost, ParaplyError, TemporaryFailure
from paraply.runtime import runtime
from paraply.targets.two_phase import Branch, BranchSession, BranchTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block
    from paraply.applier.execute.split.parts import PartMaker
    from paraply.runtime import Future

__all__ = ["PartWorkers"]

_log = logging.getLogger("paraply.applier")


def _errors(work: Sequence[Future[None]]) -> list[BaseException]:
    """Wait until all calls have ended, and return their errors."""
    return [error for call in work if (error := call.exception()) is not None]


class _Member:
    """One connection and its current branch."""

    def __init__(self, session: BranchSession) -> None:
        self.session = session
        self.branch: Branch | None = None


class PartWorkers:
    """Part workers for one split transaction at a time; a worker that finds them busy applies its transaction whole.

    Args:
        target: The target.
        parts: Supplies the parts of transactions.
        most: Connections at most; they are opened when they are first needed.
    """

    def __init__(self, target: BranchTarget, parts: PartMaker, most: int) -> None:
        self.parts = parts
        self._target = target
        self._pool = runtime.pool(max(1, most), "paraply-part")
        self._idle: list[_Member] = []
        self._busy: list[_Member] = []
        self._work: list[Future[None]] = []
        self._engaged = runtime.lock()
        self._left: list[tuple[Branch, int]] = []
        self._ending = runtime.lock()
        self._block: Block | None = None
        self._deciding = False
        self.splits = 0
        """Number of transactions committed in parts."""

    def engage(self, block: Block) -> bool:
        """Try to reserve the part workers; return False if they are busy. Never blocks, which rules out deadlock."""
        if not self._engaged.acquire(blocking=False):
            return False
        self._block, self._deciding = block, False
        return True

    def begin(self, parts: Sequence[Block]) -> str:
        """Start to apply and prepare parts; return the name shared by their branches.

        Raises:
            ConnectionLost: A connection could not be opened; the worker connects again and tries as often as for one of its own.
        """
        try:
            self.end_left()
        except ConnectionFailed as error:
            raise ConnectionLost(f"parts of an earlier attempt could not be ended: {error.message}") from error
        split = self._target.new_split()
        for number, part in enumerate(parts, start=1):
            member = self._idle.pop() if self._idle else self._new_member()
            member.branch = Branch(split, number)
            self._busy.append(member)
            self._work.append(self._pool.submit(member.session.prepare, part, member.branch))
        return split

    def _new_member(self) -> _Member:
        try:
            return _Member(self._target.session())
        except ConnectionFailed as error:
            raise ConnectionLost(f"a connection for one part could not be opened: {error.message}") from error

    def join(self) -> None:
        """Wait until every part is prepared.

        Raises:
            ParaplyError: One was not.
        """
        errors = _errors(self._work)
        self._work.clear()
        # An unavailable lock is less informative than any other error.
        for error in sorted(errors, key=lambda error: isinstance(error, TemporaryFailure)):
            if isinstance(error, ConnectionLost):
                # The worker's own connection is intact: the transaction is tried again, and this connection is opened anew.
                raise TemporaryFailure(f"the connection of one part was lost: {error}") from error
            raise error

    def deciding(self) -> None:
        """Note that the leader is about to commit: from here on only the target knows the fate of the branches."""
        self._deciding = True

    def end(self, *, commit: bool) -> None:
        """End all branches at the same time, and release the part workers.

        Raises:
            ConnectionLost: A branch could not be reached; ``decided`` tries again.
        """
        busy = list(self._busy)
        ended = [self._pool.submit(self._end, member, commit=commit) for member in busy]
        for error in _errors(ended):
            if isinstance(error, ConnectionLost):
                raise error
            raise ConnectionLost(f"a prepared part could not be ended: {error}") from error
        if commit:
            self.splits += 1
        self._let_go()

    def undo(self) -> None:
        """Roll back every branch in whatever state it is; never raises."""
        for member, work in zip(self._busy, self._work, strict=False):
            if not work.done():
                self._quietly(member.session.interrupt)
        _errors(self._work)
        self._work.clear()
        try:
            self.end(commit=False)
        except ParaplyError as error:
            _log.warning("parts of a transaction may still be prepared; they are ended when the server answers again: %s", error)
            for member in self._busy:
                if member.branch is not None:
                    self._left.append((member.branch, member.session.connection_id))
                self._quietly(member.session.close)
            self._busy.clear()
            self._let_go()

    def end_left(self) -> None:
        """Roll back branches that could not be reached when their transaction was undone: their locks would block every other attempt.

        Raises:
            ConnectionFailed: The server still cannot be reached.
        """
        if not self._left:
            return
        with self._ending:
            while self._left:
                branch, connection_id = self._left[0]
                try:
                    self._target.end_branch(branch, connection_id, commit=False)
                except TemporaryFailure as error:
                    raise ConnectionFailed(f"a part of a transaction could not be ended: {error.message}") from error
                del self._left[0]

    def decided(self, block: Block, *, committed: bool) -> None:
        """Finish the branches after the leader's connection broke during its commit, once the outcome is known.

        Raises:
            ConnectionFailed: A branch could not be reached.
        """
        if self._deciding and self._block is not None and self._block.id == block.id:
            self.end(commit=committed)

    def interrupt(self) -> None:
        """End the running statements; called from another thread."""
        for member in list(self._busy):
            self._quietly(member.session.interrupt)

    def rescue(self) -> None:
        """Close connections whose answer will not arrive; called from another thread."""
        for member in list(self._busy):
            self._quietly(member.session.rescue)

    def close(self) -> None:
        """Close the connections; never raises. Prepared branches stay for the next start."""
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
