"""The commit-order manager: who may commit when (R17 to R20)."""

from __future__ import annotations

import enum
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from paraply.applier.commit.consistency import Consistency
from paraply.errors import PrecedingFailed
from paraply.observe.worker_state import WAITING_TURN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CommitOrder", "RollbackRequested", "Ticket", "TicketState"]


class TicketState(enum.Enum):
    """Where a registered transaction stands; the value is the text that status displays show."""

    NEW = "Not registered"
    REGISTERED = "Applying"
    WAITING = WAITING_TURN
    TURN = "Committing"
    DONE = "Committed"
    GIVEN_UP = "Rolled back"


class RollbackRequested(Exception):
    """The transaction holds locks that an older one needs: roll back, wait for the older one, apply again (R24).

    Attributes:
        older: Sequence of the ticket that must be through first.
    """

    def __init__(self, older: int) -> None:
        super().__init__(f"rolled back so that the older transaction {older} can go on")
        self.older = older


class Ticket:
    """A transaction's place in the commit order."""

    __slots__ = ("after", "condition", "older", "sequence", "state")

    def __init__(self) -> None:
        self.sequence = 0
        """Place in the order, dense from 1; 0 before it is registered."""
        self.state = TicketState.NEW
        """Where it stands."""
        self.after: tuple[int, ...] = ()
        """Sequences of the tickets that must be committed before it, whatever the consistency level."""
        self.condition: threading.Condition | None = None
        """Where its holder waits; the order's own business."""
        self.older: int | None = None
        """The older ticket for which it was asked to give its locks back; the order's own business."""

    @property
    def rollback_requested(self) -> bool:
        """Whether it was asked to give its locks back."""
        return self.older is not None

    def __repr__(self) -> str:
        return f"Ticket({self.sequence}, {self.state.name})"


