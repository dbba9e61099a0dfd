"""All features with MariaDB 11.8 as the source."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from versions.ci_pairs import Found, check, ci_features, ci_pairs, run_all
from versions.kinds import MARIADB_11_8
from versions.scripts import Feature

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", params=ci_pairs(MARIADB_11_8), ids=lambda pair: pair.name)
def found(request: pytest.FixtureRequest) -> Iterator[Found]:
    yield from run_all(request.param, request)


@pytest.mark.parametrize("feature", ci_features(MARIADB_11_8), ids=lambda feature: feature.name)
def test_the_target_shows_what_the_source_shows(found: Found, feature: Feature) -> None:
    check(found, feature)
