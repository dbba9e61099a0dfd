"""Verification of a log: its numbers are computed again and compared with the server's stamps.

Sources: WL#8440 (algorithm AL1) and the behaviour of MySQL 9.7 group members; for a source's own binary log the behaviour of MySQL 9.7
    (R16). For the scheme ``fine`` no number may be below what the transaction depends on (R37).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from paraply._native import (
    Catalog,
    Comparison,
    DependencyVerifier,
    LogReader,
    StampVerifier,
    TrackerVerifier,
    TransactionBatch,
    WriteSetFallback,
    log_head,
)
from paraply.errors import LogNotUnderstood, NumbersDiffer, UsageError
from paraply.logs import log_paths
from paraply.logs.feed import Feed, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump
from paraply.wording import fallback_reasons, fallback_total

__all__ = ["TrackerArguments", "TrackerOptions", "VerifyReport", "require_equal", "verify"]

SCHEMES = ("auto", "group", "writeset", "fine")
SERVERS = ("5.7", "8.0", "9.7")
SESSIONS = ("auto", "single", "many")
TRACKING = ("writeset", "writeset-session", "commit-order")

Progress = Callable[[int, int], None]

EXPECTED = {
    "group": "a group's certifier gives; is it a group member's relay log from its start, with its schema (--schema) and"
    " collections (--infer-gc)?",
    "writeset": "its source's tracker gives; is it the source's own binary log (not a relay log), with its schema (--schema), the"
    " source's history size (--history) and tracking (--tracking)?",
}


class TrackerArguments(TypedDict, total=False):
    """Arguments of ``TrackerOptions``."""

    sessions: str
    history: int | None
    tracking: str


@dataclass(frozen=True, slots=True)
class TrackerOptions:
    """The tracker of the source whose binary log is verified.

    Attributes:
        sessions: ``auto`` takes each transaction's session from the log, ``single`` means that no two sessions overlapped, ``many`` that
            any two may have.
        history: The source's ``binlog_transaction_dependency_history_size``; by default its version's default.
        tracking: The source's ``binlog_transaction_dependency_tracking``, a variable of servers before 8.4.
    """

    sessions: str = "auto"
    history: int | None = None
    tracking: str = "writeset"

    @property
    def are_given(self) -> bool:
        """True if one of them is not the default."""
        return self != TrackerOptions()

    def check(self) -> None:
        """Check the values.

        Raises:
            UsageError: A value is not allowed.
        """
        if self.sessions not in SESSIONS:
            raise UsageError(f"unknown sessions `{self.sessions}`: it is {', '.join(SESSIONS)}")
        if self.tracking not in TRACKING:
            raise UsageError(f"unknown tracking `{self.tracking}`: it is {', '.join(TRACKING)}")
        if self.history is not None and self.history < 1:
            raise UsageError("--history is the number of items that the source remembers, 1 or more")


@dataclass(slots=True)
class VerifyReport:
    """Result of ``verify``.

    Attributes:
        transactions: Number of compared transactions.
        different: Transactions with other numbers than the log's; under ``bound`` also those outside the range that the log allows.
        missed: Different transactions whose computed ``last_committed`` is smaller than the server's.
        first_difference: ``gtid``, ``file``, ``position``, ``logged`` and ``computed`` of the first difference, or None.
        differences: The first thousand differences.
        gc_after: Numbers after which a garbage collection was inferred.
        fallbacks: Number of coarser write sets (R13).
        fallback_reasons: The same by reason and table.
        check: ``exact`` if every transaction has one possible pair of numbers; ``bound`` if only a range is known for some, because the log
            does not show how sessions overlapped.
        checked_exactly: Number of transactions with one possible pair of numbers.
        seconds: Duration.
        scheme: Origin of the numbers by which they were compared.
    """

    transactions: int = 0
    different: int = 0
    missed: int = 0
    first_difference: dict[str, Any] | None = None
    differences: list[dict[str, Any]] = field(default_factory=list)
    gc_after: list[int] = field(default_factory=list)
    fallbacks: int = 0
    fallback_reasons: list[dict[str, Any]] = field(default_factory=list)
    check: Literal["exact", "bound"] = "exact"
    checked_exactly: int = 0
    seconds: float = 0.0
    scheme: str = "group"

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the contract."""
        names = (
            "scheme",
            "transactions",
            "different",
            "first_difference",
            "gc_after",
            "fallbacks",
            "fallback_reasons",
            "check",
            "checked_exactly",
        )
        return {name: getattr(self, name) for name in names}


