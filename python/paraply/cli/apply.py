"""``paraply apply``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape

from paraply._extras import require_extra
from paraply.applier.schedule.policy import POLICIES
from paraply.cli.options import (
    AllowNontransactional,
    AsJson,
    Channel,
    ConsistencyLevel,
    Databases,
    DdlDone,
    DdlNotDone,
    Debug,
    DefaultsFile,
    ExcludedDatabases,
    ExcludedTables,
    GtidMode,
    Listen,
    Logs,
    MaxRate,
    Merge,
    Metrics,
    OnConflict,
    Quiet,
    RenamedDatabases,
    RenamedTables,
    Skip,
    StartAfter,
    StopBefore,
    Tables,
    TargetUrl,
    TraceFile,
    Via,
    Workers,
)
from paraply.cli.process.signals import stops_on_signal
from paraply.cli.terminal import output
from paraply.cli.terminal.dry_run import dry_run_json, show_dry_run, show_plan
from paraply.cli.terminal.progress import apply_line
from paraply.errors import UsageError
from paraply.wording import counted, fallback_reasons, fallback_total, fallback_words

if TYPE_CHECKING:
    from paraply.applier import Applier, ApplyReport
    from paraply.observe.metrics_server import Watched
    from paraply.schema.catalog import SchemaCatalog

__all__ = ["apply", "report_json"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply apply binlog.000041 binlog.000042

  paraply apply binlog.0000* --to mysql://root@127.0.0.1:3306 --workers 8

  paraply apply binlog.00004* --to mysql://root@127.0.0.1 --stop-at 2026-03-01T14:07:00+01:00 --dry-run

  paraply apply binlog.0000* --to mysql://root@127.0.0.1 --table shop.orders --rename-table shop.orders=restore.orders --channel fix

  paraply apply binlog.00004* --to mysql://root@127.0.0.1 --skip 3e11fa47-71ca-11e1-9e33-c80aa9429562:2517

  paraply apply binlog.00004* --to mysql://root@127.0.0.1 --stop-before binlog.000042:73219

  paraply apply binlog.00004* --to mysql://root@127.0.0.1 --on-conflict log

  paraply apply relay.000007 --to postgresql://localhost/copy --start-after 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-2000

Passwords need not be part of the URL: PARAPLY_PASSWORD, ~/.my.cnf or --defaults-file, ~/.pgpass.
Ctrl-C stops at a transaction boundary; the same command continues from there.
"""


_REASONS = {"known definition differs from the log": " (as for a system-versioned table, whose log has columns for the times of a row)"}
"""Explanations of some reasons for people."""

NOTHING_DONE: Mapping[str, Any] = {"transactions": 0, "commits": 0, "skipped": 0, "executed": None, "fallbacks": 0, "fallback_reasons": []}
"""JSON fields of an apply that failed before its first transaction; the content of the target is unknown then."""


