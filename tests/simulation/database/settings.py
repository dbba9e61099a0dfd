"""Properties of the model database, and what it tells about a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from simulation.history import Row

    from paraply.targets.progress.file_ledger import PositionRow

__all__ = ["Commit", "Fault", "LockName", "Settings"]

LockName = tuple[str, object]


class Fault(AssertionError):
    """A promise that was not kept."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Properties of the database.

    Attributes:
        lock_timeout: Seconds after which a lock wait ends with an error.
        latency: Most seconds of a round trip; most take none.
        gaps: Chance that a change takes a lock that its write set does not tell.
        gap_size: Number of neighbouring keys that share such a lock.
        slow: Chance that a transaction takes much longer than the others.
        shows_blockers: True if it tells who blocks whom.
        zombies: Chance that the locks of a lost connection are held for a while.
        fair: True if those that wait for a lock get it in the order in which they came.
        locking: The server whose row locks it takes: those of foreign keys, of duplicates and of errors differ.
    """

    lock_timeout: float = 0.2
    latency: float = 0.001
    gaps: float = 0.0
    gap_size: int = 8
    slow: float = 0.0
    shows_blockers: bool = True
    zombies: float = 0.3
    fair: bool = True
    locking: Literal["mysql", "mariadb", "postgresql"] = "mysql"


@dataclass(slots=True)
class Commit:
    """A commit that readers see.

    Attributes:
        numbers: The source's transactions in it.
        undo: Rows before it.
        slot: Number of the row of progress that it wrote, and that row before.
    """

    numbers: list[int]
    undo: dict[tuple[str, int], Row | None]
    slot: tuple[int, PositionRow | None] | None
