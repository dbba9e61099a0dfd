"""Checks of a source: what ``paraply replicate`` and ``paraply archive`` need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.cli.doctor.finding import Finding, error, good, warning
from paraply.errors import ServerError
from paraply.targets.mysql.preflight.privileges import account
from paraply.targets.mysql.sql import to_int, to_text

if TYPE_CHECKING:
    from paraply.cli.doctor.server import CheckedServer

__all__ = ["check_source"]

_DAY = 86_400


def check_source(server: CheckedServer) -> list[Finding]:
    """Return the findings on a source."""
    found = [server.version_finding()]
    if not server.is_on("log_bin"):
        found.append(error("log_bin", "the source writes no binlog", "$ add log_bin=binlog to [mysqld] in its option file, and restart it"))
        return found
    if engine := server.variables.get("binlog_storage_engine"):
        text = f"is {engine}; the source keeps its binlog there, without the positions in files that are followed"
        found.append(error("binlog_storage_engine", text, "$ remove binlog_storage_engine from its option file, and restart it"))
    found += [*_format(server), *_gtids(server), *_log(server), *_privileges(server)]
    return [*found, *server.clock_findings(), *(server.table_findings() if server.grants.has("SELECT") else [])]


def _format(server: CheckedServer) -> list[Finding]:
    """Check the form of rows in the log."""
    found = []
    form = server.variables.get("binlog_format", "ROW").upper()
    if form == "ROW":
        found.append(good("binlog_format", "ROW"))
    else:
        text = f"is {form}; changes in statement format cannot be applied; sessions that are open keep the old format"
        found.append(error("binlog_format", text, server.set_statement("binlog_format", "ROW")))
    image = server.variables.get("binlog_row_image", "FULL").upper()
    if image != "FULL":
        text = f"is {image}; paraply undo needs whole images, and the values of unchanged columns are not in the log"
        found.append(warning("binlog_row_image", text, server.set_statement("binlog_row_image", "FULL")))
    metadata = server.variables.get("binlog_row_metadata")
    if metadata is not None and metadata.upper() != "FULL":
        text = f"is {metadata.upper()}; the log lacks column names and keys, which are then taken from the target or from its DDL"
        found.append(warning("binlog_row_metadata", text, server.set_statement("binlog_row_metadata", "FULL")))
    if server.variables.get("binlog_checksum", "CRC32").upper() == "NONE":
        text = "is NONE; damage of the log on disk or on its way is not noticed"
        found.append(warning("binlog_checksum", text, server.set_statement("binlog_checksum", "CRC32")))
    return found


def _gtids(server: CheckedServer) -> list[Finding]:
    """Check identity and GTIDs."""
    found = []
    if server.variables.get("server_id", "0") == "0":
        found.append(error("server_id", "is 0; the source refuses replicas", server.set_statement("server_id", "1")))
    if server.kind.mariadb:
        return [*found, good("GTIDs", f"domain {server.variables.get('gtid_domain_id', '0')}")]
    mode = server.variables.get("gtid_mode", "OFF").upper()
    if mode == "ON":
        return [*found, good("gtid_mode", "ON")]
    text = f"is {mode}; the log is followed by file and position, and a lost relay log cannot be received again"
    return [*found, warning("gtid_mode", text, server.gtid_statements())]


def _log(server: CheckedServer) -> list[Finding]:
    """Check for how long the source keeps its log, and how much is left."""
    found = []
    days = float(server.variables.get("expire_logs_days", "0") or 0)
    seconds = float(server.variables.get("binlog_expire_logs_seconds", "0") or 0) or days * _DAY
    in_seconds = "binlog_expire_logs_seconds" in server.variables
    name, week = ("binlog_expire_logs_seconds", str(7 * _DAY)) if in_seconds else ("expire_logs_days", "7")
    if 0 < seconds < _DAY:
        text = f"logs are removed after {seconds / 3600:.1f} hours; a replica that is down for longer must begin anew"
        found.append(warning(name, text, server.set_statement(name, week)))
    elif not seconds:
        found.append(warning(name, "logs are never removed; they fill the disk in the end", server.set_statement(name, week)))
    else:
        found.append(good("expiry", f"logs are kept for {seconds / _DAY:.0f} days"))
    try:
        logs = server.rows("SHOW BINARY LOGS")
    except ServerError:
        return found  # it needs REPLICATION CLIENT, which a replica does not
    size = sum(to_int(row[1]) for row in logs)
    return [*found, good("logs", f"{len(logs)} from {to_text(logs[0][0])} on, {size / 1e6:,.0f} MB")] if logs else found


def _privileges(server: CheckedServer) -> list[Finding]:
    """Check the account."""
    names = ("REPLICATION SLAVE", "REPLICATION REPLICA", "SUPER") if server.kind.mariadb else ("REPLICATION SLAVE", "SUPER")
    if server.grants.has_any(*names):
        return [good("privileges", "the account may read the log")]
    who = account(server.connection)
    return [error("privileges", f"{who} may not read the log", f"GRANT REPLICATION SLAVE ON *.* TO {who}")]
