"""Makes a seed that fails smaller: fewer transactions, restarts and faults, and simpler options, as long as it fails in the same way."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from simulation.database import Settings
from simulation.history import History, Part, Source, history_of_parts
from simulation.plans import FOLDER, SEEDS_OF_A_HISTORY, Life, Plan, draw_plan, history_of
from simulation.runs import run_plan

__all__ = ["Case", "shrink"]

MOST_RUNS = 4000
SCHEDULES = 12
"""Orders of threads that are tried with each smaller case: what fails in one order may not in another one."""
SIMPLEST = {"policy": "dependency", "merge": "off", "consistency": "any-time", "max_rate": None}


@dataclass(frozen=True, slots=True)
class Case:
    """A plan with its history, and the order of threads with which it fails.

    Attributes:
        plan: The plan.
        history: The history.
        threads: Seed of everything that happens at each step.
    """

    plan: Plan
    history: History
    threads: int

    @classmethod
    def of(cls, seed: int) -> Case:
        """Return the case of a seed."""
        return cls(draw_plan(seed), history_of(seed // SEEDS_OF_A_HISTORY)[0], seed)

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers of transactions, of runs of the applier, and of faults and other events."""
        return len(self.history.transactions), len(self.plan.lives), sum(map(_events, self.plan.lives))

    def failure(self) -> BaseException | None:
        """Run it; return its error, or None."""
        path = FOLDER / "shrunk.000001"
        self.history.write(path)
        try:
            run_plan(self.plan, self.history, path, threads=self.threads)
        except Exception as error:
            return error
        return None

    def describe(self) -> str:
        """Return the transactions, what is decided, and how it fails."""
        transactions = [
            f"  {one.number} of session {one.session}: {', '.join(map(str, one.changes)) or 'a statement'}"
            for one in self.history.transactions
        ]
        lives = [f"  {life}" for life in self.plan.lives]
        plan = f"{self.plan.settings}, {self.plan.schedule}, batches {self.plan.batches}, most merged {self.plan.most_merged}"
        error = self.failure()
        count, runs, events = self.size
        head = f"{count} transactions, {runs} runs of the applier, {events} faults; threads by seed {self.threads}:"
        return "\n".join([head, *transactions, plan, str(self.plan.limits), *lives, f"{type(error).__name__}: {error}"])


def _events(life: Life) -> int:
    named = sum(getattr(life, name) is not None for name in ("culprit", "stop", "kill", "rival"))
    return sum(map(len, life.faults.values())) + named


def _kind(error: BaseException) -> str:
    """Return an error without its numbers and places.

    >>> _kind(AssertionError("17 is committed before [3]"))
    'AssertionError: # is committed before [#]'
    """
    text = str(error).partition(";")[0]
    return f"{type(error).__name__}: {re.sub(r'[0-9]+(, [0-9]+)*', '#', text)[:60]}"


def shrink(case: Case, error: BaseException, most_runs: int = MOST_RUNS) -> Case:
    """Return the smallest case found that fails like this one.

    Args:
        case: One that fails.
        error: Its error.
        most_runs: Runs after which the search ends.
    """
    kind, left = _kind(error), most_runs
    smaller = True
    while smaller and left > 0:
        smaller = False
        for candidate in _candidates(case):
            found, used = _fails(candidate, kind, min(left, SCHEDULES))
            left -= used
            if found is not None:
                case, smaller = found, True
                break
            if left <= 0:
                break
    return case


def _fails(case: Case, kind: str, tries: int) -> tuple[Case | None, int]:
    for number in range(tries):
        tried = case if number == 0 else replace(case, threads=case.threads * 31 % 1_000_003 + number)
        if (error := tried.failure()) is not None and _kind(error) == kind:
            return tried, number + 1
    return None, tries


def _candidates(case: Case) -> Iterator[Case]:
    """Return smaller cases, those that save most first."""
    plan = case.plan
    for number in range(len(plan.lives)):
        if len(plan.lives) > 1:
            yield replace(case, plan=replace(plan, lives=(*plan.lives[:number], *plan.lives[number + 1 :])))
    count = len(case.history.transactions)
    size = count // 2
    while size:
        for start in range(count - size, -1, -size):
            if (smaller := _without(case, range(start + 1, start + size + 1))) is not None:
                yield smaller
        size //= 2
    for number, life in enumerate(plan.lives):
        for simpler in _simpler(life):
            yield replace(case, plan=replace(plan, lives=(*plan.lives[:number], simpler, *plan.lives[number + 1 :])))
    for field in fields(Settings):
        plain = {"latency": 0.0, "zombies": 0.0, "lock_timeout": plan.settings.lock_timeout}.get(field.name, field.default)
        if getattr(plan.settings, field.name) != plain:
            yield replace(case, plan=replace(plan, settings=replace(plan.settings, **{field.name: plain})))
    if plan.batches:
        yield replace(case, plan=replace(plan, batches=False))


def _simpler(life: Life) -> Iterator[Life]:
    for number in life.faults:
        yield replace(life, faults={other: kinds for other, kinds in life.faults.items() if other != number})
        if len(life.faults[number]) > 1:
            yield replace(life, faults={**life.faults, number: life.faults[number][1:]})
    for name in ("culprit", "stop", "kill", "rival"):
        if getattr(life, name) is not None:
            yield replace(life, **{name: None})
    if life.lost:
        yield replace(life, lost=0)
    if life.readers:
        yield replace(life, readers=0)
    for option, value in SIMPLEST.items():
        if life.options.get(option) not in (value, None):
            yield replace(life, options={**life.options, option: value})
    for workers in range(1, life.options["workers"]):
        yield replace(life, options={**life.options, "workers": workers})


def _without(case: Case, numbers: range) -> Case | None:
    """Return a case without some transactions; changes that no longer fit go with them, and faults move to where theirs are now."""
    shape = case.history.shape
    source = Source(random.Random(0), shape)
    parts: list[Part] = []
    moved: dict[int, int] = {}
    for number, part in enumerate(case.history.parts, start=1):
        if number in numbers:
            continue
        changes = []
        for change in part.changes:
            if (fitted := source.fitted(change)) is not None:
                source.make(fitted)
                changes.append(fitted)
        if changes or not part.changes:
            parts.append(replace(part, changes=tuple(changes)))
            moved[number] = len(parts)
    if not parts or len(parts) == len(case.history.parts):
        return None
    lives = tuple(_moved(life, moved, len(parts)) for life in case.plan.lives)
    history = history_of_parts(shape, parts)
    return replace(case, history=history, plan=replace(case.plan, lives=lives, shape=history.shape))


def _moved(life: Life, moved: dict[int, int], count: int) -> Life:
    """Return a run whose faults are at the same transactions, and whose stops are no later than after all of them."""
    faults = {moved[number]: kinds for number, kinds in life.faults.items() if number in moved}
    return replace(
        life,
        faults=faults,
        culprit=moved.get(life.culprit) if life.culprit is not None else None,
        stop=None if life.stop is None else (_place(life.stop[0], moved, count), life.stop[1]),
        kill=None if life.kill is None else (_place(life.kill[0], moved, count), life.kill[1]),
        rival=None if life.rival is None else _place(life.rival, moved, count),
    )


def _place(commits: int, moved: dict[int, int], count: int) -> int:
    """Return the number of commits left, of so many."""
    return min(sum(number <= commits for number in moved), count)
