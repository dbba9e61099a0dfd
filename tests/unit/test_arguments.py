"""Arguments of the library that a user would try first: URLs, paths, GTID sets."""

from __future__ import annotations

import pydoc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paraply
from paraply import Applier, GtidSet, Selection, open_log
from paraply.errors import UsageError

LOG = Path(__file__).parents[2] / "rust" / "binlog" / "tests" / "data" / "mysql-9.7.000001"
SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize("url", ["mysql://app@127.0.0.1:1", "mariadb://app@127.0.0.1:1", "postgresql://app@127.0.0.1:1/db"])
def test_an_applier_takes_a_url_and_the_path_of_a_dump(tmp_path: Path, url: str) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text("USE d; CREATE TABLE t (id INT PRIMARY KEY);")
    for schema in (str(dump), dump):
        with Applier([LOG], url, schema=schema, start_after=GtidSet(f"{SERVER}:1-2")) as applier:
            assert applier.counters().transactions == 0


def test_an_argument_of_another_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not int"):
        Applier([LOG], 7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"oracle://"):
        Applier([LOG], "oracle://localhost")
    with pytest.raises(UsageError, match=r"missing\.sql"):
        Applier([LOG], "mysql://app@127.0.0.1:1", schema=tmp_path / "missing.sql")


@given(st.sets(st.integers(1, 40), min_size=1))
def test_a_set_gives_each_of_its_gtids_once_and_in_order(numbers: set[int]) -> None:
    held = GtidSet()
    for number in numbers:
        held.add(f"{SERVER}:{number}")
    gtids = list(held)
    assert gtids == [f"{SERVER}:{number}" for number in sorted(numbers)]
    assert len(gtids) == len(held)
    assert all(gtid in held for gtid in gtids)


def test_a_set_of_tags_and_domains_can_be_iterated() -> None:
    text = f"{SERVER}:1:fix:7-8"
    assert list(GtidSet(text)) == [f"{SERVER}:1", f"{SERVER}:fix:7", f"{SERVER}:fix:8"]
    assert list(GtidSet("0-1-2,5-3-1")) == ["0-1-1", "0-1-2", "5-3-1"]
    assert list(GtidSet()) == []


def test_a_huge_set_is_iterated_one_by_one() -> None:
    gtids = iter(GtidSet(f"{SERVER}:1-9000000000000000000"))
    assert [next(gtids), next(gtids)] == [f"{SERVER}:1", f"{SERVER}:2"]


def test_transactions_are_chosen_by_their_gtids() -> None:
    every = [found.gtid for found in open_log(LOG)]
    chosen = GtidSet(every[1] or "")
    assert [found.gtid for found in open_log(LOG, gtids=chosen)] == [every[1]]
    assert [found.gtid for found in open_log(LOG, gtids=str(chosen))] == [every[1]]
    assert list(open_log(LOG, gtids=f"{SERVER}:1")) == []
    with pytest.raises(UsageError):
        list(open_log(LOG, gtids="nonsense"))
    assert Selection(gtids=list(chosen)) is not None


def test_a_commit_time_is_a_time() -> None:
    for found in open_log(LOG):
        assert found.committed_us is not None
        assert found.committed_at == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.committed_us)


@pytest.mark.parametrize("name", ["GtidSet", "Transaction", "Certifier", "Selection"])
def test_help_says_something(name: str) -> None:
    text = pydoc.plain(pydoc.render_doc(getattr(paraply, name)))
    assert "Args:" in text or "Commit time" in text
