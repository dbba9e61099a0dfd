from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from unit.applier.fake_database import Target
from unit.applier.fakes import Block, make
from unit.applier.harness import apply, make_applier
from unit.steps import until, until_waiting

from paraply.applier.commit.commit_order import CommitOrder
from paraply.applier.execute.retry import RetryPolicy, StormGuard
from paraply.applier.preflight.timestamp_column import check_timestamp_column
from paraply.applier.schedule.batching import MergeSize
from paraply.applier.schedule.concurrency_limit import ConcurrencyLimit
from paraply.applier.schedule.job_list import Job, JobList
from paraply.applier.schedule.policy import (
    CONSISTENCIES,
    NOTHING,
    BarrierPolicy,
    DependencyPolicy,
    LogicalClockPolicy,
    Needs,
    OptimisticPolicy,
    TablePolicy,
    allowed_combinations,
    check_combination,
    make_policy,
)
from paraply.errors import UsageError
from paraply.logs.feed import FeedLimits


def filled(jobs, most):
    """Waits until as many jobs are in the list as there is room for, or as much was heard."""
    until(lambda: len(jobs) >= most)


def jobs_of(*needs: int) -> list[Job]:
    order = CommitOrder()
    return [Job(n, need, Block(n, [make(n)]), order.register()) for n, need in enumerate(needs, 1)]


