"""The applier: replays logs into a target with many connections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.drivers import InlineDriver, ThreadDriver
from paraply.applier.execute.ending import complete_gtids
from paraply.applier.execute.resolution import check_on_conflict
from paraply.applier.execute.retry import RetryPolicy
from paraply.applier.execute.run_state import RunState
from paraply.applier.execute.split import PartMaker, PartWorkers
from paraply.applier.execute.supervisor import stopped_error
from paraply.applier.execute.worker import Worker
from paraply.applier.options import Limits, Options, Via, check_channel, default_workers, parse_retries, parse_via, parse_workers
from paraply.applier.preflight.dry_run import DryRun, scan
from paraply.applier.preflight.inspect import Preflight, Start, inspect_without_transactions, run_preflight, start_run
from paraply.applier.preflight.reading import open_feed
from paraply.applier.preflight.session_ids import is_in_order_anyway
from paraply.applier.preflight.timestamp_column import check_timestamp_column
from paraply.applier.preflight.xa import left_note
from paraply.applier.schedule.batch import batch_options
from paraply.applier.schedule.batching import MergeSize
from paraply.applier.schedule.concurrency_limit import concurrency_limit_of
from paraply.applier.schedule.coordinator import Coordinator
from paraply.applier.schedule.early_rows import may_have_early_rows
from paraply.applier.schedule.gate import Gate
from paraply.applier.schedule.job_list import MOST_AHEAD, MOST_POSITIONS_AHEAD, JobList
from paraply.applier.schedule.policy import check_combination, policy_kind
from paraply.applier.schedule.session_order import SessionOrder
from paraply.applier.selection.filters import Filters, filters_for
from paraply.applier.selection.renaming import gtid_mode_of, parse_renames, renamed_definitions
from paraply.applier.selection.skip import skip_result
from paraply.applier.selection.stop_result import check_result, stop_place
from paraply.applier.via_replication.options import check_via, check_via_family, check_via_target
from paraply.errors import ParaplyError, UsageError
from paraply.logs import Wanted, beside_logs, log_paths
from paraply.logs.companions import passed_over_note
from paraply.logs.file_order import check_order, read_heads
from paraply.logs.stop_point import parse_stop
from paraply.logs.transaction_set import TransactionSet
from paraply.observe.counters import ApplyReport, Counters
from paraply.observe.run_monitor import RunMonitor
from paraply.observe.snapshot import make_report
from paraply.observe.timeline import timeline_of
from paraply.schema.given import as_catalog
from paraply.targets import as_target
from paraply.targets.conflicts import parse_on_conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from paraply._native import GtidSet, LogReader, RelayLog, Transaction
    from paraply.applier.execute.drivers import Driver
    from paraply.applier.execute.retry import Patience
    from paraply.applier.preflight.plan import RunPlan
    from paraply.logs.feed import Feed, FeedLimits
    from paraply.logs.file_order import LogFile
    from paraply.logs.stop_point import StopPoint
    from paraply.observe.outage import Outage
    from paraply.observe.status_json import RunIdentity
    from paraply.observe.timeline import Timeline
    from paraply.schema.catalog import SchemaCatalog
    from paraply.targets.conflicts import OnConflict
    from paraply.targets.protocol import LocalTime, Target
    from paraply.targets.two_phase import BranchTarget

__all__ = ["Applier", "default_workers"]


class Applier:
    """Parallel replay of logs into a target, committed in the source's order.

    A run may be stopped or killed at any moment. A later one with the same arguments continues where it ended and applies every
    transaction exactly once (R25). As a context manager it closes the target at the end.

    Args:
        paths: Log files, in the order of writing.
        target: The target or its URL; ``run`` opens it.
        workers: Connections that apply at the same time; 0 applies inline on one; None chooses by the number of CPUs. With
            ``via="replication"`` the workers of the target's own applier, 16 for None.
        policy: ``dependency``, ``logical-clock``, ``barrier``, ``optimistic``, ``table``, ``row`` or ``unordered`` (R21).
        consistency: ``any-time``, ``most-of-the-time`` or ``eventual`` (R20).
        merge: Transactions that may become one commit: ``auto``, ``off`` or a number. Automatic merging is off with 0 workers,
            with policies and in GTID modes that cannot merge.
        gtid: ``auto``, ``record``, ``preserve`` or ``none`` (R26).
        channel: Name under which the progress is kept.
        schema: Definitions at the log's start or after ``start_after``, or a dump's path; else a target's of the family, else the log's.
        start_after: GTID set of transactions that the target already holds.
        allow_nontransactional: Accept tables of non-transactional engines (R34).
        ddl_decision: ``done`` or ``not-done``: the answer to the question of R25b.
        retries: Retries of one block after temporary errors, or a whole retry policy (R24).
        on_progress: Called about four times a second with the counters, from a thread of the applier (inline: from ``run``).
        filters: Databases and tables to apply; part of the progress's identity (R25).
        stop_at: A time in RFC 3339 with an offset: stops before the first transaction that is not earlier. Or a GTID: stops after it.
        stop_before: A GTID: stops before it.
        allow_gap: Continue although transactions before the first log are missing in the target.
        timestamp_column: For policy ``unordered``: the column with the time of a row's last change; the last writer wins.
        on_plan: Called with the plan before the first write.
        trace: File for the timeline of the run, in Perfetto's format; or an open timeline, which stays open.
        relay: The relay log whose files ``paths`` are: the run follows it, and ends when it is closed or the stop is met.
        stop: The stop, in place of ``stop_at`` and ``stop_before``.
        relay_failure: Asked at the end of the relay log for the error that ended it; the run then ends with it, unless its stop is met.
        receiver: Called with a set of GTIDs; returns the receiver's part of the status and how much is left after this set.
        patience: Waiting times before the target is asked for lock holders.
        limits: Limits of the reader's lead over the workers.
        via: ``sessions`` for the applier's own connections, or ``replication`` for the target's own workers, which then commit in order
        listen: For ``replication``: the address of this machine at which the target reads, as HOST or HOST:PORT.
        lower_case_table_names: The source's setting of that name, which logs do not contain. Under 1 rows have names in lower case, and
            statements the names as typed; names in ``filters`` are then compared in lower case.
        max_rate: Most rows a second, on average; None for no limit.
        rename_database: Databases with another name on the target, each as ``old=new``; part of the progress's identity. Filters have the
            log's names.
        rename_table: Tables with another name on the target, each as ``database.table=database.table``.
        local_time: Asks the source for a local time, where only the source knows its time zone.
        skip: Transactions to leave out: a GTID set, or text, in which a GTID of MariaDB stands for itself. They count as executed.
        on_conflict: Treatment of rows that do not fit the target: ``stop``, ``log`` or ``overwrite``.
        outage: State of the connections to the target, which further appliers may share.

    Raises:
        UsageError: An option, or a combination of options, is not allowed (R21a).
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        target: Target | str,
        *,
        workers: int | None = None,
        policy: str = "dependency",
        consistency: str = "any-time",
        merge: Literal["auto", "off"] | int = "auto",
        gtid: Literal["auto", "record", "preserve", "none"] = "auto",
        channel: str = "default",
        schema: SchemaCatalog | str | Path | None = None,
        start_after: GtidSet | str | None = None,
        allow_nontransactional: bool = False,
        ddl_decision: Literal["done", "not-done"] | None = None,
        retries: int | RetryPolicy = 10,
        on_progress: Callable[[Counters], None] | None = None,
        filters: Filters | None = None,
        stop_at: str | None = None,
        stop_before: str | None = None,
        allow_gap: bool = False,
        timestamp_column: str | None = None,
        on_plan: Callable[[RunPlan], None] | None = None,
        trace: str | Path | Timeline | None = None,
        relay: RelayLog | None = None,
        stop: StopPoint | None = None,
        receiver: Callable[[GtidSet], Mapping[str, Any]] | None = None,
        relay_failure: Callable[[], ParaplyError | None] | None = None,
        patience: Patience | None = None,
        limits: FeedLimits | None = None,
        via: Literal["sessions", "replication"] = "sessions",
        listen: str | None = None,
        lower_case_table_names: int | None = None,
        max_rate: int | None = None,
        rename_database: Sequence[str] = (),
        rename_table: Sequence[str] = (),
        local_time: LocalTime | None = None,
        skip: GtidSet | str | None = None,
        on_conflict: OnConflict | Literal["stop", "log", "overwrite"] = "stop",
        outage: Outage | None = None,
    ) -> None:
        way = parse_via(via)
        target = as_target(target)
        workers = parse_workers(workers, way)
        renames = parse_renames(rename_database, rename_table, lower_case=bool(lower_case_table_names))
        check_combination(policy, consistency, merge, gtid)
        check_timestamp_column(policy, timestamp_column)
        check_channel(channel)
        check_on_conflict(
            parse_on_conflict(on_conflict),
            by_replication=way is Via.REPLICATION,
            keeps_order=Consistency(consistency).keeps_order,
            allow_nontransactional=allow_nontransactional,
        )
        self._beside = beside_logs(paths)
        self._options = Options(
            paths=tuple(log_paths(paths, Wanted.between(None if start_after is None else str(start_after), stop_at, stop_before))),
            workers=workers,
            policy=policy_kind(policy),
            consistency=Consistency(consistency),
            merge=merge,
            gtid="preserve" if way is Via.REPLICATION and gtid == "auto" else gtid,
            channel=channel,
            start_after=None if start_after is None else str(start_after),
            allow_nontransactional=allow_nontransactional,
            ddl_decision=ddl_decision,
            filters=filters_for(target, filters or Filters(), lower_case_table_names),
            stop=stop or parse_stop(stop_at, stop_before),
            skip=TransactionSet.of("--skip", skip),
            allow_gap=allow_gap,
            timestamp_column=timestamp_column,
            live=relay is not None,
            relay_failure=relay_failure,
            via=way,
            listen=listen,
            lower_case_table_names=lower_case_table_names,
            limits=Limits(parse_retries(retries), patience, limits),
            max_rate=max_rate,
            renames=renames,
            local_time=local_time,
            on_conflict=parse_on_conflict(on_conflict),
        )
        check_via_family(self._options, target)
        check_via(self._options)
        if renames:
            self._options = replace(self._options, gtid=gtid_mode_of(renames, self._options.filters, gtid))
        self._relay = relay
        self._receiver, self._outage = receiver, outage
        self._on_plan = on_plan
        self._trace = trace
        self._target = target
        self._schema = renamed_definitions(renames, as_catalog(schema))
        self._on_progress = on_progress
        self._stops = 0
        self._run: RunState | None = None
        self._feed: Feed | None = None
        self._merge = MergeSize(merge, workers, most=1)
        self._merges = True
        self._reader: LogReader | None = None
        self._workers: list[Worker] = []
        self._files: list[LogFile] = []
        self._notes: list[str] = []
        self._monitor: RunMonitor | None = None
        self._executor: PartWorkers | None = None
        self._report: ApplyReport | None = None
        self._forecast: DryRun | None = None
        self._used = False
        self._ordered = False

    def __enter__(self) -> Applier:
        """Return the applier; ``run`` opens the target."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close the target."""
        self.close()

    def close(self) -> None:
        """Close the target. Must not be called while ``run`` is active."""
        self._target.close()

    @property
    def report(self) -> ApplyReport | None:
        """Result of the run, also of a failed or stopped one; None before its end."""
        return self._report

    def counters(self) -> Counters:
        """Return a snapshot of the run. May be called from any thread at any time."""
        return Counters() if self._monitor is None else self._monitor.counters()

    def identity(self) -> RunIdentity | None:
        """Return the run's identity, or None before it has begun. May be called from any thread."""
        return None if self._monitor is None else self._monitor.identity

    def paused(self) -> str | None:
        """Return ``pausing`` while a pause has begun, then ``paused``; None without a pause. May be called from any thread."""
        return None if self._monitor is None else self._monitor.paused()

    def executed(self) -> GtidSet | None:
        """Return the GTIDs that are committed without a gap, or None before the run has begun. May be called from any thread."""
        run = self._run
        return None if run is None or run.order.ahead else run.executed()

    def stop(self) -> None:
        """End the run at a transaction boundary; ``run`` then raises Stopped.

        The first call lets the blocks in progress finish, the second one rolls them back. May be called from any thread and from a
        signal handler.
        """
        self._stops += 1
        if self._relay is not None and self._reader is not None:
            self._reader.stop()

    def run(self) -> ApplyReport:
        """Apply the logs to their end.

        Returns:
            The result of the run.

        Raises:
            LogError: The log is damaged or not understood; everything before the error is applied.
            ApplyFailed: A transaction cannot be applied; everything before it is applied.
            Stopped: On request.
            ParaplyError: Any other cause, by its class.
        """
        if self._used:
            raise UsageError("an applier runs once; make another one")
        self._used = True
        look = self._look()
        if look is None:
            self._report = ApplyReport(notes=self._notes, skip=skip_result(self._options.skip, None, 0))
            return self._report
        if self._on_plan is not None:
            self._on_plan(look.run_plan)
        with timeline_of(self._trace) as timeline:
            start = start_run(self._options, self._target, look)
            run, feed = self._prepare(start, look)
            run.notes.extend(look.run_plan.notes)
            if look.run_plan.statement_changes is not None:
                run.notes.append(look.run_plan.statement_changes.note)
            run.runs_events, run.answer = look.runs_events, look.plan.answer
            monitor = self._monitor = self._watch(look, timeline)
            return self._apply(start, run, feed, monitor)

    def _watch(self, look: Preflight, timeline: Timeline | None) -> RunMonitor:
        """Return the monitor of the run."""
        options, identity = self._options, self._options.identity(look.run_plan.gtid_mode)
        return RunMonitor(identity, self._files, options.stop, self._on_progress, timeline, self._receiver, live=options.live)

    def dry_run(self) -> DryRun | None:
        """Find out what ``run`` would apply, without writing to the target.

        Returns:
            The transactions that would be applied; None if the logs contain none.

        Raises:
            UsageError: ``run`` would be refused.
            LogError: The log is damaged or not understood; ``forecast`` has everything that was found nevertheless.
        """
        look = self._look()
        if look is not None:
            self._forecast = DryRun(look.run_plan)
            scan(self._options, look, self._target, self._schema, self._forecast)
        return self._forecast

    @property
    def forecast(self) -> DryRun | None:
        """Result of the dry run, also of one that ended with an error; None before its end."""
        return self._forecast

    def _look(self) -> Preflight | None:
        """Find out everything that can be known before the first write; return None for logs without a transaction."""
        files = self._files = read_heads(self._options.paths)
        if self._relay is None:
            check_order(files)
        first = self._first_transaction()
        check_via_target(self._options, self._target, first)
        if first is None:
            self._notes = inspect_without_transactions(self._options, self._target, files)
            return None
        if is_in_order_anyway(self._options, first, self._look_into_log()):
            self._ordered, self._options = True, replace(self._options, consistency=Consistency.ANY_TIME)
        look = run_preflight(self._options, self._target, files, first, list(self._schema or ()))
        self._options = replace(self._options, filters=look.renaming.filters)
        if self._beside:
            look.run_plan.notes.append(passed_over_note(self._beside))
        return look

    def _first_transaction(self) -> Transaction | None:
        batch = self._look_into_log().next_batch(1)
        return batch[0] if batch is not None and len(batch) else None

    def _look_into_log(self) -> LogReader:
        from paraply._native import LogReader

        return LogReader(self._options.paths, passes_statements=True) if self._relay is None else self._relay.reader()

    def _prepare(self, start: Start, look: Preflight) -> tuple[RunState, Feed]:
        """Make the run's state and its reader stage."""
        options = self._options
        policy, consistency = options.policy, options.consistency
        parts = PartMaker(options.workers) if options.splits else None
        on_hashed = parts.look_at if parts is not None else None
        self._reader, feed = open_feed(options, self._target, look, start, self._schema, self._relay, on_hashed)
        self._merges = policy.merges and self._target.merges
        singly = not (self._merges and options.merges)
        batch = batch_options(self._target, consistency, options.workers) if singly and parts is None else {}
        ahead = MOST_AHEAD if start.has_gtids else MOST_POSITIONS_AHEAD
        limit = concurrency_limit_of(self._target, options.workers) if options.in_threads and not singly else None
        ordered = consistency.keeps_order
        jobs = JobList(options.workers, ordered=ordered, most_ahead=ahead, concurrency=limit, **batch) if options.in_threads else None
        run = RunState(
            self._target,
            start.progress.executed,
            options.limits.retry,
            jobs,
            consistency=consistency,
            optimistic=policy.optimistic,
            low=start.progress.low if start.mariadb else None,
            outage=self._outage,
        )
        run.on_conflict = options.on_conflict
        if parts is not None:
            self._executor = run.target.executor = PartWorkers(cast("BranchTarget", self._target), parts, options.workers - 1)
        run.notes.extend(start.progress.notes)
        if self._ordered:
            run.session_unknown()
        self._merge = MergeSize(options.merge, options.workers, most=self._target.most_merged, allowed=self._merges, concurrency=limit)
        self._workers = [Worker(run, number) for number in range(max(1, options.workers))]
        self._feed, self._run = feed, run
        return run, feed

    def _apply(self, start: Start, run: RunState, feed: Feed, monitor: RunMonitor) -> ApplyReport:
        from paraply._native import Planner

        driver = self._driver(run, feed, monitor)
        gate = Gate(self._options.max_rate, lambda: bool(self._stops) or run.order.failure is not None)
        monitor.watch(run, feed, driver.workers, self._merge)
        # Where commits may be merged, a transaction that the filters left empty needs no commit of its own.
        gathers = {"gathers_filtered": True} if (self._options.filters or self._options.skip) and self._merges else {}
        planner = Planner(executed=start.skip, after=start.place, early_rows=may_have_early_rows(self._options, self._target), **gathers)
        sessions = None if self._options.consistency.keeps_order else SessionOrder(run.session_unknown)
        policy, done = self._options.policy.make(), start.progress.done
        coordinator = Coordinator(run, feed, planner, policy, self._merge, driver.executor, sessions, done, gate)
        monitor.start(self._target, gate, run.target.outage)
        ended: BaseException | None = None
        try:
            complete = driver.coordinate(coordinator)
            self._raise_failure(run)
            if not complete or (self._relay is not None and self._stops):
                raise stopped_error()
            check_result(self._options, start, run, self._reader)
            with run.target.exclusive() as target:
                target.finish(run.executed() | start.skip)
                run.notes.extend(left_note(target.left_prepared()))
        except BaseException as error:
            ended = error if run.order.failure is None else run.order.failure
            if isinstance(error, ParaplyError):
                complete_gtids(run, ended, self._options.start_after)
                self._raise_failure(run)
            raise
        finally:
            monitor.end(ended)
            report = make_report(run, feed, driver.workers)
            skip = skip_result(self._options.skip, self._reader, run.named)
            self._report = replace(report, stop=stop_place(self._reader, self._options.stop) if ended is None else None, skip=skip)
        return self._report

    def _raise_failure(self, run: RunState) -> None:
        """Raise the run's root cause, which precedes every error that followed from it (R18)."""
        if run.order.failure is not None:
            raise run.order.failure

    def _driver(self, run: RunState, feed: Feed, monitor: RunMonitor) -> Driver:
        """Return the driver that does the work."""
        patience = self._options.limits.patience
        if self._options.by_replication:
            from paraply.applier.via_replication.driver import ReplicaDriver

            return ReplicaDriver(run, feed, self._target, self._options, lambda: self._stops, monitor.tick)
        if run.jobs is None:
            return InlineDriver(run, feed, self._workers[0], patience, lambda: self._stops, monitor.tick)
        return ThreadDriver(run, run.jobs, feed, self._workers, patience, lambda: self._stops, monitor.tick, self._executor)
