"""The numbers of real group members, recomputed: every one must be the server's."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraply.analysis.verify import verify

pytestmark = pytest.mark.truth


@pytest.mark.parametrize(("name", "transactions"), [("group-multi-primary/member3.relay", 6_856)])
def test_multi_primary_member_that_only_applies(truth, name, transactions):
    report = verify(truth(name))
    assert (report.transactions, report.different, report.fallbacks) == (transactions, 0, 0), report.first_difference
    assert report.gc_after == []


@pytest.mark.parametrize(("member", "transactions"), [(1, 3_031), (2, 3_825)])
def test_r4_members_that_write_too(truth, member, transactions):
    order = truth("group-multi-primary/member3.relay")
    report = verify(truth(f"group-multi-primary/member{member}.relay"), order=order, local_server_id=member)
    assert (report.transactions, report.different, report.fallbacks) == (transactions, 0, 0), report.first_difference


def test_r7_collections_are_found(truth):
    report = verify(truth("group-single-primary/member3.relay"), infer_gc=True)
    assert (report.transactions, report.different, report.fallbacks) == (22_578, 0, 0), report.first_difference
    assert report.gc_after == [7607, 15545]


def test_r7_without_inference_the_first_collection_is_a_difference(truth):
    report = verify(truth("group-single-primary/member3.relay"))
    assert report.different > 0
    assert report.first_difference is not None
    assert report.first_difference["logged"][0] == 7607


def test_r12_bytewise_hashing_misses_what_collations_call_equal(truth):
    report = verify(truth("group-multi-primary/member3.relay"), bytewise=True)
    assert report.different == 46


def test_demo_log_is_exact(demo_log):
    report = verify(demo_log)
    assert (report.transactions, report.different, report.fallbacks) == (6_856, 0, 0)


def test_r5_a_group_hashes_the_rows_of_xa_prepare_and_takes_only_its_end_for_a_barrier():
    report = verify(Path(__file__).parent.parent / "data" / "xa-group.relay")
    assert (report.transactions, report.different, report.fallbacks) == (21, 0, 0), report.first_difference
