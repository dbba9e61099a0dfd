"""The commit-order manager (R17 to R20)."""

from __future__ import annotations

import enum
from collections import deque
from typing import TYPE_CHECKING

from paraply.applier.commit.consistency import Consistency
from paraply.errors import PrecedingFailed
from paraply.observe.worker_state import WAITING_TURN
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply.runtime import Condition

__all__ = ["CommitOrder", "RollbackRequested", "Ticket", "TicketState"]


class TicketState(enum.Enum):
    """State of a registered transaction; the value is the text that status displays show."""

    NEW = "Not registered"
    REGISTERED = "Applying"
    WAITING = WAITING_TURN
    TURN = "Committing"
    DONE = "Committed"
    GIVEN_UP = "Rolled back"


class RollbackRequested(Exception):
    """Request to roll back: the transaction holds locks that an older one needs. It is applied again after the older one (R24).

    Attributes:
        older: Sequence of the ticket that must be committed first.
    """

    def __init__(self, older: int) -> None:
        super().__init__(f"rolled back so that the older transaction {older} can go on")
        self.older = older


class Ticket:
    """Position of a transaction in the commit order."""

    __slots__ = ("after", "condition", "older", "sequence", "state")

    def __init__(self) -> None:
        self.sequence = 0
        """Sequence in the order, dense from 1; 0 before registration."""
        self.state = TicketState.NEW
        """Current state."""
        self.after: tuple[int, ...] = ()
        """Sequences of the tickets that must be committed before this one, at every consistency level."""
        self.condition: Condition | None = None
        """Condition that the ticket's holder waits on; used only by the order."""
        self.older: int | None = None
        """Older ticket for which a rollback was requested; used only by the order."""

    @property
    def rollback_requested(self) -> bool:
        """True if the ticket was asked to release its locks."""
        return self.older is not None

    def __repr__(self) -> str:
        return f"Ticket({self.sequence}, {self.state.name})"


