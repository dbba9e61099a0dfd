"""The stored state of each channel on a PostgreSQL target, read without writing and without blocking other connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.targets.channel_status import ChannelStatus, LastSign, fill_progress, read_sign, without_progress
from paraply.targets.conflicts import CONFLICT_TABLE
from paraply.targets.postgres.connection import StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.progress.status_row import read_pause
from paraply.targets.progress.file_ledger import PositionRow

if TYPE_CHECKING:
    from paraply.targets.postgres.connection import PgConnection

__all__ = ["read_channels"]

_THERE = (
    b"SELECT to_regclass('paraply.channel') IS NOT NULL AND to_regclass('paraply.progress') IS NOT NULL,"
    b" to_regclass('paraply.run') IS NOT NULL, has_table_privilege(to_regclass('paraply.conflict'), 'SELECT')"
)
_CONFLICTS = f"SELECT channel_name, count(*) FROM {CONFLICT_TABLE} GROUP BY channel_name".encode()
_CHANNELS = b"SELECT name, epoch, fingerprint, state FROM paraply.channel ORDER BY name"
_PROGRESS = b'SELECT channel, slot, executed, file, "offset", ordinal FROM paraply.progress ORDER BY channel, slot'
_SIGNS = (
    b"SELECT channel, epoch, to_char(updated AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),"
    b" extract(epoch FROM clock_timestamp() - updated), status FROM paraply.run"
)


def read_channels(connection: PgConnection) -> list[ChannelStatus]:
    """Return the channels of a target, by name; empty before the first apply.

    Raises:
        ParaplyError: The tables cannot be read.
    """
    try:
        stored, run, conflict = _texts(connection, _THERE)[0]
        signs = _signs(connection) if run == "t" else {}
        if stored != "t":
            return without_progress(signs)
        rows = _texts(connection, _PROGRESS)
        found = [
            _channel(row, [line[1:] for line in rows if line[0] == row[0]], signs.get(row[0])) for row in _texts(connection, _CHANNELS)
        ]
        counts = {name: int(number) for name, number in _texts(connection, _CONFLICTS)} if conflict == "t" else {}
        for status in found:
            status.pause = read_pause(connection, status.name)
            status.conflicts = counts.get(status.name, 0)
        return [*found, *without_progress(signs, found)]
    except StatementFailed as failed:
        raise failure(failed.error) from failed


def _signs(connection: PgConnection) -> dict[str, LastSign]:
    found = {}
    for channel, epoch, at, age, status in _texts(connection, _SIGNS):
        sign = read_sign(int(epoch), at, float(age), status)
        if sign is not None:
            found[channel] = sign
    return found


def _channel(row: list[Any], slots: list[list[Any]], sign: LastSign | None) -> ChannelStatus:
    name, epoch, fingerprint, state = row
    status = ChannelStatus(name, int(epoch), state == "complete", fingerprint=fingerprint, sign=sign)
    rows = {int(slot): PositionRow(text, file, None if offset is None else int(offset), int(n)) for slot, text, file, offset, n in slots}
    fill_progress(status, rows.pop(0, None), list(rows.values()))
    return status


def _texts(connection: PgConnection, select: bytes) -> list[list[Any]]:
    """Return the rows as text; NULL is None."""
    result = connection.run([select])[0]
    values = [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
    return [[None if value is None else value.decode() for value in row] for row in values]
