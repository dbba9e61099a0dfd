"""Whether a replay that came to its end has stopped where it was to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import StopNotReached, UsageError
from paraply.logs.stop_point import StopPlace, moment_text

if TYPE_CHECKING:
    from paraply._native import LogReader
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.options import Options
    from paraply.applier.preflight.inspect import Start
    from paraply.logs.stop_point import StopPoint

__all__ = ["check_result", "stop_place"]


def stop_place(reader: LogReader | None, stop: StopPoint | None) -> StopPlace | None:
    """The transaction at which the log was left; None where it was read to its end, or not yet so far.

    Args:
        reader: Reads the log.
        stop: What was asked for.
    """
    stopped = reader.stopped if reader is not None else None
    return None if stopped is None else StopPlace(*stopped, asked=stop.text if stop is not None else "")


def check_result(options: Options, start: Start, run: RunState, reader: LogReader | None) -> None:
    """Adds to the notes what the user should know of the end.

    Args:
        options: The options.
        start: Where the run began.
        run: The run, everything applied.
        reader: Has been read to its end.

    Raises:
        StopNotReached: The logs ended before the GTID of the stop.
        UsageError: The target was behind the stop before the run began.
    """
    if options.filters and run.filtered and not run.transactions:
        run.note("the filters left nothing of the logs to apply; names are compared as they stand in the log, upper and lower case apart")
    stop = options.stop
    if stop is None:
        return
    place = stop_place(reader, stop)
    if place is None:
        if stop.gtids:
            named = " and ".join(f"{option} {gtid}" for option, gtid in stop.gtids)
            raise StopNotReached(f"the logs ended and {named} was not among their transactions: everything in them is applied")
        last = run.last_block.committed_at if run.last_block is not None else None
        when = f"; the last transaction applied was committed {moment_text(last)}" if last is not None else ""
        run.note(f"the logs ended before the stop ({stop.text}){when}")
        return
    if not place.included and _held_before(options, start, place):
        raise UsageError(
            f"the target held the transaction before which the replay is to stop ({stop.text}) before this run began:"
            " restore an older backup to get back behind it",
            file=place.file,
            position=place.position,
            gtid=place.gtid,
        )


def _held_before(options: Options, start: Start, place: StopPlace) -> bool:
    if place.gtid is not None:
        return place.gtid in start.skip
    return start.place is not None and (options.paths.index(place.file), place.position) < start.place
