"""The steps of a record, made on the model database."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from conformance.steps import Record, Schedule, Step, related
from simulation.database import Connection, Database, Settings
from simulation.database.locks import Lock, Locker
from simulation.threads import Simulation

from paraply.errors import ApplyFailed, ConnectionLost, ParaplyError
from paraply.runtime import runtime
from paraply.targets.progress.file_ledger import PositionRow

__all__ = ["Gap", "Hint", "Order", "Outcome", "Purged", "play_model"]

STEP_SECONDS = 1.0
IMPATIENT_SECONDS = 1.5
"""A lock wait of the impatient session ends in the step after the one in which it begins."""
PATIENT_SECONDS = 1e9
KINDS = {
    "no row": "missing",
    "duplicate key": "duplicate",
    "no parent": "no parent",
    "has children": "has children",
    "deadlock": "deadlock",
    "lock wait timeout": "timeout",
    "interrupted": "killed",
}
"""Kinds of errors by a part of their text."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A lock between keys, which the model takes by chance, at a step.

    Attributes:
        session: Session that waits for it, or is the victim of a deadlock with it.
        blockers: Sessions that hold it; empty for a victim.
        late: True if the session has written its row when it waits.
    """

    session: int
    blockers: frozenset[int] = frozenset()
    late: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which sessions that wait get what a step sets free, and the number of a choice of threads."""

    sessions: tuple[int, ...]
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Purged:
    """The end of locks between keys before that of their transaction: InnoDB has removed an entry that was deleted."""

    session: int


Hint = Gap | Order | Purged


@dataclass(slots=True)
class Outcome:
    """Outcome of a step on the model.

    Attributes:
        record: Answers, waits and content.
        touched: Tables of which each open transaction may hold locks between keys.
    """

    record: Record
    touched: dict[int, frozenset[str]] = field(default_factory=dict)


class _Victims(random.Random):
    """Choice of a deadlock's victim: the one that the server chose."""

    chosen: frozenset[int] = frozenset()
    sessions: Mapping[Locker, int] = {}

    def choice(self, cycle):  # type: ignore[no-untyped-def, override]
        return next((one for one in cycle if self.sessions.get(one) in self.chosen), cycle[0])


class _Database(Database):
    """The model with an order of those that wait."""

    order: tuple[Locker, ...] = ()

    def place_in_queue(self, lock: Lock, locker: Locker) -> int:
        if locker not in self.order:
            return len(lock.waiting)
        rank = self.order.index
        return sum(other not in self.order or rank(other) < rank(locker) for other in lock.waiting)


