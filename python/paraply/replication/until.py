"""End of a replication by ``--until``."""

from __future__ import annotations

from dataclasses import replace

from paraply._native import GtidSet
from paraply.errors import UsageError
from paraply.logs.stop_point import StopPoint, parse_stop

__all__ = ["parse_until"]


def parse_until(text: str | None, stop_before: str | None = None) -> StopPoint | None:
    """Return the stop of ``--until`` and ``--stop-before``; of both the first one met in the log counts.

    Args:
        text: ``view-change`` (after the next view change of a group that the target does not hold, R30), a GTID, whose transaction is still
            applied, or a time in RFC 3339 with an offset: the stop is before the first transaction whose commit time is not earlier.
        stop_before: The GTID of the first transaction not to apply, or its place in the source's log as FILE:POSITION.

    Raises:
        UsageError: A text has none of these forms.

    >>> parse_until("view-change").view_change
    GtidSet('')
    >>> parse_until("0-1-17").after
    '0-1-17'
    """
    if stop_before is not None:
        before, until = parse_stop(None, stop_before), parse_until(text)
        if before is None or until is None:
            return before
        return replace(until, before=before.before, place=before.place, text=f"{until.text} {before.text}")
    if text is None:
        return None
    if text.strip().lower() == "view-change":
        return StopPoint(view_change=GtidSet(), text="--until view-change")
    try:
        stop = parse_stop(text)
    except UsageError as error:
        raise UsageError(error.message.replace("--stop-at", "--until").replace("give a time", "give view-change, a time")) from None
    return None if stop is None else replace(stop, text=f"--until {text}")
