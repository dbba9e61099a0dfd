"""The last steps of a run that ends before the end of its logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.preflight.inspect import parse_gtids
from paraply.errors import AlreadyRunning, CommitsLost, ConnectionFailed, ParaplyError

if TYPE_CHECKING:
    from paraply.applier.execute.run_state import RunState

__all__ = ["complete_gtids"]


def complete_gtids(run: RunState, ended: BaseException, start_after: str | None) -> None:
    """Make the applied GTIDs the target's own at a stop, or at an error (R26). A failure is a note: the next stop completes them.

    Args:
        run: The run; no transaction of it is in progress.
        ended: The error that ended it.
        start_after: GTIDs that the target held before.
    """
    if isinstance(ended, ConnectionFailed | CommitsLost | AlreadyRunning):
        return
    try:
        executed = type(run.executed())(run.executed_text()) | parse_gtids(start_after)
        with run.target.exclusive() as target:
            target.complete_gtids(executed)
    except ParaplyError as error:
        run.note(f"the target's own GTID set was not completed: {error}")
