"""A member: certifies the group's messages in order, and writes them to its logs."""

from __future__ import annotations

import enum
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from paraply._native import Certifier, GtidSet
from paraply.errors import MemberUnavailable
from paraply.group.delivery.log import TransactionLog
from paraply.group.delivery.messages import ExecutedMessage, LogEntry, MemberId, Message, RowChange, TransactionMessage, View, ViewMessage
from paraply.group.delivery.stream import MessageStream, StreamReader
from paraply.group.delivery.transfer import Chunk, pack, unpack
from paraply.group.members.certification import Certification, CertifierOptions, Decision, known_gtids
from paraply.group.members.flow_control import FlowControl
from paraply.group.members.pending import Horizon, LocalsInFlight, Pending
from paraply.group.storage.store import Store

__all__ = ["Member", "MemberCounters", "MemberState", "view_gtid"]


class MemberState(enum.Enum):
    """State of a member; the values are those of replication_group_members."""

    OFFLINE = "OFFLINE"
    RECOVERING = "RECOVERING"
    ONLINE = "ONLINE"
    ERROR = "ERROR"


@dataclass(slots=True)
class MemberCounters:
    """Counters of a member since it joined."""

    checked: int = 0
    conflicts: int = 0
    proposed: int = 0
    rolled_back: int = 0
    local: int = 0
    remote: int = 0
    applied: int = 0
    views: int = 0
    last_conflict_free: str = ""


def view_gtid(options: CertifierOptions, number: int) -> str:
    """Return the GTID of a view change, under a UUID of its own as with group_replication_view_change_uuid."""
    return f"{uuid.uuid5(uuid.UUID(options.group), 'view change')}:{number}"


@dataclass(slots=True)
class Disk:
    """Parts of a member that survive its crash: database and logs.

    Attributes:
        store: The database.
        relay: The remote transactions, with the numbers of this member's certifier.
        log: All transactions in an order in which they can be applied, for joining members.
        logged: GTIDs of the transactions in ``log``.
        clock: Certifier that numbers the transactions of ``log``.
    """

    store: Store
    relay: TransactionLog
    log: TransactionLog
    logged: GtidSet = field(default_factory=GtidSet)
    clock: Certifier = field(default_factory=lambda: Certifier(first_remote_alone=False))


