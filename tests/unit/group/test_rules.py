"""Rules of certification and of the applier, as a group follows them."""

from __future__ import annotations

import uuid

import pytest

from paraply import GtidSet
from paraply.errors import MemberUnavailable, ReadOnlyMember, UsageError
from paraply.group import FlowOptions, Group, GroupOptions, MemberState
from paraply.group.delivery.log import GROUP_CHANNEL

TABLE = "shop.item"
SCHEMA = [f"create table {TABLE} (id bigint primary key, price bigint)"]
NAME = "00000000-0000-0000-0000-000000000001"
VIEW = str(uuid.uuid5(uuid.UUID(NAME), "view change"))


def make_group(members: int = 3, **options: object) -> Group:
    group = Group(members, GroupOptions(name=NAME, first_remote_alone=False, **options), schema=SCHEMA)  # type: ignore[arg-type]
    for key in range(1, 5):
        put(group, "member1", key, 0)
    return group


def put(group: Group, name: str, key: int, price: int) -> str | None:
    session = group.session(name)
    if session.get(TABLE, key) is None:
        session.insert(TABLE, id=key, price=price)
    else:
        session.update(TABLE, key, price=price)
    outcome = session.commit()
    group.settle()
    return outcome.gtid


def relay_numbers(group: Group, name: str) -> list[tuple[int, int]]:
    entries = [logged.entry for logged in group.disk(name).relay.read(group.member(name).relay_start)]
    return [(entry.last_committed, entry.sequence_number) for entry in entries if entry.kind != "view_change"]


def test_r2_the_first_committer_wins_and_a_rejected_one_uses_up_nothing() -> None:
    group = make_group()
    first, second = group.session("member1"), group.session("member2")
    first.update(TABLE, 1, price=10)
    second.update(TABLE, 1, price=20)
    assert str(first.commit()) == "committed"
    lost = second.commit()
    assert str(lost) == "rolled back (conflict)"
    assert lost.gtid is None
    assert lost.reason is not None
    assert put(group, "member1", 2, 5) == f"{NAME}:6"
    assert relay_numbers(group, "member3")[-1] == (3, 7)


def test_r2_a_read_is_no_write_so_that_write_skew_is_possible() -> None:
    group = make_group()
    first, second = group.session("member1"), group.session("member2")
    assert first.get(TABLE, 1) == second.get(TABLE, 1)
    assert first.get(TABLE, 2) == second.get(TABLE, 2)
    first.update(TABLE, 1, price=1)
    second.update(TABLE, 2, price=1)
    assert first.commit().committed
    assert second.commit().committed


def test_r4_members_number_differently_because_their_own_transactions_use_up_none() -> None:
    group = make_group()
    put(group, "member2", 1, 7)
    put(group, "member1", 1, 8)
    assert relay_numbers(group, "member3") == [(1, 2), (1, 3), (1, 4), (1, 5), (2, 6), (6, 7)]
    assert relay_numbers(group, "member1") == [(1, 2)]
    # member2's own transaction hides the one that it followed: the next falls back to what all depend on.
    assert relay_numbers(group, "member2") == [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6)]


def test_r6_the_first_remote_transaction_of_a_member_is_alone() -> None:
    group = Group(2, GroupOptions(), schema=SCHEMA)
    put(group, "member1", 1, 0)
    put(group, "member1", 1, 1)
    assert relay_numbers(group, "member2") == [(0, 0), (2, 3)]


def test_r7_r8_the_stable_set_waits_for_every_member() -> None:
    group = make_group()
    for name in ("member1", "member2"):
        group.member(name).report()
    group.settle()
    assert not group.statistics()[0].transactions_committed_all_members
    group.member("member3").report()
    group.settle()
    assert [row.transactions_committed_all_members for row in group.statistics()] == [str(GtidSet(f"{NAME}:1-4,{VIEW}:1"))] * 3
    assert [row.count_transactions_rows_validating for row in group.statistics()] == [4, 4, 4]  # swept with what comes later


def test_r7_what_an_open_transaction_does_not_see_is_not_collected() -> None:
    group = make_group()
    session = group.session("member1")
    session.update(TABLE, 1, price=99)
    put(group, "member2", 1, 50)
    put(group, "member2", 2, 50)
    group.exchange()
    group.settle()
    assert group.statistics()[0].transactions_committed_all_members == str(GtidSet(f"{NAME}:1-4,{VIEW}:1"))
    assert not session.commit().committed


