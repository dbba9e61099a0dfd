"""Writing the changes of logs into a lake, exactly once, with states that all tables share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from paraply._native import GtidSet
from paraply.analysis.parts import place_of
from paraply.errors import ParaplyError, Stopped, UsageError
from paraply.lake.changes import ChangeReader, Part
from paraply.lake.continuation import check_continuation, source_of
from paraply.lake.published import Published
from paraply.lake.refusals import check_change, check_statements, placed
from paraply.lake.selection import unused_names
from paraply.lake.store import Store, check_form, open_store
from paraply.lake.tables import LakeTables
from paraply.logs import log_paths
from paraply.logs.file_order import read_heads
from paraply.schema.model import OWN_DATABASE

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Transaction
    from paraply.applier.selection.filters import Filters
    from paraply.lake.options import LakeOptions

__all__ = ["LakeReport", "LakeWriter"]


@dataclass(slots=True)
class LakeReport:
    """Result of a run.

    Attributes:
        into: The lake.
        form: ``delta`` or ``iceberg``.
        publication: Number of the newest published state.
        executed: GTID set that it holds.
        tables: Number of its tables.
        transactions: Transactions that this run added.
        skipped: Transactions that the lake held before.
        rows: Row changes that this run added.
        merged: Changes that were left of these after keeping the last one of each key.
        published: States that this run published.
        read_bytes: Bytes of the transactions that were read.
        notes: Remarks for the user, such as names of filters that the logs do not have.
    """

    into: str
    form: str
    publication: int = 0
    executed: str = ""
    tables: int = 0
    transactions: int = 0
    skipped: int = 0
    rows: int = 0
    merged: int = 0
    published: int = 0
    read_bytes: int = 0
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as fields of the JSON object."""
        names = ("publication", "executed", "tables", "transactions", "skipped", "rows", "merged", "published", "notes")
        return {"into": self.into, "format": self.form, **{name: getattr(self, name) for name in names}}


class LakeWriter:
    """One run of ``paraply lake``.

    Args:
        options: What is read, and where it is written.
        on_progress: Called after each part of the log with the report so far.

    >>> from paraply.lake.options import LakeOptions
    >>> LakeWriter(LakeOptions(["no/such/log"], "/lake")).report.published
    0
    """

    def __init__(self, options: LakeOptions, on_progress: Callable[[LakeReport], None] | None = None) -> None:
        self._options = options
        self._on_progress = on_progress or (lambda _report: None)
        self._filters = options.filters.without_system_databases(OWN_DATABASE)
        self.report = LakeReport(options.into, options.form)
        self._stopping = False

    def stop(self) -> None:
        """Stop after the next published state. May be called from a signal handler."""
        self._stopping = True

    def run(self) -> LakeReport:
        """Write all changes of the logs that the lake does not hold yet.

        Raises:
            UsageError: Options do not fit the lake or each other.
            LogError: The log is damaged or not understood; what comes before is published.
            ApplyFailed: The lake cannot be changed; its published state stays.
            AlreadyRunning: Another process writes into the lake.
            Stopped: ``stop`` was called.
        """
        paths = log_paths(self._options.logs)
        store = open_store(self._options.into, self._options.form)
        with store.locked():
            before = store.published()
            self._check_start(before)
            files = read_heads(paths)
            check_continuation(files, before, self._options.start_after)
            run = _Run(self._options, store, before, self.report, self._filters, source_of(files))
            self.report.notes = unused_names(paths, self._filters)
            stop = self._options.stop
            if stop is not None and stop.after is not None and stop.after in run.executed:
                return self.report
            end = None if stop is None else place_of(paths, stop)
            check_statements(paths, self._filters, self._options.definitions, run.executed, run.kept, end)
            run.begin()
            for part in run.parts(paths):
                run.take(part)
                self._on_progress(self.report)
                if self._stopping:
                    run.publish()
                    raise Stopped(
                        f"stopped on request; the lake holds {self.report.executed or 'nothing'}; run the same command to continue"
                    )
            run.publish(ends=True)
        self._on_progress(self.report)
        return self.report

    def _check_start(self, before: Published | None) -> None:
        """Compare the options with the published state."""
        if before is None:
            check_form(self._options.into, self._options.form)
            return
        after = self._options.start_after
        if after is not None and not GtidSet(after) <= GtidSet(before.gtids):
            raise UsageError(
                f"--start-after is for a lake without a published state: this one holds {before.gtids or 'no transaction'};"
                " leave the option out to continue"
            )
        if before.filters != str(self._options.filters):
            raise UsageError(
                f"the lake was written with the filters {before.filters or '(none)'}: give the same ones, or another --into",
            )


