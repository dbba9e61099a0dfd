"""Random schedules of sessions that change rows, commit, wait for each other, and are killed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from simulation.history import Change, Row, State

__all__ = ["TABLES", "Record", "Schedule", "Step", "draw_schedule", "related"]

TABLES = ("item", "parent", "child", "word")
KEYS_OF_A_SEED = 100
MOST_SEEDS = 2_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a session.

    Attributes:
        kind: A change of a row, the end of the transaction, the end of the running statement or of the connection by another one, or
            the time after which a wait ends with an error.
        session: Number of the session.
        change: The change; of the row before it, only the key matters.
    """

    kind: Literal["change", "commit", "rollback", "interrupt", "disconnect", "time"]
    session: int
    change: Change | None = None

    def __str__(self) -> str:
        return f"{self.session} {self.kind} {self.change or ''}".rstrip()


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that a seed decides.

    Attributes:
        seed: The seed.
        sessions: Number of sessions.
        initial: Rows before the first step.
        steps: The steps; those of a session that waits are left out.
        impatient: Session whose lock waits end after a short time; None for none.
    """

    seed: int
    sessions: int
    initial: State
    steps: tuple[Step, ...]
    impatient: int | None


@dataclass(slots=True)
class Record:
    """A step that was made, and what came of it.

    Attributes:
        step: The step.
        answers: Kind of the answer of each session whose statement ended in this step.
        waits: Sessions whose statement waits for a lock after it, and for whom, if that is known.
        content: Committed rows after it; None if they were not read.
    """

    step: Step
    answers: dict[int, str] = field(default_factory=dict)
    waits: dict[int, frozenset[int]] = field(default_factory=dict)
    content: State | None = None

    def __str__(self) -> str:
        waits = {session: sorted(blockers) for session, blockers in self.waits.items()}
        return f"{self.step} -> {self.answers}{f' waits {waits}' if waits else ''}"


def related(table: str) -> frozenset[str]:
    """Return the tables on which a change of this one takes locks."""
    return frozenset(("parent", "child")) if table in ("parent", "child") else frozenset((table,))


def draw_schedule(seed: int) -> Schedule:
    """Return the schedule of a seed.

    Each has keys of its own, so that nothing is left of others in the indexes.
    """
    chance = random.Random(seed)
    first = seed % MOST_SEEDS * KEYS_OF_A_SEED
    keys = range(first + 1, first + 1 + chance.choice((2, 3, 6)))
    tables = chance.choice((TABLES, TABLES, ("item",), ("parent", "child"), ("word",)))
    sessions = chance.randint(2, 4)
    initial = _initial(chance, keys)
    ends = chance.choice((0.1, 0.2, 0.4))
    steps = [_step(chance, chance.randrange(sessions), keys, tables, ends) for _ in range(chance.randint(8, 40))]
    return Schedule(seed, sessions, initial, tuple(steps), chance.randrange(sessions) if chance.random() < 0.06 else None)


def _initial(chance: random.Random, keys: range) -> State:
    rows: State = {}
    for table in TABLES:
        for key in keys:
            if chance.random() < 0.6:
                row: Row = (key, _text(chance, key)) if table == "word" else (key, chance.choice(keys) if table == "child" else 0)
                if table != "child" or ("parent", row[1]) in rows:
                    rows[table, key] = row
    return rows


def _text(chance: random.Random, key: int) -> str:
    return chance.choice("wW") + str(key)


def _step(chance: random.Random, session: int, keys: range, tables: tuple[str, ...], ends: float) -> Step:
    kind = chance.random()
    if kind < ends:
        return Step("commit" if chance.random() < 0.7 else "rollback", session)
    if kind < ends + 0.06:
        return Step("interrupt", session)
    if kind < ends + 0.08:
        return Step("disconnect", session)
    return Step("change", session, _change(chance, chance.choice(tables), keys))


def _change(chance: random.Random, table: str, keys: range) -> Change:
    key, other = chance.choice(keys), chance.choice(keys)
    after: Row = (key, _text(chance, other)) if table == "word" else (key, other if table == "child" else chance.randrange(1_000_000))
    kind = chance.random()
    if kind < 0.3:
        return Change(table, None, after)
    if kind < 0.55:
        return Change(table, (key, 0), None)
    if kind < 0.65 and table != "parent":
        return Change(table, (chance.choice(keys), 0), after)
    return Change(table, (key, 0), after)