def test_r9_a_joiner_rejects_what_the_others_reject() -> None:
    group = make_group(2)
    old = group.session("member1")
    old.update(TABLE, 1, price=1)
    put(group, "member2", 1, 2)
    group.join("member3")
    group.settle()
    member = group.member("member3")
    member.decisions = []
    assert not old.commit().committed
    group.settle()
    assert [decision.committed for _, decision in member.decisions] == [False]


def test_r9_certification_info_that_was_damaged_on_its_way_is_refused() -> None:
    from dataclasses import replace

    from paraply.errors import TransferDamaged

    group = make_group(2)
    group.join("member3")
    while group.deliver("member1") or group.deliver("member3"):
        if group.member("member3").awaited is not None and group.member("member1").transfers:
            break
    chunks = next(iter(group.member("member1").transfers.values()))
    with pytest.raises(TransferDamaged, match="piece 0"):
        group.member("member3").install([replace(chunks[0], data=chunks[0].data[:-1] + b"?")])
    with pytest.raises(TransferDamaged, match="no certification info"):
        group.member("member3").install([])
    group.settle()
    assert group.member("member3").state is MemberState.ONLINE


def test_r10_gtids_come_from_blocks_and_a_view_takes_them_back() -> None:
    group = make_group(2, block_size=3)
    assert put(group, "member2", 1, 1) == f"{NAME}:7"  # member1 has used up 1-3 and begun 4-6
    assert put(group, "member1", 1, 2) == f"{NAME}:5"
    group.join("member3")
    group.settle()
    assert put(group, "member3", 1, 3) == f"{NAME}:6"


def test_r10_a_gtid_that_a_transaction_brings_is_taken_once() -> None:
    group = make_group(2)
    member = group.member("member1")
    for expected in (True, False):
        session = group.session("member1")
        session.update(TABLE, 1, price=session.get(TABLE, 1)["price"] + 1)  # type: ignore[index]
        snapshot, changes = session.snapshot, session.changes()
        write_set = member.store.definitions.write_set(changes)
        pending = member.propose(1, snapshot.executed, write_set, changes, token=0, gtid=f"{NAME}:77")
        session.rollback()
        group.settle()
        assert pending.decision is not None
        assert pending.decision.committed == expected
    assert group.contents("member2")[TABLE][1,]["price"] == 1


def test_fr1_disjoint_writes_of_different_sessions_run_at_the_same_time() -> None:
    group = make_group(2)
    sessions = [group.session("member1") for _ in range(4)]
    for key, session in enumerate(sessions, 1):
        session.update(TABLE, key, price=key)
    sent = [session.send() for session in sessions]
    while group.deliver("member1") or group.deliver("member2"):
        pass
    applier = group.appliers["member2"]
    for _ in range(4):
        applier.step()
    assert applier.most_at_once == 4
    group.settle()
    assert all(pending is not None and pending.committed for pending in sent)


@pytest.mark.parametrize("consistency", ["any-time", "most-of-the-time", "eventual"])
def test_fr2_r23_a_session_s_transactions_keep_their_order(consistency: str) -> None:
    group = make_group(2, consistency=consistency)
    session = group.session("member1")
    for key in (1, 2, 3, 4):
        session.update(TABLE, key, price=key)
        pending = session.send()
        assert pending is not None
        while not pending.committed:
            group.deliver("member1")
            group.appliers["member1"].step()
    while group.deliver("member2"):
        pass
    applier = group.appliers["member2"]
    seen = len(applier.committed)
    while steps := applier.choices():
        steps[0 if applier.most_at_once < 4 else -1]()  # all begin, then the youngest commits first, as far as it is let
    assert applier.most_at_once == 4
    assert [change.after["id"] for entry in applier.committed[seen:] for change in entry.changes if change.after] == [1, 2, 3, 4]


def test_r28_the_group_s_relay_log_cannot_be_flushed_while_it_runs() -> None:
    group = make_group(2)
    with pytest.raises(UsageError, match="cannot be flushed while the group is running"):
        group.flush_relay_log("member1", GROUP_CHANNEL)
    group.flush_relay_log("member1", "another")
    group.leave("member1")
    group.settle()
    group.flush_relay_log("member1", GROUP_CHANNEL)


