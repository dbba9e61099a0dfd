"""Random histories of a group in memory, and what must be true of them."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

from paraply import GtidSet
from paraply.errors import MemberUnavailable, ParaplyError
from paraply.group import FlowOptions, Group, GroupOptions, MemberState, Session
from paraply.group.delivery.messages import ExecutedMessage, Message, TransactionMessage, View, ViewMessage
from paraply.group.members.pending import Pending

KEYS = range(1, 7)
TABLES = ("shop.item", "shop.tag")
ITEM = "create table item (id bigint primary key, price bigint, code bigint not null, unique key code (code))"
TAG = "create table tag (name varchar(20) collate utf8mb4_bin primary key, uses bigint)"


class History:
    """One history: everything in it follows from the seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.group = Group(
            rng.randint(2, 4),
            GroupOptions(
                name="00000000-0000-0000-0000-00000000000a",
                mode=rng.choice(["multi-primary"] * 3 + ["single-primary"]),
                workers=rng.randint(1, 5),
                consistency=rng.choice(["any-time", "most-of-the-time", "eventual"]),
                block_size=rng.choice([1, 3, 100]),
                first_remote_alone=rng.random() < 0.5,
                collection_burns_number=rng.random() < 0.2,
                flow=FlowOptions(enabled=False),
            ),
        )
        self.messages: dict[int, Message] = {}
        self.memberships: list[Any] = []
        self.view = self.group.membership.view
        self.first = self.group.stream.end
        self.open: list[Session] = []
        self.sent: list[tuple[Session, Pending]] = []
        self.orders: list[list[Any]] = []
        self.acknowledged: list[str] = []
        self.tables = 0
        self.joined = 0
        self._record()

    def _record(self) -> None:
        stream = self.group.stream
        send = stream.send

        def recorded(message: Message) -> int:
            position = send(message)
            self.messages[position] = message
            return position

        stream.send = recorded  # type: ignore[method-assign]

    def watch(self) -> None:
        """Keeps the decisions and orders of every membership."""
        for name, member in self.group.members.items():
            if member.decisions is None:
                member.decisions = []
                self.memberships.append(member)
            order = self.group.appliers[name].committed
            if not any(order is known for known in self.orders):
                self.orders.append(order)

    def online(self) -> list[str]:
        return [name for name, member in self.group.members.items() if member.state is MemberState.ONLINE]

    def run(self, events: int) -> None:
        self.watch()
        self._statement(ITEM)
        self._statement(TAG)
        self.group.settle()
        for _ in range(events):
            self._event()
            self.watch()
        self._end()

    def _event(self) -> None:
        kind = self.rng.random()
        if kind < 0.45:
            for _ in range(self.rng.choice([1, 1, 3, 10])):
                steps = self.group.choices()
                if not steps:
                    break
                self.rng.choice(steps)()
                self.watch()
        elif kind < 0.90:
            for _ in range(3):
                self._work()
        elif kind < 0.94:
            self._report()
        elif kind < 0.95:
            self.tables += 1
            self._statement(f"create table extra{self.tables} (id bigint primary key)")
        else:
            self._membership()

    def _work(self) -> None:
        """A session begins, reads and writes, or sends."""
        rng = self.rng
        if len(self.open) < 6 and rng.random() < 0.5:
            names = self.online()
            self.open.append(self.group.session(rng.choice(names)))
        if not self.open:
            return
        session = rng.choice(self.open)
        if self._waits(session):
            return
        try:
            if rng.random() < 0.4:
                pending = session.send()
                if pending is not None:
                    self.sent.append((session, pending))
                if rng.random() < 0.3:
                    self.open.remove(session)
            else:
                self._write(session)
        except MemberUnavailable:
            session.rollback()
            self.open.remove(session)
        except ParaplyError:
            session.rollback()  # a secondary, a code that is taken

    def _waits(self, session: Session) -> bool:
        """Return True if the session's client still waits for the end of its last transaction."""
        last = next((pending for sender, pending in reversed(self.sent) if sender is session), None)
        if last is None or last.failure is not None:
            return False
        return last.decision is None or (last.decision.committed and not last.committed and session.member.state is MemberState.ONLINE)

    def _write(self, session: Session) -> None:
        rng = self.rng
        table = rng.choice(TABLES)
        key: Any = rng.choice(KEYS)
        key = key if table == "shop.item" else f"tag{key}"
        row = session.get(table, key)
        if row is None:
            values = {"id": key, "price": 0, "code": rng.randint(1, 10**9)} if table == "shop.item" else {"name": key, "uses": 0}
            session.insert(table, **values)
        elif rng.random() < 0.15:
            session.delete(table, key)
        else:
            column = "price" if table == "shop.item" else "uses"
            session.update(table, key, **{column: row[column] + 1})

    def _report(self) -> None:
        for member in self.group.members.values():
            if (
                member.state in (MemberState.ONLINE, MemberState.RECOVERING)
                and member.certification is not None
                and self.rng.random() < 0.8
            ):
                member.report()

    def _statement(self, sql: str) -> None:
        names = [name for name in self.online() if self.group.may_write(name)]
        if names:
            session = self.group.session(self.rng.choice(names))
            self.sent.append((session, session.send_statement(sql, "shop")))

    def _membership(self) -> None:
        rng, group = self.rng, self.group
        online = [name for name in self.online() if group.membership.view.find(name) is not None]
        kind = rng.choice(["crash", "leave", "join", "return", "expel", "applier"])
        gone = [name for name, member in group.members.items() if member.state is MemberState.OFFLINE]
        in_view = [member.name for member in group.membership.view.members]
        if kind == "crash" and len(online) > 2:
            group.crash(rng.choice([name for name in group.members if name not in gone]))
        elif kind == "leave" and len(online) > 2:
            group.leave(rng.choice(online))
        elif kind == "expel":
            for name in gone:
                if name in in_view:
                    group.expel(name)
        elif kind == "return":
            for name in gone:
                if name not in in_view and rng.random() < 0.5:
                    group.join(name)
        elif kind == "join" and self.joined < 2:
            self.joined += 1
            group.join(f"late{self.joined}")
        elif kind == "applier" and online:
            group.restart_applier(rng.choice(online))

    def _end(self) -> None:
        """All come back, and everything is delivered and applied."""
        group = self.group
        for _ in range(3):
            for name, member in list(group.members.items()):
                if member.state is MemberState.OFFLINE:
                    if group.membership.view.find(name) is not None:
                        group.expel(name)
                    group.join(name)
                    self.watch()
            group.settle()
            self.watch()
        for member in group.members.values():
            member.report()
        group.settle()