class TestJobList:
    def test_the_oldest_job_that_may_start_goes_first(self):
        jobs = JobList(2)
        for job in jobs_of(0, 1, 0, 3):
            jobs.put(job)
        slot = jobs.slot()
        assert jobs.take(slot).number == 1
        assert jobs.take(slot).number == 3
        jobs.committed(1)
        assert jobs.take(slot).number == 2
        jobs.committed(3)
        assert jobs.take(slot).number == 4

    def test_a_job_that_becomes_ready_goes_straight_to_an_idle_worker(self):
        jobs = JobList(2)
        first, second = jobs_of(0, 1)
        jobs.put(first)
        jobs.put(second)
        slot = jobs.slot()
        assert jobs.take(slot) is first
        taken = []
        idle = threading.Thread(target=lambda: taken.append(jobs.take(jobs.slot())), daemon=True)
        idle.start()
        until_waiting(idle, "take")
        assert not taken
        jobs.committed(1, returns=False)
        idle.join(5)
        assert taken == [second]

    def test_an_idle_worker_hears_what_it_waits_for_also_when_that_changes(self):
        jobs = JobList(2)
        first, second, third = jobs_of(0, 1, 2)
        heard = []
        idle = threading.Thread(target=lambda: jobs.take(jobs.slot(), heard.append), daemon=True)
        jobs.put(first)
        slot = jobs.slot()
        jobs.take(slot)
        idle.start()
        filled(heard, 1)
        jobs.put(second)
        jobs.put(third)
        assert heard == ["input", "dependency"], "first the reader, then the job that it conflicts with"
        jobs.committed(1)
        assert jobs.take(slot) is second
        jobs.committed(2)
        assert jobs.take(slot) is third
        assert heard == ["input", "dependency", "input"]
        jobs.close()
        idle.join(5)

    def test_it_is_bounded(self):
        jobs = JobList(2, factor=3)
        put = []

        def fill():
            for job in jobs_of(*[0] * 20):
                if not jobs.put(job):
                    return
                put.append(job.number)

        filler = threading.Thread(target=fill, daemon=True)
        filler.start()
        until_waiting(filler, "put_all")
        assert len(jobs) == 6
        slot = jobs.slot()
        for _ in range(4):
            jobs.take(slot)
        filled(jobs, 6)
        until_waiting(filler, "put_all")
        assert len(jobs) == 6
        jobs.abort()
        filler.join(5)
        assert not filler.is_alive()

    def test_of_several_at_once_those_are_taken_that_there_was_room_for(self):
        jobs, taken = JobList(2, factor=2), []
        filler = threading.Thread(target=lambda: taken.append(jobs.put_all(jobs_of(*[0] * 20))), daemon=True)
        filler.start()
        filled(jobs, 4)
        slot = jobs.slot()
        assert [jobs.take(slot).number for _ in range(3)] == [1, 2, 3]
        filled(jobs, 4)
        numbers = [job.number for job in jobs.stop()]
        filler.join(5)
        assert taken == [numbers[0]], "the others go back to their coordinator"
        assert jobs.put_all(jobs_of(0)) == 0

    def test_jobs_do_not_run_far_ahead_of_one_that_is_not_committed(self):
        jobs = JobList(2, ordered=False, most_ahead=8)
        put = []
        filler = threading.Thread(target=lambda: [put.append(job.number) for job in jobs_of(*[0] * 20) if jobs.put(job)], daemon=True)
        filler.start()
        slot, taken = jobs.slot(), [1]
        assert jobs.take(slot).number == 1
        while taken[-1] < 8:
            taken.append(jobs.take(slot).number)
            jobs.committed(taken[-1])
        until_waiting(filler, "put_all")
        assert put[-1] == 8
        assert len(jobs) == 0
        jobs.committed(1)
        assert jobs.take(slot).number == 9
        jobs.abort()
        filler.join(5)
        assert not filler.is_alive()

    def test_serial_mode_holds_back_everything_but_the_oldest(self):
        jobs = JobList(4)
        for job in jobs_of(0, 0, 0):
            jobs.put(job)
        jobs.set_serial(True)
        slot = jobs.slot()
        assert jobs.take(slot).number == 1
        taken = []
        idle = threading.Thread(target=lambda: taken.append(jobs.take(jobs.slot()).number), daemon=True)
        idle.start()
        until_waiting(idle, "take")
        assert not taken
        jobs.set_serial(False)
        idle.join(5)
        assert taken == [2]

    def test_with_enough_at_work_only_the_oldest_job_may_start(self):
        concurrency = ConcurrencyLimit(8, cores=2, idle=lambda: 0.5)
        jobs = JobList(8, concurrency=concurrency)
        for job in jobs_of(0, 1, 0, 0, 0):
            jobs.put(job)
        slot = jobs.slot()
        assert [jobs.take(slot).number, jobs.take(slot).number] == [1, 3], "the second job waits for the first"
        heard = []
        idle = threading.Thread(target=lambda: heard.append(jobs.take(jobs.slot(), heard.append)), daemon=True)
        idle.start()
        filled(heard, 1)
        jobs.committed(1)
        assert len(jobs) == 3, "whoever comes back takes the next job"
        assert jobs.take(slot).number == 2
        assert (len(jobs), heard) == (2, ["rest"])
        jobs.adjust_concurrency()
        idle.join(5)
        assert (concurrency.most, heard[1].number) == (4, 4)
        jobs.adjust_concurrency()
        assert concurrency.most == 4, "nothing was held back since"

    def test_who_waited_for_input_hears_that_it_rests(self):
        jobs = JobList(3, concurrency=ConcurrencyLimit(3, cores=1, idle=lambda: 0.0))
        first, second, third = jobs_of(0, 0, 0)
        heard = []
        idle = threading.Thread(target=lambda: jobs.take(jobs.slot(), heard.append), daemon=True)
        jobs.put_all([first, second])
        assert [jobs.take(jobs.slot()), jobs.take(jobs.slot())] == [first, second]
        idle.start()
        filled(heard, 1)
        jobs.put(third)
        assert heard == ["input", "rest"]
        jobs.abort()
        idle.join(5)

    def test_the_oldest_job_does_not_wait_for_a_worker(self):
        jobs = JobList(4, concurrency=ConcurrencyLimit(4, cores=2, idle=lambda: 0.0))
        for job in jobs_of(0, 1, 0, 0):
            jobs.put(job)
        slot = jobs.slot()
        assert [jobs.take(slot).number, jobs.take(slot).number] == [1, 3]
        jobs.committed(1, returns=False)
        assert jobs.take(slot).number == 2, "the third waits for its turn behind it"

    def test_a_stop_keeps_what_is_older_than_a_started_job(self):
        jobs = JobList(2)
        for job in jobs_of(0, 1, 0, 0):
            jobs.put(job)
        slot = jobs.slot()
        assert [jobs.take(slot).number, jobs.take(slot).number] == [1, 3]
        assert [job.number for job in jobs.stop()] == [4]
        assert not jobs.put(jobs_of(0)[0])
        assert jobs.drain(4) is False
        jobs.committed(1)
        assert jobs.take(slot).number == 2
        jobs.committed(3)
        assert jobs.take(slot) is None
        assert jobs.drain(3) is True


