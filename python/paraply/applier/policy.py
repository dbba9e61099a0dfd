"""Scheduling policies: what must be committed before a block may start (R21, R21a)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Protocol

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block

__all__ = ["CONSISTENCIES", "POLICIES", "DependencyPolicy", "LogicalClockPolicy", "Policy", "check_combination", "make_policy"]


class Policy(Protocol):
    """Decides when a block may start; asked once for each block, in the source's order."""

    @property
    def name(self) -> str:
        """As ``--policy`` names it."""

    @property
    def merges(self) -> bool:
        """Whether blocks may hold several transactions."""

    def needs(self, block: Block, committed: int) -> int:
        """Id of the block up to which everything must be committed before this one starts; 0 for nothing.

        Args:
            block: The next block of the source's order.
            committed: The low-water mark now.

        Raises:
            UsageError: The policy cannot decide about this log.
        """


class DependencyPolicy:
    """Waits for exactly the transactions that the block conflicts with (C3), with merging (C4).

    Commits are in order, so the newest of them decides; a barrier waits for all older blocks and holds all younger ones.
    """

    name = "dependency"
    merges = True

    def __init__(self) -> None:
        self._barrier = 0

    def needs(self, block: Block, committed: int) -> int:
        """The newest block that this one depends on, or the last barrier if that is newer."""
        number = block.id
        if block.depends_on_all or runs_statement(block):
            self._barrier = number
            return number - 1
        older = block.depends_on
        newest = max(older) if older else 0
        needed = min(max(newest, self._barrier), number - 1)
        return needed if needed > committed else 0


class LogicalClockPolicy:
    """MySQL's rule: start when every transaction numbered up to ``last_committed`` is committed.

    A new file, numbers (0,0) or a number that does not grow drain all workers and start over; (0,0) and statements run alone.
    """

    name = "logical-clock"
    merges = False

    def __init__(self) -> None:
        self._barrier = 0
        self._file: str | None = None
        self._numbers: list[int] = []
        self._ids: list[int] = []

    def needs(self, block: Block, committed: int) -> int:
        """The newest block of the same counter whose number is at most the block's ``last_committed``."""
        last_committed, number = block.last_committed, block.sequence_number
        if last_committed is None or number is None:
            raise UsageError(
                "policy logical-clock needs a log whose transactions carry last_committed and sequence_number; use --policy dependency",
                file=block.file,
                position=block.offset,
                gtid=block.first_gtid,
            )
        unstamped = number <= 0
        if unstamped or block.file != self._file or (self._numbers and number <= self._numbers[-1]):
            self._start_over(block)
        else:
            self._forget(committed)
        if unstamped or block.depends_on_all or runs_statement(block):
            self._barrier = block.id
        if self._barrier == block.id:
            needed = block.id - 1
        else:
            place = bisect_right(self._numbers, last_committed)
            needed = max(self._barrier, self._ids[place - 1] if place else 0)
        if not unstamped:
            self._numbers.append(number)
            self._ids.append(block.id)
        return needed

    def _start_over(self, block: Block) -> None:
        """Everything before this block must be through before it, and so before anything after it."""
        self._file = block.file
        self._numbers.clear()
        self._ids.clear()
        self._barrier = block.id - 1

    def _forget(self, committed: int) -> None:
        """Drops the numbers of committed blocks, but for the newest one: numbers must be seen to grow."""
        gone = min(bisect_right(self._ids, committed), len(self._ids) - 1)
        if gone > 256:
            del self._numbers[:gone], self._ids[:gone]


def runs_statement(block: Block) -> bool:
    """Whether the block commits by itself: DDL and XA take their turn before they execute (R19, R35)."""
    return block.kind in ("ddl", "xa_prepare", "xa_end")


POLICIES: dict[str, Callable[[], Policy]] = {"dependency": DependencyPolicy, "logical-clock": LogicalClockPolicy}
"""The policies that exist, by name."""

CONSISTENCIES = ("any-time",)
"""The consistency levels that exist."""

_PLANNED_POLICIES = ("barrier", "optimistic", "unordered", "table", "row")
_PLANNED_CONSISTENCIES = ("most-of-the-time", "eventual")
_OUT_OF_ORDER = ("unordered", "table", "row")


def make_policy(name: str) -> Policy:
    """A policy by its name.

    Raises:
        UsageError: There is none of this name.

    >>> make_policy("dependency").merges
    True
    """
    try:
        return POLICIES[name]()
    except KeyError:
        known = "is not available in this version" if name in _PLANNED_POLICIES else "does not exist"
        raise UsageError(f"policy {name!r} {known}; choose one of: {', '.join(POLICIES)}") from None


def check_combination(policy: str, consistency: str, merge: str | int, gtid: str) -> None:
    """Refuses what may not go together (R21a), before anything is opened.

    Raises:
        UsageError: With the reason.
    """
    if policy in _OUT_OF_ORDER and consistency != "eventual":
        raise UsageError(f"policy {policy!r} commits out of the source's order and goes only with consistency 'eventual'")
    if policy == "row" and gtid == "preserve":
        raise UsageError("policy 'row' splits a transaction, which --gtid preserve does not allow")
    if consistency not in CONSISTENCIES:
        known = "is not available in this version" if consistency in _PLANNED_CONSISTENCIES else "does not exist"
        raise UsageError(f"consistency {consistency!r} {known}; choose one of: {', '.join(CONSISTENCIES)}")
    merges = make_policy(policy).merges
    if gtid not in ("auto", "record", "preserve", "none"):
        raise UsageError(f"gtid mode {gtid!r} does not exist; choose one of: auto, record, preserve, none")
    if isinstance(merge, bool) or (isinstance(merge, str) and merge not in ("auto", "off")) or (isinstance(merge, int) and merge < 1):
        raise UsageError(f"merge must be auto, off or a number from 1, not {merge!r}")
    if isinstance(merge, int) and merge > 1:
        if gtid == "preserve":
            raise UsageError("--gtid preserve commits each transaction under its own GTID and cannot merge; use --merge off")
        if not merges:
            raise UsageError(f"policy {policy!r} starts transactions by their own numbers and cannot merge; use --merge off")
