"""A live group: threads, relay logs in files, databases in the embedded PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from paraply.analysis.verify import verify
from paraply.errors import MemberUnavailable, ReadOnlyMember, UsageError
from paraply.group import GroupOptions, LiveGroup, MemberState
from paraply.logs import open_log

pytestmark = pytest.mark.postgres

TABLE = "shop.item"
SCHEMA = "create table {} (id bigint primary key, price bigint, name varchar(40))"


@pytest.fixture
def group(tmp_path: Path) -> Iterator[LiveGroup]:
    with LiveGroup(3, GroupOptions(), [SCHEMA.format(TABLE)], folder=tmp_path / "group", period=0.2) as made:
        yield made


def fill(group: LiveGroup, rows: int = 20) -> None:
    session = group.session("member1")
    for key in range(rows):
        session.insert(TABLE, id=key, price=0, name=f"item {key}")
    assert session.commit().committed
    group.settle()


def work(group: LiveGroup, sessions: dict[str, int], transactions: int) -> int:
    """Sessions that all add 1 to the same few rows; gives how many did."""
    committed = []

    def body(name: str, seed: int) -> None:
        session = group.session(name)
        for number in range(transactions):
            key = (number * 7 + seed) % 20
            row = session.get(TABLE, key)
            assert row is not None
            session.update(TABLE, key, price=row["price"] + 1)
            if session.commit().committed:
                committed.append(key)

    threads = [threading.Thread(target=body, args=(name, seed)) for name, count in sessions.items() for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(committed)


def total(group: LiveGroup, name: str) -> int:
    session = group.session(name)
    rows = [session.get(TABLE, key) for key in range(20)]
    session.rollback()
    return sum(row["price"] for row in rows if row is not None)


def test_no_update_is_lost_and_the_verifier_finds_the_same_numbers(tmp_path: Path) -> None:
    # One collection, where many transactions follow: of one before the last transaction, that alone would tell, too little to infer it.
    with LiveGroup(3, GroupOptions(), [SCHEMA.format(TABLE)], folder=tmp_path / "group", period=600.0) as group:
        fill(group)
        sessions = {"member1": 2, "member2": 2}
        committed = work(group, sessions, 13)
        group.settle()
        group.exchange()
        group.settle()
        committed += work(group, sessions, 12)
        group.settle()
        assert committed > 0
        assert [total(group, name) for name in group.members] == [committed] * 3
        assert group.contents("member1") == group.contents("member2") == group.contents("member3")
        dump = tmp_path / "schema.sql"
        dump.write_text("use shop;\n" + SCHEMA.format("item") + ";\n")
        files = group.relay_files("member3")
        report = verify(files, schema=dump, infer_gc=True)
        assert report.transactions == committed + 2  # the rows' own, and the view
        assert (report.different, report.fallbacks) == (0, 0), report.first_difference
        assert len(report.gc_after) == 1


def test_ddl_reaches_all_members_in_the_order_of_transactions(group: LiveGroup) -> None:
    fill(group)
    session = group.session("member2")
    assert session.execute("create table tag (id bigint primary key, word varchar(20))", "shop").committed
    session.insert("shop.tag", id=1, word="new")
    assert session.commit().committed
    group.settle()
    other = group.session("member3")
    other.insert("shop.tag", id=2, word="x" * 21)
    with pytest.raises(UsageError, match="the database refuses the row"):
        other.commit()
    assert [group.contents(name)["shop.tag"] for name in group.members] == [["(1,new)"]] * 3
    kinds = [transaction.kind for path in group.relay_files("member1") for transaction in open_log(path)]
    assert kinds[0] == "view_change"
    assert "ddl" in kinds


def test_members_join_crash_and_come_back_while_others_write(group: LiveGroup) -> None:
    fill(group)
    done: list[int] = []
    writer = threading.Thread(target=lambda: done.append(work(group, {"member1": 2}, 60)))
    writer.start()
    group.join("member4")
    group.crash("member3")
    with pytest.raises(MemberUnavailable, match="member3 is OFFLINE"):
        group.session("member3").get(TABLE, 1)
    group.expel("member3")
    group.join("member3")
    writer.join()
    group.wait_online()
    group.settle()
    assert {member.state for member in group.members.values()} == {MemberState.ONLINE}
    contents = [group.contents(name) for name in group.members]
    assert all(held == contents[0] for held in contents)
    assert total(group, "member4") == done[0]


def test_a_single_primary_leaves_and_the_next_takes_its_place(tmp_path: Path) -> None:
    options = GroupOptions(mode="single-primary", consistency="eventual")
    with LiveGroup(2, options, [SCHEMA.format(TABLE)], folder=tmp_path / "group", period=0.2) as group:
        fill(group)
        with pytest.raises(ReadOnlyMember):
            group.session("member2").insert(TABLE, id=100)
        group.leave("member1")
        assert work(group, {"member2": 2}, 5) > 0
        group.settle()
        assert group.primary == "member2"
        assert group.members["member1"].state is MemberState.OFFLINE
