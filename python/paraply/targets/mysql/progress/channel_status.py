"""The stored state of each channel on a MySQL or MariaDB target, read without writing and without blocking other connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import ParaplyError
from paraply.targets.channel_status import ChannelStatus, LastSign, fill_progress, gtid_union, read_sign, without_progress
from paraply.targets.conflicts import CONFLICT_TABLE
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.progress.status_row import read_pause
from paraply.targets.mysql.progress.store import ProgressStore
from paraply.targets.mysql.sql import rows_of, to_int, to_text

if TYPE_CHECKING:
    from paraply.targets.mysql.progress.store import PendingDdl
    from paraply.targets.mysql.sql import Connection

__all__ = ["read_channels"]

_TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema='paraply'"
    " AND table_name IN ('channel','progress','run','conflict')"
)
_SIGNS = (
    "SELECT channel, epoch, DATE_FORMAT(updated, '%Y-%m-%dT%H:%i:%s.%fZ'), TIMESTAMPDIFF(MICROSECOND, updated, UTC_TIMESTAMP(6)), status"
    " FROM paraply.run"
)


def read_channels(connection: Connection) -> list[ChannelStatus]:
    """Return the channels of a target, by name; empty before the first apply.

    Raises:
        ParaplyError: The tables cannot be read.
    """
    try:
        tables = {to_text(row[0]).lower() for row in rows_of(connection.query(_TABLES))}
        connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        signs = _signs(connection) if "run" in tables else {}
        if not {"channel", "progress"} <= tables:
            return without_progress(signs)
        channels = rows_of(connection.query("SELECT name, fingerprint FROM paraply.channel ORDER BY name"))
        conflicts = _conflicts(connection) if "conflict" in tables else {}
        found = [_channel(connection, to_text(name), to_text(fingerprint), signs.get(to_text(name))) for name, fingerprint in channels]
        for status in found:
            status.conflicts = conflicts.get(status.name, 0)
        return [*found, *without_progress(signs, found)]
    except ParaplyError as error:
        raise explain(error) from None


def _conflicts(connection: Connection) -> dict[str, int]:
    """Return the number of conflicts of each channel that has any."""
    rows = rows_of(connection.query(f"SELECT channel_name, COUNT(*) FROM {CONFLICT_TABLE} GROUP BY channel_name"))
    return {to_text(name): to_int(number) for name, number in rows}


def _signs(connection: Connection) -> dict[str, LastSign]:
    found = {}
    for channel, epoch, at, age, status in rows_of(connection.query(_SIGNS)):
        sign = read_sign(to_int(epoch), to_text(at), to_int(age) / 1e6, to_text(status))
        if sign is not None:
            found[to_text(channel)] = sign
    return found


def _channel(connection: Connection, name: str, fingerprint: str, sign: LastSign | None) -> ChannelStatus:
    stored = ProgressStore(name).read(connection)
    status = ChannelStatus(name, stored.epoch, stored.complete, fingerprint=fingerprint, sign=sign)
    fill_progress(status, stored.kept, stored.rows)
    status.pause = read_pause(connection, name)
    status.pending = _words(stored.pending_ddl)
    kept = ProgressStore(name).kept_mode(connection)[1]
    status.gtid_mode = kept or str((sign.status if sign is not None else {}).get("gtid_mode") or "")
    if status.gtid_mode == "preserve":  # in this mode, the server's own GTIDs are the progress
        status.executed = gtid_union(status.executed, _own(connection, "gtid_binlog_pos"))
    elif status.gtid_mode == "record" and status.executed:
        status.missing = str(GtidSet(status.executed) - GtidSet(_own(connection, "gtid_slave_pos")))
    return status


def _own(connection: Connection, of_mariadb: str) -> str:
    mariadb = "mariadb" in connection.server_version.lower()
    variable = of_mariadb if mariadb else "gtid_executed"
    return to_text(rows_of(connection.query(f"SELECT @@GLOBAL.{variable}"))[0][0]).replace("\n", "")


def _words(pending: PendingDdl | None) -> str | None:
    return None if pending is None else f"the statement that ends at {pending.file}:{pending.position}"
