"""A group of members in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paraply.applier.consistency import Consistency
from paraply.errors import MemberUnavailable, UsageError
from paraply.group.certification import Certification, CertifierOptions
from paraply.group.flow_control import FlowControl
from paraply.group.log import MemoryLog, refuse_flush
from paraply.group.member import Disk, Member, MemberState, view_gtid
from paraply.group.membership import Membership
from paraply.group.options import GroupOptions
from paraply.group.pending import Pending
from paraply.group.session import Session
from paraply.group.statistics import MemberStats, stats_of
from paraply.group.stepped import Phase, SteppedApplier
from paraply.group.store import MemoryStore
from paraply.group.stream import MessageStream

__all__ = ["Group"]


class Group:
    """A group whose members keep their rows in memory, driven step by step: nothing happens but what is asked for.

    Every order of events can be tried, and the same calls give the same result. ``paraply.group.LiveGroup`` is the same with threads and
    real databases.

    Args:
        members: How many, or their names.
        options: How the group is set up.
        schema: CREATE TABLE statements with full names, run in the database of every member before it joins for the first time, as a
            backup that all were restored from.

    >>> group = Group(2)
    >>> alice, bob = group.session("member1"), group.session("member2")
    >>> str(alice.execute("create table item (id bigint primary key, price bigint)", "shop"))
    'committed'
    >>> alice.insert("shop.item", id=1, price=10)
    >>> str(alice.commit())
    'committed'
    >>> group.settle()
    >>> alice.update("shop.item", 1, price=11); bob.update("shop.item", 1, price=12)
    >>> str(bob.commit()), str(alice.commit())
    ('committed', 'rolled back (conflict)')
    >>> group.settle()
    >>> [group.contents(name)["shop.item"][1,]["price"] for name in ("member1", "member2")]
    [12, 12]
    """

    def __init__(self, members: int | list[str] = 3, options: GroupOptions | None = None, schema: Sequence[str] = ()) -> None:
        names = [f"member{number}" for number in range(1, members + 1)] if isinstance(members, int) else list(members)
        if not names or len(set(names)) != len(names):
            raise UsageError("a group needs one member or more, each with a name of its own")
        self.options = options or GroupOptions()
        self._schema = tuple(schema)
        self.stream = MessageStream(self.options.latency)
        self.membership = Membership(self.stream)
        self.members: dict[str, Member] = {}
        """Members by name, those included that have left or crashed."""
        self.appliers: dict[str, SteppedApplier] = {}
        """Their appliers."""
        self._disks: dict[str, Disk] = {}
        self._sessions = 0
        self._certifier = CertifierOptions(
            self.options.name, self.options.block_size, self.options.first_remote_alone, self.options.collection_burns_number
        )
        readers = {name: self.stream.reader() for name in names}
        view = self.membership.bootstrap(names)
        for me in view.members:
            member = self._make(me.name, readers[me.name])
            member.begin(Certification(self._certifier, me))
            self._start_applier(member, [])
        self.settle()

    # Clients.

    def session(self, name: str) -> Session:
        """A client's session at a member.

        Raises:
            UsageError: There is no such member.
        """
        member = self.member(name)
        self._sessions += 1
        return Session(member, self._sessions, self._settle_until, lambda: self.may_write(name))

    def may_write(self, name: str) -> bool:
        """Whether a member takes writes."""
        return not self.options.single_primary or self.primary == name

    @property
    def primary(self) -> str | None:
        """In single-primary mode, the member that takes writes: the oldest one that is online."""
        if not self.options.single_primary:
            return None
        online = [me.name for me in self.membership.view.members if self.members[me.name].state is MemberState.ONLINE]
        return online[0] if online else None

    def member(self, name: str) -> Member:
        """A member by its name.

        Raises:
            UsageError: There is none of that name.
        """
        if name not in self.members:
            raise UsageError(f"the group has no member {name}; it has {', '.join(self.members)}")
        return self.members[name]

    # Steps.

    def deliver(self, name: str) -> bool:
        """Hands a member its next message; one that joins fetches the certification info first. False if there was nothing to do."""
        member = self.member(name)
        if member.awaited is not None:
            return self._transfer(member)
        return member.deliver()

    def choices(self) -> list[Callable[[], object]]:
        """Every step that could be done now: a message delivered, a transaction begun or committed."""
        steps: list[Callable[[], object]] = []
        for name, member in self.members.items():
            if member.awaited is not None or (member.certifier_queue and member.state in (MemberState.ONLINE, MemberState.RECOVERING)):
                steps.append(lambda name=name: self.deliver(name))  # type: ignore[misc]
            steps.extend(self._applier_choices(name))
        return steps

    def _applier_choices(self, name: str) -> list[Callable[[], None]]:
        running = self.members[name].state in (MemberState.ONLINE, MemberState.RECOVERING)
        return self.appliers[name].choices() if running else []

    def settle(self) -> None:
        """Does everything that can be done."""
        moved = True
        while moved:
            moved = False
            for name in list(self.members):
                while self.deliver(name):
                    moved = True
                while steps := self._applier_choices(name):
                    steps[0]()
                    moved = True

    def exchange(self) -> None:
        """Every member tells what it has executed; once all have heard that, what is executed everywhere is collected (R7, R8)."""
        for member in self.members.values():
            if member.state in (MemberState.ONLINE, MemberState.RECOVERING) and member.certification is not None:
                member.report()

    def _settle_until(self, pending: Pending) -> None:
        while pending.failure is None and not (pending.decision is not None and (pending.committed or not pending.decision.committed)):
            steps = self.choices()
            if not steps:
                return
            for step in steps:
                step()

    # Members that come and go.

    def join(self, name: str) -> None:
        """A member joins, with an empty database or, if it was in the group before, with its own.

        Raises:
            UsageError: It is in the group, or nobody is there whom it could join.
        """
        online = [member for member in self.members.values() if member.state is MemberState.ONLINE and member.name != name]
        if not online:
            raise UsageError("the group has no online member to join: make a new group")
        reader = self.stream.reader()
        me = self.membership.join(name)
        member = self._make(me.name, reader)
        gtid = view_gtid(self._certifier, me.joined)
        self._start_applier(member, [Phase(lambda: self._donor(name), until=gtid, restamp=True)])

    def leave(self, name: str) -> None:
        """A member leaves in order: what it has sent is decided first."""
        member = self.member(name)
        if member.state is not MemberState.ONLINE:
            raise UsageError(f"member {name} is {member.state.value}: only one that is ONLINE can leave")
        self.membership.remove(name)

    def crash(self, name: str) -> None:
        """A member is gone at once: its memory is lost, its database and its logs stay. The others are told later, by ``expel``."""
        member = self.member(name)
        member.close(MemberUnavailable(f"member {name} crashed"))
        store = self._disks[name].store
        if isinstance(store, MemoryStore):
            store.crash()

    def expel(self, name: str) -> None:
        """The others notice that a member is gone."""
        self.membership.remove(name)

    def restart_applier(self, name: str) -> None:
        """Stops a member's applier wherever it is and starts it anew: from the beginning of the relay log, by GTIDs alone."""
        member = self.member(name)
        if member.state is not MemberState.ONLINE:
            raise UsageError(f"member {name} is {member.state.value}: only one that is ONLINE can start its applier")
        locals_ = self.appliers[name].locals
        store = self._disks[name].store
        if isinstance(store, MemoryStore):
            store.crash()
        self._start_applier(member, [])
        self.appliers[name].locals.extend(locals_)

    def flush_relay_log(self, name: str, channel: str) -> None:
        """Begins a new relay log file of a channel.

        Raises:
            UsageError: The channel is the group's, and the member is in the group.
        """
        member = self.member(name)
        refuse_flush(channel, running=member.state in (MemberState.ONLINE, MemberState.RECOVERING))
        self._disks[name].relay.rotate()

    # What can be seen.

    def contents(self, name: str) -> Mapping[str, Any]:
        """All rows of a member by table."""
        return self._disks[name].store.contents()

    def statistics(self) -> list[MemberStats]:
        """What replication_group_member_stats shows, one for each member."""
        return [stats_of(member, self.membership.view, self.primary) for member in self.members.values()]

    def disk(self, name: str) -> Disk:
        """A member's database and logs."""
        return self._disks[name]

    # Parts.

    def _make(self, name: str, reader: Any) -> Member:
        if name not in self._disks:
            self._disks[name] = self._make_disk()
        me = self.membership.view.find(name)
        if me is None:
            raise UsageError(f"{name} is not in the view")
        flow = FlowControl(self.options.flow, name)
        member = self.members[name] = Member(me, self._disks[name], self._certifier, self.stream, reader, flow)
        return member

    def _make_disk(self) -> Disk:
        store = MemoryStore()
        for statement in self._schema:
            store.definitions.advance(statement, "")
        return Disk(store, MemoryLog(), MemoryLog())

    def _start_applier(self, member: Member, recovery: list[Phase]) -> None:
        applier = SteppedApplier(member, self.options.workers, Consistency(self.options.consistency))
        member.on_local = applier.locals.append
        self.appliers[member.name] = applier
        own = Phase(lambda: self._disks[member.name].relay, after=member.relay_start)
        if recovery:
            last = recovery[-1]
            recovery[-1] = Phase(last.log, last.after, last.until, last.restamp, member.recovered)
        else:
            member.recovered()
        applier.plan([*recovery, own])

    def _donor(self, name: str) -> Any:
        """The log of the oldest other member that is online."""
        for me in self.membership.view.members:
            if me.name != name and self.members[me.name].state is MemberState.ONLINE:
                return self._disks[me.name].log
        return None

    def _transfer(self, member: Member) -> bool:
        """Fetches the certification info from any member that has reached the view."""
        for other in self.members.values():
            chunks = other.transfers.get(member.awaited or 0)
            if chunks is not None and other.state is MemberState.ONLINE:
                member.install(chunks)
                return True
        if not any(self._can_give(other, member) for other in self.members.values()):
            member.close(MemberUnavailable(f"nobody is left who could give member {member.name} its certification info: join again"))
        return False

    @staticmethod
    def _can_give(other: Member, member: Member) -> bool:
        """Whether another member has reached, or will reach, the view with which this one joined."""
        return other.me.joined < (member.awaited or 0) and other.state in (MemberState.ONLINE, MemberState.RECOVERING)
