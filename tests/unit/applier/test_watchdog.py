"""The watchdog asks whoever holds the oldest block up to give way (R24)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from paraply.applier.commit.commit_order import CommitOrder, RollbackRequested, Ticket
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.lock_watchdog import LockWatchdog, Patience
from paraply.errors import PrecedingFailed
from paraply.observe.worker_state import APPLYING
from paraply.targets.lock_waits import UNTOLD

PATIENCE = Patience(shortest=0.001, factor=1.0, longest=0.002, coarse=60.0, foreign=60.0)


class Blocked:
    """A target on which one connection waits for another one's locks."""

    def __init__(self, connection: int, by: int) -> None:
        self.waits = {connection: [by]}
        self.questions = 0

    def blockers(self, connection: int) -> list[int]:
        self.questions += 1
        return self.waits.get(connection, [])


def applying(number: int, ticket: Ticket, depends_on: Sequence[int] = ()) -> Any:
    """A worker whose statement began a second ago."""
    counters = SimpleNamespace(connection_id=number, state=APPLYING)
    job = SimpleNamespace(number=number, ticket=ticket, block=SimpleNamespace(depends_on=list(depends_on), transactions=[]))
    return SimpleNamespace(counters=counters, job=job, attempt=1, since=time.perf_counter() - 1.0, interrupt=lambda: None)


def state(order: CommitOrder, target: Any, *, optimistic: bool) -> Any:
    """Return the state of a run as the watchdog needs it."""
    return SimpleNamespace(
        order=order, target=target, optimistic=optimistic, apply_seconds=0.0, foreign_blockers=(), note=print, contended=list
    )


@pytest.mark.parametrize("optimistic", [True, False])
def test_r24_a_younger_one_that_still_applies_gives_way_where_only_row_locks_keep_them_apart(optimistic: bool) -> None:
    order = CommitOrder(optimistic=optimistic)
    tickets = [order.register(), order.register()]
    workers = [applying(ticket.sequence, ticket) for ticket in tickets]
    target = Blocked(1, by=2)
    run: Any = SimpleNamespace(
        order=order, target=target, optimistic=optimistic, apply_seconds=0.0, foreign_blockers=(), note=print, contended=list
    )
    watchdog = LockWatchdog(run, workers, PATIENCE)
    watchdog.check()
    assert tickets[1].rollback_requested is optimistic
    assert not tickets[0].rollback_requested
    assert (target.questions > 0) is optimistic, "where nothing conflicts, asking costs and finds nothing"


def test_r24_a_chain_goes_on_behind_a_connection_of_others() -> None:
    """Somebody's ALTER TABLE waits for a younger one of ours, and the oldest queues behind it."""
    order = CommitOrder(optimistic=True)
    tickets = [order.register(), order.register()]
    target = Blocked(1, by=1001)
    target.waits[1001] = [2]
    run: Any = SimpleNamespace(
        order=order, target=target, optimistic=True, apply_seconds=0.0, foreign_blockers=(), note=print, contended=list
    )
    LockWatchdog(run, [applying(ticket.sequence, ticket) for ticket in tickets], PATIENCE).check()
    assert tickets[1].rollback_requested
    assert run.foreign_blockers == (1001,)


@pytest.mark.parametrize("shows_blockers", [True, False])
def test_r24_where_the_target_cannot_tell_those_give_way_that_share_keys_with_the_oldest(shows_blockers: bool) -> None:
    """MariaDB tells of lock waits ten times a second only."""
    order = CommitOrder(optimistic=True)
    tickets = [order.register() for _ in range(5)]
    shares: list[list[int]] = [[], [1], [], [2], [3]]
    workers = [applying(ticket.sequence, ticket, depends_on) for ticket, depends_on in zip(tickets, shares, strict=True)]
    target = Blocked(1, by=5)
    if not shows_blockers:
        target.waits.clear()
    run: Any = SimpleNamespace(
        order=order, target=target, optimistic=True, apply_seconds=0.0, foreign_blockers=(), note=print, contended=list
    )
    LockWatchdog(run, workers[::-1], PATIENCE).check()
    assert [ticket.rollback_requested for ticket in tickets] == [False, not shows_blockers, False, not shows_blockers, shows_blockers]


@pytest.mark.parametrize("waits", [True, False])
def test_r24_a_long_one_holds_back_only_those_that_hold_locks_while_they_wait(waits: bool) -> None:
    """If commits need not be in order, the other transactions go on beside it."""
    order = CommitOrder(Consistency.EVENTUAL)
    tickets = [order.register(), order.register(after=(1,)), order.register()]
    asked: list[int] = []

    def wait() -> None:
        with pytest.raises(RollbackRequested) as request:
            order.wait_turn(tickets[1])
        asked.append(request.value.older)

    waiter = threading.Thread(target=wait, daemon=True)
    if waits:
        waiter.start()
        while not order.waiting():
            time.sleep(0.001)
    target: Any = Blocked(9, by=9)
    target.describe_wait = lambda connection, blockers: ""
    run: Any = SimpleNamespace(
        order=order, target=target, optimistic=False, apply_seconds=0.0, foreign_blockers=(), note=print, contended=list
    )
    patience = Patience(shortest=0.001, factor=1.0, longest=0.002, coarse=0.5, foreign=0.5)
    LockWatchdog(run, [applying(ticket.sequence, ticket) for ticket in tickets], patience).check()
    assert tickets[2].rollback_requested is waits
    if waits:
        waiter.join(5)
    assert asked == ([1] if waits else [])
    assert not order.waiting()


class Waiting:
    """A target that tells who is in the way too late, but that somebody waits."""

    def blockers(self, connection: int) -> list[int]:
        return [UNTOLD]


def test_r24_where_the_target_tells_late_those_give_way_that_wait_for_their_turn_and_share_a_table() -> None:
    order = CommitOrder()
    tickets = [order.register() for _ in range(4)]
    asked: dict[int, int] = {}

    def wait(ticket: Ticket) -> None:
        with contextlib.suppress(PrecedingFailed):  # at the end
            try:
                order.wait_turn(ticket)
            except RollbackRequested as request:
                asked[ticket.sequence] = request.older

    waiters = [threading.Thread(target=wait, args=(ticket,), daemon=True) for ticket in tickets[1:3]]
    for waiter in waiters:
        waiter.start()
    while len(order.waiting()) < len(waiters):
        time.sleep(0.001)
    workers = [applying(ticket.sequence, ticket) for ticket in tickets]
    for worker, tables in zip(workers, (["d.t", "d.u"], ["d.t", "d.w"], ["d.v"], ["d.t"]), strict=True):
        worker.job.block.transactions = [SimpleNamespace(tables=tables)]
    contended: list[str] = []
    run = state(order, Waiting(), optimistic=False)
    run.contended = contended.extend
    watchdog = LockWatchdog(run, workers, PATIENCE)
    watchdog.check()
    waiters[0].join(10)
    for _ in range(2):
        watchdog.check()
    assert not any(ticket.rollback_requested for ticket in tickets[2:])
    assert asked == {2: 1}, "the third one shares no table, and the fourth one holds no lock while it waits"
    assert contended == ["d.t"], "once for each attempt"
    order.abort(RuntimeError("over"))
    waiters[1].join(5)
