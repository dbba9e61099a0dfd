"""``paraply replicate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    from paraply.replication import Replication, ReplicationOptions

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
    reception = ReceptionSettings(relay_log, relay_log_size, start_after, start_at, server_id, semi_sync, source_timeout, report_host)
    if no_apply:
        unused = {
            "--to": to,
            "--until": until,
            "--stop-before": stop_before,
            "--skip": skip,
            "--metrics": metrics,
            "--trace": trace,
            "--max-rate": max_rate,
            "--on-conflict": None if on_conflict == "stop" else on_conflict,
        }
        receive(source, reception, unused, defaults_file=defaults_file, as_json=as_json, debug=debug)
        return
    applier = {
        "workers": workers,
        "policy": policy,
        "consistency": consistency,
        "merge": merge,
        "gtid": gtid,
        "via": via,
        "listen": listen,
        "max_rate": max_rate,
        "on_conflict": on_conflict,
        "allow_nontransactional": allow_nontransactional,
        "schema": schema,
        "rename_database": rename_database or (),
        "rename_table": rename_table or (),
    }
    chosen = (database or [], table or [], exclude_database or [], exclude_table or [])
    ends, ddl = (until, stop_before, skip), (ddl_done, ddl_not_done)
    settings = LiveSettings(source, to, defaults_file, reception, channel, ends, ddl, chosen, applier, metrics, trace, quiet, as_json)
    run = _LiveRun(settings)
    output.run("replicate", run.run, as_json=as_json, debug=debug, so_far=run.so_far)


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """Options of ``paraply replicate``, as they were given.

    Attributes:
        source: URL of the source.
        target: URL of the target; None for the embedded PostgreSQL.
        defaults_file: Option file for values missing in the URLs.
        reception: Options of the receiver.
        channel: The channel.
        ends: ``--until``, ``--stop-before`` and ``--skip``.
        ddl: ``--ddl-done`` and ``--ddl-not-done``.
        chosen: Databases and tables to apply, and those not to apply.
        applier: Further options of the applier, by the names of its keyword arguments.
        metrics: Address for metrics.
        trace: File for a timeline.
        quiet: True to print no progress.
        as_json: True to print one JSON object.
    """

    source: str
    target: str | None
    defaults_file: Path | None
    reception: ReceptionSettings
    channel: str
    ends: tuple[str | None, str | None, str | None]
    ddl: tuple[bool, bool]
    chosen: tuple[list[str], list[str], list[str], list[str]]
    applier: Mapping[str, Any]
    metrics: str | None
    trace: Path | None
    quiet: bool
    as_json: bool

    def checked_applier(self) -> dict[str, Any]:
        """Return the options of the applier with those that can be wrong by themselves checked.

        Raises:
            UsageError: An option is wrong.
        """
        from paraply.applier.execute.resolution import check_on_conflict
        from paraply.targets.conflicts import parse_on_conflict

        given = self.applier
        decision = ddl_decision(*self.ddl)
        treatment = parse_on_conflict(given["on_conflict"])
        check_on_conflict(
            treatment,
            by_replication=given["via"] == "replication",
            keeps_order=given["consistency"] != "eventual",
            allow_nontransactional=given["allow_nontransactional"],
        )
        if given["policy"] not in POLICIES:
            raise UsageError(f"--policy {given['policy']}: a live replication accepts one of {', '.join(POLICIES)}")
        return {**given, "ddl_decision": decision, "on_conflict": treatment}

    def options(self, applier: dict[str, Any]) -> ReplicationOptions:
        """Return the options of the replication.

        Args:
            applier: The checked options of the applier.

        Raises:
            UsageError: An option is wrong.
        """
        from paraply.applier.selection.filters import parse_filters
        from paraply.replication import ReplicationOptions, parse_until

        reception, (until, stop_before, skip) = self.reception, self.ends
        start_at, report_host = reception.start_at, reception.report_host
        return ReplicationOptions(
            relay_folder=reception.relay_log,
            channel=self.channel,
            start_after=reception.start_after,
            skip=skip,
            start_at=parse_place(start_at) if start_at is not None else None,
            server_id=reception.server_id,
            relay_file_bytes=reception.relay_log_size,
            semi_sync=reception.semi_sync,
            until=parse_until(until, stop_before),
            source_timeout=reception.source_timeout,
            report=parse_report_host(report_host) if report_host is not None else ("", 0),
            trace=self.trace,
            applier={
                **applier,
                "merge": merge_setting(applier["merge"]),
                "gtid": gtid_mode(applier["gtid"]),
                "via": via_setting(applier["via"]),
                "schema": tables_of(applier["schema"]),
                "filters": parse_filters(*self.chosen),
            },
        )


class _LiveRun:
    """One run of the command.

    Args:
        settings: Its options.
    """

    def __init__(self, settings: LiveSettings) -> None:
        self._settings = settings
        self._replication: Replication | None = None

    def run(self) -> tuple[int, Mapping[str, Any]]:
        """Replicate until the end; return the exit code, and the result for JSON."""
        from paraply.replication import Replication, parse_source
        from paraply.targets import make_target, open_target

        given = self._settings
        applier = given.checked_applier()
        served = metrics_address(given.metrics)
        defaults = str(given.defaults_file) if given.defaults_file is not None else None
        to_mysql = given.target is not None and given.target.partition(":")[0].lower() in ("mysql", "mariadb")
        of_target = given.defaults_file if to_mysql else None
        make_target(given.target, defaults_file=of_target)  # reports a wrong URL or a missing package before the source is asked
        no_line = given.quiet or given.as_json
        with apply_line(quiet=no_line) as line:
            options = given.options({**applier, "on_progress": line.update if line is not None else None})
            source = parse_source(given.source, defaults_file=defaults)
            replication = Replication(source, lambda: open_target(given.target, defaults_file=of_target), options)
            self._replication = replication
            shown = metrics_of(replication, served, quiet=no_line, receiver=replication.receiver)
            with shown, stops_on_signal(replication.stop):
                report = replication.run()
            if line is not None:
                line.complete()
        if report is None:
            return 0, {**NOTHING_DONE, "receiver": None}
        if not given.as_json:
            show(report, costs=given.trace is not None)
        return 0, {**report_json(report), "receiver": replication.received()}

    def so_far(self) -> Mapping[str, Any]:
        """Return the result up to an error, for JSON."""
        replication, given = self._replication, self._settings
        report = replication.report if replication is not None else None
        received = replication.received() if replication is not None else None
        if report is None:
            return {**NOTHING_DONE, "receiver": received}
        if not given.as_json and report.transactions:
            show(report, costs=given.trace is not None)
        return {**report_json(report), "receiver": received}


replicate.__doc__ = (replicate.__doc__ or "") + "\n" + EXAMPLES
