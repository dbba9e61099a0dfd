"""What an apply run has committed so far, as its sessions write it into the target (rules R25 and R25a)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block, GtidSet

__all__ = ["Mark", "ProgressLedger"]


@dataclass(frozen=True, slots=True)
class Mark:
    """The progress that one transaction on the target writes: what is through once it has committed.

    Attributes:
        executed: GTIDs as text; empty for a log without GTIDs.
        file: Log file of its last transaction.
        offset: Offset behind that transaction.
        ordinal: Transactions of the source that are through.
    """

    executed: str
    file: str
    offset: int
    ordinal: int


class ProgressLedger:
    """The GTIDs whose commits were acknowledged; shared by the sessions of a target.

    Every session writes a row of its own, so that sessions do not wait for each other. A row holds everything that was
    acknowledged when its transaction began, and that transaction itself. The union of the rows is then exactly what is
    committed: a commit is in its own session's row, and whatever replaces that row knows of it. This holds in any order of
    commits, and the text stays short because all but the newest commits are one interval.
    """

    def __init__(self, executed: GtidSet, *, has_gtids: bool, copy: Callable[[GtidSet], GtidSet] = lambda gtids: gtids.copy()) -> None:
        self._executed = copy(executed)
        self._has_gtids = has_gtids
        self._lock = threading.Lock()

    def mark(self, block: Block) -> Mark:
        """The progress to write in the transaction that applies a block."""
        executed = ""
        if self._has_gtids:
            with self._lock:
                executed = str(self._executed | block.gtids)
        return Mark(executed, block.end_file, block.end_offset, block.ordinal)

    def acknowledge(self, block: Block) -> None:
        """Notes that a block's commit was acknowledged."""
        if self._has_gtids:
            with self._lock:
                self._executed = self._executed | block.gtids

    def executed(self) -> GtidSet:
        """What is acknowledged."""
        with self._lock:
            return self._executed.copy()
