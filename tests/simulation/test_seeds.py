"""A short share of the simulation: seeds that keep every promise, seeds that replay, and planted faults that are found."""

from __future__ import annotations

import pytest
from simulation import plans, runs
from simulation.history import Shape
from simulation.mutants import MUTANTS, Mutant, planted
from simulation.plans import draw_plan
from simulation.runs import simulate
from simulation.threads import Simulation

SEEDS_AT_ONCE = 100
QUICKLY_FOUND = (
    "return self._queue[0] is ticket -> return True",
    "any(",
    "number - 1 if self._serial else job.needs",
    "for n in older[1:] if",
    "if committing and was_committed(run, ticket, block): -> if False:",
    "if committing and was_committed(run, ticket, block): -> if committing:",
    "block.step(before, done) -> block.step(None, done)",
    "executed=start.skip, after=start.place -> after=start.place",
    "low = max( -> low = min(",
    "low = low | new_gtid_set(text) -> low = new_gtid_set(text)",
)
"""Parts of the names of planted faults that a few hundred seeds find, of all kinds."""


@pytest.mark.parametrize("first", range(0, 600, SEEDS_AT_ONCE))
def test_r17_r18_r20_r23_r24_r25_every_seed_keeps_every_promise(first: int) -> None:
    for seed in range(first, first + SEEDS_AT_ONCE):
        try:
            simulate(seed)
        except BaseException as error:
            error.add_note(f"PYTHONPATH=tests python -m simulation --seeds {seed} --show")
            raise


@pytest.mark.parametrize("seed", [3, 40, 77, 110, 162])
def test_a_seed_replays_every_step(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Simulation] = []

    class Kept(Simulation):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(runs, "Simulation", Kept)
    first, second = simulate(seed, traced=True), simulate(seed, traced=True)
    half = len(made) // 2
    assert [one.trace for one in made[:half]] == [one.trace for one in made[half:]]
    assert first == second


def test_seeds_draw_every_kind_of_run() -> None:
    drawn_plans = [draw_plan(seed) for seed in range(0, 4000, 8)]
    lives = [life for plan in drawn_plans for life in plan.lives]
    drawn = {(life.options["policy"], life.options["consistency"]) for life in lives}
    assert drawn >= {(policy, level) for policy, level, _ in plans.COMBINATIONS}
    assert {kind for life in lives for kinds in life.faults.values() for kind in kinds} == set(plans.KINDS)
    assert all(any(getattr(life, what) is not None for life in lives) for what in ("culprit", "stop", "kill"))
    assert {plan.shape.gtids for plan in drawn_plans} == {"mysql", "mariadb", "none"}
    assert min(plan.shape.transactions for plan in drawn_plans) == 20
    assert max(plan.shape.transactions for plan in drawn_plans) > 150
    assert any(plan.schedule.lines for plan in drawn_plans)


@pytest.mark.parametrize("part", QUICKLY_FOUND)
def test_planted_faults_are_found(part: str) -> None:
    (mutant,) = [one for one in MUTANTS if part in one.name]
    with planted(mutant):
        assert any(_fails(seed) for seed in range(400))


def _fails(seed: int) -> bool:
    try:
        simulate(seed)
    except Exception:
        return True
    return False


def test_every_planted_fault_still_has_its_place() -> None:
    for mutant in MUTANTS:
        with planted(mutant):
            pass
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_place_that_has_changed_is_an_error() -> None:
    with pytest.raises(AssertionError, match="0 times"), planted(Mutant("hashing:write_set", "no such text", "")):
        pass


def test_shapes_are_those_of_the_seed() -> None:
    assert draw_plan(5) == draw_plan(5)
    assert isinstance(draw_plan(5).shape, Shape)
