"""The result of ``analyze``: frozen values that become one JSON object."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from paraply.analysis.analyze.costs import CostModel

__all__ = [
    "Analysis",
    "ConflictForecast",
    "ConflictKey",
    "CriticalPath",
    "Curve",
    "Explanation",
    "HotKey",
    "KeyName",
    "KeySteps",
    "LostTime",
    "OverTime",
    "PathStep",
    "Point",
    "Scheme",
    "TableConflicts",
    "Totals",
]

ApplierName = Literal["mysql", "change_stream", "mariadb", "paraply"]


@dataclass(frozen=True, slots=True)
class OverTime:
    """Load of the source over time.

    Attributes:
        begin: Start of the first span, RFC 3339.
        seconds: Length of each span.
        transactions: Number of transactions in each span.
        rows: Number of rows in each span.
        bytes: Bytes of log in each span.
    """

    begin: str
    seconds: float
    transactions: tuple[int, ...]
    rows: tuple[int, ...]
    bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of the log.

    Attributes:
        transactions: Number of transactions.
        rows: Number of changed rows.
        bytes: Bytes of the transactions in the log.
        files: Number of files.
        barriers: Transactions that run alone: DDL, and those whose keys are not known.
        sessions: Number of client sessions; 0 if the log does not name them.
        first_time: Commit time of the first transaction, RFC 3339; None if the log has no times.
        last_time: Commit time of the last transaction.
        span_seconds: Time between them.
        transactions_per_second: Rate of the source; None without times.
        rows_per_second: Rate of the source; None without times.
        bytes_per_second: Rate of the source; None without times.
        over_time: Load of the source over time; None without times.
    """

    transactions: int
    rows: int
    bytes: int
    files: int
    barriers: int
    sessions: int
    first_time: str | None
    last_time: str | None
    span_seconds: float
    transactions_per_second: float | None
    rows_per_second: float | None
    bytes_per_second: float | None
    over_time: OverTime | None


@dataclass(frozen=True, slots=True)
class Scheme:
    """Parallelism that a scheme of numbers allows.

    Attributes:
        name: ``stamped`` (the log's own numbers), ``writeset``, ``group``, ``fine``, or ``fine-merged`` (several transactions in a commit).
        parallelism: Time of one worker, divided by the time of the longest chain: the greatest possible speed-up.
        seconds: Time of the longest chain.
        steps: Number of its transactions, or of its commits.
    """

    name: str
    parallelism: float
    seconds: float
    steps: int


@dataclass(frozen=True, slots=True)
class Point:
    """Simulated apply with a number of workers.

    Attributes:
        workers: Number of workers.
        seconds: Time until everything is committed.
        speed_up: Time of one worker without merging, divided by this time.
        busy: Share of the workers' time in which they apply or commit.
        commits: Number of commits.
        retries: Number of transactions that are rolled back and tried again.
    """

    workers: int
    seconds: float
    speed_up: float
    busy: float
    commits: int
    retries: int


@dataclass(frozen=True, slots=True)
class Curve:
    """Simulated apply times of one applier.

    Attributes:
        applier: The applier.
        numbers: Numbers by which it schedules: ``stamped`` or ``fine``.
        ordered: True if commits keep the log's order.
        validated: False if no server was at hand to compare the simulation with.
        points: A point for each number of workers.
    """

    applier: ApplierName
    numbers: str
    ordered: bool
    validated: bool
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class KeyName:
    """A key of a row.

    Attributes:
        table: Table of the key; empty if it is not known.
        key: Name of the key; empty for a whole table.
        values: Values of its parts; with ``--hide-values`` one keyed hash.
    """

    table: str
    key: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        """Return the key in one line.

        >>> str(KeyName("shop.stock", "PRIMARY", ("7", "a"))), str(KeyName("shop.log", "", ()))
        ('shop.stock PRIMARY (7, a)', 'shop.log')
        """
        return " ".join(part for part in (self.table, self.key, f"({', '.join(self.values)})" if self.values else "") if part)


@dataclass(frozen=True, slots=True)
class HotKey:
    """Time lost for one key.

    Attributes:
        name: The key.
        seconds: Its part of the lost time.
        gain_seconds: Time that the apply would take less if transactions did not conflict over this key; None if not computed.
    """

    name: KeyName
    seconds: float
    gain_seconds: float | None