def verify(
    log: Path | str | Sequence[Path | str],
    *,
    scheme: str = "auto",
    server: str | None = None,
    schema: Path | None = None,
    infer_gc: bool = False,
    order: Path | None = None,
    local_server_id: int | None = None,
    bytewise: bool = False,
    on_progress: Progress | None = None,
    **tracker: Unpack[TrackerArguments],
) -> VerifyReport:
    """Compute ``last_committed`` and ``sequence_number`` of every transaction, and compare them with the log's.

    Args:
        log: Relay log of a group member or binary log of a source, or several in order.
        scheme: Origin of the log's numbers: ``group``, the certifier's, or ``writeset``, a source's tracker's (R16); by default the
            first for a relay log, and the second for a binary log. With ``fine`` a number
            differs if it is below that of a transaction on which its own depends, whatever its origin (R37).
        server: Server version whose rules apply, if they differ; by default the log's.
        schema: A dump of the tables at the start of the log; by default only the log's own DDL is used.
        infer_gc: True to find garbage collections, which leave no event in the log.
        order: A log with all transactions of the group in certification order; its DDL gives the schema.
        local_server_id: With ``order``: transactions of this server were local on the member that wrote ``log``.
        bytewise: True to hash text without its collation. Wrong on purpose: shows the effect of Bug#86078.
        on_progress: Called with the bytes read and the transactions compared.
        tracker: With ``writeset``: the arguments of ``TrackerOptions``.

    Returns:
        The report; ``different`` is 0 if every number is the server's.

    Raises:
        UsageError: Options that are not allowed together.
        LogError: The log is damaged or not understood.
    """
    if scheme not in SCHEMES:
        raise UsageError(f"unknown scheme `{scheme}`: it is {' or '.join(SCHEMES)}")
    if server is not None and server not in SERVERS:
        raise UsageError(f"unknown server version `{server}`: it is one of {', '.join(SERVERS)}")
    if (order is None) != (local_server_id is None):
        raise UsageError("--order and --local-server-id go together: name the server whose transactions were local on this member")
    started = time.monotonic()
    options = TrackerOptions(**tracker)
    if scheme == "auto":
        scheme = "group" if infer_gc or order is not None else "writeset" if options.are_given else scheme_of(log_paths(log)[0])
    if scheme != "group":
        refuse_group_options(infer_gc=infer_gc, order=order)
    if scheme == "writeset":
        report = verify_source(log_paths(log), server, schema, options, bytewise=bytewise, on_progress=on_progress)
        report.scheme = scheme
        return report
    if options.are_given:
        raise UsageError("--sessions, --history and --tracking go with --scheme writeset")
    if scheme == "fine":
        if server is not None:
            raise UsageError("--server goes with --scheme group and --scheme writeset")
        report = verify_dependencies(log_paths(log), schema, bytewise=bytewise, on_progress=on_progress)
        report.scheme = scheme
        return report
    first, *_ = paths = log_paths(log)
    feed = hashed_log([str(order)] if order is not None else paths, scheme, schema, bytewise)
    stamps = batches(paths) if order is not None else None
    burns = (server or server_version(first)) == "5.7"
    verifier = StampVerifier(infer_gc=infer_gc, burn_on_collection=burns, local_server_id=local_server_id)
    observe_all(verifier, feed, on_progress, before=None if stamps is None else lambda batch: feed_stamps(verifier, stamps, batch))
    report = report_of(verifier.finish(), feed.fallbacks, time.monotonic() - started)
    report.checked_exactly = report.transactions
    return report


def scheme_of(path: str) -> str:
    """Return the scheme of a log's numbers: a group member writes them into its relay log, a source into its binary log."""
    return "group" if log_head(path).relay_log else "writeset"


def refuse_group_options(*, infer_gc: bool, order: Path | None) -> None:
    """Refuse options of scheme ``group``: the other schemes have no collections, and the log's own order."""
    if infer_gc or order is not None:
        raise UsageError("--infer-gc, --order and --local-server-id go with --scheme group")


def verify_source(
    paths: Sequence[str],
    server: str | None,
    schema: Path | None,
    options: TrackerOptions,
    *,
    bytewise: bool,
    on_progress: Progress | None,
) -> VerifyReport:
    """Verify a log by the rules of a source's tracker (R16)."""
    options.check()
    started = time.monotonic()
    feed = hashed_log(paths, "writeset", schema, bytewise)
    major, minor = (int(part) for part in (server or server_version(paths[0]) or SERVERS[-1]).split("."))
    verifier = TrackerVerifier(version=(major, minor), history_size=options.history, tracking=options.tracking, sessions=options.sessions)
    observe_all(verifier, feed, on_progress)
    report = report_of(verifier.finish(), feed.fallbacks, time.monotonic() - started)
    report.checked_exactly = verifier.exact
    report.check = "exact" if verifier.exact == report.transactions else "bound"
    return report


