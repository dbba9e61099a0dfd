"""Checks of a MariaDB target whose own replication is to apply (``--via replication``), before the first write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import ServerError, UsageError
from paraply.targets.mysql.replication.common import channel_name
from paraply.targets.mysql.sql import rows_of, to_text

if TYPE_CHECKING:
    from paraply.targets.mysql.server_version import ServerKind
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.protocol import ApplyPlan

__all__ = ["check_replication"]

OLDEST = (10, 5, 9)
"""The first version with the privilege to see the state of replication connections (``SLAVE MONITOR``)."""
_INSTEAD = "use --via sessions"
_FILTERS = (
    "replicate_do_db", "replicate_do_table", "replicate_ignore_db", "replicate_ignore_table", "replicate_wild_do_table",
    "replicate_wild_ignore_table", "replicate_rewrite_db",
)  # fmt: skip
#: Settings that would pass over transactions or errors without a word, each with the value that does not.
_SKIPPING = {"slave_skip_errors": "OFF", "replicate_events_marked_for_skip": "REPLICATE", "gtid_ignore_duplicates": "0"}
_TRANSACTIONAL = ("INNODB", "ROCKSDB", "TOKUDB")


def check_replication(connection: Connection, plan: ApplyPlan, server: ServerKind) -> None:
    """Refuse a MariaDB whose own replication would not apply the log exactly; write nothing.

    Args:
        connection: To the target.
        plan: The plan.
        server: The target's family and version.

    Raises:
        UsageError: The target cannot do it; the message gives the reason and the way on.
    """
    if server.version < OLDEST:
        raise UsageError(f"--via replication needs a MariaDB of version {'.'.join(map(str, OLDEST))} or later: {_INSTEAD}")
    if plan.log_version[:2] > server.version[:2]:
        newer, older = (".".join(map(str, version[:2])) for version in (plan.log_version, server.version))
        raise UsageError(
            f"--via replication: a MariaDB {newer} wrote the log, the target is {older}, and a MariaDB replicates only from its own version"
            f" or an older one: use --via sessions, which converts what differs, or a newer target"
        )
    variables = _variables(connection)
    _check_log(variables)
    _check_server_id(variables, plan)
    _check_settings(variables)
    _check_position_table(connection)
    _check_other_connections(connection, plan)


def _variables(connection: Connection) -> dict[str, str]:
    rows = rows_of(connection.query("SHOW GLOBAL VARIABLES"))
    return {to_text(name).lower(): to_text(value) for name, value in rows}


def _check_log(variables: dict[str, str]) -> None:
    lacking = [name for name in ("log_bin", "log_slave_updates") if variables[name] != "ON"]
    if lacking:
        raise UsageError(
            f"--via replication keeps the source's GTIDs in the target's binlog, and {' and '.join(lacking)} of the target are not ON:"
            f" set them, or {_INSTEAD}"
        )


def _check_server_id(variables: dict[str, str], plan: ApplyPlan) -> None:
    """Refuse a log of the target's own ``server_id``, which its replication passes over."""
    writer = plan.first_gtid.split("-")[1:2]
    if writer == [variables["server_id"]]:
        raise UsageError(
            f"--via replication: the target has server_id {variables['server_id']}, and its replication passes over the log's transactions"
            f" of that number ({plan.first_gtid}): SET GLOBAL server_id to another one while the log is applied, or {_INSTEAD}"
        )


def _check_settings(variables: dict[str, str]) -> None:
    filters = [name for name in _FILTERS if variables.get(name)]
    if filters:
        raise UsageError(
            f"--via replication: the target's server has replication filters ({', '.join(filters)}), which would leave rows out: {_INSTEAD}"
        )
    for name, harmless in _SKIPPING.items():
        value = variables.get(name, harmless).upper()
        if value not in (harmless, "OFF" if harmless == "0" else harmless):
            raise UsageError(
                f"--via replication: {name} of the target is {value}, so that transactions could be missing without an error: set it to"
                f" {'OFF' if harmless == '0' else harmless}, or {_INSTEAD}"
            )


def _check_position_table(connection: Connection) -> None:
    """Refuse a position that is not committed together with the rows."""
    tables = (
        "SELECT table_name, COALESCE(engine, '') FROM information_schema.tables WHERE table_schema='mysql'"
        " AND table_name LIKE 'gtid\\_slave\\_pos%'"
    )
    for name, engine in rows_of(connection.query(tables)):
        if to_text(engine).upper() not in _TRANSACTIONAL:
            raise UsageError(
                f"--via replication: mysql.{to_text(name)} has the engine {to_text(engine)}, so that a crash would leave another position"
                f" than the rows: ALTER TABLE mysql.{to_text(name)} ENGINE=InnoDB, or {_INSTEAD}"
            )


def _check_other_connections(connection: Connection, plan: ApplyPlan) -> None:
    """Refuse a server on which another replication connection runs: the position and the threads are those of all connections."""
    try:
        names, rows, _ = connection.query("SHOW ALL SLAVES STATUS")[0]
    except ServerError:  # a missing privilege is reported by name
        return
    statuses = [{name: to_text(value) for name, value in zip(names, row, strict=True)} for row in rows]
    running = [
        status["Connection_name"] or "(without a name)"
        for status in statuses
        if status["Slave_SQL_Running"] != "No" and status["Connection_name"].lower() != channel_name(plan.channel)
    ]
    if running:
        raise UsageError(
            f"--via replication: replication connections of the target run already ({', '.join(running)}), and share its GTID position and"
            f" its threads: STOP SLAVE there while the log is applied, or {_INSTEAD}"
        )
