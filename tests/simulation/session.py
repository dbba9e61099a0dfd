"""A session of the model target: it applies blocks with their progress, and meets the faults of its transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.branches import BranchWork
from simulation.database import Connection, Fault

from paraply.errors import ApplyFailed, ConnectionLost, ParaplyError, TemporaryFailure
from paraply.runtime import runtime
from paraply.targets.batch import BatchOutcome
from paraply.targets.progress.file_ledger import PositionRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simulation.history import Change
    from simulation.target import ModelTarget

    from paraply._native import Block
    from paraply.targets.progress.gtid_ledger import Mark

__all__ = ["KINDS", "ModelSession"]

KINDS = ("temporary", "late", "lost", "lost-before", "lost-after", "commit-temporary", "crash-before", "crash-after")
"""Faults of a transaction: errors of its first or last change, a lost connection while it is applied, before or after its commit, and
a crash of the server before or after it."""
DOWN_SECONDS = 0.4
SLOW_SECONDS = 0.05


class ModelSession(BranchWork):
    """A worker's connection."""

    commits_at_once = False

    def __init__(self, target: ModelTarget, connection: Connection, slot: int) -> None:
        self.target = target
        self.database = target.database
        self._mark: Mark | None = None
        self._block: Block | None = None
        self._commit_fault = ""
        self._left = 0
        self._differs: Change | None = None
        self.split = ""
        """Name of the parts that its commit decides; empty for a whole transaction."""
        self.progress = ("progress", slot)
        """Lock of its row of progress."""
        self.connection = connection
        self.slot = slot
        self.closed = False

    @property
    def connection_id(self) -> int:
        """Number of this connection on the server."""
        return self.connection.number

    def apply(self, block: Block) -> None:
        """Write a block's progress and rows; do not commit."""
        self._apply(block, [block], self.target.ledger.mark(block, self.slot))

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply a block in several parts."""
        self._apply(block, steps, self.target.ledger.mark(block, self.slot))

    def _apply(self, block: Block, steps: Iterable[Block], mark: Mark) -> None:
        target, database = self.target, self.database
        database.round_trip()
        self.connection.check()
        if self._block is not None or self.connection.held:
            raise Fault("a transaction is open when another one begins")
        self.connection.lock(self.progress, exclusive=True)
        target.fence()
        numbers = target.numbers(block)
        statement = target.history.transactions[numbers[-1] - 1].statement
        if statement and statement not in target.seen:
            raise Fault(f"{numbers} begin before the statement {statement}")
        self._block, self._mark, self._differs, self.split = block, mark, None, ""
        self._left = sum(len(target.history.transactions[number - 1].changes) for number in numbers)
        target.note(block, self)
        fault = self._fault(numbers)
        if fault == "temporary":
            raise TemporaryFailure("deadlock found when trying to get lock")
        for number in numbers:
            if (error := target.always.get(number)) is not None:
                raise ApplyFailed(error.message)
        if database.settings.slow and database.chance.random() < database.settings.slow:
            runtime.sleep(SLOW_SECONDS * database.chance.random())
        self.connection.busy = True
        try:
            for step in steps:
                self._rows(target.changes_of(step, whole=step is block), lost=fault == "lost")
        finally:
            self.connection.busy = False
        if fault == "late":
            raise TemporaryFailure("lock wait timeout exceeded")
        if fault == "lost":
            self.connection.lose()
        self._commit_fault = fault
        target.applied.update(numbers)

    def _rows(self, changes: list[Change], *, lost: bool) -> None:
        database, connection = self.database, self.connection
        for change in changes:
            if database.chance.random() < 0.2:
                database.round_trip()
            connection.check()
            try:
                if self.target.newest:
                    connection.change_newest(change)
                elif not connection.change(change) and self._differs is None:
                    self._differs = change
            except ApplyFailed as error:
                if self.target.optimistic:
                    raise
                raise Fault(f"{change} does not fit: {error}") from None
            self._left -= 1
            if lost:
                connection.lose()

    def _fault(self, numbers: list[int]) -> str:
        for number in numbers:
            if kinds := self.target.faults.get(number):
                return kinds.pop(0)
        return ""

    def commit(self) -> None:
        """Commit what ``apply`` left open."""
        block = self._block
        self.connection.busy = True
        try:
            self.database.round_trip()
            self._make_visible()
        finally:
            self.connection.busy = False
        self.database.round_trip()
        if self.connection.broken or self.database.frozen:
            raise ConnectionLost("the server has gone away")
        if block is not None:
            self.target.ledger.acknowledge(block, self.slot)
            self.target.on_committed()

    def _make_visible(self) -> None:
        """Commit, or do not and lose the connection."""
        database, connection, target = self.database, self.connection, self.target
        fault, self._commit_fault = self._commit_fault, ""
        block, mark = self._block, self._mark
        if connection.killed and database.chance.random() < 0.5:
            connection.killed = False
            fault = fault or database.chance.choice(("lost-before", "lost-after"))
        connection.killed = False
        connection.check()
        if block is None or mark is None:
            raise Fault("a commit without a transaction")
        if fault == "lost-before":
            connection.lose()
        if fault == "crash-before":
            database.crash(DOWN_SECONDS * database.chance.random())
            raise ConnectionLost("the server has gone away")
        if fault == "commit-temporary":
            raise TemporaryFailure("could not serialize access")
        self._left -= database.prepared_rows(self.split)
        if self._left:
            raise Fault(f"{self._left} rows of block {block.id} are missing at its commit")
        if self._differs is not None and not target.optimistic:
            raise Fault(f"a row was not as the source had it: {self._differs}")
        target.fence()
        row = PositionRow(mark.executed, mark.file, mark.offset, mark.ordinal)
        self._block = self._mark = None
        if self.split:
            database.decided.add(self.split)
        connection.commit(target.numbers(block), self.slot, row)
        if fault == "lost-after":
            connection.lose()
        if fault == "crash-after":
            database.crash(DOWN_SECONDS * database.chance.random())
            raise ConnectionLost("the server has gone away")

    def rollback(self) -> None:
        """Roll back the open transaction."""
        self._block = self._mark = None
        self._commit_fault = ""
        if not self.connection.broken:
            self.database.round_trip()
            self.connection.release()
            self.connection.killed = self.connection.victim = False

    def apply_and_commit(self, blocks: Sequence[Block]) -> BatchOutcome:
        """Apply and commit blocks one by one, without returning to the scheduler."""
        target, done = self.target, 0
        try:
            for block, mark in zip(blocks, target.ledger.marks(blocks, self.slot), strict=True):
                committing = False
                self._apply(block, [block], mark)
                committing = True
                self._make_visible()
                done += 1
            self.database.round_trip()
            self.connection.check()
        except ParaplyError as error:
            target.ledger.acknowledge_all(blocks[:done], self.slot)
            return BatchOutcome(done, error, committing) if done < len(blocks) else BatchOutcome(done)
        target.ledger.acknowledge_all(blocks, self.slot)
        target.on_committed()
        return BatchOutcome(done)

    def execute_statement(self, block: Block) -> None:
        """Run a statement with its progress."""
        if any(session.connection.held for session in self.target.sessions if session is not self):
            raise Fault(f"statement {block.id} runs beside open transactions")
        self.apply(block)
        self.commit()

    def interrupt(self) -> None:
        """End the running statement."""
        self.connection.interrupt()

    def rescue(self) -> None:
        """Do nothing: answers arrive."""

    def close(self) -> None:
        """Close the connection; what is open rolls back, now or when the server notices it."""
        if self.closed:
            return
        self.closed = True
        self._block = self._mark = None
        connection = self.connection
        if connection not in self.database.zombies:
            connection.release()
        connection.closed = True
        self.database.connections.pop(connection.number - 1000, None)
