"""Other channels of the target that hold transactions which a new channel would apply a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply._native import GtidSet
    from paraply.targets.channel_status import ChannelStatus

__all__ = ["check_other_channels"]

_REFUSED = ("record", "preserve")
"""GTID modes in which what any channel applied counts as done on the whole target."""


def check_other_channels(channels: Iterable[ChannelStatus], own: str, first_gtid: str, held: GtidSet, mode: str) -> list[str]:
    """Return notes about channels that hold transactions of the log.

    Args:
        channels: The channels of the target.
        own: The new channel.
        first_gtid: GTID of the first transaction of the log.
        held: GTIDs that the new channel passes over.
        mode: Its GTID mode.

    Raises:
        UsageError: The target keeps GTIDs, and the transactions of another channel would be applied again.
    """
    from paraply._native import GtidSet

    notes = []
    for channel in channels:
        if channel.name == own or not channel.executed:
            continue
        again = of_origin(str(GtidSet(channel.executed) - held), first_gtid)
        if not again:
            continue
        what = f"channel {channel.name} of this target holds transactions of the log's server that this run does not pass over ({again})"
        if mode in _REFUSED:
            raise UsageError(
                f"{what}, and they would be applied again: go on with --channel {channel.name}, or name with --start-after what the target"
                f" holds; `paraply forget --channel {channel.name}` removes its progress if the target was emptied"
            )
        notes.append(f"{what}: what both apply is applied twice")
    return notes


def of_origin(gtids: str, first_gtid: str) -> str:
    """Return the part of a GTID set that belongs to the server, or MariaDB's domain, of a GTID.

    >>> of_origin("0-1-7,5-1-3", "5-9-1")
    '5-1-3'
    >>> one, other = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
    >>> of_origin(f"{one}:1-5,{other}:7", f"{other.upper()}:1") == f"{other}:7"
    True
    """
    mark = first_gtid.partition(":" if ":" in first_gtid else "-")
    start = (mark[0] + mark[1]).lower()
    return ",".join(part for part in (part.strip() for part in gtids.split(",")) if part.lower().startswith(start))
