"""Checks of a MySQL or MariaDB target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from paraply.cli.doctor.finding import Finding, error, few, good, warning
from paraply.cli.doctor.purged import has_gtids
from paraply.errors import ParaplyError, ServerError
from paraply.targets.mysql.preflight.privileges import check_user
from paraply.targets.mysql.preflight.table_check import check_server
from paraply.targets.mysql.progress.store import ProgressStore
from paraply.targets.mysql.replica_mode import choose
from paraply.targets.mysql.scheduled_events import scheduled_events
from paraply.targets.protocol import ApplyPlan
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.cli.doctor.server import CheckedServer

__all__ = ["GtidName", "check_mysql_target", "compare_servers"]

GtidName = Literal["auto", "record", "preserve", "none"]

_STATEMENT = re.compile(r"run (?:there )?((?:SET GLOBAL|GRANT|CREATE|ALTER) .*)", re.DOTALL)
_TRIGGERS = (
    "SELECT CONCAT(trigger_schema, '.', trigger_name) FROM information_schema.triggers"
    " WHERE trigger_schema NOT IN ('mysql','sys') ORDER BY 1"
)


def check_mysql_target(server: CheckedServer, gtid: GtidName = "auto", source: CheckedServer | None = None) -> list[Finding]:
    """Return the findings on a target.

    Args:
        server: The target.
        gtid: The GTID mode that is meant to be used.
        source: The source of a replication, which may take another mode than an apply; None for an apply.
    """
    found = [server.version_finding(), *_settings(server), *_mode(server, gtid, source), *server.clock_findings(), *server.table_findings()]
    triggers = server.names(_TRIGGERS)
    if triggers:
        many = counted(len(triggers), "trigger does", "triggers do")
        text = f"{many} not run for rows of a log, whose changes by triggers are in the log already: {few(triggers)}"
        found.append(good("triggers", text))
    _, notes = scheduled_events(server.connection)
    if notes:
        found.append(warning("event_scheduler", notes[0].partition(": run ")[0], "SET GLOBAL event_scheduler=OFF"))
    return found


def _settings(server: CheckedServer) -> list[Finding]:
    """Check settings that an apply depends on."""
    found = []
    try:
        check_server(server.connection, server.kind)
        found.append(good("settings", "rows that are missing are errors, and the server is not read only"))
    except ParaplyError as refusal:
        found.append(_of_refusal("settings", refusal))
    if server.is_on("read_only") and not server.grants.has_any("SUPER", "READ ONLY ADMIN", "CONNECTION_ADMIN"):
        found.append(error("read_only", "is ON, and the account may not write then", "SET GLOBAL read_only=OFF"))
    return found


def _mode(server: CheckedServer, gtid: GtidName, source: CheckedServer | None) -> list[Finding]:
    """Check the GTID mode, and the privileges that it needs."""
    plan = ApplyPlan(
        channel="default", fingerprint="", workers=4, gtid_mode=gtid, mariadb=server.kind.mariadb, live=source is not None,
        has_gtids=source is None or has_gtids(source),
    )  # fmt: skip
    try:
        mode = choose(server.connection, plan, server.kind, ProgressStore(plan.channel))
        check_user(server.connection, server.kind, mode)
    except ParaplyError as refusal:
        return [_of_refusal("privileges", refusal)]
    taken = f"--gtid {mode.name}" if source is None or gtid != "auto" else f"--gtid {mode.name}, which replicate takes here"
    found = [good("privileges", f"sufficient for {taken}, apart from those on the log's own tables")]
    if not server.kind.mariadb and server.variables.get("gtid_mode", "OFF").upper() != "ON":
        text = "is not ON; only --gtid none is possible, in which the target logs the replay under GTIDs of its own or none"
        found.append(warning("gtid_mode", text, server.gtid_statements()))
    return found


def _of_refusal(subject: str, refusal: ParaplyError) -> Finding:
    """Return the finding of an error that an apply would end with; its message ends with the statement to run."""
    if isinstance(refusal, ServerError):
        return error(subject, str(refusal))
    text = str(refusal)
    match = _STATEMENT.search(text)
    if match is None:
        return error(subject, text)
    return error(subject, text[: match.start()].rstrip(" :;,"), match[1].removesuffix(" there"))


def compare_servers(source: CheckedServer, target: CheckedServer) -> list[Finding]:
    """Return the findings of a comparison of a source with a target of MySQL or MariaDB."""
    if source.kind.mariadb != target.kind.mariadb:
        return [error("family", "source and target are of different families; only PostgreSQL takes the logs of both")]
    found = []
    if target.kind.version[:2] < source.kind.version[:2]:
        text = "the target is older than the source; DDL and types that it does not know end the apply"
        found.append(warning("version", text))
    if source.variables.get("server_id") == target.variables.get("server_id"):
        text = f"source and target have the same server_id {source.variables.get('server_id')}"
        found.append(warning("server_id", text, target.set_statement("server_id", str(int(source.variables.get("server_id", "1")) + 1))))
    own, other = (server.variables.get("lower_case_table_names", "0") for server in (target, source))
    if own != other:
        text = f"is {own} here and {other} on the source; names that differ in case may be mixed up; it is set when a server is made"
        found.append(warning("lower_case_table_names", text))
    packet, needed = (int(server.variables.get("max_allowed_packet", "0")) for server in (target, source))
    if packet < needed:
        text = f"is {packet:,}, less than the source's {needed:,}; a row that is larger ends the apply"
        found.append(warning("max_allowed_packet", text, target.set_statement("max_allowed_packet", str(needed))))
    mode, other = (server.variables.get("sql_mode", "") for server in (target, source))
    if mode != other:
        found.append(good("sql_mode", "differs from the source's; each statement runs under the source's own"))
    return found
