"""The mutation score: for each small change, whether the simulation or a unit test notices it."""

from __future__ import annotations

import contextlib
import io
import json
import random
import time
from collections import Counter
from functools import partial
from pathlib import Path

from simulation.child import found_in_child
from simulation.generated import MODULES, Change, changes_of, in_place
from simulation.runs import simulate

__all__ = ["score"]

SEEDS, SECONDS = 300, 8.0
"""Most seeds, and most seconds of processor time for them, that a change has to survive."""
WALL_SECONDS = 400.0
"""Time after which a change makes the run endless."""
TESTS = Path(__file__).resolve().parents[1] / "unit"


def score(share: float, out: Path | None, only: str = "") -> int:
    """Try changes, and print which are noticed; return the number of those that are not.

    Args:
        share: Share of all changes, chosen by a fixed seed.
        out: File of the results, one a line. What is there is not tried again.
        only: Part of the modules' names.
    """
    known = {}
    if out is not None and out.exists():
        known = {(one["name"], one["number"]): one["noticed"] for one in map(json.loads, out.read_text().splitlines())}
    tried, noticed = Counter[str](), Counter[str]()
    for module in MODULES:
        if only not in module:
            continue
        chance = random.Random(7)
        for change in changes_of(module):
            if chance.random() >= share:
                continue
            found = known.get((change.name, change.number))
            if found is None:
                found = found_in_child(partial(_search, change, module), WALL_SECONDS) or ""
                if out is not None:
                    with out.open("a") as file:
                        file.write(json.dumps({"name": change.name, "number": change.number, "text": change.text, "noticed": found}) + "\n")
                print(f"{found or 'SURVIVED'}: {change.name}: {change.text}", flush=True)
            tried[module] += 1
            noticed[module] += bool(found)
    for module, count in tried.items():
        print(f"{module}: {noticed[module]} of {count} changes are noticed: {100 * noticed[module] / count:.0f} %")
    return tried.total() - noticed.total()


def _search(change: Change, module: str) -> str:
    end = time.process_time() + SECONDS
    with in_place(change):
        for seed in range(SEEDS):
            try:
                simulate(seed)
            except Exception as error:
                return f"seed {seed}: {type(error).__name__}"
            if time.process_time() > end:
                break
        return _tests(MODULES[module])


def _tests(names: tuple[str, ...]) -> str:
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        failed = pytest.main([*options, *(str(TESTS / name) for name in names)]) == pytest.ExitCode.TESTS_FAILED
    return "a unit test" if failed else ""