class Member:
    """Member of a group, from its join until it leaves or crashes.

    One thread delivers messages; sessions send transactions; the applier reports commits.

    Args:
        me: Identity of the member.
        disk: Its database and logs.
        options: Options of the group.
        stream: The group's messages.
        reader: Its reader of the messages, positioned before its first view.
        flow: Flow control for its sessions.
    """

    def __init__(
        self, me: MemberId, disk: Disk, options: CertifierOptions, stream: MessageStream, reader: StreamReader, flow: FlowControl
    ) -> None:
        self.me = me
        self.disk = disk
        self.store = disk.store
        self.options = options
        self.state = MemberState.RECOVERING
        self.view = View(0, ())
        self.locals = LocalsInFlight()
        self.horizon = Horizon()
        self.flow = flow
        self.counters = MemberCounters()
        self.certified = GtidSet()
        """GTIDs of everything that may commit, as far as this member has certified."""
        self.relay_start = disk.relay.end
        """Start of this membership in the relay log."""
        self.transfers: dict[int, list[Chunk]] = {}
        """Certification info at the beginning of each view with joining members."""
        self.awaited: int | None = None
        """View whose certification info must arrive before anything more is certified."""
        self.certification: Certification | None = None
        self.failure: BaseException | None = None
        self.on_local: Callable[[Pending], None] = lambda _pending: None
        """Called with each local transaction that may commit; sessions with a thread of their own wait for it instead."""
        self._stream = stream
        self._reader = reader
        self._mutex = threading.Lock()
        self._logging = threading.Lock()
        self._pending: dict[int, Pending] = {}
        self._last = 0
        self._barriers = GtidSet()
        self.decisions: list[tuple[int, Decision]] | None = None
        """Every decision with its position in the stream; None unless a caller wants to compare decisions."""

    @property
    def name(self) -> str:
        """Name of the member."""
        return self.me.name

    @property
    def position(self) -> int:
        """Position of the last delivered message."""
        return self._reader.position

    @property
    def certifier_queue(self) -> int:
        """Number of messages that are not certified."""
        return self._reader.waiting

    @property
    def applier_queue(self) -> int:
        """Number of remote transactions that are certified and not applied."""
        return max(0, self.counters.remote - self.counters.applied)

    def begin(self, certification: Certification) -> None:
        """Start without certification info from other members, at the beginning of the group."""
        self.certification = certification

    # Delivery.

    def deliver(self, wait: float = 0.0) -> bool:
        """Handle the next message, if there is one; return False if nothing was done."""
        if self.awaited is not None or self.state in (MemberState.OFFLINE, MemberState.ERROR):
            return False
        message = self._reader.take(wait)
        if message is None:
            return False
        self._handle(message)
        return True

    def _handle(self, message: Message) -> None:
        match message:
            case ViewMessage(view=view):
                self._change_view(view)
            case TransactionMessage(sender=sender) if sender in self.view.members:
                self._certify(message)
            case ExecutedMessage(sender=sender) if sender in self.view.members:
                self._take_report(message)
            case _:  # the sender had left the group before its message
                if message.sender == self.me:
                    self.close(MemberUnavailable(f"member {self.name} was expelled from the group"))

    def _take_report(self, message: ExecutedMessage) -> None:
        self.flow.observe(message)
        self.transfers.pop(message.sender.joined, None)
        certification = self._certification()
        if certification.report(message, self.view):
            with self._logging:
                self.disk.clock.collect_garbage(certification.stable)

    def _certification(self) -> Certification:
        if self.certification is None:
            raise MemberUnavailable(f"member {self.name} has no certification info yet")
        return self.certification

    def _certify(self, message: TransactionMessage) -> None:
        decision = self._certification().certify(message)
        counters = self.counters
        counters.checked += 1
        if self.decisions is not None:
            self.decisions.append((self.position, decision))
        entry = entry_of(message, decision) if decision.committed else None
        if entry is None:
            counters.conflicts += 1
        elif message.sender == self.me:
            self._keep_local(message.number, decision, entry)
        else:
            self._keep_remote(entry)
        if entry is None and message.sender == self.me:
            counters.rolled_back += 1
            self._decide(message.number, decision)

    def _keep_local(self, number: int, decision: Decision, entry: LogEntry) -> None:
        """Keep a local transaction for its session: a barrier commits after all earlier transactions, others after the last barrier."""
        needs = (self.certified if entry.barrier else self._barriers).copy()
        self.locals.begin(entry.gtid, entry.write_set, barrier=entry.barrier)
        self._count(entry)
        self.counters.local += 1
        self._decide(number, decision, entry, needs)

    def _keep_remote(self, entry: LogEntry) -> None:
        self.locals.behind(entry.gtid, entry.write_set, barrier=entry.barrier)
        self._count(entry)
        self.counters.remote += 1
        self.disk.relay.append(entry)

    def _count(self, entry: LogEntry) -> None:
        self.certified.add(entry.gtid)
        if entry.barrier:
            self._barriers = GtidSet(entry.gtid)
        self.counters.last_conflict_free = entry.gtid

    def _decide(self, number: int, decision: Decision, entry: LogEntry | None = None, needs: GtidSet | None = None) -> None:
        with self._mutex:
            pending = self._pending.pop(number)
        self.horizon.end(pending.token)
        pending.decide(decision, entry, needs)
        if entry is not None:
            self.on_local(pending)

    # Views.

    def _change_view(self, view: View) -> None:
        if view.find(self.name) != self.me:
            self.view = view
            self.close(MemberUnavailable(f"member {self.name} has left the group"))
            return
        first = self.view.number == 0
        self.view = view
        self.flow.keep([member.name for member in view.members])
        if first and self.certification is None:
            self.awaited = view.number
            return
        members = {member.joined for member in view.members}
        self.transfers = {number: chunks for number, chunks in self.transfers.items() if number in members}
        if view.joined:
            self.transfers[view.number] = pack(self._certification().export())
        self._open_view(view)

    def _open_view(self, view: View) -> None:
        last_committed, number = self._certification().change_view()
        entry = LogEntry(view_gtid(self.options, view.number), "view_change", last_committed, number)
        self.locals.behind(entry.gtid, (), barrier=True)
        self.certified.add(entry.gtid)
        self.counters.remote += 1
        self.counters.views += 1
        self.disk.relay.rotate()
        self.disk.relay.append(entry)

    def install(self, chunks: Sequence[Chunk]) -> None:
        """Install the certification info that another member had at the beginning of the view with which this one joins (R9).

        Raises:
            TransferDamaged: The info is not what was sent.
        """
        exported = unpack(chunks)
        self.certification = Certification.joined(self.options, self.me, exported)
        self.certified = known_gtids(exported) | self.certified
        self._barriers = GtidSet(view_gtid(self.options, self.view.number))
        self.awaited = None
        self._open_view(self.view)

    def recovered(self) -> None:
        """Go online, after everything before the member's first view is applied."""
        if self.state is MemberState.RECOVERING:
            self.state = MemberState.ONLINE

    # Local transactions.

    def propose(
        self,
        session: int,
        snapshot: GtidSet,
        write_set: tuple[int, ...],
        changes: tuple[RowChange, ...],
        token: int,
        gtid: str | None = None,
    ) -> Pending:
        """Send rows to the group.

        Args:
            session: Number of the client's session.
            snapshot: GTIDs of the snapshot that the transaction has read.
            write_set: Hashes of its keys.
            changes: Rows of the transaction.
            token: Token of its snapshot in the horizon.
            gtid: GTID that the transaction brings (R10).
        """
        now = time.time_ns() // 1000
        rows = self.store.encode(self.me.server_id, now, changes)
        pending = self._new_pending(token)
        self._stream.send(
            TransactionMessage(self.me, pending.number, session, snapshot, write_set, changes, gtid=gtid, rows=rows, committed_at=now)
        )
        return pending

    def propose_statement(self, session: int, snapshot: GtidSet, statement: str, database: str, token: int) -> Pending:
        """Send DDL to the group."""
        now = time.time_ns() // 1000
        pending = self._new_pending(token)
        self._stream.send(
            TransactionMessage(self.me, pending.number, session, snapshot, (), statement=statement, database=database, committed_at=now)
        )
        return pending

    def _new_pending(self, token: int) -> Pending:
        with self._mutex:
            self.require_online()
            self._last += 1
            pending = self._pending[self._last] = Pending(self._last, token)
            pending.owner = self
            self.counters.proposed += 1
            return pending

    def require_online(self) -> None:
        """Raise an error unless the member is online, because only then it may serve clients.

        Raises:
            MemberUnavailable: The member is not online.
        """
        if self.state is not MemberState.ONLINE:
            raise MemberUnavailable(f"member {self.name} is {self.state.value}: use a member that is ONLINE")

    def report(self) -> None:
        """Send the executed GTIDs and the queue lengths to the group, for the stable set and for flow control."""
        counters = self.counters
        executed = self.horizon.floor(self.store.executed())
        queues = (self.certifier_queue, self.applier_queue, counters.applied, counters.proposed)
        self._stream.send(ExecutedMessage(self.me, executed, *queues))

    # Reports of the applier and the sessions.

    def log(self, entry: LogEntry) -> None:
        """Write a transaction to the log of all transactions before its commit, once."""
        with self._logging:
            if entry.gtid in self.disk.logged:
                return
            clock = self.disk.clock
            if entry.kind == "view_change":
                numbers: tuple[int | None, int | None] = clock.view_change()
            else:
                stamp = clock.certify(entry.write_set, barrier=entry.barrier)
                numbers = (stamp.last_committed, stamp.sequence_number)
            self.disk.log.append(renumbered(entry, numbers[0] or 0, numbers[1] or 0))
            self.disk.logged.add(entry.gtid)

    def count_applied(self, count: int) -> None:
        """Add to the number of applied remote transactions of this membership."""
        with self._mutex:
            self.counters.applied += count

    def local_committed(self, pending: Pending) -> None:
        """Record that a local transaction is committed."""
        if pending.entry is not None:
            pending.committed = True
            self.locals.end(pending.entry.gtid)

    def close(self, failure: BaseException, state: MemberState = MemberState.OFFLINE) -> None:
        """End the membership; waiting sessions get an error."""
        with self._mutex:
            self.state = state
            self.failure = self.failure or failure
            pending, self._pending = self._pending, {}
        self._reader.close()
        self.locals.close()
        reason = failure if isinstance(failure, MemberUnavailable) else MemberUnavailable(f"member {self.name} failed: {failure}")
        for waiting in pending.values():
            waiting.fail(reason)


def entry_of(message: TransactionMessage, decision: Decision) -> LogEntry:
    """Return a certified transaction as a log entry."""
    kind = "ddl" if message.statement is not None else "dml" if message.changes else "empty"
    return LogEntry(
        decision.gtid or "",
        kind,
        decision.last_committed or 0,
        decision.sequence_number or 0,
        message.sender.server_id,
        message.session,
        message.write_set,
        message.changes,
        message.statement,
        message.database,
        message.rows,
        message.committed_at,
    )


def renumbered(entry: LogEntry, last_committed: int, sequence_number: int) -> LogEntry:
    """Return the same transaction with the numbers of another log."""
    return replace(entry, last_committed=last_committed, sequence_number=sequence_number)
