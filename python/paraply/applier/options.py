"""The options of one apply, parsed once into types."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypedDict

from paraply.applier.execute.retry import Patience, RetryPolicy
from paraply.applier.schedule.batching import may_merge
from paraply.errors import UsageError
from paraply.observe.status_json import RunIdentity
from paraply.schema.renames import KEPT_NAMES, Renames
from paraply.targets.conflicts import OnConflict

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import GtidSet, SkipList, StopCondition, TableFilter
    from paraply.applier.commit.consistency import Consistency
    from paraply.applier.schedule.policy import PolicyKind
    from paraply.applier.selection.filters import Filters
    from paraply.errors import ParaplyError
    from paraply.logs.feed import FeedLimits
    from paraply.logs.stop_point import StopPoint
    from paraply.logs.transaction_set import TransactionSet
    from paraply.targets.protocol import LocalTime

__all__ = [
    "Limits",
    "Options",
    "ReaderOptions",
    "Via",
    "check_channel",
    "check_max_rate",
    "default_workers",
    "keeps_gtids_right",
    "parse_retries",
    "parse_via",
    "parse_workers",
]

_LONGEST_CHANNEL = 64
"""Most characters of a channel's name in the progress tables."""

_SERVER_WORKERS = 16
"""Default number of the server's workers: they mostly wait for their turn, and more of them make larger commit groups."""


class Via(enum.Enum):
    """Executor of the transactions; the values are those of ``--via``."""

    SESSIONS = "sessions"
    """The applier's own sessions."""
    REPLICATION = "replication"
    """The target's own replication."""


class ReaderOptions(TypedDict):
    """Arguments of the native reader, as for ``LogReader``."""

    executed: GtidSet | None
    after: tuple[int, int] | None
    tables: TableFilter
    stop: StopCondition | None
    skip: SkipList | None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of retries, of waiting, and of reading ahead.

    Attributes:
        retry: Limits and delays of retries (R24).
        patience: Waiting times before the target is asked for the blockers of the oldest transaction.
        feed: Limits of the reader's lead over the workers.
    """

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    patience: Patience | None = None
    feed: FeedLimits | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Arguments of Applier that are needed before and during the run."""

    paths: tuple[str, ...]
    workers: int
    policy: PolicyKind
    consistency: Consistency
    merge: Literal["auto", "off"] | int
    gtid: Literal["auto", "record", "preserve", "none"]
    channel: str
    start_after: str | None
    allow_nontransactional: bool
    ddl_decision: Literal["done", "not-done"] | None
    filters: Filters
    stop: StopPoint | None = None
    skip: TransactionSet | None = None
    """Transactions to leave out."""
    allow_gap: bool = False
    timestamp_column: str | None = None
    live: bool = False
    """True if the logs are files of a relay log that is still written."""
    relay_failure: Callable[[], ParaplyError | None] | None = None
    """Returns the error that ended the relay log; None if it is still written, or was ended in order."""
    via: Via = Via.SESSIONS
    """Executor of the transactions: the applier's own sessions, or the target's replication."""
    listen: str | None = None
    """Address at which the target's replication reads; None to find one."""
    lower_case_table_names: int | None = None
    """The source's setting of that name, if known."""
    limits: Limits = field(default_factory=Limits)
    max_rate: int | None = None
    """Most rows a second; None for no limit."""

    renames: Renames = KEPT_NAMES
    """Names on the target that differ from the log's."""

    local_time: LocalTime | None = None
    """Asks the source for a local time; None if there is no source to ask."""

    on_conflict: OnConflict = OnConflict.STOP
    """Treatment of rows that do not fit the target."""

    def __post_init__(self) -> None:
        """Check the options that can be checked alone."""
        check_max_rate(self.max_rate)

    @property
    def by_replication(self) -> bool:
        """True if the target's own replication applies."""
        return self.via is Via.REPLICATION

    @property
    def in_threads(self) -> bool:
        """True if the applier's own workers run in threads."""
        return self.workers > 0 and not self.by_replication

    @property
    def merges(self) -> bool:
        """True if the options allow several transactions in one commit."""
        return self.policy.merges and may_merge(self.merge, self.workers)

    @property
    def splits(self) -> bool:
        """True if large transactions are applied on several connections."""
        return self.policy.splits and self.workers > 1

    def identity(self, gtid_mode: str) -> RunIdentity:
        """Return the identity of a run in this GTID mode."""
        stop = self.stop.text if self.stop else ""
        return RunIdentity(self.channel, self.paths, self.workers, self.policy.name, self.consistency.value, gtid_mode, stop)

    def reader_options(self, executed: GtidSet | None = None, after: tuple[int, int] | None = None) -> ReaderOptions:
        """Return the native reader's arguments for applied transactions, the stop, the filters, the renames and the skipped transactions.

        Args:
            executed: GTIDs of the applied transactions.
            after: Index of the file and offset up to which transactions without GTID are applied.
        """
        return {
            "executed": executed,
            "after": after,
            "tables": self.filters.native(self.renames),
            "stop": None if self.stop is None else self.stop.native(),
            "skip": self.skip.native() if self.skip else None,
        }


def default_workers() -> int:
    """Return the default number of workers: two for each usable CPU, from 4 to 16, because a worker mostly waits for the server."""
    try:
        cpus = len(os.sched_getaffinity(0))
    except AttributeError:
        cpus = os.cpu_count() or 2
    return max(4, min(16, 2 * cpus))


def parse_workers(workers: int | None, via: Via) -> int:
    """Return the number of workers; None chooses one.

    Raises:
        UsageError: The number is negative.
    """
    if workers is None:
        return _SERVER_WORKERS if via is Via.REPLICATION else default_workers()
    if workers < 0:
        raise UsageError(f"workers must be 0 or more, not {workers}")
    return workers


def parse_via(text: str) -> Via:
    """Return the executor that ``--via`` names.

    Raises:
        UsageError: No executor has this name.

    >>> parse_via("replication")
    <Via.REPLICATION: 'replication'>
    """
    try:
        return Via(text)
    except ValueError:
        raise UsageError(f"via {text!r} does not exist; choose one of: {', '.join(via.value for via in Via)}") from None


def keeps_gtids_right(merge: Literal["auto", "off"] | int) -> bool:
    """Return True if a replica of a live source may have a GTID mode that never merges: unless a number asks for merged commits."""
    return not (isinstance(merge, int) and merge > 1)


def parse_retries(retries: int | RetryPolicy) -> RetryPolicy:
    """Return the retry policy.

    Raises:
        UsageError: The limit is negative.
    """
    retry = RetryPolicy(limit=retries) if isinstance(retries, int) else retries
    if retry.limit < 0:
        raise UsageError(f"retries must be 0 or more, not {retry.limit}")
    return retry


def check_max_rate(rows: int | None) -> None:
    """Check the most rows a second; None for no limit.

    Raises:
        UsageError: The number is less than 1.
    """
    if rows is not None and rows < 1:
        raise UsageError(f"--max-rate {rows}: give at least 1 row a second; paraply pause stops a run for a while")


def check_channel(name: str) -> None:
    """Check that progress can be kept under a name.

    Raises:
        UsageError: The name is empty, too long, or looks like an option.
    """
    if not name or len(name) > _LONGEST_CHANNEL or name.startswith("-") or not name.isprintable():
        raise UsageError(f"--channel {name!r}: give a name of 1 to {_LONGEST_CHANNEL} printable characters that does not begin with -")