@dataclass
class Touching:
    tables: list[str]


@dataclass
class Numbered:
    id: int
    last_committed: int | None
    sequence_number: int | None
    file: str = "a"
    kind: str = "dml"
    depends_on_all: bool = False
    depends_on: list[int] = field(default_factory=list)
    offset: int = 4
    first_gtid: str | None = None
    steps: list[int] = field(default_factory=list)
    transactions: list[Touching] = field(default_factory=list)


class TestPolicies:
    def test_r21_dependency_waits_for_its_conflicts_only(self):
        policy = DependencyPolicy()
        assert policy.needs(Numbered(5, None, None, depends_on=[2, 4]), 0) == Needs(0, (2, 4))
        assert policy.needs(Numbered(6, None, None), 0) == NOTHING
        assert policy.needs(Numbered(7, None, None, depends_on=[2]), 3) == NOTHING
        assert policy.needs(Numbered(8, None, None, depends_on=[2, 7], steps=[2, 7]), 0) == Needs(2), "the others are for its worker"
        assert policy.needs(Numbered(9, None, None, depends_on=[7], steps=[0, 7]), 0) == NOTHING

    @pytest.mark.parametrize("barrier", [{"depends_on_all": True}, {"kind": "ddl"}, {"kind": "xa_prepare"}])
    @pytest.mark.parametrize("make_one", [DependencyPolicy, BarrierPolicy, OptimisticPolicy, TablePolicy])
    def test_r5_a_barrier_waits_for_all_and_holds_all(self, make_one, barrier):
        policy = make_one()
        assert policy.needs(Numbered(3, None, None, **barrier), 0) == Needs(2)
        assert policy.needs(Numbered(4, None, None), 0) == Needs(3)
        assert policy.needs(Numbered(5, None, None), 0) == Needs(3)

    def needs(self, *stamps, **more):
        policy = LogicalClockPolicy()
        return [policy.needs(Numbered(n, *stamp), 0).up_to for n, stamp in enumerate(stamps, 1)]

    def test_r21_logical_clock_starts_when_last_committed_is_reached(self):
        assert self.needs((0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (5, 6)) == [0, 1, 1, 2, 2, 5]

    def test_r21_numbers_with_gaps(self):
        assert self.needs((1, 3), (2, 7), (5, 9), (7, 11)) == [0, 0, 1, 2]

    def test_r21_a_new_file_drains_and_starts_over(self):
        assert self.needs((0, 1, "a"), (0, 2, "a"), (0, 1, "b"), (0, 2, "b"), (1, 3, "b")) == [0, 0, 2, 2, 3]

    def test_r21_a_number_that_does_not_grow_drains_and_starts_over(self):
        assert self.needs((0, 1), (0, 2), (0, 2), (0, 3)) == [0, 0, 2, 2]

    def test_r6_unstamped_runs_alone_and_starts_over(self):
        assert self.needs((0, 0), (1, 3), (1, 4), (0, 0), (1, 5)) == [0, 1, 1, 3, 4]

    def test_old_numbers_are_forgotten_without_a_difference(self):
        policy = LogicalClockPolicy()
        for n in range(1, 2001):
            assert policy.needs(Numbered(n, n - 1, n), max(0, n - 10)).up_to == n - 1
        assert len(policy._ids) < 400

    @pytest.mark.parametrize("workers", [0, 4])
    def test_r21_everything_before_a_transaction_without_numbers_is_committed(self, workers):
        log = [make(n, f"k{n}", last_committed=n - 1 if n < 12 else None, sequence_number=n if n < 12 else None) for n in range(1, 17)]
        target = Target()
        with pytest.raises(UsageError, match="logical-clock"):
            apply(log, target, policy="logical-clock", workers=workers)
        assert target.database.applied == [*range(1, 12)]

    def test_r21_a_log_without_numbers_is_refused(self):
        with pytest.raises(UsageError, match="logical-clock"):
            LogicalClockPolicy().needs(Numbered(1, None, None), 0)
        target = Target()
        with pytest.raises(UsageError, match="logical-clock"):
            apply([make(1, "a")], target, policy="logical-clock")
        assert target.plan is None

    def test_r21_barrier_stops_at_the_first_conflict_and_goes_on_behind_it(self):
        policy = BarrierPolicy()
        conflicts = [[], [], [1], [], [3], [2], []]
        needs = [policy.needs(Numbered(n, None, None, depends_on=older), 0).up_to for n, older in enumerate(conflicts, 1)]
        assert needs == [0, 0, 2, 2, 4, 4, 4], "the sixth conflicts with what the fifth has waited for"
        assert policy.needs(Numbered(8, None, None, depends_on=[7]), 7) == NOTHING, "committed already"

    def test_r21_optimistic_waits_for_no_conflict(self):
        assert OptimisticPolicy().needs(Numbered(5, None, None, depends_on=[2, 4]), 0) == NOTHING

    def test_r21_table_has_a_stream_for_each_table(self):
        policy = TablePolicy()
        tables = [["d.a"], ["d.b"], ["d.a"], ["d.a", "d.b"], ["d.b"], ["d.c"]]
        needs = [policy.needs(Numbered(n, None, None, transactions=[Touching(t)]), 0).blocks for n, t in enumerate(tables, 1)]
        assert needs == [(), (), (1,), (2, 3), (4,), ()]
        child = Numbered(7, None, None, depends_on=[2], transactions=[Touching(["d.d"])])
        assert policy.needs(child, 0).blocks == (2,), "a foreign key joins two tables"

    def test_r21_other_policies_are_refused_with_those_that_exist(self):
        with pytest.raises(UsageError, match="dependency, logical-clock"):
            make_policy("no-such")

    def test_r21_unordered_waits_for_statements_only(self):
        policy = make_policy("unordered")
        assert policy.needs(Numbered(1, None, None, depends_on=[]), 0) == NOTHING
        assert policy.needs(Numbered(2, None, None, depends_on=[1]), 0) == NOTHING
        assert policy.needs(Numbered(3, None, None, kind="ddl"), 0).up_to == 2
        assert policy.needs(Numbered(4, None, None, depends_on=[1, 2]), 0).up_to == 3
        assert policy.needs(Numbered(5, None, None, depends_on=[4]), 3) == NOTHING

    def test_r21_the_timestamp_column_is_checked_with_the_policy(self):
        check_timestamp_column("unordered", "changed_at")
        check_timestamp_column("dependency", None)
        with pytest.raises(UsageError, match="needs --timestamp-column"):
            check_timestamp_column("unordered", None)
        with pytest.raises(UsageError, match="keeps the source's order"):
            check_timestamp_column("dependency", "changed_at")


class TestCombinations:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"policy": "unordered"}, "eventual"),
            ({"policy": "table"}, "eventual"),
            ({"policy": "row"}, "eventual"),
            ({"policy": "row", "consistency": "eventual", "gtid": "preserve"}, "preserve"),
            ({"policy": "table", "consistency": "most-of-the-time"}, "eventual"),
            ({"policy": "table", "consistency": "eventual", "merge": 8}, "cannot merge"),
            ({"policy": "optimistic", "consistency": "eventual"}, "order"),
            ({"policy": "unordered", "consistency": "most-of-the-time"}, "eventual"),
            ({"consistency": "never"}, "does not exist"),
            ({"gtid": "preserve", "merge": 8}, "cannot merge"),
            ({"policy": "logical-clock", "merge": 8}, "cannot merge"),
            ({"merge": 0}, "merge"),
            ({"merge": "many"}, "merge"),
            ({"merge": True}, "merge"),
            ({"gtid": "some"}, "gtid"),
        ],
    )
    def test_r21a_refused_with_the_reason(self, change, reason):
        options = {"policy": "dependency", "consistency": "any-time", "merge": "auto", "gtid": "auto", **change}
        with pytest.raises(UsageError, match=reason):
            check_combination(**options)

    def test_r21a_what_goes_together(self):
        allowed = {(policy, level) for policy, level, _ in allowed_combinations()}
        ordered = {(policy, level) for policy in ("dependency", "logical-clock", "barrier") for level in CONSISTENCIES}
        optimistic = {("optimistic", "any-time"), ("optimistic", "most-of-the-time")}
        assert allowed == ordered | optimistic | {(policy, "eventual") for policy in ("table", "row", "unordered")}
        for policy, level, merges in allowed_combinations():
            check_combination(policy, level, 8 if merges else "off", "auto")

    def test_r21a_preserve_merges_nothing_by_itself(self):
        target = Target(merges=False)
        log = [make(n, f"k{n}") for n in range(1, 101)]
        assert apply(log, target, merge="auto").commits == 100
        with pytest.raises(UsageError, match="cannot merge"):
            apply(log, target, merge=4)

    def test_other_arguments(self):
        for bad in ({"workers": -1}, {"retries": -1}):
            with pytest.raises(UsageError):
                make_applier([], Target(), **bad)
        with pytest.raises(UsageError, match="not a GTID set"):
            apply([make(1, "a")], Target(), start_after="broken")
        for bad in ({"start_after": "u:00001"}, {"gtid": "preserve"}, {"gtid": "record"}):
            with pytest.raises(UsageError, match="carry none"):
                apply([make(1, "a", gtid=False)], Target(), **bad)


