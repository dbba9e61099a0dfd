"""Questions to a target that may need to restart first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from paraply.errors import ConnectionFailed, TemporaryFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block
    from paraply.applier.commit.commit_order import Ticket
    from paraply.applier.execute.run_state import RunState

__all__ = ["was_committed", "when_available"]

T = TypeVar("T")


def when_available(run: RunState, ticket: Ticket, ask: Callable[[], T], remark: str = "") -> T:
    """Return the target's answer; retry as long as a server may need to restart, each time with a remark in the log.

    Args:
        run: The run.
        ticket: Ticket of the job for which the target is asked.
        ask: Asks the target.
        remark: The remark; empty for none.
    """
    retry, attempt = run.retry, 0
    while True:
        try:
            return ask()
        except (ConnectionFailed, TemporaryFailure):  # also a KILL QUERY that hits the first query of a new session
            attempt += 1
            if attempt >= retry.reconnects:
                raise
            if remark:
                logging.getLogger("paraply.applier").info(remark)
            run.order.pause(ticket, retry.reconnect_delay(attempt))


def was_committed(run: RunState, ticket: Ticket, block: Block) -> bool:
    """Return True if a commit in progress at the loss of the connection took effect; this keeps the commit exactly once.

    Args:
        run: The run.
        ticket: Ticket of the block's job.
        block: The block.
    """
    return when_available(run, ticket, lambda: run.target.committed(block), f"not known yet: was block {block.id} committed?")
