"""One simulated apply: a seed decides the history, the options, the faults, the kills and restarts, and who runs at each step."""

from __future__ import annotations

import random
import tempfile
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulation.checks import Watch
from simulation.database import Database, Fault, Settings
from simulation.history import History, Shape, random_history
from simulation.limits import SmallLimits, in_force
from simulation.session import KINDS
from simulation.target import ModelTarget
from simulation.threads import Abandoned, Schedule, Simulation

from paraply.applier.applier import Applier
from paraply.applier.execute.lock_watchdog import Patience
from paraply.applier.execute.retry import RetryPolicy
from paraply.applier.schedule.policy import allowed_combinations
from paraply.errors import AlreadyRunning, ApplyFailed, PrecedingFailed, Stopped
from paraply.logs.feed import FeedLimits
from paraply.runtime import runtime

__all__ = ["Life", "Plan", "Result", "draw_plan", "simulate"]

SEEDS_OF_A_HISTORY = 8
"""So many seeds in a row share a history, because it takes as long to make one as to apply it."""
NOT_HERE = ("row", "unordered")
"""These need a target that commits in two phases, and rows with times."""
MERGING = {policy for policy, _, merges in allowed_combinations() if merges}
COMBINATIONS = [one for one in allowed_combinations() if one[0] not in NOT_HERE]
QUICK = RetryPolicy(limit=10, base=0.001, cap=0.05, reconnects=40, reconnect_base=0.002, reconnect_cap=0.2)
EVENTS_OF_EARLY_ROWS = 18
"""Row events of a block from which on some may go early, and a few more."""
STEPS, STEPS_OF_A_TRANSACTION = 30_000, 3_000
"""Most steps of a run, which is far more than the slowest one took."""
_FOLDER = Path(tempfile.mkdtemp(prefix="paraply-simulation-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


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
    """

    options: dict[str, Any]
    faults: dict[int, list[str]] = field(default_factory=dict)
    culprit: int | None = None
    stop: tuple[int, int] | None = None
    kill: tuple[int, int] | None = None
    lost: int = 0
    rival: int | None = None


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


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a run that kept all promises.

    Attributes:
        steps: Steps of all threads.
        commits: Number of commits.
        digest: A number that is the same if all steps were.
    """

    steps: int
    commits: int
    digest: int


@lru_cache(maxsize=1)
def history_of(number: int) -> tuple[History, Path]:
    """Return a history and its log."""
    chance = random.Random(number)
    history = random_history(chance, Shape.draw(chance))
    path = _FOLDER / "binlog.000001"
    history.write(path)
    return history, path


def draw_plan(seed: int) -> Plan:
    """Return what a seed decides."""
    history, _ = history_of(seed // SEEDS_OF_A_HISTORY)
    chance = random.Random(seed * 2 + 1)
    batches = chance.random() < 0.5
    lives = [_life(chance, history.shape, last=False, batches=batches) for _ in range(chance.choice((0, 0, 0, 1, 1, 1, 2)))]
    lives.append(_life(chance, history.shape, last=True, batches=batches))
    return Plan(
        seed=seed,
        shape=history.shape,
        schedule=_schedule(chance),
        settings=Settings(
            lock_timeout=chance.choice((0.02, 0.2, 0.2, 1.0)),
            latency=chance.choice((0.0, 0.0005, 0.005)),
            gaps=chance.choice((0.0, 0.0, 0.1, 0.3)),
            gap_size=chance.choice((2, 8, 64)),
            tells=chance.random() < 0.7,
            slow=chance.choice((0.0, 0.0, 0.1)),
        ),
        batches=batches,
        most_merged=chance.choice((2, 8, 128)),
        lives=tuple(lives),
        limits=SmallLimits.draw(chance),
    )


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
    if last:
        return Life(options, faults)
    # An early one meets workers that have no session yet.
    kind, where = chance.random(), chance.randint(1, count if chance.random() < 0.6 else 12)
    if kind < 0.1:
        return Life(options, faults, rival=where)
    if kind < 0.35:
        return Life(options, faults, culprit=where)
    if kind < 0.6:
        return Life(options, faults, stop=(where, chance.choice((1, 1, 2))))
    return Life(options, faults, kill=(where - 1, chance.randint(0, 30)), lost=chance.choice((0, 0, 0, 1, 3)))


def simulate(seed: int, *, traced: bool = False) -> Result:
    """Run what a seed decides, and check every promise.

    Raises:
        AssertionError: A promise was not kept, or a thread waits for ever.
    """
    history, path = history_of(seed // SEEDS_OF_A_HISTORY)
    plan = draw_plan(seed)
    watch = Watch(history, random.Random(seed))
    steps = digest = 0
    database: Database | None = None
    for number, life in enumerate(plan.lives):
        limit = STEPS + STEPS_OF_A_TRANSACTION * len(history.transactions)
        simulation = Simulation(seed * 16 + number, plan.schedule, most_steps=limit, traced=traced)
        if database is None:
            database = watch.database = Database(simulation, random.Random(seed), plan.settings, watch.committed)
        database.simulation = simulation
        with in_force(plan.limits):
            _live(plan, life, simulation, watch, history, path)
        steps += simulation.steps
        digest = zlib.crc32(repr((digest, simulation.steps, simulation.random.random(), sorted(database.rows.items()))).encode(), digest)
    assert database is not None
    watch.check_end(complete=True)
    return Result(steps, len(database.commits), digest)


def _live(plan: Plan, life: Life, simulation: Simulation, watch: Watch, history: History, path: Path) -> None:
    """Run the applier once, and check how it ended."""
    database = watch.database
    assert database is not None
    database.restart(0)
    watch.restart()
    watch.ordered = life.options["consistency"] == "any-time" or life.options["workers"] == 0
    database.kill = life.kill
    targets = [_target(plan, life, watch, history)]
    if life.culprit is not None and life.culprit not in watch.seen:
        targets[0].always[life.culprit] = ApplyFailed("the culprit")
    if life.rival is not None:
        targets.append(_target(plan, life, watch, history))
    ended: BaseException | None = None
    try:
        simulation.run(lambda: _apply(life, targets, database, path))
    except (ApplyFailed, Stopped, Abandoned) as error:
        ended = error
    _check_ending(life, targets, ended, watch, database)


def _target(plan: Plan, life: Life, watch: Watch, history: History) -> ModelTarget:
    assert watch.database is not None
    return ModelTarget(
        watch.database,
        history,
        watch.seen,
        {number: list(kinds) for number, kinds in life.faults.items()},
        batches=plan.batches,
        optimistic=life.options["policy"] == "optimistic",
        most_merged=plan.most_merged,
    )


def _apply(life: Life, targets: list[ModelTarget], database: Database, path: Path) -> None:
    applier = Applier([path], targets[0], **life.options)  # type: ignore[arg-type]
    if life.stop is not None:
        after, times = life.stop

        def stop() -> None:
            if len(database.commits) >= after:
                for _ in range(times):
                    applier.stop()

        targets[0].on_committed = stop
    if life.rival is not None:
        _apply_twice(applier, Applier([path], targets[1], **life.options), targets[0], life.rival)  # type: ignore[arg-type]
        return
    applier.run()


def _apply_twice(applier: Applier, other: Applier, target: ModelTarget, after: int) -> None:
    """Let another run take over the channel after so many commits; it applies the rest."""
    thread = runtime.thread(other.run, name="other")
    begun: list[bool] = []

    def begin() -> None:
        if not begun and len(target.database.commits) >= after:
            begun.append(True)
            thread.start()

    target.on_committed = begin
    try:
        applier.run()
    except AlreadyRunning:
        if not begun:
            raise
    if begun:
        thread.join()


def _check_ending(life: Life, targets: list[ModelTarget], ended: BaseException | None, watch: Watch, database: Database) -> None:
    """Check that a run ended as it had to, and left what it had to."""
    if isinstance(ended, Abandoned):
        if life.kill is None:
            raise Fault("abandoned without a kill")
        watch.check_end(complete=False)
        database.restart(life.lost)
        watch.restart()
        watch.check_end(complete=False)
        return
    if isinstance(ended, Stopped) and life.stop is None:
        raise Fault("stopped without a request")
    if isinstance(ended, PrecedingFailed) or (isinstance(ended, ApplyFailed) and "the culprit" not in ended.message):
        raise Fault(f"ended with {ended!r}")
    culprit = next(iter(targets[0].always), None)
    if culprit is not None:
        if culprit in watch.seen:
            raise Fault("the culprit is committed")
        if isinstance(ended, ApplyFailed) and set(range(1, culprit)) - watch.seen:
            raise Fault(f"older than the culprit {culprit} and not committed: {sorted(set(range(1, culprit)) - watch.seen)}")
    if ended is None and not any(target.completed for target in targets):
        raise Fault("ended without an error before the end")
    database.reap()
    if database.zombies:
        for zombie in database.zombies:
            zombie.release()
        database.zombies.clear()
    if database.locks:
        raise Fault(f"locks left: {list(database.locks)[:5]}")
    if any(not session.closed for target in targets for session in target.sessions):
        raise Fault("a session is left open")
    watch.check_end(complete=ended is None)
