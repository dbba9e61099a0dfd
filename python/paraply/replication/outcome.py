"""The outcome of a replication over losses of its target, and of one that ends before its apply."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply.errors import ParaplyError, UsageError
from paraply.observe.conflicts import joined
from paraply.observe.counters import Counters
from paraply.observe.status_json import RunIdentity, status_object
from paraply.targets.channel_status import ChannelStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from paraply._native import GtidSet
    from paraply.applier import ApplyReport
    from paraply.logs.stop_point import StopPoint
    from paraply.targets.protocol import Target

__all__ = ["added", "publish_failure", "until_after"]


def until_after(until: StopPoint | None, held: GtidSet) -> StopPoint | None:
    """Return the stop for a target that held these transactions at the start: a view change among them does not count.

    Transactions applied later are not among them, so a loss of the target after the view change does not matter.
    """
    return until if until is None or until.view_change is None else replace(until, view_change=held)


def added(before: ApplyReport | None, report: ApplyReport | None) -> ApplyReport | None:
    """Return the sum of the reports of two applies of one replication."""
    if before is None or report is None:
        return report or before
    return replace(
        report,
        transactions=before.transactions + report.transactions,
        commits=before.commits + report.commits,
        rows=before.rows + report.rows,
        seconds=before.seconds + report.seconds,
        retries=before.retries + report.retries,
        reconnects=before.reconnects + report.reconnects,
        conflicts=joined(before.conflicts, report.conflicts),
    )


def publish_failure(
    make_target: Callable[[], AbstractContextManager[Target]],
    channel: str,
    error: ParaplyError,
    until: StopPoint | None,
    receiver: Mapping[str, Any],
) -> None:
    """Write the error of a replication that ends outside its apply into the status row of the target; never raise.

    The channel is not taken over: the row has its present epoch, and the one of a process that runs stays as it is. A channel that the
    target does not hold yet gets only the row, with the epoch 0, so that the next start may have other arguments; a wrong option of a first
    start leaves none.
    """
    with contextlib.suppress(ParaplyError), make_target() as target:
        found = next((one for one in target.read_channels() if one.name == channel), None)
        if found is None:
            if error.exit_code == UsageError.exit_code:
                return
            found = ChannelStatus(channel, 0, complete=False)
        if found.state == "running":
            return
        identity = RunIdentity(channel, gtid_mode=found.gtid_mode, stop=until.text if until is not None else "")
        status = status_object(identity, Counters(), outcome="failed", error=error) | {"paused": None}
        row = target.open_status_row(found)
        if row is not None:
            with contextlib.closing(row):
                row.publish(json.dumps(status | ({"receiver": dict(receiver)} if receiver else {})))