class CommitOrder:
    """Order in which transactions that are applied at the same time commit: that of their registration.

    One thread (the coordinator) registers tickets in the source's order. Each worker thread holds one ticket at a time: it waits
    for its turn, commits, and finishes the ticket, which wakes exactly the next one. The first error stops all younger tickets.

    At the weaker levels several tickets have their turn at once, and may be finished in any order.

    Args:
        consistency: Level that decides when a ticket may commit (R20).
        optimistic: True if transactions applied at the same time may conflict, so that only row locks separate them.

    >>> order = CommitOrder()
    >>> first, second = order.register(), order.register()
    >>> order.wait_turn(first)
    >>> order.finish(first)
    >>> order.wait_turn(second)
    >>> order.finish(second)
    >>> order.low_water_mark
    2
    """

    def __init__(self, consistency: Consistency = Consistency.ANY_TIME, *, optimistic: bool = False) -> None:
        self._mutex = runtime.lock()
        self._optimistic = optimistic
        self._consistency = consistency
        #: Every ticket after the low-water mark, including those committed out of order.
        self._queue: deque[Ticket] = deque()
        self._followers: dict[int, list[Ticket]] = {}
        self._awaiting: dict[int, list[Ticket]] = {}
        self._committed_early: set[int] = set()
        self._waiting: set[Ticket] = set()
        self._sent = 0
        self._last = 0
        self._low_water_mark = 0
        self._failure: BaseException | None = None

    @property
    def low_water_mark(self) -> int:
        """Sequence up to which every ticket is committed."""
        return self._low_water_mark

    @property
    def newest(self) -> int:
        """Sequence of the latest registered ticket; 0 for none."""
        return self._last

    @property
    def ahead(self) -> int:
        """Number of tickets committed after a gap, above the low-water mark."""
        return len(self._committed_early)

    @property
    def failure(self) -> BaseException | None:
        """Root cause of the end, once a transaction failed for good or the order was aborted."""
        return self._failure

    def register(self, ticket: Ticket | None = None, after: tuple[int, ...] = ()) -> Ticket:
        """Give the next position in the order to a transaction (R17).

        Args:
            ticket: A new ticket to register; made by default.
            after: Sequences of tickets that must be committed before it; matters where the level does not order them (R23).

        Raises:
            PrecedingFailed: An older transaction failed; no more tickets are accepted.
            ValueError: The ticket is registered already.
        """
        ticket = Ticket() if ticket is None else ticket
        if ticket.state is not TicketState.NEW:
            raise ValueError("this ticket is registered already")
        self._place([ticket], [after])
        return ticket

    def register_all(self, after: Sequence[tuple[int, ...]]) -> list[Ticket]:
        """Register one new ticket for each entry of ``after``, which names the tickets to be committed before it; see ``register``."""
        tickets = [Ticket() for _ in after]
        self._place(tickets, after)
        return tickets

    def _place(self, tickets: Sequence[Ticket], after: Sequence[tuple[int, ...]]) -> None:
        with self._mutex:
            self._check()
            for number, (ticket, older) in enumerate(zip(tickets, after, strict=True), self._last + 1):
                ticket.sequence, ticket.state, ticket.after = number, TicketState.REGISTERED, older
            self._last += len(tickets)
            self._queue.extend(tickets)

    def wait_turn(self, ticket: Ticket, *, holds_locks: bool = True) -> None:
        """Wait until the ticket may commit. At ``any-time`` all older transactions are committed then, and no other one may commit.

        Args:
            ticket: The ticket.
            holds_locks: False if its holder has nothing to roll back, so that every request to do so is met.

        Raises:
            PrecedingFailed: An older one failed: roll back, then finish the ticket with this error (R18).
            RollbackRequested: Roll back, ``wait_for`` its ``older``, apply again (R24).
        """
        with self._mutex:
            if ticket.state is TicketState.TURN:
                self._check()
                return
            if self._optimistic:
                ticket.after = (*ticket.after, *self._in_progress())
            if not self._may_commit(ticket):
                for sequence in ticket.after:
                    if not self._is_committed(sequence):
                        self._awaiting.setdefault(sequence, []).append(ticket)
                self._wait(ticket, lambda: self._may_commit(ticket), rollback=holds_locks)
            else:
                self._check()
            ticket.older = None
            ticket.state = TicketState.TURN

    def take_turns(self, tickets: Sequence[Ticket]) -> int:
        """Take the turns of the first tickets whose holder commits them one after the other; never wait.

        Returns:
            Number of tickets, from the first one on, that depend only on those before them. 0 at levels that commit in order, and after a
            failure.
        """
        with self._mutex:
            if self._consistency is not Consistency.EVENTUAL or self._failure is not None:
                return 0
            taken: set[int] = set()
            for ticket in tickets:
                if ticket.rollback_requested or not all(number in taken or self._is_committed(number) for number in ticket.after):
                    break
                ticket.state = TicketState.TURN
                taken.add(ticket.sequence)
            return len(taken)

    def sent(self, ticket: Ticket) -> None:
        """Note that the ticket's commit is being sent: at ``most-of-the-time`` the next one may send its own.

        Called right before the commit is sent. The woken thread needs the interpreter lock, which the caller releases only inside the
        call that sends. So commits go out in this order, except in rare cases, which that level allows.
        """
        if self._consistency is not Consistency.MOST_OF_THE_TIME:
            return
        with self._mutex:
            if ticket.sequence == self._sent + 1:
                self._sent = ticket.sequence
                self._wake_next_sender()

    def wait_for(self, ticket: Ticket, older: int) -> None:
        """Wait, without holding locks, until the older ticket with that sequence is committed; this also meets a rollback request.

        Raises:
            PrecedingFailed: An older one failed.
        """
        with self._mutex:
            if older > self._low_water_mark:
                self._followers.setdefault(older, []).append(ticket)
            self._wait(ticket, lambda: self._low_water_mark >= older)
            ticket.older = None

    def wait_committed(self, ticket: Ticket, older: int) -> None:
        """Wait, while holding locks, until the older ticket with that sequence is committed.

        Raises:
            PrecedingFailed: An older one failed.
            RollbackRequested: As ``wait_turn`` does.
        """
        with self._mutex:
            if older > self._low_water_mark:
                self._followers.setdefault(older, []).append(ticket)
            self._wait(ticket, lambda: self._low_water_mark >= older, rollback=True)
            if ticket.older is not None and ticket.older <= self._low_water_mark:
                ticket.older = None

    def pause(self, ticket: Ticket, seconds: float) -> None:
        """Sleep, without holding locks, before another try; return early with an error if the order ends.

        Raises:
            PrecedingFailed: An older one failed.
        """
        deadline = runtime.monotonic() + seconds
        with self._mutex:
            self._wait(ticket, lambda: runtime.monotonic() >= deadline, deadline=deadline)
            ticket.older = None

    def finish(self, ticket: Ticket, error: BaseException | None = None) -> None:
        """End a ticket that has its turn, and wake the next one; an error ends all younger tickets too.

        Args:
            ticket: The ticket.
            error: The error if the ticket was not committed. Younger tickets then raise PrecedingFailed from it.

        Raises:
            ValueError: It is not the ticket's turn. After a failure, tickets may be finished in any order.
        """
        with self._mutex:
            if ticket.state is TicketState.TURN:
                if error is None:
                    self._mark_committed(ticket)
                else:
                    ticket.state = TicketState.GIVEN_UP
                    self._fail(error)
            elif self._failure is not None and error is not None:
                ticket.state = TicketState.GIVEN_UP
            else:
                raise ValueError(f"it is not the turn of {ticket!r}")

    def finish_batch(self, tickets: Sequence[Ticket]) -> None:
        """End tickets that ``take_turns`` took and that are committed, and wake the threads that wait for them."""
        with self._mutex:
            for ticket in tickets:
                self._mark_committed(ticket)

    def withdraw(self, ticket: Ticket) -> None:
        """Withdraw a ticket that no worker has begun; all younger ones must be withdrawn as well."""
        with self._mutex:
            ticket.state = TicketState.GIVEN_UP
            while self._queue and self._queue[-1].state is TicketState.GIVEN_UP:
                self._queue.pop()

    def abort(self, error: BaseException) -> None:
        """End everything at once: every present and later wait raises PrecedingFailed; a commit in progress may still finish."""
        with self._mutex:
            self._fail(error)

    def request_rollback(self, ticket: Ticket, older: int) -> bool:
        """Ask a younger transaction to release its locks and to start again after ``older`` (R24).

        Returns:
            True if it will; False if it is committing, done, or not younger.
        """
        with self._mutex:
            return self._request(ticket, older)

    def hold_back(self, older: int) -> None:
        """Ask every younger transaction to release its locks, and those not started yet to wait for ``older`` first (R24)."""
        with self._mutex:
            for ticket in self._queue:
                self._request(ticket, older)

    def take_request(self, ticket: Ticket) -> int | None:
        """Return the older ticket of a pending rollback request, or None; the request counts as met afterwards."""
        with self._mutex:
            older, ticket.older = ticket.older, None
            return older

    def oldest(self) -> Ticket | None:
        """Return the oldest ticket that is not committed."""
        with self._mutex:
            return self._queue[0] if self._queue else None

    def waiting(self) -> list[Ticket]:
        """Return the tickets that wait for their turn, oldest first."""
        with self._mutex:
            return sorted(self._waiting, key=lambda ticket: ticket.sequence)

    def _request(self, ticket: Ticket, older: int) -> bool:
        if ticket.sequence <= older or ticket.state not in (TicketState.REGISTERED, TicketState.WAITING):
            return False
        ticket.older = older if ticket.older is None else max(older, ticket.older)
        self._wake(ticket)
        return True

    def _may_commit(self, ticket: Ticket) -> bool:
        if self._consistency is Consistency.ANY_TIME:
            return self._queue[0] is ticket
        if self._consistency is Consistency.MOST_OF_THE_TIME and ticket.sequence > self._sent + 1:
            return False
        return all(self._is_committed(sequence) for sequence in ticket.after)

    def _in_progress(self) -> list[int]:
        """Return the tickets whose commit was sent and is not acknowledged yet.

        If such a commit fails, its locks are free until the retry. A transaction whose rows are written after that may have taken one of
        these locks and must not commit first. A transaction whose rows were written before held its own locks at the same time.
        """
        if self._consistency is not Consistency.MOST_OF_THE_TIME:
            return []
        return [ticket.sequence for ticket in self._queue if ticket.sequence <= self._sent and ticket.state is not TicketState.DONE]

    def _is_committed(self, sequence: int) -> bool:
        return sequence <= self._low_water_mark or sequence in self._committed_early

    def _mark_committed(self, ticket: Ticket) -> None:
        ticket.state = TicketState.DONE
        queue = self._queue
        if queue[0] is not ticket:
            self._committed_early.add(ticket.sequence)
        while queue and queue[0].state is TicketState.DONE:
            self._low_water_mark = sequence = queue.popleft().sequence
            self._committed_early.discard(sequence)
            for follower in self._followers.pop(sequence, ()):
                self._wake(follower)
        for waiter in self._awaiting.pop(ticket.sequence, ()):
            self._wake(waiter)
        if self._consistency is Consistency.MOST_OF_THE_TIME:
            self._sent = max(self._sent, self._low_water_mark)
            self._wake_next_sender()
        elif queue:
            self._wake(queue[0])

    def _wake_next_sender(self) -> None:
        """Wake the oldest ticket whose commit is not sent yet; tickets in the queue have consecutive sequences."""
        queue = self._queue
        if queue and 0 <= (place := self._sent + 1 - queue[0].sequence) < len(queue):
            self._wake(queue[place])

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        for ticket in self._queue:
            self._wake(ticket)

    def _check(self) -> None:
        if self._failure is not None:
            raise PrecedingFailed("rolled back because a preceding transaction failed; it is not applied") from self._failure

    def _wait(self, ticket: Ticket, ready: Callable[[], bool], *, rollback: bool = False, deadline: float | None = None) -> None:
        """Wait under the mutex on the ticket's own condition, so that a notification reaches this ticket only."""
        before = ticket.state
        try:
            while True:
                self._check()
                if ready():
                    return
                if rollback and ticket.older is not None:
                    older, ticket.older = ticket.older, None
                    raise RollbackRequested(older)
                if ticket.condition is None:
                    ticket.condition = runtime.condition(self._mutex)
                if rollback:
                    ticket.state = TicketState.WAITING
                    self._waiting.add(ticket)
                ticket.condition.wait(None if deadline is None else max(0.0, deadline - runtime.monotonic()))
        finally:
            ticket.state = before
            self._waiting.discard(ticket)

    def _wake(self, ticket: Ticket) -> None:
        if ticket.condition is not None:
            ticket.condition.notify()
