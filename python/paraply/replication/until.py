"""Until when a replication goes on."""

from __future__ import annotations

from dataclasses import replace

from paraply._native import GtidSet
from paraply.errors import UsageError
from paraply.logs.stop_point import StopPoint, parse_stop

__all__ = ["parse_until"]


def parse_until(text: str | None) -> StopPoint | None:
    """What ``--until`` says.

    Args:
        text: ``view-change`` (behind the next view change of a group that the target does not hold, R30), a GTID, which is still
            applied, or a time in RFC 3339 with an offset: the stop is before the first transaction that was not committed earlier.

    Raises:
        UsageError: It is none of them.

    >>> parse_until("view-change").view_change
    GtidSet('')
    >>> parse_until("0-1-17").after
    '0-1-17'
    """
    if text is None:
        return None
    if text.strip().lower() == "view-change":
        return StopPoint(view_change=GtidSet(), text="--until view-change")
    try:
        stop = parse_stop(text)
    except UsageError as error:
        raise UsageError(error.message.replace("--stop-at", "--until").replace("give a time", "give view-change, a time")) from None
    return None if stop is None else replace(stop, text=f"--until {text}")
