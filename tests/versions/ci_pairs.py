"""Helpers of the tests of the pairs of continuous integration: each day one pair of each source, in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rotation import day_of_run
from versions.kinds import Pair, Version, ci_pair
from versions.pairs import Outcome, running_pair
from versions.scripts import Feature, all_features

__all__ = ["Found", "check", "ci_features", "ci_pairs", "run_all"]

#: Features that share a log.
TOGETHER = 50
Found = tuple[Pair, dict[str, dict[str, Outcome]]]


def ci_pairs(source: Version) -> list[Pair]:
    """Return the pairs of a source that run today."""
    return [ci_pair(source, day_of_run())]


def ci_features(source: Version) -> list[Feature]:
    """Return the features that a source can run."""
    return [feature for feature in all_features() if feature.runs_on(source)]


def run_all(pair: Pair, request: pytest.FixtureRequest) -> Iterator[Found]:
    """Run the features of a pair that are asked for.

    Those that the target takes share a few logs. Those that it refuses run from files only, to save time.
    """
    chosen = {item.name.partition("[")[2].removesuffix("]") for item in request.session.items if item.path == request.path}
    features = [feature for feature in ci_features(pair.source) if f"{pair.name}-{feature.name}" in chosen]
    with running_pair(pair) as running:
        yield pair, running.run(features, TOGETHER, modes_of_refused=("offline",))


def check(found: Found, feature: Feature) -> None:
    """Fail unless a feature came out the same, or was refused for the reason that it names."""
    pair, outcomes = found
    expected = feature.refusals(pair.source, pair.target)
    for mode, outcome in outcomes[feature.name].items():
        if expected:
            problem = f"{mode}: expected a refusal ({' or '.join(expected)}), got {outcome}"
            assert outcome.status == "refused", problem
            assert outcome.kind in expected, problem
        elif outcome.status != "same":
            pytest.fail(f"{mode}: {outcome.status}: {outcome.text}")
