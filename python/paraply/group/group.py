"""A group of members in memory, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from paraply.applier.commit.consistency import Consistency
from paraply.errors import MemberUnavailable, UsageError
from paraply.group.base import RUNNING, BaseGroup
from paraply.group.log import MemoryLog, ReadableLog
from paraply.group.member import Disk, Member, MemberState, view_gtid
from paraply.group.options import GroupOptions
from paraply.group.pending import Pending
from paraply.group.stepped import Phase, SteppedApplier
from paraply.group.store import MemoryStore

__all__ = ["Group"]


class Group(BaseGroup):
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
        super().__init__(members, options, schema)
        self.appliers: dict[str, SteppedApplier] = {}
        """The members' appliers."""
        self._bootstrap()
        self.settle()

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
            if member.awaited is not None or (member.certifier_queue and member.state in RUNNING):
                steps.append(partial(self.deliver, name))
            steps.extend(self._applier_choices(name))
        return steps

    def _applier_choices(self, name: str) -> list[Callable[[], None]]:
        running = self.members[name].state in RUNNING
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

    def _commit_local(self, pending: Pending) -> None:
        while pending.failure is None and not (pending.decision is not None and (pending.committed or not pending.decision.committed)):
            steps = self.choices()
            if not steps:
                return
            for step in steps:
                step()

    def crash(self, name: str) -> None:
        """A member is gone at once: its memory is lost, its database and its logs stay. The others are told later, by ``expel``."""
        member = self.member(name)
        member.close(MemberUnavailable(f"member {name} crashed"))
        store = self._disks[name].store
        if isinstance(store, MemoryStore):
            store.crash()

    def restart_applier(self, name: str) -> None:
        """Stops a member's applier wherever it is and starts it anew: from the beginning of the relay log, by GTIDs alone."""
        member = self.member(name)
        if member.state is not MemberState.ONLINE:
            raise UsageError(f"member {name} is {member.state.value}: only one that is ONLINE can start its applier")
        locals_ = self.appliers[name].locals
        store = self._disks[name].store
        if isinstance(store, MemoryStore):
            store.crash()
        self._start(member, joins=False)
        self.appliers[name].locals.extend(locals_)

    # Parts.

    def _make_disk(self, name: str, server_id: int) -> Disk:  # noqa: ARG002 - memory needs neither
        store = MemoryStore()
        for statement in self._schema:
            store.definitions.advance(statement, "")
        return Disk(store, MemoryLog(), MemoryLog())

    def _start(self, member: Member, *, joins: bool) -> None:
        applier = SteppedApplier(member, self.options.workers, Consistency(self.options.consistency))
        member.on_local = applier.locals.append
        self.appliers[member.name] = applier
        phases = [Phase(lambda: cast("ReadableLog", self._disks[member.name].relay), after=member.relay_start)]
        if joins:
            until = view_gtid(self._certifier, member.me.joined)
            phases.insert(0, Phase(lambda: self._donor_log(member.name), until=until, restamp=True, ended=member.recovered))
        else:
            member.recovered()
        applier.plan(phases)

    def _donor_log(self, name: str) -> ReadableLog | None:
        donor = self._donor(name)
        return None if donor is None else cast("ReadableLog", donor.log)
