"""``paraply replicate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraply.cli.apply import (
    NOTHING_DONE,
    ddl_decision,
    gtid_mode,
    merge_setting,
    metrics_address,
    metrics_of,
    report_json,
    show,
    tables_of,
    via_setting,
)
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
from paraply.cli.receive import ReceptionSettings, parse_place, parse_report_host, receive
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import apply_line
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply.replication import Replication

__all__ = ["parse_place", "parse_report_host", "replicate"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply replicate --from mysql://repl@db1.example.org --to mysql://app@db2.example.org

  paraply replicate --from mariadb://repl@db1.example.org --to postgresql://app@localhost/copy --relay-log /var/lib/paraply/relay

  paraply replicate --from mysql://repl@db1.example.org --until 2026-03-01T14:07:00Z

  paraply replicate --from mysql://repl@db1.example.org --to mysql://app@localhost --via replication --workers 8

  paraply replicate --from mysql://repl@db1.example.org --to mysql://app@localhost --skip 3e11fa47-71ca-11e1-9e33-c80aa9429562:2517

  paraply replicate --from mysql://repl@db1.example.org --to mysql://app@localhost --on-conflict overwrite

  paraply replicate --from mysql://repl@db1.example.org --relay-log /var/lib/paraply/relay --no-apply

  paraply replicate --from mysql://repl@db1.example.org --to postgresql://app@localhost/copy --ddl-done  # after a change by hand

Passwords need not be part of the URLs: PARAPLY_PASSWORD, ~/.my.cnf or --defaults-file, ~/.pgpass.
Ctrl-C stops at a transaction boundary; the same command continues from there.
"""

POLICIES = ("dependency", "logical-clock", "barrier", "optimistic", "table")