class _Run:
    """State of a run: what is executed, and what is not published yet."""

    def __init__(
        self, options: LakeOptions, store: Store, before: Published | None, report: LakeReport, filters: Filters, source: str
    ) -> None:
        self._options, self._store, self._report, self._filters = options, store, report, filters
        self._state = before or Published(filters=str(options.filters))
        self._source = self._state.source or source
        self._before = before
        self.kept = None if options.start_after is None else list(options.definitions)
        if before is not None:
            self.kept = [table.definition for table in before.tables.values()]
        self.executed = GtidSet(before.gtids if before is not None else options.start_after or "")
        self.tables = LakeTables(store, before)
        self._last: Transaction | None = None
        self._rows = 0
        self._adopted: Published | None = None
        self.tables.before_write = self._publish_adopted
        self._note()

    def begin(self) -> None:
        """Bring the lake into its published state; one without any takes over the tables that it has."""
        if self._before is None and self._options.start_after is not None:
            self.tables.adopt(self._options.definitions, self._filters)
            tables = self.tables.published()
            if tables:
                self._adopted = replace(self._state, number=1, gtids=str(self.executed), tables=tables, source=self._source)
        else:
            self.tables.recover()

    def parts(self, paths: list[str]) -> Any:
        """Yield the parts of the logs that are not executed."""
        options = self._options
        limits = (options.batch_rows, options.batch_bytes)
        reader = ChangeReader(paths, self._filters, options.definitions, self.executed, self.kept, *limits, options.stop)
        self.tables.definition = reader.definition
        failure: ParaplyError | None = None
        iterator = iter(reader)
        while True:
            try:
                part = next(iterator)
            except StopIteration:
                break
            except ParaplyError as error:  # what comes before is complete
                failure = error
                break
            yield part
            self._report.read_bytes, self._report.skipped = reader.read_bytes, reader.skipped
        self._report.read_bytes, self._report.skipped = reader.read_bytes, reader.skipped
        if failure is not None:
            self.publish()
            raise failure

    def take(self, part: Part) -> None:
        """Add the changes of a part; publish if there are enough."""
        properties = self._properties()
        try:
            if not part.late:
                self._add_rows(part, properties)
            for change in part.changes:
                check_change(change, self._filters)
                self.tables.follow(change, self._filters, properties)
            if part.late:
                self._add_rows(part, properties)
        except ParaplyError as error:
            raise placed(error, _transaction_of(error, part)) from error.__cause__
        for transaction in part.transactions:
            if transaction.gtid:
                self.executed.add(transaction.gtid)
        self._last = part.transactions[-1]
        self._rows += part.rows
        self._report.transactions += len(part.transactions)
        self._report.rows += part.rows
        if self._rows >= self._options.batch_rows or self.tables.bytes >= self._options.batch_bytes:
            self.publish()

    def publish(self, *, ends: bool = False) -> None:
        """Write what is held, and make it the published state; without new transactions only at the end, for tables taken over."""
        if self._last is None:
            if ends:
                self._publish_adopted()
            return
        properties = self._properties()
        self._report.merged += self.tables.flush(properties)
        last = self._last
        self._state = Published(
            self._state.number + 1,
            str(self.executed),
            None if last is None else last.committed_us,
            "" if last is None else last.file,
            0 if last is None else last.offset,
            self.tables.published(),
            str(self._options.filters),
            self._source,
        )
        self._store.publish(self._state)
        self._report.published += 1
        self._last, self._rows, self._adopted = None, 0, None
        self._note()

    def _publish_adopted(self) -> None:
        """Publish the tables that were taken over, as they were, before one of them is changed: a killed run goes back to that state."""
        state, self._adopted = self._adopted, None
        if state is not None:
            self._store.publish(state)
            self._state = state
            self._report.published += 1
            self._note()

    def _add_rows(self, part: Part, properties: dict[str, str]) -> None:
        if not part.rows:
            return
        for table, columns, batches in part.tables():
            for batch in batches:
                self.tables.add(table, columns, batch)
                if self.tables.bytes >= self._options.batch_bytes:
                    self._report.merged += self.tables.flush(properties)

    def _properties(self) -> dict[str, str]:
        """Return the properties of the commits of the next state."""
        number = self._state.number + (1 if self._adopted is None else 2)
        return {"paraply.publication": str(number), "paraply.gtids": str(self.executed)}

    def _note(self) -> None:
        self._report.publication, self._report.executed = self._state.number, str(self.executed)
        self._report.tables = len(self._state.tables)


def _transaction_of(error: ParaplyError, part: Part) -> Transaction:
    """Return the transaction in which an error lies, by its position; the last one of the part if the error has none."""
    for transaction in part.transactions:
        if error.file == transaction.file and error.position is not None and error.position < transaction.end_offset:
            return transaction
    return part.transactions[-1]
