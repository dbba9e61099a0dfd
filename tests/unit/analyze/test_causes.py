"""Planted causes: each is named first, and its gain is that of the same log without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.analyze.planted import HOT, PLANTED

from paraply.analysis.analyze import Analysis, AnalyzeOptions, CostModel, KeyName, LostTime, analyze

OPTIONS = AnalyzeOptions(workers=(1, 8, 32), replica_workers=8, costs=CostModel(ddl_us=500.0))
"""Options for logs of some hundred transactions, beside which the statements that make the tables are short."""

WITH_A_TWIN = sorted(set(PLANTED) - {"too_few_workers"})


def planted(folder: Path, cause: str) -> tuple[Analysis, LostTime]:
    """Return the analysis of a log with a cause, and the first cause that it names."""
    found = analyze(PLANTED[cause](folder / cause), OPTIONS)
    return found, found.explanation.causes[0]


@pytest.mark.parametrize("cause", sorted(PLANTED))
def test_a_planted_cause_is_named_first(tmp_path: Path, cause: str) -> None:
    found, first = planted(tmp_path, cause)
    assert first.cause == cause, [(other.cause, other.share) for other in found.explanation.causes]
    assert first.share > 0.5
    assert first.advice
    assert sum(other.seconds for other in found.explanation.causes) == pytest.approx(found.explanation.lost_seconds)


@pytest.mark.parametrize("cause", WITH_A_TWIN)
def test_the_gain_is_that_of_the_log_without_the_cause(tmp_path: Path, cause: str) -> None:
    found, first = planted(tmp_path, cause)
    twin = analyze(PLANTED[cause](tmp_path / "without", planted=False), OPTIONS)
    assert first.gain_seconds is not None
    without = found.explanation.seconds - first.gain_seconds
    # A huge transaction keeps its work; the twin has not even the rows.
    if cause == "huge_transaction":
        assert without < found.explanation.seconds / 3
    else:
        assert without == pytest.approx(twin.explanation.seconds, rel=0.2)


def test_a_hot_row_is_named_with_its_values(tmp_path: Path) -> None:
    _, first = planted(tmp_path, "hot_row")
    assert first.keys[0].name == KeyName("d.item", "PRIMARY", (str(HOT),))
    assert first.keys[0].gain_seconds == pytest.approx(first.gain_seconds)


def test_a_table_without_key_and_a_parent_are_named(tmp_path: Path) -> None:
    _, first = planted(tmp_path, "table_without_key")
    assert first.keys[0].name == KeyName("d.plain", "", ())
    _, first = planted(tmp_path, "foreign_key_parent")
    assert first.keys[0].name == KeyName("d.parent", "PRIMARY", ("1",))


def test_the_numbers_of_the_keys_would_make_a_narrow_log_parallel(tmp_path: Path) -> None:
    found, _ = planted(tmp_path, "narrow_numbers")
    by_name = {scheme.name: scheme.parallelism for scheme in found.schemes}
    assert by_name["stamped"] == pytest.approx(1.0, abs=0.1)
    assert by_name["fine"] > 100
    assert by_name["fine-merged"] > by_name["stamped"]