def replicate(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="The source: mysql:// or mariadb://.")],
    to: TargetUrl = None,
    defaults_file: DefaultsFile = None,
    relay_log: Annotated[
        Path, typer.Option("--relay-log", metavar="DIR", file_okay=False, help="Folder of the relay log; keep it for the next start.")
    ] = Path("paraply-relay"),
    relay_log_size: Annotated[int, typer.Option(metavar="BYTES", min=4096, help="Size at which the relay log begins a new file.")] = 256
    << 20,
    until: Annotated[
        str | None,
        typer.Option(metavar="view-change|GTID|TIME", help="Stop after a group's view change, after this GTID, or before this time."),
    ] = None,
    stop_before: StopBefore = None,
    skip: Skip = None,
    start_after: StartAfter = None,
    start_at: Annotated[
        str | None, typer.Option(metavar="FILE:POSITION", help="Start of the source's log to read, by positions in place of GTIDs.")
    ] = None,
    server_id: Annotated[
        int | None, typer.Option(min=1, max=4294967295, help="Server id of this replica. Default: derived from the relay log's folder.")
    ] = None,
    semi_sync: Annotated[
        bool,
        typer.Option("--semi-sync", help="Acknowledge transactions once they are on disk in the relay log, for semi-synchronous sources."),
    ] = False,
    source_timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=3.0, help="Reconnect to a source that has sent nothing for so long, not even a heartbeat."),
    ] = 30.0,
    report_host: Annotated[
        str | None, typer.Option(metavar="HOST[:PORT]", help="Address of this replica in the source's SHOW REPLICAS. Default: none.")
    ] = None,
    no_apply: Annotated[
        bool, typer.Option("--no-apply", help="Only receive: [bold]paraply serve --relay-log[/bold] then sends the log to other replicas.")
    ] = False,
    workers: Workers = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help=f"Scheduling policy: {', '.join(POLICIES)}.")] = "dependency",
    consistency: ConsistencyLevel = "any-time",
    merge: Merge = "auto",
    gtid: GtidMode = "auto",
    via: Via = "sessions",
    listen: Listen = None,
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
    channel: Channel = "default",
    allow_nontransactional: AllowNontransactional = False,
    schema: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the first start, or after --start-after."),
    ] = None,
    ddl_done: DdlDone = False,
    ddl_not_done: DdlNotDone = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Receive from a live source into a relay log, and apply from it at the same time."""
    replication: Replication | None = None
    if no_apply:
        receive(
            source,
            ReceptionSettings(relay_log, relay_log_size, start_after, start_at, server_id, semi_sync, source_timeout, report_host),
            {
                "--to": to,
                "--until": until,
                "--stop-before": stop_before,
                "--skip": skip,
                "--metrics": metrics,
                "--trace": trace,
                "--max-rate": max_rate,
                "--on-conflict": None if on_conflict == "stop" else on_conflict,
            },
            defaults_file=defaults_file,
            as_json=as_json,
            debug=debug,
        )
        return

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.applier.execute.resolution import check_on_conflict
        from paraply.applier.selection.filters import parse_filters
        from paraply.replication import Replication, ReplicationOptions, parse_source, parse_until
        from paraply.targets import make_target, open_target
        from paraply.targets.conflicts import parse_on_conflict

        nonlocal replication
        decision = ddl_decision(ddl_done, ddl_not_done)
        treatment = parse_on_conflict(on_conflict)
        check_on_conflict(
            treatment,
            by_replication=via == "replication",
            keeps_order=consistency != "eventual",
            allow_nontransactional=allow_nontransactional,
        )
        if policy not in POLICIES:
            raise UsageError(f"--policy {policy}: a live replication accepts one of {', '.join(POLICIES)}")
        served = metrics_address(metrics)
        defaults = str(defaults_file) if defaults_file is not None else None
        to_mysql = to is not None and to.partition(":")[0].lower() in ("mysql", "mariadb")
        make_target(
            to, defaults_file=defaults_file if to_mysql else None
        )  # reports a wrong URL or a missing package before the source is asked
        with apply_line(quiet=quiet or as_json) as line:
            options = ReplicationOptions(
                relay_folder=relay_log,
                channel=channel,
                start_after=start_after,
                skip=skip,
                start_at=parse_place(start_at) if start_at is not None else None,
                server_id=server_id,
                relay_file_bytes=relay_log_size,
                semi_sync=semi_sync,
                until=parse_until(until, stop_before),
                source_timeout=source_timeout,
                report=parse_report_host(report_host) if report_host is not None else ("", 0),
                trace=trace,
                applier={
                    "workers": workers,
                    "policy": policy,
                    "consistency": consistency,
                    "merge": merge_setting(merge),
                    "gtid": gtid_mode(gtid),
                    "via": via_setting(via),
                    "listen": listen,
                    "max_rate": max_rate,
                    "on_conflict": treatment,
                    "allow_nontransactional": allow_nontransactional,
                    "ddl_decision": decision,
                    "schema": tables_of(schema),
                    "filters": parse_filters(database or [], table or [], exclude_database or [], exclude_table or []),
                    "rename_database": rename_database or (),
                    "rename_table": rename_table or (),
                    "on_progress": line.update if line is not None else None,
                },
            )
            replication = Replication(
                parse_source(source, defaults_file=defaults),
                lambda: open_target(to, defaults_file=defaults_file if to_mysql else None),
                options,
            )
            shown = metrics_of(replication, served, quiet=quiet or as_json, receiver=replication.receiver)
            with shown, stops_on_signal(replication.stop):
                report = replication.run()
            if line is not None:
                line.complete()
        if report is None:
            return 0, {**NOTHING_DONE, "receiver": None}
        if not as_json:
            show(report, costs=trace is not None)
        return 0, {**report_json(report), "receiver": replication.received()}

    def so_far() -> Mapping[str, Any]:
        report = replication.report if replication is not None else None
        received = replication.received() if replication is not None else None
        if report is None:
            return {**NOTHING_DONE, "receiver": received}
        if not as_json and report.transactions:
            show(report, costs=trace is not None)
        return {**report_json(report), "receiver": received}

    output.run("replicate", body, as_json=as_json, debug=debug, so_far=so_far)


replicate.__doc__ = (replicate.__doc__ or "") + "\n" + EXAMPLES
