"""``paraply replicate``."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.applier.policy import CONSISTENCIES
from paraply.cli import output
from paraply.cli.apply import NOTHING_DONE, gtid_mode, merge_setting, report_json, show
from paraply.cli.progress import apply_line
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply.replication import Replication

__all__ = ["parse_place", "replicate"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply replicate --from mysql://repl@db1.example.org --to mysql://app@db2.example.org

  paraply replicate --from mariadb://repl@db1.example.org --to postgresql://app@localhost/copy --relay-log /var/lib/paraply/relay

  paraply replicate --from mysql://repl@db1.example.org --start-after 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-2000 --until 2026-03-01T14:07:00Z

Passwords need not stand in the URLs: PARAPLY_PASSWORD, ~/.my.cnf or --defaults-file, ~/.pgpass.
Ctrl-C stops at a transaction boundary; the same command goes on from there.
"""

POLICIES = ("dependency", "logical-clock", "barrier", "optimistic", "table")


def replicate(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="The source: mysql:// or mariadb://.")],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="mysql://, mariadb:// or postgresql://; none: an embedded PostgreSQL in ./paraply-data."),
    ] = None,
    defaults_file: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="A MySQL option file for what the URLs lack. Default: ~/.my.cnf.")
    ] = None,
    relay_log: Annotated[
        Path, typer.Option("--relay-log", metavar="DIR", file_okay=False, help="Where the relay log is kept; to be kept for the next start.")
    ] = Path("paraply-relay"),
    relay_log_size: Annotated[
        int, typer.Option(metavar="BYTES", min=4096, help="A file of the relay log is followed by the next one when it is so large.")
    ] = 256 << 20,
    until: Annotated[
        str | None,
        typer.Option(metavar="view-change|GTID|TIME", help="Stop behind a group's view change, behind this GTID, or before this time."),
    ] = None,
    start_after: Annotated[
        str | None, typer.Option(metavar="SET", help="GTIDs that the target holds already, such as those of the backup.")
    ] = None,
    start_at: Annotated[
        str | None, typer.Option(metavar="FILE:POSITION", help="Begin here in the source's log, and go by positions in place of GTIDs.")
    ] = None,
    server_id: Annotated[
        int | None, typer.Option(min=1, max=4294967295, help="Under which the source knows this replica. Default: by the relay log's folder.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, max=256, help="Parallel workers; 0 applies inline on one connection. Default: by the number of cores."),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help=f"Who may start when: {', '.join(POLICIES)}.")] = "dependency",
    consistency: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"What a reader may see meanwhile: {', '.join(CONSISTENCIES)}.")
    ] = "any-time",
    merge: Annotated[str, typer.Option(metavar="N|auto|off", help="Consecutive transactions that become one commit.")] = "auto",
    gtid: Annotated[str, typer.Option(metavar="auto|preserve|record|none", help="What the target's own GTIDs say afterwards.")] = "auto",
    database: Annotated[list[str] | None, typer.Option(metavar="D", help="Apply this database only; may be repeated.")] = None,
    table: Annotated[list[str] | None, typer.Option(metavar="D.T", help="Apply this table only; may be repeated.")] = None,
    exclude_database: Annotated[list[str] | None, typer.Option(metavar="D", help="Leave this database out; may be repeated.")] = None,
    exclude_table: Annotated[list[str] | None, typer.Option(metavar="D.T", help="Leave this table out; may be repeated.")] = None,
    channel: Annotated[str, typer.Option(help="Name under which progress is kept in the target.")] = "default",
    allow_nontransactional: Annotated[
        bool, typer.Option("--allow-nontransactional", help="Take tables without transactions; gives up exactly-once for them.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.", hidden=True)] = False,
) -> None:
    """Receive from a live source into a relay log, and apply from it at the same time."""
    replication: Replication | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.applier.filters import parse_filters
        from paraply.replication import Replication, ReplicationOptions, parse_source, parse_until
        from paraply.target import open_target

        nonlocal replication
        if policy not in POLICIES:
            raise UsageError(f"--policy {policy}: a live replication takes one of {', '.join(POLICIES)}")
        defaults = str(defaults_file) if defaults_file is not None else None
        to_mysql = to is not None and to.partition(":")[0].lower() in ("mysql", "mariadb")
        with apply_line(quiet=quiet or as_json) as line:
            options = ReplicationOptions(
                relay_folder=relay_log,
                channel=channel,
                start_after=start_after,
                start_at=parse_place(start_at) if start_at is not None else None,
                server_id=server_id,
                relay_file_bytes=relay_log_size,
                until=parse_until(until),
                applier={
                    "workers": workers,
                    "policy": policy,
                    "consistency": consistency,
                    "merge": merge_setting(merge),
                    "gtid": gtid_mode(gtid),
                    "allow_nontransactional": allow_nontransactional,
                    "filters": parse_filters(database or [], table or [], exclude_database or [], exclude_table or []),
                    "on_progress": line.update if line is not None else None,
                },
            )
            replication = Replication(
                parse_source(source, defaults_file=defaults),
                lambda: open_target(to, defaults_file=defaults_file if to_mysql else None),
                options,
                on_event=lambda text: output.stderr.print(escape(output.one_line(text)), soft_wrap=True),
            )
            with _stops_on_signal(replication):
                report = replication.run()
            if line is not None:
                line.complete()
        if report is None:
            return 0, {**NOTHING_DONE, "receiver": None}
        if not as_json:
            show(report)
        return 0, {**report_json(report), "receiver": replication.received()}

    def so_far() -> Mapping[str, Any]:
        report = replication.report if replication is not None else None
        received = replication.received() if replication is not None else None
        if report is None:
            return {**NOTHING_DONE, "receiver": received}
        if not as_json and report.transactions:
            show(report)
        return {**report_json(report), "receiver": received}

    output.run("replicate", body, as_json=as_json, debug=debug, so_far=so_far)


def parse_place(text: str) -> tuple[str, int]:
    """What ``--start-at`` says.

    Raises:
        UsageError: It is no file and position.

    >>> parse_place("binlog.000041:157")
    ('binlog.000041', 157)
    """
    file, colon, position = text.rpartition(":")
    if not colon or not file or not position.isdecimal() or int(position) < 4:
        raise UsageError(f"--start-at {text}: give FILE:POSITION, such as binlog.000041:157; a log's first event is at 4")
    return file, int(position)


@contextmanager
def _stops_on_signal(replication: Replication) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop at a transaction boundary; a second one gives up what is under way, which rolls back."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        output.stderr.print("stopping at a transaction boundary ...")
        replication.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


replicate.__doc__ = (replicate.__doc__ or "") + "\n" + EXAMPLES
