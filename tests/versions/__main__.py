"""``make versions``: run all features on all pairs, print the table of versions, and write it for documentation.

What was found with the same code and script is not run again (``target/versions``).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from versions.kinds import PAIRS, Pair, pairs_of
from versions.pairs import Outcome, running_pair
from versions.results import FOLDER, Results
from versions.scripts import Feature, chosen
from versions.table import PAGE, failures, features_of, page, summary, unexpected


def main() -> int:
    """Run the command; return its exit code."""
    options = _options()
    pairs, features = pairs_of(options.pairs), chosen(options.features)
    began = time.monotonic()
    if options.jobs > 1 and len(pairs) > 1:
        problems = _run_apart(pairs, options)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers end with this process
        problems = [problem for pair in pairs if (problem := _run(pair, features_of(pair, features), options.together, options.again))]
    if options.quiet:
        return 1 if problems else 0
    found = {pair: _known(pair, features_of(pair, features)) for pair in pairs}
    bad = [line for pair, outcomes in found.items() for line in (*failures(pair, outcomes), *unexpected(pair, outcomes))]
    missing = sum(len(features_of(pair, features)) - len(found[pair]) for pair in pairs)
    print("\n".join(["", *bad, "", *summary(found), "", *problems]))
    print(f"{time.monotonic() - began:.0f} s; results in {FOLDER}")
    if options.write:
        if missing or options.pairs or options.features:
            print("the page is written from all pairs and features only", file=sys.stderr)
            return 2
        page(found, PAGE)
    return 1 if bad or missing or problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make versions", description=__doc__)
    parser.add_argument("--pairs", type=_words, default=[], help=f"only these: {', '.join(pair.name for pair in PAIRS)}, or sources")
    parser.add_argument("--features", type=_words, default=[], help="only these features or areas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="pairs at the same time")
    parser.add_argument("--together", type=int, default=12, help="features that share a log")
    parser.add_argument("--again", action="store_true", help="run what is known already, too")
    parser.add_argument("--quiet", action="store_true", help="print no table")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    return parser.parse_args()


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _known(pair: Pair, features: list[Feature]) -> dict[str, dict[str, Outcome]]:
    results = Results(pair)
    return {feature.name: outcome for feature in features if (outcome := results.of(feature)) is not None}


def _run_apart(pairs: list[Pair], options: argparse.Namespace) -> list[str]:
    """Run each pair in a process of its own, several at the same time; return what was in the way of that."""
    common = ["--features", " ".join(options.features), "--together", str(options.together), "--jobs", "1", "--quiet"]
    common += ["--again"] if options.again else []
    children: list[subprocess.Popen[bytes]] = []

    def run(pair: Pair) -> str:
        child = subprocess.Popen([sys.executable, "-m", "versions", "--pairs", pair.name, *common])
        children.append(child)
        return f"{pair.name} could not be run: see above" if child.wait() else ""

    def end(*_: object) -> None:
        for child in children:
            child.terminate()
        os._exit(1)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with ThreadPoolExecutor(options.jobs) as pool:
        return [problem for problem in pool.map(run, pairs) if problem]


def _run(pair: Pair, features: list[Feature], together: int, again: bool) -> str:
    """Run what is not known of a pair; return what was in the way of that."""
    results = Results(pair)
    by_name = {feature.name: feature for feature in features if again or results.of(feature) is None}
    if not by_name:
        return ""
    began = time.monotonic()

    def report(name: str, outcomes: dict[str, Outcome]) -> None:
        results.add(by_name[name], outcomes)
        marks = ", ".join(f"{mode} {outcome.status}" for mode, outcome in outcomes.items())
        print(f"{pair.name} {name}: {marks} ({time.monotonic() - began:.0f} s)", flush=True)

    try:
        with running_pair(pair) as running:
            running.run(list(by_name.values()), together, report)
    except (Exception, pytest.skip.Exception, pytest.fail.Exception) as error:
        traceback.print_exc()
        return f"{pair.name} could not be run: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