def transactions_in_order(history: History) -> list[tuple[int, TransactionMessage]]:
    """The transactions that the group has to decide about: those whose sender was a member at that place."""
    found = []
    view: View = history.view
    for position, message in sorted(history.messages.items()):
        if isinstance(message, ViewMessage):
            view = message.view
        elif isinstance(message, TransactionMessage) and message.sender in view.members:
            found.append((position, message))
        else:
            assert isinstance(message, (ExecutedMessage, TransactionMessage))
    return found


def check(history: History) -> dict[str, int]:
    """Everything that must be true in the end; gives what happened."""
    group = history.group
    decisions: dict[int, Any] = {}
    for member in history.memberships:
        for position, decision in member.decisions:
            verdict = (decision.committed, decision.gtid)
            assert decisions.setdefault(position, verdict) == verdict, f"{member.me} decides otherwise at {position}"
    order = transactions_in_order(history)
    assert {position for position, _ in order} == set(decisions)
    conflicts = check_verdicts(order, decisions)
    check_rows(history, order, decisions)
    places = {decisions[position][1]: place for place, (position, _) in enumerate(order)}
    for committed in history.orders:
        check_sessions(committed, places)
        check_barriers(committed, places)
    for _, pending in history.sent:
        if pending.decision is not None and pending.decision.committed:
            assert all(pending.decision.gtid in group.disk(name).store.executed() for name in group.members)
    return {"transactions": len(order), "conflicts": conflicts, "memberships": len(history.memberships)}


def check_verdicts(order: list[tuple[int, TransactionMessage]], decisions: dict[int, Any]) -> int:
    """The first committer wins, and nobody else loses: as by a certifier that never forgets (R2)."""
    versions: dict[int, GtidSet] = {}
    writers: dict[int, list[str]] = defaultdict(list)
    conflicts = 0
    used = set()
    for position, message in order:
        committed, gtid = decisions[position]
        expected = all(versions[item] <= message.snapshot for item in message.write_set if item in versions)
        assert committed == expected, f"position {position}"
        if not committed:
            conflicts += 1
            continue
        assert gtid not in used
        used.add(gtid)
        for item in message.write_set:
            assert all(writer in message.snapshot for writer in writers[item]), "a lost update was certified"
            writers[item].append(gtid)
            versions[item] = message.snapshot | GtidSet(gtid)
    return conflicts


def check_rows(history: History, order: list[tuple[int, TransactionMessage]], decisions: dict[int, Any]) -> None:
    """All members hold what the certified transactions give one after the other."""
    rows: dict[str, dict[Any, Any]] = defaultdict(dict)
    for position, message in order:
        if decisions[position][0]:
            for change in message.changes:
                image = change.after or change.before or {}
                key = (image["id"] if change.table == "shop.item" else image["name"],)
                assert rows[change.table].get(key) == change.before
                rows[change.table].pop(key, None)
                if change.after is not None:
                    rows[change.table][key] = change.after
    expected = {table: dict(sorted(held.items())) for table, held in sorted(rows.items()) if held}
    group = history.group
    executed = {str(group.disk(name).store.executed()) for name in group.members}
    assert {member.state for member in group.members.values()} == {MemberState.ONLINE}
    assert len(executed) == 1
    for name in group.members:
        assert group.contents(name) == expected, name


def check_sessions(committed: list[Any], places: dict[str, int]) -> None:
    """Transactions of one session are committed in its order, at every level (R23)."""
    last: dict[tuple[int, int | None], int] = {}
    for entry in committed:
        if entry.kind == "view_change":
            continue
        session = (entry.server_id, entry.session)
        assert places[entry.gtid] > last.get(session, -1)
        last[session] = places[entry.gtid]


def check_barriers(committed: list[Any], places: dict[str, int]) -> None:
    """Check that entries before a barrier in the group's order are committed before it, the others after it, at every level (R5)."""
    newest = barrier = -1
    for entry in committed:
        if entry.kind == "view_change":
            continue
        place = places[entry.gtid]
        assert place > (newest if entry.barrier else barrier), entry.gtid
        newest = max(newest, place)
        barrier = place if entry.barrier else barrier
