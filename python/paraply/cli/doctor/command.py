"""The command ``doctor``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.apply import gtid_mode
from paraply.cli.doctor.finding import Finding, error
from paraply.cli.doctor.here import check_here
from paraply.cli.options import AsJson, Debug, DefaultsFile, GtidMode
from paraply.cli.terminal import output
from paraply.errors import ChecksFailed, ConnectionFailed, ParaplyError, UsageError

if TYPE_CHECKING:
    from paraply.cli.doctor.mysql_target import GtidName
    from paraply.cli.doctor.server import CheckedServer
    from paraply.targets.channel_status import ChannelStatus

__all__ = ["doctor"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply doctor --from mysql://repl@db1.example.org --to mysql://app@db2.example.org --relay-log /var/lib/paraply/relay

  paraply doctor --to postgresql://app@db.example.org/copy

  paraply doctor --from mariadb://repl@db1.example.org --json | jq -r '.findings[].mend // empty'
"""

_MARKS = {"error": "[red]error[/red]  ", "warning": "[yellow]warning[/yellow]", "good": "[green]good[/green]   "}


def doctor(
    source: Annotated[str | None, typer.Option("--from", metavar="URL", help="A source to check: mysql:// or mariadb://.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="URL", help="A target to check: mysql://, mariadb:// or postgresql://.")] = None,
    defaults_file: DefaultsFile = None,
    gtid: GtidMode = "auto",
    relay_log: Annotated[
        Path | None, typer.Option("--relay-log", metavar="DIR", help="Folder of the relay log, whose disk space is checked.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Check a source and a target, and print the statement that mends each finding; writes nothing.

    The exit code is 1 if something hinders an apply or a replication.
    """
    report: dict[str, Any] = {}

    def body() -> tuple[int, Mapping[str, Any]]:
        if source is None and to is None:
            raise UsageError("give --from, --to, or both")
        defaults = str(defaults_file) if defaults_file is not None else None
        found = [*examined(source, to, defaults, gtid_mode(gtid)), *_at("here", check_here(relay_log))]
        report["findings"] = [finding.as_json() for finding in found]
        report.update({level + "s": sum(finding.level == level for finding in found) for level in ("error", "warning")})
        if not as_json:
            show(found)
        if report["errors"]:
            raise ChecksFailed(f"{report['errors']} of {len(found)} findings hinder; each has the statement that mends it, if one does")
        return 0, report

    output.run("doctor", body, as_json=as_json, debug=debug, so_far=lambda: report)


def examined(source: str | None, to: str | None, defaults: str | None, gtid: GtidName) -> list[Finding]:
    """Return the findings on source and target, and those of their comparison."""
    from paraply.cli.doctor.source import check_source

    found: list[Finding] = []
    servers: dict[str, CheckedServer] = {}
    purged = ""

    def of_mysql(where: str, url: str, check: Callable[[CheckedServer], list[Finding]]) -> list[Finding]:
        from paraply.cli.doctor.server import CheckedServer
        from paraply.targets.mysql.target import connect
        from paraply.targets.url import parse_url

        connection = connect(replace(parse_url(url, defaults_file=defaults), database=None))
        with closing(connection):
            server = servers[where] = CheckedServer(connection)
            return check(server)

    if source is not None:
        from paraply.replication import parse_source

        parse_source(source, defaults_file=defaults)

        def of_source(server: CheckedServer) -> list[Finding]:
            nonlocal purged
            from paraply.cli.doctor.purged import purged_gtids

            purged = purged_gtids(server)
            return check_source(server)

        found += _at("source", _reached(lambda: of_mysql("source", source, of_source)))
    if to is not None and to.partition(":")[0].lower() in ("mysql", "mariadb"):
        from paraply.cli.doctor.mysql_target import check_mysql_target, compare_servers

        def of_target(server: CheckedServer) -> list[Finding]:
            from paraply.cli.doctor.purged import compare_purged, own_gtids
            from paraply.targets.mysql.progress.channel_status import read_channels

            checked = check_mysql_target(server, gtid, servers.get("source"))
            channels = readable(lambda: read_channels(server.connection)) if purged else []
            return [*checked, *compare_purged(purged, own_gtids(server), channels, preserves=True)]

        found += _at("target", _reached(lambda: of_mysql("target", to, of_target)))
        if len(servers) == 2:
            found += _at("target", compare_servers(servers["source"], servers["target"]))
    elif to is not None:
        found += _at("target", _reached(lambda: of_postgres(to, purged)))
    return found


def of_postgres(url: str, purged: str = "") -> list[Finding]:
    """Return the findings on a PostgreSQL.

    Args:
        url: The target.
        purged: GTIDs that are in no log of the source.

    Raises:
        UsageError: The URL is not one of PostgreSQL.
    """
    from paraply.targets import make_target

    make_target(url)  # reports a wrong URL or a missing package
    from paraply.cli.doctor.postgres_target import check_postgres_target
    from paraply.cli.doctor.purged import compare_purged
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.progress.channel_status import read_channels

    with closing(PgConnection(url, name="paraply doctor")) as connection:
        channels = readable(lambda: read_channels(connection)) if purged else []
        return [*check_postgres_target(connection), *compare_purged(purged, "", channels, preserves=False)]


def readable(channels: Callable[[], list[ChannelStatus]]) -> list[ChannelStatus]:
    """Return the channels of a target; none if the user may not read them, which another finding says."""
    try:
        return channels()
    except ParaplyError:
        return []


def _reached(check: Callable[[], list[Finding]]) -> list[Finding]:
    """Return the result of a check; a server that cannot be reached is a finding."""
    try:
        return check()
    except ConnectionFailed as refusal:
        return [error("connection", str(refusal))]


def _at(where: str, found: list[Finding]) -> list[Finding]:
    return [replace(finding, where=where) for finding in found]


def show(found: list[Finding]) -> None:
    """Print the findings for people."""
    for finding in found:
        text = f"{_MARKS[finding.level]} {finding.where:6} {escape(f'{finding.subject}: {finding.text}')}"
        output.console.print(text, soft_wrap=True)
        if finding.mend is not None:
            output.console.print(f"               [bold]{escape(finding.mend)}[/bold]", soft_wrap=True)


doctor.__doc__ = (doctor.__doc__ or "") + "\n" + EXAMPLES
