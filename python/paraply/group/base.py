"""What all groups have: members, views, sessions, statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from paraply.errors import MemberUnavailable, UsageError
from paraply.group.certification import Certification, CertifierOptions
from paraply.group.flow_control import FlowControl
from paraply.group.log import refuse_flush
from paraply.group.member import Disk, Member, MemberState
from paraply.group.membership import Membership
from paraply.group.options import GroupOptions
from paraply.group.pending import Pending
from paraply.group.session import Session
from paraply.group.statistics import MemberStats, stats_of
from paraply.group.stream import MessageStream

__all__ = ["BaseGroup", "RUNNING"]

RUNNING = (MemberState.ONLINE, MemberState.RECOVERING)
"""The states in which a member is in the group."""


class BaseGroup(ABC):
    """Members that come and go, and clients' sessions at them.

    Args:
        members: How many, or their names.
        options: How the group is set up.
        schema: CREATE TABLE statements with full names, run in the database of every member before it joins for the first time, as a
            backup that all were restored from.
    """

    def __init__(self, members: int | list[str], options: GroupOptions | None, schema: Sequence[str]) -> None:
        names = [f"member{number}" for number in range(1, members + 1)] if isinstance(members, int) else list(members)
        if not names or len(set(names)) != len(names):
            raise UsageError("a group needs one member or more, each with a name of its own")
        self.options = options or GroupOptions()
        self.stream = MessageStream(self.options.latency)
        self.membership = Membership(self.stream)
        self.members: dict[str, Member] = {}
        """Members by name, those included that have left or crashed."""
        self._schema = tuple(schema)
        self._disks: dict[str, Disk] = {}
        self._sessions = 0
        self._certifier = CertifierOptions(
            self.options.name, self.options.block_size, self.options.first_remote_alone, self.options.collection_burns_number
        )
        self._first_names = names

    def _bootstrap(self) -> None:
        """All members of the first view begin together."""
        readers = {name: self.stream.reader() for name in self._first_names}
        view = self.membership.bootstrap(self._first_names)
        for me in view.members:
            member = self._make(me.name, readers[me.name])
            member.begin(Certification(self._certifier, me))
            self._start(member, joins=False)

    @abstractmethod
    def _make_disk(self, name: str, server_id: int) -> Disk:
        """Database and logs of a member that was never in the group."""

    @abstractmethod
    def _start(self, member: Member, *, joins: bool) -> None:
        """Starts a member's applier; one that joins recovers first what came before its view."""

    @abstractmethod
    def _commit_local(self, pending: Pending) -> None:
        """Waits for the group's answer, and sees that the transaction is committed at its own member."""

    # Clients.

    def session(self, name: str) -> Session:
        """A client's session at a member.

        Raises:
            UsageError: There is no such member.
        """
        member = self.member(name)
        self._sessions += 1
        return Session(member, self._sessions, self._commit_local, lambda: self.may_write(name))

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

    def exchange(self) -> None:
        """Every member tells what it has executed; once all have heard that, what is executed everywhere is collected (R7, R8)."""
        for member in list(self.members.values()):
            if member.state in RUNNING and member.certification is not None:
                member.report()

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
        self._start(self._make(me.name, reader), joins=True)

    def leave(self, name: str) -> None:
        """A member leaves in order: what it has sent is decided first."""
        member = self.member(name)
        if member.state is not MemberState.ONLINE:
            raise UsageError(f"member {name} is {member.state.value}: only one that is ONLINE can leave")
        self.membership.remove(name)

    def expel(self, name: str) -> None:
        """The others notice that a member is gone."""
        self.membership.remove(name)

    def flush_relay_log(self, name: str, channel: str) -> None:
        """Begins a new relay log file of a channel.

        Raises:
            UsageError: The channel is the group's, and the member is in the group.
        """
        member = self.member(name)
        refuse_flush(channel, running=member.state in RUNNING)
        self._disks[name].relay.rotate()

    # What can be seen.

    def contents(self, name: str) -> Mapping[str, Any]:
        """All rows of a member by table."""
        return self._disks[name].store.contents()

    def statistics(self) -> list[MemberStats]:
        """What replication_group_member_stats shows, one for each member."""
        return [stats_of(member, self.membership.view, self.primary) for member in list(self.members.values())]

    def disk(self, name: str) -> Disk:
        """A member's database and logs."""
        return self._disks[name]

    # Parts.

    def _make(self, name: str, reader: Any) -> Member:
        me = self.membership.view.find(name)
        if me is None:
            raise UsageError(f"{name} is not in the view")
        if name not in self._disks:
            self._disks[name] = self._make_disk(name, me.server_id)
        flow = FlowControl(self.options.flow, name)
        member = self.members[name] = Member(me, self._disks[name], self._certifier, self.stream, reader, flow)
        return member

    def _donor(self, name: str) -> Disk | None:
        """The disk of the oldest other member that is online."""
        for me in self.membership.view.members:
            if me.name != name and self.members[me.name].state is MemberState.ONLINE:
                return self._disks[me.name]
        return None

    def _transfer(self, member: Member) -> bool:
        """Fetches the certification info from any member that has reached the view."""
        for other in list(self.members.values()):
            chunks = other.transfers.get(member.awaited or 0)
            if chunks is not None and other.state is MemberState.ONLINE:
                member.install(chunks)
                return True
        if not any(self._can_give(other, member) for other in list(self.members.values())):
            member.close(MemberUnavailable(f"nobody is left who could give member {member.name} its certification info: join again"))
        return False

    @staticmethod
    def _can_give(other: Member, member: Member) -> bool:
        """Whether another member has reached, or will reach, the view with which this one joined."""
        return other.me.joined < (member.awaited or 0) and other.state in RUNNING
