"""The error of an apply whose channel belongs to other arguments (R25), with the way to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import ConfigurationMismatch
from paraply.targets.progress.gtid_ledger import read_executed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import GtidSet

__all__ = ["other_arguments"]

_LONGEST = 300
"""Most characters of a GTID set in a message."""


def other_arguments(
    channel: str,
    fingerprints: tuple[str, str],
    texts: Sequence[str],
    new_gtid_set: Callable[[str], GtidSet],
    *,
    renders: bool,
) -> ConfigurationMismatch:
    """Return the error of a channel whose stored fingerprint differs.

    Args:
        channel: Name of the channel.
        fingerprints: The stored one, and that of the present arguments.
        texts: Progress of its rows; without GTIDs, positions in files, which no option can name.
        new_gtid_set: Parses a GTID set.
        renders: True if the target needs definitions besides its tables (PostgreSQL).
    """
    cause = f"channel {channel} on the target belongs to an apply with {_difference(*fingerprints)}: use the same arguments as then"
    try:
        held = read_executed(texts, new_gtid_set)
    except ValueError:  # positions
        return ConfigurationMismatch(f"{cause}, or another --channel")
    if held.beyond:
        return ConfigurationMismatch(f"{cause}, because this channel has gaps (`paraply status`)")
    executed = str(held.gtids)
    if not executed or len(executed) > _LONGEST:
        executed = f"EXECUTED (`executed` in `paraply status --json`, channel {channel})"
    schema = " --schema DEFINITIONS-OF-THAT-MOMENT" if renders else ""
    return ConfigurationMismatch(
        f"{cause}; or go on with other filters, or after transactions that you applied by hand, with --channel NEW --start-after"
        f" {executed}{schema}, where NEW is a new name, and the set includes these transactions too"
        ' (docs: "Restore to a point in time", "Go on after a stop")'
    )


def _difference(stored: str, given: str) -> str:
    """Return the differences between two fingerprints, as far as they tell: the server is readable, everything else is one digest.

    >>> _difference("1 mariadb server-id 1 a1b2", "1 mariadb server-id 2 a1b2")
    'other logs (of mariadb server-id 1, not of mariadb server-id 2)'
    >>> _difference("1 mariadb server-id 1 a1b2", "1 mariadb server-id 1 c3d4")
    "other filters, renames or start (--start-after; without GTIDs, also the logs' names)"
    """
    (server, _, rest), (other, _, others) = stored.rpartition(" "), given.rpartition(" ")
    arguments = "filters, renames or start (--start-after; without GTIDs, also the logs' names)"
    if server == other:
        return f"other {arguments}"
    logs = f"other logs (of {server.partition(' ')[2]}, not of {other.partition(' ')[2]})"
    return logs if rest == others else f"{logs} and other {arguments}"