def verify_dependencies(paths: Sequence[str], schema: Path | None, *, bytewise: bool, on_progress: Progress | None) -> VerifyReport:
    """Find the transactions whose number is below that of a transaction on which they depend (R37)."""
    started = time.monotonic()
    feed = hashed_log(paths, "fine", schema, bytewise)
    verifier = DependencyVerifier()
    observe_all(verifier, feed, on_progress)
    report = report_of(verifier.finish(), feed.fallbacks, time.monotonic() - started)
    report.checked_exactly = report.transactions
    return report


def observe_all(
    verifier: StampVerifier | TrackerVerifier | DependencyVerifier,
    feed: Feed,
    on_progress: Progress | None,
    before: Callable[[TransactionBatch], object] | None = None,
) -> None:
    """Give all transactions to a verifier; ``before`` is called with each batch first."""
    for item in feed:
        if before is not None:
            before(item.batch)
        verifier.observe(item.batch, item.write_sets)
        if on_progress is not None:
            on_progress(feed.read_bytes, verifier.transactions)


def require_equal(report: VerifyReport, scheme: str | None = None) -> None:
    """Raise an error unless every number is the log's own.

    Args:
        report: Result of ``verify``.
        scheme: Expected origin of the log's numbers; by default the one by which they were compared.

    Raises:
        LogNotUnderstood: The log has no numbers at all.
        NumbersDiffer: Some numbers differ; the message names the first.
    """
    scheme, first = scheme or report.scheme, report.first_difference
    if not report.different or first is None:
        return
    place = {"file": first["file"], "position": first["position"], "gtid": first["gtid"]}
    if min(first["logged"]) < 0:
        raise LogNotUnderstood(
            "the log's transactions carry no last_committed and sequence_number; give a relay log of a MySQL group member,"
            " or with --scheme writeset or fine a binary log of MySQL",
            **place,
        )
    if scheme == "fine":
        raise NumbersDiffer(
            f"{report.different} of {report.transactions} transactions carry a last_committed below the number of a transaction on which"
            " they depend by their rows, so a replica may apply both at once. A source numbers so what its sessions had locked at the same"
            " time; for numbers that need no such knowledge, write the log again with paraply stamp",
            **place,
        )
    expected = EXPECTED[scheme]
    raise NumbersDiffer(f"{report.different} of {report.transactions} transactions carry other numbers than {expected}", **place)


def hashed_log(paths: Sequence[str], scheme: str, schema: Path | None, bytewise: bool) -> Feed:
    """Return the transactions in certification order with their write sets."""
    catalog = read_dump(schema) if schema is not None else SchemaCatalog()
    feed = Feed(LogReader(paths), catalog, Catalog(), FeedRules(scheme, bytewise), threaded=False)
    feed.seed(list(catalog))
    return feed


def batches(paths: Sequence[str]) -> Iterator[TransactionBatch]:
    """Yield the transactions of a log, unchanged."""
    reader = LogReader(paths)
    while (batch := reader.next_batch()) is not None:
        yield batch


def server_version(path: str) -> str:
    """Return major and minor version of the server that wrote a log; empty for a log without transactions."""
    batch = LogReader([path]).next_batch(1)
    return "{}.{}".format(*batch[0].format.version) if batch is not None else ""


def feed_stamps(verifier: StampVerifier, stamps: Iterator[TransactionBatch], ordered: TransactionBatch) -> None:
    """Give the verifier as many of the member's own stamps as the ordered batch may need."""
    while verifier.stamps_ahead < len(ordered):
        batch = next(stamps, None)
        if batch is None:
            return
        verifier.add_stamps(batch)


def report_of(found: Comparison, fallbacks: Sequence[WriteSetFallback], seconds: float) -> VerifyReport:
    """Make the report of a comparison."""
    return VerifyReport(
        transactions=found.transactions,
        different=found.different,
        missed=found.missed,
        first_difference=found.first_difference,
        differences=found.differences,
        gc_after=found.gc_after,
        fallbacks=fallback_total(fallbacks),
        fallback_reasons=fallback_reasons(fallbacks),
        seconds=seconds,
    )
