"""Recomputing the numbers of a log and comparing them with what the server stamped.

Sources: WL#8440 (algorithm AL1) and the behaviour of MySQL 9.7 group members.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraply._native import Catalog, LogReader, StampVerifier, TransactionBatch
from paraply.errors import LogNotUnderstood, NumbersDiffer, UsageError
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.dump import read_dump
from paraply.source import log_paths
from paraply.source.feed import Feed

__all__ = ["VerifyReport", "require_equal", "verify"]

SCHEMES = ("group",)
SERVERS = ("5.7", "8.0", "9.7")

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class VerifyReport:
    """What ``verify`` found.

    Attributes:
        transactions: Transactions compared.
        different: Those whose numbers are not the log's.
        missed: Of the different ones, those whose recomputed ``last_committed`` is smaller than the server's.
        first_difference: ``gtid``, ``file``, ``position``, ``logged`` and ``computed`` of the first one, or None.
        differences: The first thousand such.
        gc_after: Numbers after which a garbage collection was inferred.
        fallbacks: How often a coarser write set was used (R13).
        fallback_reasons: The same by reason and table.
        seconds: Duration.
    """

    transactions: int = 0
    different: int = 0
    missed: int = 0
    first_difference: dict[str, Any] | None = None
    differences: list[dict[str, Any]] = field(default_factory=list)
    gc_after: list[int] = field(default_factory=list)
    fallbacks: int = 0
    fallback_reasons: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The fields of the contract."""
        names = ("transactions", "different", "first_difference", "gc_after", "fallbacks", "fallback_reasons")
        return {name: getattr(self, name) for name in names}


def verify(
    log: Path | str | Sequence[Path | str],
    *,
    scheme: str = "group",
    server: str | None = None,
    schema: Path | None = None,
    infer_gc: bool = False,
    order: Path | None = None,
    local_server_id: int | None = None,
    bytewise: bool = False,
    on_progress: Progress | None = None,
) -> VerifyReport:
    """Recomputes ``last_committed`` and ``sequence_number`` of every transaction and compares them with the log's.

    Args:
        log: Relay log of a group member, or several in order.
        scheme: Whose numbers the log carries; ``group``.
        server: Rules of this server version where they differ; by default the log's.
        schema: A dump with the tables as they were at the start of the log; by default the log's own DDL must do.
        infer_gc: Find garbage collections, which leave no event in the log.
        order: A log that holds all transactions of the group in certification order; its DDL gives the schema.
        local_server_id: With ``order``: transactions of this server were local on the member that wrote ``log``.
        bytewise: Hash text without its collation. Wrong on purpose: shows what Bug#86078 does.
        on_progress: Called with bytes read and transactions compared.

    Returns:
        The report; ``different`` is 0 where every number is the server's.

    Raises:
        UsageError: Options that do not go together.
        LogError: The log is damaged or not understood.
    """
    if scheme not in SCHEMES:
        raise UsageError(f"unknown scheme `{scheme}`: it is {' or '.join(SCHEMES)}")
    if server is not None and server not in SERVERS:
        raise UsageError(f"unknown server version `{server}`: it is one of {', '.join(SERVERS)}")
    if (order is None) != (local_server_id is None):
        raise UsageError("--order and --local-server-id go together: whose transactions were local on this member?")
    started = time.monotonic()
    first, *_ = paths = log_paths(log)
    feed = hashed_log([str(order)] if order is not None else paths, scheme, schema, bytewise)
    stamps = batches(paths) if order is not None else None
    burns = (server or server_version(first)) == "5.7"
    verifier = StampVerifier(infer_gc=infer_gc, burn_on_collection=burns, local_server_id=local_server_id)
    for item in feed:
        if stamps is not None:
            feed_stamps(verifier, stamps, item.batch)
        verifier.observe(item.batch, item.write_sets)
        if on_progress is not None:
            on_progress(feed.read_bytes, verifier.transactions)
    return report_of(verifier, feed.fallbacks, time.monotonic() - started)


def require_equal(report: VerifyReport) -> None:
    """Raises unless every number is the log's own.

    Raises:
        LogNotUnderstood: The log carries no numbers at all.
        NumbersDiffer: Some numbers are others; names the first.
    """
    first = report.first_difference
    if not report.different or first is None:
        return
    place = {"file": first["file"], "position": first["position"], "gtid": first["gtid"]}
    if min(first["logged"]) < 0:
        raise LogNotUnderstood(
            "the log's transactions carry no last_committed and sequence_number; give a relay log of a MySQL group member", **place
        )
    raise NumbersDiffer(
        f"{report.different} of {report.transactions} transactions carry other numbers than a group's certifier gives;"
        " is it a group member's relay log from its start, with its schema (--schema) and collections (--infer-gc)?",
        **place,
    )


def hashed_log(paths: Sequence[str], scheme: str, schema: Path | None, bytewise: bool) -> Feed:
    """The transactions in certification order with their write sets."""
    catalog = read_dump(schema) if schema is not None else SchemaCatalog()
    feed = Feed(LogReader(paths), catalog, Catalog(), scheme=scheme, bytewise=bytewise, threaded=False)
    feed.seed(list(catalog))
    return feed


def batches(paths: Sequence[str]) -> Iterator[TransactionBatch]:
    """The transactions of a log, as they are."""
    reader = LogReader(paths)
    while (batch := reader.next_batch()) is not None:
        yield batch


def server_version(path: str) -> str:
    """Major and minor version of the server that wrote a log; empty for a log without transactions."""
    batch = LogReader([path]).next_batch(1)
    return "{}.{}".format(*batch[0].format.version) if batch is not None else ""


def feed_stamps(verifier: StampVerifier, stamps: Iterator[TransactionBatch], ordered: TransactionBatch) -> None:
    """Hands the verifier as many of the member's own stamps as the ordered batch may ask for."""
    while verifier.stamps_ahead < len(ordered):
        batch = next(stamps, None)
        if batch is None:
            return
        verifier.add_stamps(batch)


def report_of(verifier: StampVerifier, fallbacks: Sequence[tuple[str, str, int]], seconds: float) -> VerifyReport:
    """Closes the comparison and puts its result together."""
    verifier.finish()
    return VerifyReport(
        transactions=verifier.transactions,
        different=verifier.different,
        missed=verifier.missed,
        first_difference=verifier.first_difference,
        differences=list(verifier.differences),
        gc_after=list(verifier.gc_after),
        fallbacks=sum(count for _, _, count in fallbacks),
        fallback_reasons=[{"reason": reason, "table": table, "count": count} for reason, table, count in fallbacks],
        seconds=seconds,
    )
