"""``paraply analyze`` on logs of real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from required import required_module
from tests.conftest import Log

from paraply.analysis.analyze import Analysis, AnalyzeOptions, analyze

pytestmark = pytest.mark.truth

OPTIONS = AnalyzeOptions(workers=(1, 8))


def parallelism(found: Analysis) -> dict[str, float]:
    """Return the parallelism of each scheme."""
    return {scheme.name: scheme.parallelism for scheme in found.schemes}


@pytest.mark.parametrize(("name", "transactions"), [("single-session", 5495), ("eight-sessions", 13899), ("compressed", 10327)])
def test_r16_the_recomputed_numbers_of_a_source_allow_what_its_own_allow(truth: Log, name: str, transactions: int) -> None:
    found = analyze(truth(f"mysql-binlog/{name}.binlog"), OPTIONS)
    schemes = parallelism(found)
    assert (found.totals.transactions, found.fallback_reasons) == (transactions, ())
    assert schemes["writeset"] == pytest.approx(schemes["stamped"], rel=0.02)
    assert schemes["fine"] > schemes["stamped"]
    assert sum(cause.seconds for cause in found.explanation.causes) == pytest.approx(found.explanation.lost_seconds)


@pytest.mark.parametrize("name", ["group-multi-primary", "group-single-primary"])
def test_r3_the_recomputed_numbers_of_a_group_allow_at_least_what_its_own_allow(truth: Log, name: str) -> None:
    schemes = parallelism(analyze(truth(f"{name}/member3.relay"), OPTIONS))
    assert schemes["stamped"] <= schemes["group"] <= 1.1 * schemes["stamped"]


def test_r7_the_collections_of_a_group_are_found(truth: Log) -> None:
    causes = {
        name: analyze(truth(f"{name}/member3.relay"), OPTIONS).explanation.causes
        for name in ("group-multi-primary", "group-single-primary")
    }
    found = {name: "garbage_collection" in {cause.cause for cause in named} for name, named in causes.items()}
    assert found == {"group-multi-primary": False, "group-single-primary": True}


def test_a_source_without_numbers_is_explained_by_mariadbs_applier(truth: Log) -> None:
    found = analyze(truth("mariadb-binlog/plain.binlog"), OPTIONS)
    assert (found.explanation.applier, "stamped" in parallelism(found)) == ("mariadb", False)
    assert found.explanation.causes[0].keys[0].name.table.startswith("shop.")


@pytest.mark.parametrize("name", ["mariadb-binlog/plain.binlog", "group-single-primary/member3.relay"])
def test_a_report_of_a_real_log_is_small(truth: Log, name: str, tmp_path: Path) -> None:
    required_module("jinja2")
    required_module("vl_convert")
    from paraply.analysis.report import analyze_with_report

    path = tmp_path / "report.html"
    found = analyze_with_report(path, truth(name), OPTIONS)
    assert path.stat().st_size < 3_000_000
    assert f"{found.totals.transactions:,}" in path.read_text(encoding="utf-8")
