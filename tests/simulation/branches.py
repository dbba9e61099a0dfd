"""Parts of transactions that are committed in two phases (policy ``row``): prepared ones survive their connection and their run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.database import Connection, Fault

from paraply.errors import TemporaryFailure
from paraply.runtime import runtime

if TYPE_CHECKING:
    from simulation.database import Database
    from simulation.session import ModelSession

    from paraply._native import Block
    from paraply.targets.two_phase import Branch

__all__ = ["BranchWork", "end_branch", "end_lost_branch", "recover"]

FAULTS = 0.03
"""Chance that a part meets an error, or that its connection is lost, at each of its steps."""


class BranchWork:
    """The part of a session that applies parts of transactions; a base of ``ModelSession``."""

    def apply_part(self: ModelSession, block: Block, part: Block, split: str) -> None:
        """Apply the leader's part; its commit decides the others."""
        self.apply_steps(block, [part])
        self.split = split

    def prepare(self: ModelSession, part: Block, branch: Branch) -> None:
        """Apply a part without progress, and detach it from the connection."""
        database, connection, target = self.database, self.connection, self.target
        database.round_trip()
        connection.check()
        if connection.held:
            raise Fault("a transaction is open when a part begins")
        # A run that takes over waits for this lock; a part that begins later finds a changed epoch.
        connection.lock(self.progress, exclusive=True)
        target.fence()
        self._fail()
        changes = target.changes_of(part, whole=False)
        for change in changes:
            if database.chance.random() < 0.2:
                database.round_trip()
            connection.check()
            if not connection.change(change):
                raise Fault(f"a row was not as the source had it: {change}")
        database.round_trip()
        connection.check()
        self._fail()
        connection.unlock(self.progress)
        connection.part_rows = len(changes)
        database.prepared[branch] = connection
        self.connection = database.connections[connection.number - 1000] = Connection(database, connection.number)
        database.round_trip()
        self._fail()

    def end_branch(self: ModelSession, branch: Branch, *, commit: bool) -> None:
        """Commit a prepared part, or roll back one in any state."""
        self.database.round_trip()
        self.connection.check()
        self._fail()
        if branch not in self.database.prepared and not commit:
            self.connection.release()
        end_branch(self.database, branch, commit=commit)
        self.database.round_trip()
        self._fail()

    def _fail(self: ModelSession) -> None:
        kind = self.database.chance.random()
        if kind < FAULTS:
            self.connection.lose()
        if kind < FAULTS * 2 and self.connection.held:
            raise TemporaryFailure("lock wait timeout exceeded")


def end_branch(database: Database, branch: Branch, *, commit: bool) -> None:
    """Commit or roll back a prepared part; one that is missing has ended before, or never was prepared.

    Raises:
        Fault: That is not how it was decided.
    """
    prepared = database.prepared.pop(branch, None)
    if prepared is None:
        return
    if commit != (branch.split in database.decided):
        raise Fault(f"{branch} is {'committed' if commit else 'rolled back'} against the decision")
    if commit:
        database.write(prepared)
    prepared.release()
    database.notify_readers()


def end_lost_branch(database: Database, branch: Branch, number: int, *, commit: bool) -> None:
    """End a part whose connection was lost, after the server has noticed."""
    connection = database.connect()
    while lost := [one for one in database.zombies if one.number == number]:
        runtime.sleep(max(0.0, lost[0].dies_at - runtime.monotonic()))
        database.reap()
    connection.check()
    database.connections.pop(connection.number - 1000, None)
    end_branch(database, branch, commit=commit)


def recover(database: Database) -> None:
    """End the parts that earlier runs left, as their leaders decided."""
    for branch in list(database.prepared):
        end_branch(database, branch, commit=branch.split in database.decided)