@dataclass(frozen=True, slots=True)
class LostTime:
    """Time lost for one cause.

    Attributes:
        cause: Name of the cause.
        title: The cause in words.
        seconds: Its part of the lost time.
        share: Its part of the lost time, 0 to 1.
        advice: What to do about it.
        gain_seconds: Time that the apply would take less without this cause: the simulation run again; None where that has no meaning.
        keys: The keys with most of its time, if it is about keys.
    """

    cause: str
    title: str
    seconds: float
    share: float
    advice: str
    gain_seconds: float | None
    keys: tuple[HotKey, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Division of the lost time of a simulated schedule.

    Attributes:
        applier: The applier.
        numbers: Numbers by which it schedules.
        workers: Number of its workers.
        ordered: True if commits keep the log's order.
        seconds: Its time.
        ideal_workers: Number of workers that the ideal has.
        ideal_seconds: Time of that many workers that are always busy.
        lost_seconds: Difference.
        causes: Each cause, the largest first.
    """

    applier: ApplierName
    numbers: str
    workers: int
    ordered: bool
    seconds: float
    ideal_workers: int
    ideal_seconds: float
    lost_seconds: float
    causes: tuple[LostTime, ...]


@dataclass(frozen=True, slots=True)
class PathStep:
    """Transaction of the critical path.

    Attributes:
        gtid: Its GTID; None for none.
        file: File of the log.
        position: Offset in the file.
        rows: Number of rows.
        bytes: Bytes in the log.
        seconds: Time to apply and commit it.
        waits_for: The key for which it waits for the step before; None for a barrier and for a key without a name.
    """

    gtid: str | None
    file: str
    position: int
    rows: int
    bytes: int
    seconds: float
    waits_for: KeyName | None


@dataclass(frozen=True, slots=True)
class KeySteps:
    """Key for which steps of the critical path wait.

    Attributes:
        name: The key.
        steps: Number of steps.
    """

    name: KeyName
    steps: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Longest chain of transactions that wait for one another, under exact dependencies.

    Attributes:
        seconds: Its time: no number of workers is faster without merging.
        steps: Number of its transactions.
        share: Its part of the time of one worker, 0 to 1.
        largest: Its transactions that take longest.
        keys: Keys for which most of its steps wait.
    """

    seconds: float
    steps: int
    share: float
    largest: tuple[PathStep, ...]
    keys: tuple[KeySteps, ...]


@dataclass(frozen=True, slots=True)
class ConflictKey:
    """Key with predicted certification conflicts.

    Attributes:
        name: The key.
        conflicts: Expected number of rejected transactions.
    """

    name: KeyName
    conflicts: float


@dataclass(frozen=True, slots=True)
class TableConflicts:
    """Predicted certification conflicts of a table.

    Attributes:
        table: The table; empty for keys without a name.
        conflicts: Expected number.
    """

    table: str
    conflicts: float


@dataclass(frozen=True, slots=True)
class ConflictForecast:
    """Prediction of certification conflicts, if the log's sessions wrote to several primaries of a group.

    Attributes:
        primaries: Number of primaries.
        latency_ms: Latency of messages between members.
        transactions: Transactions with a session and a time.
        conflicts: Expected number of rejected transactions.
        share: The same as a part of the transactions, 0 to 1.
        upper_bound: True if the log has whole seconds only, so that conflicts are overestimated.
        tables: Conflicts by table.
        keys: Keys with most conflicts.
    """

    primaries: int
    latency_ms: float
    transactions: int
    conflicts: float
    share: float
    upper_bound: bool
    tables: tuple[TableConflicts, ...]
    keys: tuple[ConflictKey, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Result of ``analyze``.

    Attributes:
        totals: Totals of the log.
        costs: The cost model.
        serial_seconds: Time of one worker.
        schemes: Parallelism by scheme.
        curves: Simulated apply times.
        explanation: Division of the lost time.
        critical_path: The longest chain.
        group: Predicted certification conflicts, if asked for.
        hidden_values: True if key values are replaced by keyed hashes.
        fallback_reasons: Coarser write sets (R13) by reason and table.
        seconds: Duration of the analysis.
    """

    totals: Totals
    costs: CostModel
    serial_seconds: float
    schemes: tuple[Scheme, ...]
    curves: tuple[Curve, ...]
    explanation: Explanation
    critical_path: CriticalPath
    group: ConflictForecast | None
    hidden_values: bool
    fallback_reasons: tuple[dict[str, Any], ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the command's JSON object."""
        fields = asdict(replace(self, fallback_reasons=()))
        del fields["seconds"]
        reasons = list(self.fallback_reasons)
        count = sum(reason["count"] for reason in reasons)
        return {"transactions": self.totals.transactions} | fields | {"fallbacks": count, "fallback_reasons": reasons}
