"""One simulated apply: a seed decides the history, the options, the faults, the kills and restarts, and who runs at each step."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from pathlib import Path

from simulation.checks import Watch
from simulation.database import Database, Fault
from simulation.history import History
from simulation.limits import in_force
from simulation.plans import SEEDS_OF_A_HISTORY, Life, Plan, draw_plan, history_of
from simulation.readers import Readers
from simulation.target import ModelTarget
from simulation.threads import Abandoned, Simulation

from paraply.applier.applier import Applier
from paraply.errors import AlreadyRunning, ApplyFailed, PrecedingFailed, Stopped
from paraply.runtime import runtime

__all__ = ["Result", "run_plan", "simulate"]

STEPS, STEPS_OF_A_TRANSACTION = 30_000, 3_000
"""Most steps of a run, which is far more than the slowest one took."""


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


def simulate(seed: int, *, traced: bool = False) -> Result:
    """Run what a seed decides, and check every promise.

    Raises:
        AssertionError: A promise was not kept, or a thread waits for ever.
    """
    history, path = history_of(seed // SEEDS_OF_A_HISTORY)
    return run_plan(draw_plan(seed), history, path, threads=seed, traced=traced)


def run_plan(plan: Plan, history: History, path: Path, *, threads: int, traced: bool = False) -> Result:
    """Run a plan, and check every promise.

    Args:
        plan: What was decided.
        history: The history of the source.
        path: Its log.
        threads: The seed of everything that happens at each step.
        traced: True to keep the steps.

    Raises:
        AssertionError: A promise was not kept, or a thread waits for ever.
    """
    watch = Watch(history, random.Random(threads), newest=plan.lives[-1].options["policy"] == "unordered")
    steps = digest = 0
    database: Database | None = None
    for number, life in enumerate(plan.lives):
        limit = STEPS + STEPS_OF_A_TRANSACTION * len(history.transactions)
        simulation = Simulation(threads * 16 + number, plan.schedule, most_steps=limit, traced=traced)
        if database is None:
            database = watch.database = Database(simulation, random.Random(threads), plan.settings, watch.committed)
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
    watch.neighbours = life.options["consistency"] == "most-of-the-time" and life.options["workers"] > 0
    database.kill = life.kill
    targets = [_target(plan, life, watch, history)]
    if life.culprit is not None and life.culprit not in watch.seen:
        targets[0].always[life.culprit] = ApplyFailed("the culprit")
    if life.rival is not None:
        targets.append(_target(plan, life, watch, history))
    ended: BaseException | None = None
    try:
        readers = Readers(watch, database, plan.seed, life.readers)
        simulation.run(lambda: readers.during(lambda: _apply(life, targets, database, path)))
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
        optimistic=life.options["policy"] in ("optimistic", "unordered"),
        newest=life.options["policy"] == "unordered",
        most_merged=plan.most_merged,
        applied=watch.applied,
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
    prepared = set(database.prepared.values())
    if left := [name for name, lock in database.locks.items() if not prepared.issuperset(lock.holders)]:
        raise Fault(f"locks left: {left[:5]}")
    if any(not session.closed for target in targets for session in target.sessions):
        raise Fault("a session is left open")
    watch.check_end(complete=ended is None)
