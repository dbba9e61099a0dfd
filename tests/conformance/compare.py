"""The comparison of a record of a server with the model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from conformance.model import Gap, Hint, Order, Outcome, Purged, play_model
from conformance.steps import Record, Schedule, related

__all__ = ["Result", "compare"]

MOST_GAPS = 40
THREADS = 3
"""Orders of threads that are tried with each order of those that wait."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a comparison.

    Attributes:
        steps: Number of steps.
        waits: Number of lock waits.
        gaps: Number of waits and deadlocks by locks between keys, which the model takes by chance.
        orders: Number of steps after which those that waited got their locks in another order than they had asked.
        difference: The first difference; empty without one.
    """

    steps: int
    waits: int
    gaps: int
    orders: int
    difference: str = ""


def compare(schedule: Schedule, records: Sequence[Record], locking: Literal["mysql", "mariadb", "postgresql"]) -> Result:
    """Compare a record with the model, step by step.

    Two things are left to the server. Sessions that wait may get their locks in any order. And a wait that only the server has may be one
    that the model's locks between keys allow: its blocker has changed the same table, or the other table of the foreign key.
    """
    hints: dict[int, tuple[Hint, ...]] = {}
    before = [Record(records[0].step), *records]
    waits = sum(len(set(record.waits) - set(last.waits)) for last, record in zip(before, records, strict=False))
    while True:
        outcomes = play_model(schedule, records, locking, hints)
        index = len(outcomes) - 1
        difference = _difference(outcomes[index].record, records[index])
        gaps = [hint for some in hints.values() for hint in some if isinstance(hint, Gap)]
        orders = sum(isinstance(hint, Order) for some in hints.values() for hint in some)
        if not difference and len(outcomes) == len(records):
            return Result(len(records), waits, len(gaps), orders)
        better = _ordered(schedule, records, locking, hints, index)
        if better is None and locking != "postgresql":
            better = _earlier(schedule, records, locking, hints, index)
        if better is None:
            gap = _gap(outcomes[index], records[index], schedule, hints) if locking != "postgresql" and len(gaps) < MOST_GAPS else None
            if gap is None or gap in hints.get(index, ()):
                return Result(len(records), waits, len(gaps), orders, f"step {index}: {difference}")
            better = {**hints, index: (*hints.get(index, ()), gap)}
        hints = better


def _ordered(
    schedule: Schedule,
    records: Sequence[Record],
    locking: Literal["mysql", "mariadb", "postgresql"],
    hints: dict[int, tuple[Hint, ...]],
    index: int,
) -> dict[int, tuple[Hint, ...]] | None:
    """Return hints with an order of those that wait before a step, if the step is the same with it."""
    waiting = sorted({*records[index - 1].waits, records[index].step.session}) if index else []
    if len(waiting) < 2 or any(isinstance(hint, Order) for hint in hints.get(index, ())):
        return None
    others = tuple(session for session in range(schedule.sessions) if session not in waiting)
    for threads in range(THREADS):
        for order in itertools.permutations(waiting):
            tried = {**hints, index: (*hints.get(index, ()), Order((*order, *others), threads))}
            if _agrees(schedule, records, locking, tried, index):
                return tried
    return None


def _earlier(
    schedule: Schedule,
    records: Sequence[Record],
    locking: Literal["mysql", "mariadb", "postgresql"],
    hints: dict[int, tuple[Hint, ...]],
    index: int,
) -> dict[int, tuple[Hint, ...]] | None:
    """Return hints with a lock between keys at which a session has waited for some time, if the step is the same with it.

    The session may wait for it beside another lock, or after it has written its row.
    """
    for session in records[index - 1].waits if index else ():
        begin = max(at for at in range(index) if records[at].step.session == session and records[at].step.change is not None)
        gaps = [hint for hint in hints.get(begin, ()) if isinstance(hint, Gap) and hint.session == session]
        others = tuple(hint for hint in hints.get(begin, ()) if hint not in gaps)
        for late in (False, True):
            gap = Gap(session, records[begin].waits.get(session, frozenset()), late)
            tried = {**hints, begin: (*others, gap)}
            if gap.blockers and gap not in gaps and _agrees(schedule, records, locking, tried, index):
                return tried
    return None


def _agrees(
    schedule: Schedule,
    records: Sequence[Record],
    locking: Literal["mysql", "mariadb", "postgresql"],
    hints: dict[int, tuple[Hint, ...]],
    index: int,
) -> bool:
    outcomes = play_model(schedule, records, locking, hints)
    return len(outcomes) > index + 1 or (len(outcomes) == index + 1 and not _difference(outcomes[index].record, records[index]))


def _difference(model: Record, server: Record) -> str:
    if model.answers != server.answers or set(model.waits) != set(server.waits):
        return f"server: {server}; model: {model}"
    if model.content != server.content:
        both = (model.content or {}), (server.content or {})
        places = [place for place in {*both[0], *both[1]} if both[0].get(place) != both[1].get(place)]
        return f"{server}: the rows differ: " + ", ".join(f"{place} is {both[1].get(place)}, not {both[0].get(place)}" for place in places)
    return ""


def _gap(outcome: Outcome, server: Record, schedule: Schedule, hints: dict[int, tuple[Hint, ...]]) -> Gap | Purged | None:
    """Return the lock between keys, or its early end, that explains a difference; None if none does."""
    model, touched = outcome.record, outcome.touched
    for session in range(schedule.sessions):
        if (
            session in model.waits
            and session not in server.waits
            and any(isinstance(hint, Gap) and hint.session == session for some in hints.values() for hint in some)
        ):
            return Purged(session)
        mine = touched.get(session, frozenset())
        if server.step.change is not None and server.step.session == session:
            mine |= related(server.step.change.table)
        near = frozenset(other for other, tables in touched.items() if other != session and tables & mine)
        if server.answers.get(session) == "deadlock" and model.answers.get(session) != "deadlock" and near:
            return Gap(session)
        if session in server.waits and session not in model.waits and (blockers := server.waits[session] & near):
            return Gap(session, blockers)
    return None