def apply(
    log: Logs,
    to: TargetUrl = None,
    defaults_file: DefaultsFile = None,
    workers: Workers = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help=f"Scheduling policy: {', '.join(POLICIES)}.")] = "dependency",
    consistency: ConsistencyLevel = "any-time",
    timestamp_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="For policy unordered: the column with the time of a row's last change; the last writer wins."),
    ] = None,
    merge: Merge = "auto",
    gtid: GtidMode = "auto",
    via: Via = "sessions",
    listen: Listen = None,
    start_after: StartAfter = None,
    stop_at: Annotated[
        str | None,
        typer.Option(metavar="TIME|GTID", help="Stop before this time, such as 2026-03-01T14:07:00+01:00, or after this GTID."),
    ] = None,
    stop_before: StopBefore = None,
    skip: Skip = None,
    allow_gap: Annotated[
        bool, typer.Option("--allow-gap", help="Continue although transactions are missing between the target and the first log.")
    ] = False,
    database: Databases = None,
    table: Tables = None,
    exclude_database: ExcludedDatabases = None,
    exclude_table: ExcludedTables = None,
    metrics: Metrics = None,
    trace: TraceFile = None,
    max_rate: MaxRate = None,
    on_conflict: OnConflict = "stop",
    rename_database: RenamedDatabases = None,
    rename_table: RenamedTables = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be applied, and write nothing.")] = False,
    schema: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log, or after --start-after."
        ),
    ] = None,
    lower_case_table_names: Annotated[
        int | None, typer.Option(min=0, max=2, help="The source's setting of this name, which logs do not contain; 1 and 2 ignore case.")
    ] = None,
    channel: Channel = "default",
    allow_nontransactional: AllowNontransactional = False,
    ddl_done: DdlDone = False,
    ddl_not_done: DdlNotDone = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Replay logs into a database, in parallel and in the source's order."""
    applier: Applier | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.applier import Applier
        from paraply.applier.selection.filters import parse_filters
        from paraply.logs import log_paths
        from paraply.logs.archived import Wanted
        from paraply.targets import open_target
        from paraply.targets.conflicts import parse_on_conflict

        nonlocal applier
        decision = ddl_decision(ddl_done, ddl_not_done)
        address = metrics_address(metrics)
        log_paths(log, Wanted.between(start_after, stop_at, stop_before))
        with open_target(to, defaults_file=defaults_file) as target, apply_line(quiet=quiet or as_json) as line:
            applier = Applier(
                log,
                target,
                workers=workers,
                policy=policy,
                consistency=consistency,
                merge=merge_setting(merge),
                gtid=gtid_mode(gtid),
                via=via_setting(via),
                listen=listen,
                start_after=start_after,
                schema=tables_of(schema),
                channel=channel,
                allow_nontransactional=allow_nontransactional,
                ddl_decision=decision,
                stop_at=stop_at,
                stop_before=stop_before,
                skip=skip,
                allow_gap=allow_gap,
                timestamp_column=timestamp_column,
                filters=parse_filters(database or [], table or [], exclude_database or [], exclude_table or []),
                on_plan=None if quiet or as_json else show_plan,
                on_progress=line.update if line is not None else None,
                trace=trace,
                max_rate=max_rate,
                on_conflict=parse_on_conflict(on_conflict),
                lower_case_table_names=lower_case_table_names,
                rename_database=rename_database or (),
                rename_table=rename_table or (),
            )
            if dry_run:
                found = applier.dry_run()
                if not as_json:
                    show_dry_run(found)
                return 0, dry_run_json(found)
            with metrics_of(applier, address, quiet=quiet or as_json), stops_on_signal(applier.stop):
                report = applier.run()
            if line is not None:
                line.complete()
        if not as_json:
            show(report, costs=trace is not None)
        return 0, report_json(report)

    def so_far() -> Mapping[str, Any]:
        if dry_run:
            found = applier.forecast if applier is not None else None
            if found is not None and not as_json:
                show_dry_run(found)
            return dry_run_json(found)
        report = applier.report if applier is not None else None
        if report is None:
            return NOTHING_DONE
        if not as_json and report.transactions:
            show(report, costs=trace is not None)
        return report_json(report)

    output.run("apply", body, as_json=as_json, debug=debug, so_far=so_far)


def metrics_address(text: str | None) -> tuple[str, int] | None:
    """Return the address that ``--metrics`` names, if it is there."""
    if text is None:
        return None
    require_extra("metrics", "--metrics")
    from paraply.observe.metrics_server import parse_address

    return parse_address(text)


def tables_of(schema: Path | None) -> SchemaCatalog | None:
    """Return the definitions in the dump of ``--schema``, or None."""
    if schema is None:
        return None
    from paraply.schema.readers.dump import read_dump

    return read_dump(schema)


def merge_setting(text: str) -> Literal["auto", "off"] | int:
    """Return the value of ``--merge``.

    >>> merge_setting("32")
    32
    """
    if text == "auto":
        return "auto"
    if text == "off":
        return "off"
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"--merge {text}: give a number from 1, auto or off")
    return int(text)


def gtid_mode(text: str) -> Literal["auto", "record", "preserve", "none"]:
    """Return the value of ``--gtid``."""
    modes: tuple[Literal["auto", "record", "preserve", "none"], ...] = ("auto", "record", "preserve", "none")
    for mode in modes:
        if text == mode:
            return mode
    raise UsageError(f"--gtid {text}: give one of {', '.join(modes)}")


