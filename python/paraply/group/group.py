"""Group of members in memory, run in single steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from paraply.applier.commit.consistency import Consistency
from paraply.errors import MemberUnavailable, UsageError
from paraply.group.appliers.stepped import Phase, SteppedApplier
from paraply.group.base import RUNNING, BaseGroup
from paraply.group.delivery.log import MemoryLog, ReadableLog
from paraply.group.members.member import Disk, Member, MemberState, view_gtid
from paraply.group.members.pending import Pending
from paraply.group.options import GroupOptions
from paraply.group.storage.store import MemoryStore

__all__ = ["Group"]


class Group(BaseGroup):
    """Group whose members keep their rows in memory and run step by step: each step is a call.

    Every order of events can be tried, and the same calls give the same result. ``paraply.group.LiveGroup`` is the same with threads and
    real databases.

    Args:
        members: Number of members, or their names.
        options: Options of the group.
        schema: CREATE TABLE statements with full names. They are run in every member's database before it first joins, like a backup from
            which all members were restored.

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
        """Appliers of the members, by name."""
        self._bootstrap()
        self.settle()

    # Steps.

    def deliver(self, name: str) -> bool:
        """Deliver the next message to a member; a joining one fetches the certification info first. Return False if there was none."""
        member = self.member(name)
        if member.awaited is not None:
            return self._transfer(member)
        return member.deliver()

    def choices(self) -> list[Callable[[], object]]:
        """Return every step that is possible now: to deliver a message, to begin or to commit a transaction."""
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
        """Run all steps until none is possible."""
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
        """Crash a member: its memory is lost, its database and logs stay. The others notice later, by ``expel``."""
        member = self.member(name)
        member.close(MemberUnavailable(f"member {name} crashed"))
        store = self._disks[name].store
        if isinstance(store, MemoryStore):
            store.crash()

    def restart_applier(self, name: str) -> None:
        """Stop a member's applier at once, and restart it at the beginning of the relay log, by GTIDs alone."""
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
