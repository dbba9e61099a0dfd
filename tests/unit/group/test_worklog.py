"""The examples of WL#8440 through a group: what stands in the relay log of a member to which all transactions are remote."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest

from paraply import GtidSet
from paraply.group import Group, GroupOptions
from paraply.group.delivery.messages import LogEntry

NAME = "00000000-0000-0000-0000-000000000001"
VIEW = str(uuid.uuid5(uuid.UUID(NAME), "view change"))
TABLE = "test.t1"
Numbers = list[tuple[int, int]]


@pytest.fixture
def group() -> Group:
    return make_group(2)


def make_group(members: int | list[str]) -> Group:
    options = GroupOptions(name=NAME, first_remote_alone=False)
    return Group(members, options, schema=[f"create table {TABLE} (c1 bigint primary key, times bigint)"])


def write(group: Group, *keys: int, name: str = "member1") -> str | None:
    """A transaction whose write set is one hash for each key."""
    session = group.session(name)
    for key in keys:
        row = session.get(TABLE, key)
        if row is None:
            session.insert(TABLE, c1=key, times=1)
        else:
            session.update(TABLE, key, times=row["times"] + 1)
    outcome = session.commit()
    group.settle()
    assert outcome.committed
    return outcome.gtid


def ddl(group: Group, number: int, name: str = "member1") -> None:
    assert group.session(name).execute(f"create table other{number} (id bigint primary key)", "test").committed
    group.settle()


def relay(group: Group, name: str) -> list[LogEntry]:
    """Return the entries of a member's relay log after the view that it began with."""
    return [logged.entry for logged in group.disk(name).relay.read(group.member(name).relay_start)][1:]


def numbers(group: Group, name: str = "member2") -> Numbers:
    return [(entry.last_committed, entry.sequence_number) for entry in relay(group, name)]


def run(group: Group, write_sets: Sequence[Sequence[int]]) -> Numbers:
    for place, keys in enumerate(write_sets):
        if keys:
            write(group, *keys)
        else:
            ddl(group, place)
    return numbers(group)


def test_ex2_a_transaction_that_saw_the_other_passes_but_may_not_run_beside_it(group: Group) -> None:
    assert write(group, 1) == f"{NAME}:1"
    assert write(group, 1, 2) == f"{NAME}:2"
    assert numbers(group) == [(1, 2), (2, 3)]
    certification = group.member("member2").certification
    assert certification is not None
    held = certification.export().to_pylist()
    assert [row["version"] for row in held] == [str(GtidSet(f"{NAME}:1-2,{VIEW}:1"))]
    assert len(held[0]["items"]) == 2


def test_ex3_write_sets_give_the_dependency_graph(group: Group) -> None:
    history = [[1], [2], [1, 3], [4], [5], [5, 6], [7], [8]]
    assert run(group, history) == [(1, 2), (1, 3), (2, 4), (1, 5), (1, 6), (6, 7), (1, 8), (1, 9)]


def test_ex4_without_a_write_set_it_runs_alone(group: Group) -> None:
    assert run(group, [[], [1], [2], [], [1]]) == [(1, 2), (2, 3), (2, 4), (4, 5), (5, 6)]


def test_ex5_ex6_a_collection_opens_a_new_window(group: Group) -> None:
    assert run(group, [[1], [2]]) == [(1, 2), (1, 3)]
    group.exchange()
    group.settle()
    certification = group.member("member2").certification
    assert certification is not None
    versions = [row["version"] for row in certification.export().to_pylist()]
    assert versions == [str(GtidSet(f"{NAME}:1-2,{VIEW}:1"))]  # T1 is purged, T2 stays
    # EX5, the incorrect numbers, would be (1, 4) and (1, 5): T3 would run beside T1, which wrote its row.
    assert run(group, [[1], [4]])[2:] == [(3, 4), (3, 5)]


def test_ex7_a_view_change_runs_alone_and_changes_nothing(group: Group) -> None:
    run(group, [[1], [2]])
    group.join("member3")
    group.settle()
    write(group, 3)
    assert numbers(group) == [(1, 2), (1, 3), (0, 0), (1, 4)]
    assert [entry.kind for entry in relay(group, "member2")] == ["dml", "dml", "view_change", "dml"]
    # The joiner begins anew: nothing it numbers meets the view's zeros.
    assert numbers(group, "member3") == [(1, 2)]
    assert group.contents("member3") == group.contents("member1")


def test_two_origins_whose_positions_mean_nothing_are_recovered_by_gtid() -> None:
    group = make_group(["S1", "S2", "S3"])
    first, second = group.session("S1"), group.session("S2")
    first.insert(TABLE, c1=1, times=1)
    second.insert(TABLE, c1=2, times=1)
    sent = [first.send(), second.send()]
    while group.deliver("S3"):
        pass
    applier = group.appliers["S3"]
    while not applier.committed[1:]:  # the view and T1 are committed
        applier.step()
    group.restart_applier("S3")
    group.settle()
    assert all(pending is not None and pending.committed for pending in sent)
    assert [entry.server_id for entry in relay(group, "S3")] == [1, 2]
    assert [entry.gtid for entry in group.appliers["S3"].committed] == [relay(group, "S3")[1].gtid]
    assert group.contents("S3") == group.contents("S1")
