"""A comparison of the logs that a source has purged with the transactions that a target holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.cli.doctor.finding import Finding, error, good, warning
from paraply.errors import ServerError, UsageError
from paraply.targets.mysql.sql import name_literal, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.cli.doctor.server import CheckedServer
    from paraply.targets.channel_status import ChannelStatus

__all__ = ["compare_purged", "has_gtids", "own_gtids", "purged_gtids"]

_SHOWN = 200


def has_gtids(source: CheckedServer) -> bool:
    """Return True if the source's transactions carry GTIDs."""
    return source.kind.mariadb or source.variables.get("gtid_mode", "OFF").upper() == "ON"


def purged_gtids(source: CheckedServer) -> str:
    """Return the GTIDs of a source whose transactions are in none of its logs; empty if there are none, or the user may not ask."""
    if not has_gtids(source):
        return ""
    if not source.kind.mariadb:
        return source.variables.get("gtid_purged", "").replace("\n", "")
    try:
        logs = source.rows("SHOW BINARY LOGS")
        return to_text(source.rows(f"SELECT BINLOG_GTID_POS({name_literal(to_text(logs[0][0]))}, 4)")[0][0] or "") if logs else ""
    except ServerError:  # it needs BINLOG MONITOR, which a replica does not
        return ""


def own_gtids(target: CheckedServer) -> str:
    """Return the GTIDs that a MySQL or MariaDB holds by its own account."""
    if not target.kind.mariadb:
        return target.variables.get("gtid_executed", "").replace("\n", "")
    return ",".join(filter(None, (target.variables.get(name, "") for name in ("gtid_binlog_pos", "gtid_slave_pos"))))


def compare_purged(purged: str, own: str, channels: Sequence[ChannelStatus], *, preserves: bool) -> list[Finding]:
    """Compare what a source has purged with what a target holds.

    Args:
        purged: GTIDs that are in no log of the source.
        own: GTIDs that the target holds by its own account.
        channels: The channels in the target.
        preserves: True if the target is one that keeps the source's GTIDs.

    >>> [one.level for held in ("0-1-5", "0-1-4", "") for one in compare_purged("0-1-5", held, [], preserves=True)]
    ['good', 'error', 'warning']
    >>> compare_purged("0-1-5", "0-1-4", [], preserves=False)[0].mend
    "$ paraply apply ARCHIVE --to TARGET, with the replication's --channel and filters"
    """
    if not purged:
        return []
    held = GtidSet("")
    for text in (own, *(channel.executed for channel in channels)):
        try:
            held |= GtidSet(text)
        except UsageError:  # of the other family, or of no channel with GTIDs
            continue
    lacking = GtidSet(purged) - held
    if not lacking:
        return [good("purged logs", "the target holds the transactions that the source has purged")]
    shown = str(lacking) if len(str(lacking)) <= _SHOWN else f"{str(lacking)[:_SHOWN]}..."
    if GtidSet(purged) & held:
        text = f"the source has purged transactions that the target lacks, so that replicate ends at once; an archive has them: {shown}"
        mode = " --gtid preserve" if preserves else ""
        return [error("purged logs", text, f"$ paraply apply ARCHIVE --to TARGET{mode}, with the replication's --channel and filters")]
    text = (
        "the source has purged its first transactions, and the target holds none of them; replicate ends at once, unless the target is a"
        f" restored backup, and --start-after names what that holds: {shown}"
    )
    return [warning("purged logs", text)]
