"""The command line of the simulation: ranges of seeds, single seeds, and planted faults."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
import traceback
from functools import partial
from pathlib import Path

from simulation.child import found_in_child
from simulation.mutants import MUTANTS, Mutant, planted
from simulation.plans import draw_plan
from simulation.runs import simulate
from simulation.score import score
from simulation.shrink import Case, shrink

__all__ = ["main"]

SEEDS_OF_A_MUTANT = 10_000
MUTANT_SECONDS = 120.0


def prepare_process() -> None:
    """Let this process simulate only: text hashes that are the same in each process, no log, and no collection of garbage in between."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of text must not change between two processes, or a seed would not replay.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]])
    logging.disable(logging.CRITICAL)
    gc.freeze()
    gc.disable()


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a promise was not kept, or a planted fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", default="0-999", help="first and last seed, one seed, or FIRST- for all from there")
    parser.add_argument("--seconds", type=float, help="end after this time, wherever that is")
    parser.add_argument("--mutants", action="store_true", help="plant faults, and print which of them are found")
    parser.add_argument("--only", default="", help="with --mutants and --score: part of their names")
    parser.add_argument("--out", type=Path, help="append the result to a file")
    parser.add_argument("--show", action="store_true", help="print the plan of the seeds, and every step of a failed one")
    parser.add_argument("--score", type=float, metavar="SHARE", help="change this share of all lines of commit order, job list and ledgers")
    parser.add_argument("--shrink", action="store_true", help="make the first seed that fails as small as it can be, and print it")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    if options.mutants:
        return _mutants([one for one in MUTANTS if options.only in one.name and not one.harmless])
    if options.score is not None:
        return bool(score(options.score, options.out, options.only))
    if options.shrink:
        return _shrink(range(int(first), int(last or first) + 1))
    end = int(last) if last else int(first) if not options.seeds.endswith("-") else sys.maxsize
    return _seeds(range(int(first), end + 1), options.seconds, options.out, show=options.show)


def _seeds(seeds: range, seconds: float | None, out: Path | None, *, show: bool) -> int:
    begin, failed, steps, commits, done = time.monotonic(), list[int](), 0, 0, 0
    for seed in seeds:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        if show:
            print(draw_plan(seed))
        try:
            result = simulate(seed)
        except Exception as error:
            failed.append(seed)
            _report(f"seed {seed} failed: {type(error).__name__}: {error}\n{traceback.format_exc() if show else ''}", out)
        else:
            steps, commits = steps + result.steps, commits + result.commits
        done += 1
        if done % 256 == 0:
            gc.collect()
        if done % 5000 == 0:
            print(f"{done} runs, {len(failed)} failed", flush=True)
    taken = time.monotonic() - begin
    ended = seeds.start + done - 1
    text = f"seeds {seeds.start}-{ended}: {done} runs, {commits} commits, {steps} steps, {len(failed)} failed, {done / taken:.0f} runs/s"
    _report(text, out)
    if failed:
        print(f"again: python -m simulation --seeds {failed[0]} --show", file=sys.stderr)
    return bool(failed)


def _shrink(seeds: range) -> int:
    for seed in seeds:
        try:
            simulate(seed)
        except Exception as error:
            print(f"seed {seed} failed: {type(error).__name__}: {error}")
            print(shrink(Case.of(seed), error).describe())
            return 1
    print(f"none of the {len(seeds)} seeds fails")
    return 0


def _report(text: str, out: Path | None) -> None:
    print(text, flush=True)
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def _mutants(mutants: list[Mutant]) -> int:
    found = 0
    for mutant in mutants:
        outcome = find(mutant)
        found += outcome is not None
        print(f"{'found  ' if outcome else 'MISSED '} {mutant.name}{f': {outcome}' if outcome else ''}", flush=True)
    print(f"{found} of {len(mutants)} planted faults are found: {100 * found / max(1, len(mutants)):.0f} %")
    return found < len(mutants)


def find(mutant: Mutant, seeds: int = SEEDS_OF_A_MUTANT, seconds: float = MUTANT_SECONDS) -> str | None:
    """Return the seed that finds a planted fault, and what it saw; None if none of so many does."""
    return found_in_child(partial(_search, mutant, seeds, seconds), seconds + 30)


def _search(mutant: Mutant, seeds: int, seconds: float) -> str | None:
    end = time.monotonic() + seconds
    with planted(mutant):
        for seed in range(seeds):
            try:
                simulate(seed)
            except Exception as error:
                return f"seed {seed}: {type(error).__name__}: {str(error)[:90]}"
            if time.monotonic() > end:
                break
    return None