def via_setting(text: str) -> Literal["sessions", "replication"]:
    """Return the value of ``--via``."""
    ways: tuple[Literal["sessions", "replication"], ...] = ("sessions", "replication")
    for way in ways:
        if text == way:
            return way
    raise UsageError(f"--via {text}: give one of {', '.join(ways)}")


def ddl_decision(done: bool, not_done: bool) -> Literal["done", "not-done"] | None:
    """Return the user's decision about a DDL that a crash left undecided (R25b), or None."""
    if done and not_done:
        raise UsageError("--ddl-done and --ddl-not-done exclude each other")
    return "done" if done else "not-done" if not_done else None


@contextmanager
def metrics_of(
    run: Watched, address: tuple[str, int] | None, *, quiet: bool, receiver: Callable[[], Mapping[str, Any] | None] | None = None
) -> Iterator[None]:
    """Serve the metrics of a run during the ``with`` block, if an address is given."""
    if address is None:
        yield
        return
    from paraply.observe.metrics_server import MetricsServer

    with MetricsServer(*address, run, receiver) as server:
        if not quiet:
            output.notice("metrics", f"metrics  {server.url}")
        yield


def report_json(report: ApplyReport) -> dict[str, Any]:
    """Return the JSON fields of an apply."""
    from paraply.observe.conflicts import conflicts_json

    return {
        "transactions": report.transactions,
        "commits": report.commits,
        "skipped": report.skipped,
        "filtered": report.filtered,
        "stop": report.stop.as_json() if report.stop is not None else None,
        "skip": report.skip.as_json() if report.skip is not None else None,
        "conflicts": conflicts_json(report.conflicts, report.on_conflict),
        "notes": report.notes,
        "rows": report.rows,
        "executed": report.executed,
        "retries": report.retries,
        "younger_rolled_back": report.rollbacks,
        "waits": report.waits,
        "apply_seconds": round(report.seconds, 3),
        "cpu": report.cpu.as_json(),
        "fallbacks": fallback_total(report.fallbacks),
        "fallback_reasons": fallback_reasons(report.fallbacks),
    }


def show(report: ApplyReport, *, costs: bool = False) -> None:
    """Print the report for people, with the CPU time of each stage if ``costs``; as an event if events are JSON objects."""
    from paraply.observe.conflicts import conflict_lines

    rate = report.transactions / report.seconds if report.seconds else 0.0
    skipped = f", {report.skipped:,} skipped" if report.skipped else ""
    reconnects = f", {counted(report.reconnects, 'new connection')} after lost ones" if report.reconnects else ""
    first = (
        f"{counted(report.transactions, 'transaction')} ({counted(report.rows, 'row')}) in {report.seconds:.2f} s, {rate:,.0f}/s, "
        f"{counted(report.commits, 'commit')}{skipped}, {counted(report.retries, 'retry', 'retries')}{reconnects}"
    )
    if output.as_objects and output.write_event is not None:
        output.write_event("info", "report", first, report_json(report))
        return
    output.console.print(first)
    if report.filtered:
        many = counted(report.filtered, "transaction was", "transactions were")
        by = "" if report.own_left_out else " by the filters"
        output.console.print(f"{many} left empty{by}, and recorded as done")
    if report.skip is not None and report.skip.transactions:
        many = counted(report.skip.transactions, "transaction was", "transactions were")
        output.console.print(f"{many} left out by --skip, and counted as executed")
    if report.stop is not None:
        asked = f", as {escape(report.stop.asked)} asked" if report.stop.asked else ""
        output.console.print(f"stopped {report.stop}{asked}", soft_wrap=True)
    for line in conflict_lines(report.conflicts):
        output.console.print(escape(line), soft_wrap=True)
    for note in report.notes:
        output.console.print(escape(note), soft_wrap=True)
    for fallback in report.fallbacks:
        reason = fallback.reason + _REASONS.get(fallback.reason, "")
        output.console.print(f"coarser write set: {escape(fallback_words(reason, fallback.table, fallback.number))}")
    if costs:
        from paraply.cli.terminal.cpu_table import cpu_table

        output.console.print(cpu_table(report.cpu))


apply.__doc__ = (apply.__doc__ or "") + "\n" + EXAMPLES