@pytest.mark.parametrize("policy", ["table", "database"])
def test_types_that_go_by_database_are_refused(policy: str) -> None:
    with pytest.raises(UsageError, match=f"cannot apply by {policy}"):
        GroupOptions(policy=policy)


def test_r30_recovery_stops_behind_the_view_s_transaction() -> None:
    group = make_group(2)
    group.join("member3")
    put(group, "member1", 1, 5)  # behind the view: the joiner has it from the group, not from the donor
    applied = [entry.gtid for entry in group.appliers["member3"].committed]
    assert applied == [f"{VIEW}:1", *(f"{NAME}:{number}" for number in range(1, 5)), f"{VIEW}:2", f"{NAME}:5"]
    assert relay_numbers(group, "member3") == [(1, 2)]


def test_a_donor_that_crashes_is_replaced() -> None:
    group = make_group(3)
    group.join("member4")
    joiner = group.member("member4")
    for name in ("member1", "member2", "member3", "member4"):
        while group.deliver(name):
            pass
    group.deliver("member4")
    while joiner.state is MemberState.RECOVERING and len(group.appliers["member4"].committed) < 2:
        group.appliers["member4"].step()
    group.crash("member1")
    group.expel("member1")
    group.settle()
    assert joiner.state is MemberState.ONLINE
    assert group.contents("member4") == group.contents("member2")


def test_a_crashed_member_comes_back_with_its_database() -> None:
    group = make_group(3)
    session = group.session("member3")
    session.update(TABLE, 1, price=1)
    pending = session.send()
    group.crash("member3")
    assert pending is not None
    with pytest.raises(MemberUnavailable, match="became unavailable"):
        session.outcome(pending)
    with pytest.raises(UsageError, match="in the group already"):
        group.join("member3")
    group.expel("member3")
    group.settle()
    put(group, "member1", 2, 9)
    group.join("member3")
    group.settle()
    # What it had sent got its place before it was expelled, so the group has committed it.
    assert [group.contents(name)[TABLE][1,]["price"] for name in group.members] == [1, 1, 1]
    assert group.contents("member3") == group.contents("member1")


def test_single_primary_takes_writes_at_the_primary_only_and_elects_the_next() -> None:
    group = Group(3, GroupOptions(mode="single-primary"), schema=SCHEMA)
    assert put(group, "member1", 1, 1) is not None
    with pytest.raises(ReadOnlyMember, match="member2 is a secondary"):
        put(group, "member2", 1, 2)
    assert [row.member_role for row in group.statistics()] == ["PRIMARY", "SECONDARY", "SECONDARY"]
    group.leave("member1")
    group.settle()
    assert group.primary == "member2"
    assert put(group, "member2", 1, 2) is not None


def test_statistics_count_what_happened() -> None:
    group = make_group(2)
    first, second = group.session("member1"), group.session("member2")
    first.update(TABLE, 1, price=10)
    second.update(TABLE, 1, price=20)
    first.commit()
    second.commit()
    group.settle()
    one, two = group.statistics()
    assert (one.count_transactions_checked, two.count_transactions_checked) == (6, 6)
    assert (one.count_conflicts_detected, two.count_conflicts_detected) == (1, 1)
    assert (one.count_transactions_local_proposed, two.count_transactions_local_proposed) == (5, 1)
    assert (one.count_transactions_local_rollback, two.count_transactions_local_rollback) == (0, 1)
    assert (one.count_transactions_remote_applied, two.count_transactions_remote_applied) == (1, 6)  # the view too
    assert (one.last_conflict_free_transaction, one.member_role) == (f"{NAME}:5", "PRIMARY")


def test_flow_control_slows_writers_down_for_a_member_that_lags() -> None:
    group = make_group(2, flow=FlowOptions(applier_threshold=3))
    sessions = [group.session("member1") for _ in range(4)]
    for key, session in enumerate(sessions, 1):
        session.update(TABLE, key, price=1)
        session.send()
    for name in group.members:
        while group.deliver(name):
            pass
    group.exchange()
    for name in group.members:
        while group.deliver(name):
            pass
    flow = group.member("member1").flow
    flow.next_period()
    assert flow.quota is not None
    group.settle()
    group.exchange()
    group.settle()
    before = flow.quota
    flow.next_period()
    assert flow.quota is None or flow.quota > before
