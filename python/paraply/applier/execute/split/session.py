"""A worker's session that gives parts of large transactions to part workers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from paraply.errors import AlreadyRunning, ConnectionFailed, ParaplyError, TemporaryFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply._native import Block
    from paraply.applier.execute.split.part_workers import PartWorkers
    from paraply.targets.two_phase import BranchSession

__all__ = ["SplitSession"]

_log = logging.getLogger("paraply.applier")


class SplitSession:
    """Session that splits blocks for which the part workers have parts, and else applies like its own; see ``Session`` for the contract.

    Args:
        own: The worker's session; the leader of a split transaction.
        part_workers: Part workers for the other parts.
    """

    def __init__(self, own: BranchSession, part_workers: PartWorkers) -> None:
        self._own = own
        self._part_workers = part_workers
        self._leads = False

    @property
    def connection_id(self) -> int:
        """The server's number of the leading connection."""
        return self._own.connection_id

    def apply(self, block: Block) -> None:
        """Apply a block, on several connections if it has parts and the part workers are free."""
        parts = self._part_workers.parts.take(block)
        if len(parts) < 2 or not self._part_workers.engage(block):
            self._own.apply(block)
            return
        self._leads = True
        try:
            split = self._part_workers.begin(parts[1:])
            self._own.apply_part(block, parts[0], split)
            self._part_workers.join()
        except (AlreadyRunning, TemporaryFailure, ConnectionFailed):
            self._undo()
            raise
        except ParaplyError as error:
            _log.warning("a transaction is applied whole, because its parts could not be: %s", error)
            # The error is found and reported best by applying the transaction as it is in the log.
            self._undo()
            self._own.apply(block)
        except BaseException:
            self._undo()
            raise

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply the block on the worker's own session: merged blocks have no parts."""
        self._own.apply_steps(block, steps)

    def commit(self) -> None:
        """Commit the leader, which decides the other parts, and then commit those."""
        if not self._leads:
            self._own.commit()
            return
        self._part_workers.deciding()
        try:
            self._own.commit()
        except (ConnectionFailed, AlreadyRunning):
            self._leads = False  # ``decided`` ends the branches, once the outcome is known
            raise
        except BaseException:
            self._undo()
            raise
        self._leads = False
        self._part_workers.end(commit=True)

    def rollback(self) -> None:
        """Roll back everything; never raises for a lost connection."""
        if self._leads:
            self._undo()
        else:
            self._own.rollback()

    def execute_statement(self, block: Block) -> None:
        """Run a DDL block."""
        self._own.execute_statement(block)

    def interrupt(self) -> None:
        """End the running statements; called from another thread."""
        self._own.interrupt()
        if self._leads:
            self._part_workers.interrupt()

    def rescue(self) -> None:
        """Close connections whose answer will not arrive; called from another thread."""
        self._own.rescue()
        if self._leads:
            self._part_workers.rescue()

    def close(self) -> None:
        """Close the connection; never raises."""
        if self._leads:
            self._undo()
        self._own.close()

    def _undo(self) -> None:
        self._leads = False
        self._own.rollback()
        self._part_workers.undo()
