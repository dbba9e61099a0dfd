"""The plan of a seed: the history, the options, the faults, the kills and restarts, and the choice of threads."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulation.database import Settings
from simulation.history import History, Shape, random_history
from simulation.limits import SmallLimits
from simulation.session import KINDS
from simulation.threads import Schedule

from paraply.applier.execute.lock_watchdog import Patience
from paraply.applier.execute.retry import RetryPolicy
from paraply.applier.schedule.policy import allowed_combinations
from paraply.logs.feed import FeedLimits

__all__ = ["COMBINATIONS", "FOLDER", "KINDS", "SEEDS_OF_A_HISTORY", "Life", "Plan", "draw_plan", "history_of"]

SEEDS_OF_A_HISTORY = 8
"""So many seeds in a row share a history, because it takes as long to make one as to apply it."""
NOT_HERE = ("unordered",)
"""This one needs rows with times, and promises another end: either all runs of a seed have it, or none."""
MERGING = {policy for policy, _, merges in allowed_combinations() if merges}
COMBINATIONS = [one for one in allowed_combinations() if one[0] not in NOT_HERE]
QUICK = RetryPolicy(limit=10, base=0.001, cap=0.05, reconnects=40, reconnect_base=0.002, reconnect_cap=0.2)
EVENTS_OF_EARLY_ROWS = 18
"""Row events of a block from which on some may go early, and a few more."""
FOLDER = Path(tempfile.mkdtemp(prefix="paraply-simulation-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


@dataclass(frozen=True, slots=True)
class Life:
    """One run of the applier, from its start to its end or death.

    Attributes:
        options: Options of ``Applier``.
        faults: Faults by the number of the transaction that they hit.
        culprit: A transaction that always fails; None for none.
        stop: Commits after which the run is asked to stop, and how often; None for never.
        kill: Commits and further round trips after which the process is killed; None for never.
        lost: Commits that the target loses after the kill.
        rival: Commits after which another run takes over the channel; None for never.
        readers: Number of concurrent readers of the target.
    """

    options: dict[str, Any]
    faults: dict[int, list[str]] = field(default_factory=dict)
    culprit: int | None = None
    stop: tuple[int, int] | None = None
    kill: tuple[int, int] | None = None
    lost: int = 0
    rival: int | None = None
    readers: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a seed decides, except what happens at each step."""

    seed: int
    shape: Shape
    schedule: Schedule
    settings: Settings
    batches: bool
    most_merged: int
    lives: tuple[Life, ...]
    limits: SmallLimits


@lru_cache(maxsize=1)
def history_of(number: int) -> tuple[History, Path]:
    """Return a history and its log."""
    chance = random.Random(number)
    history = random_history(chance, Shape.draw(chance))
    path = FOLDER / "binlog.000001"
    history.write(path)
    return history, path


def draw_plan(seed: int) -> Plan:
    """Return the plan of a seed."""
    history, _ = history_of(seed // SEEDS_OF_A_HISTORY)
    chance = random.Random(seed * 2 + 1)
    batches = chance.random() < 0.5
    unordered = history.shape.timed and chance.random() < 0.8
    lives = [_life(chance, history.shape, last=False, batches=batches) for _ in range(chance.choice((0, 0, 0, 1, 1, 1, 2)))]
    lives.append(_life(chance, history.shape, last=True, batches=batches))
    if unordered:
        lives = [_unordered(life) for life in lives]
    return Plan(
        seed=seed,
        shape=history.shape,
        schedule=_schedule(chance),
        settings=Settings(
            lock_timeout=chance.choice((0.02, 0.2, 0.2, 1.0)),
            latency=chance.choice((0.0, 0.0005, 0.005)),
            gaps=chance.choice((0.0, 0.0, 0.1, 0.3)),
            gap_size=chance.choice((2, 8, 64)),
            shows_blockers=chance.random() < 0.7,
            slow=chance.choice((0.0, 0.0, 0.1)),
            fair=chance.random() < 0.5,
            locking=chance.choice(("mysql", "mariadb", "postgresql")),
        ),
        batches=batches,
        most_merged=chance.choice((2, 8, 128)),
        lives=tuple(lives),
        limits=SmallLimits.draw(chance),
    )


def _unordered(life: Life) -> Life:
    """Return a run with policy ``unordered``, whose rows no reader can predict."""
    merge = life.options["merge"] if life.options["merge"] in ("auto", "off", 2, 5) else "auto"
    options = {**life.options, "policy": "unordered", "consistency": "eventual", "merge": merge, "timestamp_column": "v"}
    return replace(life, options=options, readers=0)


def _schedule(chance: random.Random) -> Schedule:
    kind = chance.random()
    if kind < 0.02:
        return Schedule(switch=0.1, lines=0.02)
    if kind < 0.25:
        return Schedule(switch=0.5, priorities=True, changes=chance.choice((2, 10, 50)))
    return Schedule(switch=chance.choice((1.0, 0.3, 0.3, 0.1)))


def _life(chance: random.Random, shape: Shape, *, last: bool, batches: bool) -> Life:
    count = shape.transactions
    policy, level, merges = chance.choice(COMBINATIONS)
    merge: str | int = chance.choice(("auto", "auto", 2, 5, 20, "off")) if merges else "off"
    workers = chance.choice((0, 1, 2, 2, 3, 4, 4, 8))
    special = chance.random()
    if special < 0.3:  # early rows
        policy, level, merge, workers = "dependency", "any-time", EVENTS_OF_EARLY_ROWS * 2 // (1 + shape.changes) + chance.randint(0, 4), 4
    elif special < 0.4:
        policy = "dependency"
    elif special < 0.7 and batches:
        policy, level, merge = chance.choice(("dependency", "logical-clock", "table", "barrier")), "eventual", "off"
    elif special < 0.75 and shape.changes > 2:
        policy, level, workers = "row", "eventual", max(workers, 2)
    if policy == "logical-clock" and shape.family == "mariadb":
        policy = "dependency"  # the log has no numbers
    options: dict[str, Any] = {
        "policy": policy,
        "consistency": level,
        "merge": merge if policy in MERGING else "off",
        "workers": workers,
        "limits": FeedLimits(batch_transactions=chance.choice((3, 16, 1024)), queue_batches=chance.choice((1, 8))),
        "patience": Patience(shortest=0.003, factor=2.0, longest=0.02, coarse=chance.choice((0.05, 0.15)), coarse_factor=2.0, foreign=0.3),
        "retries": QUICK,
    }
    if chance.random() < 0.03:
        options["max_rate"] = chance.choice((50, 1000))
    faults = {chance.randint(1, count): chance.choices(KINDS, k=chance.randint(1, 2)) for _ in range(chance.choice((0, 0, 1, 3, 6)))}
    readers = chance.choice((0, 0, 0, 1, 2))
    if last:
        return Life(options, faults, readers=readers)
    # An early one meets workers that have no session yet.
    kind, where = chance.random(), chance.randint(1, count if chance.random() < 0.6 else 12)
    if kind < 0.1:
        return Life(options, faults, rival=where, readers=readers)
    if kind < 0.35:
        return Life(options, faults, culprit=where, readers=readers)
    if kind < 0.6:
        return Life(options, faults, stop=(where, chance.choice((1, 1, 2))), readers=readers)
    # A server that prepares transactions must not lose what it has committed.
    lost = 0 if policy == "row" else chance.choice((0, 0, 0, 1, 3))
    return Life(options, faults, kill=(where - 1, chance.randint(0, 30)), lost=lost, readers=readers)
