"""Base of all groups: members, views, sessions, statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from paraply.errors import MemberUnavailable, UsageError
from paraply.group.delivery.log import refuse_flush
from paraply.group.delivery.stream import MessageStream
from paraply.group.members.certification import Certification, CertifierOptions
from paraply.group.members.flow_control import FlowControl
from paraply.group.members.member import Disk, Member, MemberState
from paraply.group.members.membership import Membership
from paraply.group.members.pending import Pending
from paraply.group.members.session import Session
from paraply.group.options import GroupOptions
from paraply.group.statistics import MemberStats, stats_of

__all__ = ["RUNNING", "BaseGroup"]

RUNNING = (MemberState.ONLINE, MemberState.RECOVERING)
"""States of a member that belongs to the group."""


class BaseGroup(ABC):
    """Group whose members join and leave, with client sessions at them.

    Args:
        members: Number of members, or their names.
        options: Options of the group.
        schema: CREATE TABLE statements with full names. They are run in every member's database before it first joins, like a backup from
            which all members were restored.
    """

    def __init__(self, members: int | list[str], options: GroupOptions | None, schema: Sequence[str]) -> None:
        names = [f"member{number}" for number in range(1, members + 1)] if isinstance(members, int) else list(members)
        if not names or len(set(names)) != len(names):
            raise UsageError("a group needs one member or more, each with a name of its own")
        self.options = options or GroupOptions()
        self.stream = MessageStream(self.options.latency)
        self.membership = Membership(self.stream)
        self.members: dict[str, Member] = {}
        """Members by name, including those that have left or crashed."""
        self._schema = tuple(schema)
        self._disks: dict[str, Disk] = {}
        self._sessions = 0
        self._certifier = CertifierOptions(
            self.options.name, self.options.block_size, self.options.first_remote_alone, self.options.collection_burns_number
        )
        self._first_names = names

    def _bootstrap(self) -> None:
        """Start all members of the first view together."""
        readers = {name: self.stream.reader() for name in self._first_names}
        view = self.membership.bootstrap(self._first_names)
        for me in view.members:
            member = self._make(me.name, readers[me.name])
            member.begin(Certification(self._certifier, me))
            self._start(member, joins=False)

    @abstractmethod
    def _make_disk(self, name: str, server_id: int) -> Disk:
        """Make database and logs of a new member."""

    @abstractmethod
    def _start(self, member: Member, *, joins: bool) -> None:
        """Start a member's applier; a joining member first recovers everything before its view."""

    @abstractmethod
    def _commit_local(self, pending: Pending) -> None:
        """Wait for the group's decision, and ensure that the transaction is committed at its own member."""

    # Clients.

    def session(self, name: str) -> Session:
        """Return a new client session at a member.

        Raises:
            UsageError: There is no such member.
        """
        member = self.member(name)
        self._sessions += 1
        return Session(member, self._sessions, self._commit_local, lambda: self.may_write(name))

    def may_write(self, name: str) -> bool:
        """Return True if a member accepts writes."""
        return not self.options.single_primary or self.primary == name

    @property
    def primary(self) -> str | None:
        """In single-primary mode, the member that accepts writes: the oldest online member."""
        if not self.options.single_primary:
            return None
        online = [me.name for me in self.membership.view.members if self.members[me.name].state is MemberState.ONLINE]
        return online[0] if online else None

    def member(self, name: str) -> Member:
        """Return a member by its name.

        Raises:
            UsageError: No member has this name.
        """
        if name not in self.members:
            raise UsageError(f"the group has no member {name}; it has {', '.join(self.members)}")
        return self.members[name]

    def exchange(self) -> None:
        """Let every member report its executed transactions; what all members have executed is then collected (R7, R8)."""
        for member in list(self.members.values()):
            if member.state in RUNNING and member.certification is not None:
                member.report()

    # Members that join and leave.

    def join(self, name: str) -> None:
        """Let a member join, with an empty database or, after an earlier membership, with its own.

        Raises:
            UsageError: The member is in the group, or no online member is left to join.
        """
        online = [member for member in self.members.values() if member.state is MemberState.ONLINE and member.name != name]
        if not online:
            raise UsageError("the group has no online member to join: make a new group")
        reader = self.stream.reader()
        me = self.membership.join(name)
        self._start(self._make(me.name, reader), joins=True)

    def leave(self, name: str) -> None:
        """Let a member leave in order: its messages sent before are decided first."""
        member = self.member(name)
        if member.state is not MemberState.ONLINE:
            raise UsageError(f"member {name} is {member.state.value}: only one that is ONLINE can leave")
        self.membership.remove(name)

    def expel(self, name: str) -> None:
        """Remove a member whose failure the others have noticed."""
        self.membership.remove(name)

    def flush_relay_log(self, name: str, channel: str) -> None:
        """Begin a new relay log file of a channel.

        Raises:
            UsageError: The channel is the group's, and the member is in the group.
        """
        member = self.member(name)
        refuse_flush(channel, running=member.state in RUNNING)
        self._disks[name].relay.rotate()

    # Observable state.

    def contents(self, name: str) -> Mapping[str, Any]:
        """Return all rows of a member by table."""
        return self._disks[name].store.contents()

    def statistics(self) -> list[MemberStats]:
        """Return the rows of replication_group_member_stats, one for each member."""
        return [stats_of(member, self.membership.view, self.primary) for member in list(self.members.values())]

    def disk(self, name: str) -> Disk:
        """Return a member's database and logs."""
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
        """Return the disk of the oldest other online member."""
        for me in self.membership.view.members:
            if me.name != name and self.members[me.name].state is MemberState.ONLINE:
                return self._disks[me.name]
        return None

    def _transfer(self, member: Member) -> bool:
        """Fetch the certification info from any member that has reached the view."""
        for other in list(self.members.values()):
            chunks = other.transfers.get(member.awaited or 0)
            if chunks is not None and other.state is MemberState.ONLINE:
                member.install(chunks)
                return True
        if not any(self._can_give(other, member) for other in list(self.members.values())):
            member.close(MemberUnavailable(f"no member is left that could send member {member.name} the certification info: join again"))
        return False

    @staticmethod
    def _can_give(other: Member, member: Member) -> bool:
        """Return True if another member has reached, or will reach, the view with which this member joined."""
        return other.me.joined < (member.awaited or 0) and other.state in RUNNING