class CommitOrder:
    """Lets transactions that are applied at the same time commit one after the other, in the order of registration.

    One thread (the coordinator) registers tickets in the source's order. Any thread then holds one ticket at a time: it waits
    for its turn, commits, and finishes the ticket, which wakes exactly the next one. The first error stops all younger tickets.

    At the weaker levels several tickets have their turn at once, and may be finished in any order.

    Args:
        consistency: When it is a ticket's turn (R20).
        optimistic: Whether transactions that are applied at the same time may conflict, and only row locks keep them apart.

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
        self._mutex = threading.Lock()
        self._optimistic = optimistic
        self._consistency = consistency
        #: Every ticket behind the low-water mark, those that are through out of order too.
        self._queue: deque[Ticket] = deque()
        self._followers: dict[int, list[Ticket]] = {}
        self._awaiting: dict[int, list[Ticket]] = {}
        self._through_early: set[int] = set()
        self._waiting: set[Ticket] = set()
        self._sent = 0
        self._last = 0
        self._low_water_mark = 0
        self._failure: BaseException | None = None

    @property
    def low_water_mark(self) -> int:
        """Sequence up to which every ticket is finished without an error."""
        return self._low_water_mark

    @property
    def newest(self) -> int:
        """Sequence of the ticket that was registered last; 0 for none."""
        return self._last

    @property
    def ahead(self) -> int:
        """How many tickets above the low-water mark are finished, behind a gap."""
        return len(self._through_early)

    @property
    def failure(self) -> BaseException | None:
        """The root cause, once a transaction failed for good or the order was aborted."""
        return self._failure

    def register(self, ticket: Ticket | None = None, after: tuple[int, ...] = ()) -> Ticket:
        """Gives the next place to a transaction (R17).

        Args:
            ticket: A new ticket to register; made if not given.
            after: Sequences of tickets that must be committed before it; matters where the level does not order them (R23).

        Raises:
            PrecedingFailed: An older transaction failed; nothing more is taken.
            ValueError: The ticket is registered already.
        """
        ticket = Ticket() if ticket is None else ticket
        if ticket.state is not TicketState.NEW:
            raise ValueError("this ticket is registered already")
        self._place([ticket], [after])
        return ticket

    def register_all(self, after: Sequence[tuple[int, ...]]) -> list[Ticket]:
        """Gives the next places to transactions, of each of which it is told what must be committed before it; as ``register``."""
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

    def wait_turn(self, ticket: Ticket) -> None:
        """Waits until the caller may commit: at ``any-time`` until all older transactions are through, and then nobody else may.

        Raises:
            PrecedingFailed: An older one failed: roll back, then finish the ticket with this error (R18).
            RollbackRequested: Roll back, ``wait_for`` its ``older``, apply again (R24).
        """
        with self._mutex:
            if ticket.state is TicketState.TURN:
                self._check()
                return
            if self._optimistic:
                ticket.after = (*ticket.after, *self._under_way())
            if not self._may_commit(ticket):
                for sequence in ticket.after:
                    if not self._is_through(sequence):
                        self._awaiting.setdefault(sequence, []).append(ticket)
                self._wait(ticket, lambda: self._may_commit(ticket), rollback=True)
            else:
                self._check()
            ticket.older = None
            ticket.state = TicketState.TURN

    def take_turns(self, tickets: Sequence[Ticket]) -> int:
        """Takes the turns of tickets whose holder commits them one after the other; does not wait.

        Returns:
            How many, from the first one on, need nothing but those before them. None where commits are in order.
        """
        with self._mutex:
            if self._consistency is not Consistency.EVENTUAL or self._failure is not None:
                return 0
            taken: set[int] = set()
            for ticket in tickets:
                if ticket.rollback_requested or not all(number in taken or self._is_through(number) for number in ticket.after):
                    break
                ticket.state = TicketState.TURN
                taken.add(ticket.sequence)
            return len(taken)

    def sent(self, ticket: Ticket) -> None:
        """Says that the ticket's commit is on its way: at ``most-of-the-time`` the next one may send its own.

        Called right before the commit is sent. The thread that is woken needs the interpreter, which the caller gives away
        only inside the call that sends, so that commits go out in this order but for rare cases, which that level allows.
        """
        if self._consistency is not Consistency.MOST_OF_THE_TIME:
            return
        with self._mutex:
            if ticket.sequence == self._sent + 1:
                self._sent = ticket.sequence
                self._wake_next_sender()

    def wait_for(self, ticket: Ticket, older: int) -> None:
        """Waits empty-handed until the older ticket with that sequence is through; a request to roll back is met thereby.

        Raises:
            PrecedingFailed: An older one failed.
        """
        with self._mutex:
            if older > self._low_water_mark:
                self._followers.setdefault(older, []).append(ticket)
            self._wait(ticket, lambda: self._low_water_mark >= older)
            ticket.older = None

    def wait_committed(self, ticket: Ticket, older: int) -> None:
        """Waits until the older ticket with that sequence is through, while the caller holds locks.

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
        """Sleeps empty-handed before another try, but not through the end of the order.

        Raises:
            PrecedingFailed: An older one failed.
        """
        deadline = time.monotonic() + seconds
        with self._mutex:
            self._wait(ticket, lambda: time.monotonic() >= deadline, deadline=deadline)
            ticket.older = None

    def finish(self, ticket: Ticket, error: BaseException | None = None) -> None:
        """Ends the ticket, whose turn it is, and wakes the next; an error ends all younger ones too.

        Args:
            ticket: The ticket.
            error: Why it was not committed, if it was not. Younger tickets then raise PrecedingFailed from it.

        Raises:
            ValueError: It is not the ticket's turn. After a failure, tickets may be finished in any order.
        """
        with self._mutex:
            if ticket.state is TicketState.TURN:
                if error is None:
                    self._through(ticket)
                else:
                    ticket.state = TicketState.GIVEN_UP
                    self._fail(error)
            elif self._failure is not None and error is not None:
                ticket.state = TicketState.GIVEN_UP
            else:
                raise ValueError(f"it is not the turn of {ticket!r}")

    def finish_series(self, tickets: Sequence[Ticket]) -> None:
        """Ends tickets of ``take_turns``, which are committed, and wakes who waits for them."""
        with self._mutex:
            for ticket in tickets:
                self._through(ticket)

    def withdraw(self, ticket: Ticket) -> None:
        """Takes back a ticket that nobody works on; all younger ones must be withdrawn as well."""
        with self._mutex:
            ticket.state = TicketState.GIVEN_UP
            while self._queue and self._queue[-1].state is TicketState.GIVEN_UP:
                self._queue.pop()

    def abort(self, error: BaseException) -> None:
        """Ends everything at once: whoever waits, or comes to wait, raises PrecedingFailed; a commit under way may still finish."""
        with self._mutex:
            self._fail(error)

    def request_rollback(self, ticket: Ticket, older: int) -> bool:
        """Asks a younger transaction to give its locks back, and to come again after ``older`` (R24).

        Returns:
            Whether it will: not if it is committing, done, or not younger.
        """
        with self._mutex:
            return self._request(ticket, older)

    def hold_back(self, older: int) -> None:
        """Asks every younger transaction to give its locks back, and those not started yet to wait for ``older`` first (R24)."""
        with self._mutex:
            for ticket in self._queue:
                self._request(ticket, older)

    def take_request(self, ticket: Ticket) -> int | None:
        """The older ticket that a requested rollback is for, if one is requested; the request is met thereby."""
        with self._mutex:
            older, ticket.older = ticket.older, None
            return older

    def oldest(self) -> Ticket | None:
        """The oldest ticket that is not through."""
        with self._mutex:
            return self._queue[0] if self._queue else None

    def waiting(self) -> list[Ticket]:
        """The tickets that wait for their turn, oldest first."""
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
        return all(self._is_through(sequence) for sequence in ticket.after)

    def _under_way(self) -> list[int]:
        """Tickets whose commit is sent and not known to have happened.

        If such a commit fails, its locks are free until it is tried again. A transaction whose rows went in behind it may have got
        one of these locks, and must not be through before it; one whose rows were in before held its own at the same time.
        """
        if self._consistency is not Consistency.MOST_OF_THE_TIME:
            return []
        return [ticket.sequence for ticket in self._queue if ticket.sequence <= self._sent and ticket.state is not TicketState.DONE]

    def _is_through(self, sequence: int) -> bool:
        return sequence <= self._low_water_mark or sequence in self._through_early

    def _through(self, ticket: Ticket) -> None:
        ticket.state = TicketState.DONE
        queue = self._queue
        if queue[0] is not ticket:
            self._through_early.add(ticket.sequence)
        while queue and queue[0].state is TicketState.DONE:
            self._low_water_mark = sequence = queue.popleft().sequence
            self._through_early.discard(sequence)
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
        """The oldest ticket whose commit is not sent yet; tickets in the queue have consecutive sequences."""
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
        """Waits under the mutex on the ticket's own condition, so that a wake-up reaches this ticket only."""
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
                    ticket.condition = threading.Condition(self._mutex)
                if rollback:
                    ticket.state = TicketState.WAITING
                    self._waiting.add(ticket)
                ticket.condition.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        finally:
            ticket.state = before
            self._waiting.discard(ticket)

    def _wake(self, ticket: Ticket) -> None:
        if ticket.condition is not None:
            ticket.condition.notify()