class _Player:
    def __init__(self, schedule: Schedule, locking: Literal["mysql", "mariadb", "postgresql"], hints: Mapping[int, Sequence[Hint]]) -> None:
        self.schedule = schedule
        self.hints = hints
        self.simulation = Simulation(schedule.seed, traced=False)
        self.victims = _Victims()
        settings = Settings(lock_timeout=PATIENT_SECONDS, latency=0.0, locking=locking)
        self.database = _Database(self.simulation, self.victims, settings, lambda _: None)
        self.database.rows = dict(schedule.initial)
        self.database.index()
        self.connections: list[Connection] = []
        self.running: set[int] = set()
        self.answers: dict[int, str] = {}
        self.touched: defaultdict[int, set[str]] = defaultdict(set)
        self.late: defaultdict[int, list[tuple[str, object]]] = defaultdict(list)
        self.wanted: defaultdict[int, list[tuple[str, object]]] = defaultdict(list)

    def play(self, records: Sequence[Record]) -> list[Outcome]:
        self.connections = [self._connect(session) for session in range(self.schedule.sessions)]
        outcomes = []
        for index, record in enumerate(records):
            outcomes.append(self._step(index, record))
            made = outcomes[-1].record
            if made.answers != record.answers or set(made.waits) != set(record.waits) or made.content != record.content:
                break
        for connection in self.connections:
            connection.broken = True
            connection.release()
            connection.wake()
        runtime.sleep(STEP_SECONDS)
        return outcomes

    def _connect(self, session: int) -> Connection:
        connection = self.database.connect()
        if session == self.schedule.impatient:
            connection.lock_timeout = IMPATIENT_SECONDS
        self.victims.sessions = {**self.victims.sessions, connection: session}
        return connection

    def _step(self, index: int, record: Record) -> Outcome:
        self.answers = {}
        self.victims.chosen = frozenset(session for session, kind in record.answers.items() if kind == "deadlock")
        self.database.order = ()
        before = {session: frozenset(tables) for session, tables in self.touched.items() if tables}
        self.simulation.random.seed((self.schedule.seed * 100 + index) * 10)
        self._take_hints(index)
        self._make(record.step)
        runtime.sleep(STEP_SECONDS)
        for hint in self.hints.get(index, ()):
            if isinstance(hint, Gap) and not hint.blockers:
                self._sacrifice(hint.session)
        made = Record(record.step, dict(self.answers), dict.fromkeys(self.running, frozenset()))
        for session in self.running:
            blockers = self.connections[session].blockers()
            made.waits[session] = frozenset(other for other, one in enumerate(self.connections) if one in blockers)
        if record.content is not None:
            made.content = dict(self.database.rows)
        after = {session: before.get(session, frozenset()) | tables for session, tables in self.touched.items()}
        return Outcome(made, {**before, **after})

    def _make(self, step: Step) -> None:
        connection = self.connections[step.session]
        if step.kind == "change":
            self.touched[step.session] |= related(step.change.table) if step.change else set()
            self.running.add(step.session)
            runtime.thread(lambda: self._change(step), name=f"session {step.session}").start()
        elif step.kind == "commit":
            connection.commit([], step.session, PositionRow("", None, None, 0))
            self._ended(step.session)
        elif step.kind == "rollback":
            connection.release()
            self._ended(step.session)
        elif step.kind == "interrupt":
            connection.interrupt()
        elif step.kind == "disconnect":
            connection.broken = True
            connection.release()
            connection.wake()
            self.connections[step.session] = self._connect(step.session)
            self.touched[step.session].clear()

    def _ended(self, session: int) -> None:
        self.answers[session] = "ok"
        self.touched[session].clear()

    def _change(self, step: Step) -> None:
        connection = self.connections[step.session]
        assert step.change is not None
        wanted, late = self.wanted[step.session], self.late[step.session]
        try:
            connection.check()
            while wanted:
                connection.lock(wanted.pop(), exclusive=True)
            answer = "ok"

            def wait_late() -> None:
                while late:
                    connection.lock(late.pop(), exclusive=True)

            connection.before_entry = wait_late
            try:
                connection.change(step.change)
            except ApplyFailed as error:
                answer = _kind(error)
            while wanted or late:
                connection.lock((wanted or late).pop(), exclusive=True)
        except ParaplyError as error:
            answer = _kind(error)
        wanted.clear()
        late.clear()
        if answer in ("deadlock", "lost") or (answer not in ("ok", "missing") and self.database.settings.locking == "postgresql"):
            if connection is self.connections[step.session]:
                self.touched[step.session].clear()
            connection.release()
        self.answers[step.session] = answer
        self.running.discard(step.session)

    def _take_hints(self, index: int) -> None:
        for hint in self.hints.get(index, ()):
            if isinstance(hint, Order):
                self.simulation.random.seed((self.schedule.seed * 100 + index) * 10 + hint.threads)
                self.database.order = tuple(self.connections[session] for session in hint.sessions)
                for lock in self.database.locks.values():
                    lock.waiting.sort(key=self.database.order.index)
            elif isinstance(hint, Purged):
                for name, lock in list(self.database.locks.items()):
                    if name[0] == "gap" and name[1][1] == hint.session:  # type: ignore[index]
                        for holder in list(lock.holders):
                            holder.unlock(name)
            elif hint.blockers:
                name = ("gap", (index, hint.session))
                lock = self.database.locks.setdefault(name, Lock())
                for session in hint.blockers:
                    lock.holders[self.connections[session]] = True
                    self.connections[session].held.append(name)
                (self.late if hint.late else self.wanted)[hint.session].append(name)

    def _sacrifice(self, session: int) -> None:
        """Make a session the victim of a deadlock."""
        connection = self.connections[session]
        connection.release()
        if session in self.running:
            connection.victim = True
            connection.wake()
        else:
            self.answers[session] = "deadlock"
        self.touched[session].clear()
        runtime.sleep(STEP_SECONDS)


def _kind(error: ParaplyError) -> str:
    if isinstance(error, ConnectionLost):
        return "lost"
    return next((kind for part, kind in KINDS.items() if part in str(error)), str(error))


def play_model(
    schedule: Schedule, records: Sequence[Record], locking: Literal["mysql", "mariadb", "postgresql"], hints: Mapping[int, Sequence[Hint]]
) -> list[Outcome]:
    """Make the steps of a record, and return what came of them, up to the first difference.

    Args:
        schedule: The schedule.
        records: The steps that a server made.
        locking: The server whose locks the model takes.
        hints: Locks between keys, and orders of those that wait, by the number of the step at which they matter.
    """
    player = _Player(schedule, locking, hints)
    found: list[Outcome] = player.simulation.run(lambda: player.play(records))
    return found
