"""Check that a finished replay stopped at the requested point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.selection.skip import skip_result
from paraply.errors import StopNotReached, UsageError
from paraply.logs.stop_point import StopPlace, moment_text
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import FilePosition, LogReader
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.options import Options
    from paraply.applier.preflight.inspect import Start
    from paraply.logs.stop_point import StopPoint

__all__ = ["check_result", "stop_place"]

_CHECKSUM_BYTES = 4


def stop_place(reader: LogReader | None, stop: StopPoint | None) -> StopPlace | None:
    """Return the transaction at which reading stopped; None if the log was read to its end, or the stop is not reached yet.

    Args:
        reader: The reader of the log.
        stop: The requested stop.
    """
    stopped = reader.stopped if reader is not None else None
    if stopped is None:
        return None
    asked = stop.text if stop is not None else ""
    return StopPlace(stopped.file, stopped.offset, stopped.gtid, stopped.committed_at, stopped.included, asked)


def check_result(options: Options, start: Start, run: RunState, reader: LogReader | None) -> None:
    """Add remarks about the end of the run to its notes.

    Args:
        options: The options.
        start: Start of the run.
        run: The run, with everything applied.
        reader: The reader, at its end.

    Raises:
        ParaplyError: The error that ended the relay log before the stop.
        StopNotReached: The logs ended before the GTID of the stop.
        UsageError: The target was past the stop before the run began.
    """
    if options.filters and run.filtered > run.own_left_out and not run.transactions:
        run.note("the filters left nothing of the logs to apply; names are compared as in the log, with upper and lower case distinct")
    skip = skip_result(options.skip, reader, run.named) if options.skip else None
    if skip is not None and skip.missing:
        run.note(skip.missing_note)
    if not options.live and not run.transactions and not run.filtered and run.skipped > run.named:
        run.note(_skipped_note(options, start, run.skipped - run.named))
    stop = options.stop
    place = stop_place(reader, stop)
    failure = options.relay_failure() if options.relay_failure is not None and place is None else None
    if failure is not None:
        raise failure
    if stop is None:
        return
    if place is None:
        if stop.gtids:
            named = " and ".join(f"{option} {gtid}" for option, gtid in stop.gtids)
            raise StopNotReached(f"the logs ended and {named} was not among their transactions: everything in them is applied")
        last = run.last_block.committed_at if run.last_block is not None else None
        when = f"; the last transaction applied was committed {moment_text(last)}" if last is not None else ""
        run.note(f"the logs ended before the stop ({stop.text}){when}")
        return
    if options.live and stop.place is not None and reader is not None:
        _check_begin(stop.place, reader.begins)
    if not place.included and _held_before(options, start, place):
        raise UsageError(
            f"the target held the transaction before which the replay is to stop ({stop.text}) before this run began:"
            " restore an older backup, which is before the stop",
            file=place.file,
            position=place.position,
            gtid=place.gtid,
        )


def _skipped_note(options: Options, start: Start, held: int) -> str:
    """Return the reason why a run skipped all transactions.

    Args:
        options: The options.
        start: Start of the run. The progress of a new channel is the target's own GTIDs.
        held: Number of the transactions, without those that ``--skip`` names.
    """
    if start.progress.resumed:
        reasons = [f"the progress of channel {options.channel}"]
    else:
        reasons = ["the target's own GTIDs"] if start.progress.executed else []
    reasons += ["--start-after"] if options.start_after else []
    return f"nothing to apply: {counted(held, 'transaction was', 'transactions were')} skipped, held by {' or '.join(reasons)}"


def _check_begin(place: tuple[str, int], begins: Sequence[FilePosition]) -> None:
    """Check that the replay has ended at the start of a transaction of the source's log.

    A relay log tells the start of a transaction except for the size of a checksum.

    Raises:
        StopNotReached: It has ended before a later one.
    """
    file, position = place
    at = begins[-1] if begins else None
    if at is not None and at.file == file and abs(at.offset - position) <= _CHECKSUM_BYTES:
        return
    near = " and ".join(f"{begin.file}:{begin.offset}" for begin in begins)
    raise StopNotReached(
        f"--stop-before {file}:{position}: no transaction of the source's log begins there; the nearest ones begin at {near};"
        " everything before the last of them is applied"
    )


def _held_before(options: Options, start: Start, place: StopPlace) -> bool:
    if place.gtid is not None:
        return place.gtid in start.skip
    return start.place is not None and (options.paths.index(place.file), place.position) < start.place