class TestSizes:
    def test_merging_follows_the_backlog(self):
        size = MergeSize("auto", 8, most=128)
        assert [size.next(backlog) for backlog in (0, 1, 15, 16, 160, 1024, 10**6)] == [1, 1, 1, 1, 10, 64, 128]
        assert MergeSize("off", 8, most=128).next(10**6) == 1
        assert MergeSize(7, 8, most=128).next(1) == 7
        assert MergeSize("auto", 0, most=128).next(10**6) == 1
        assert MergeSize(7, 8, most=128, allowed=False).next(10**6) == 1

    def test_blocks_are_left_for_the_workers_that_may_be_at_work(self):
        shares = iter([0.5, 0.5])
        concurrency = ConcurrencyLimit(8, cores=2, idle=lambda: next(shares))
        size = MergeSize("auto", 8, most=128, concurrency=concurrency)
        assert size.next(160) == 40
        concurrency.adjust(held_back=True)
        assert size.next(160) == 20
        concurrency.adjust(held_back=True)
        assert size.next(160) == 10

    @pytest.mark.parametrize(("merge", "most_merged", "commits"), [("auto", 5, 12), ("auto", 20, 3), ("auto", 100, 2), (30, 5, 2)])
    def test_the_target_says_how_many_are_merged_at_most_by_itself(self, merge, most_merged, commits):
        target = Target()
        target.most_merged = most_merged
        log = [make(number, f"k{number}") for number in range(1, 61)]
        report = apply(log, target, workers=1, merge=merge, limits=FeedLimits(batch_transactions=60))
        assert (report.transactions, report.commits) == (60, commits)

    def test_back_off_grows_and_is_capped(self):
        policy = RetryPolicy(base=0.01, cap=0.1)
        assert all(0.005 <= policy.delay(1) <= 0.01 for _ in range(100))
        assert all(0.05 <= policy.delay(10) <= 0.1 for _ in range(100))

    def test_storms_come_and_go_and_last_longer_when_they_are_back(self):
        guard = StormGuard(window=8, serial=4, longest=8)
        assert [guard.retried() for _ in range(6)] == [False] * 4 + [True, False]
        assert [guard.committed() for _ in range(4)] == [False, False, False, True]
        assert [guard.retried() for _ in range(5)][-1]
        assert [guard.committed() for _ in range(8)] == [False] * 7 + [True]
        assert guard.storms == 2
