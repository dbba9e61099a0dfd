"""Random histories: whatever happens, the result is what serial apply leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import Statement, Transaction, make
from unit.applier.harness import check_gaps, check_serial, make_applier, run_within

from paraply.applier.schedule.policy import allowed_combinations
from paraply.errors import ApplyFailed, PrecedingFailed

KEYS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True)
FAULTS = st.lists(st.sampled_from(["temporary", "lost", "lost-before", "lost-after", "commit-temporary"]), min_size=1, max_size=2)


@st.composite
def histories(draw: st.DrawFn) -> list[Transaction]:
    log: list[Transaction] = []
    for number in range(1, draw(st.integers(1, 60)) + 1):
        shape = draw(st.sampled_from(["dml"] * 12 + ["ddl", "empty"]))
        if shape == "ddl":
            log.append(make(number, kind="ddl", statements=[Statement(f"create table t{number} (a int primary key)".encode())]))
        elif shape == "empty":
            log.append(make(number, kind="empty"))
        else:
            gaps = draw(st.lists(st.sampled_from("xyz"), max_size=2, unique=True))
            log.append(make(number, *draw(KEYS), gaps=tuple(gaps), gaps_first=draw(st.booleans())))
        log[-1].session = draw(st.sampled_from([None, 1, 2, 3, *[number + 3] * 6]))
        log[-1].tables = [f"d.{key}" for key in log[-1].keys]
    return log


@given(
    log=histories(),
    workers=st.sampled_from([0, 1, 2, 8]),
    merge=st.sampled_from(["off", "auto", 5]),
    faults=st.dictionaries(st.integers(1, 60), FAULTS, max_size=8),
    culprit=st.none() | st.integers(1, 60),
    shows_blockers=st.booleans(),
)
def test_r17_r18_r24_any_history_ends_as_serial_apply_up_to_the_failure(log, workers, merge, faults, culprit, shows_blockers):
    target = Target(Database(lock_timeout=0.2, shows_blockers=shows_blockers))
    target.database.faults.update({number: list(kinds) for number, kinds in faults.items()})
    expected = log
    if culprit is not None and culprit <= len(log):
        target.database.always[culprit] = ApplyFailed("the culprit")
        expected = log[: culprit - 1]
    outcome = run_within(make_applier(log, target, workers=workers, merge=merge))
    check_serial(target, expected)
    if expected is log:
        assert not isinstance(outcome, BaseException), outcome
        assert outcome.transactions == len(log)
    else:
        assert isinstance(outcome, ApplyFailed)
        assert not isinstance(outcome, PrecedingFailed)
        assert outcome.gtid == log[len(expected)].gtid


@given(log=histories(), stop_at=st.integers(0, 40), workers=st.sampled_from([0, 1, 2, 8]), merge=st.sampled_from(["off", "auto"]))
def test_r25_stopped_anywhere_and_run_again(log, stop_at, workers, merge):
    target = Target(Database(lock_timeout=0.2))
    applier = make_applier(log, target, workers=workers, merge=merge)
    original = target.session

    def session():
        made = original()
        commit = made.commit

        def counted() -> None:
            commit()
            if len(target.database.applied) >= stop_at:
                applier.stop()

        made.commit = counted
        return made

    target.session = session
    run_within(applier)
    check_serial(target, log[: len(target.database.applied)])
    target.session = original
    outcome = run_within(make_applier(log, target, workers=workers, merge=merge))
    assert not isinstance(outcome, BaseException), outcome
    check_serial(target, log)


@given(data=st.data(), workers=st.sampled_from([0, 2, 8]))
def test_r21_logical_clock_follows_the_numbers_of_the_log(data, workers):
    """Numbers as a source would give them: each transaction's last_committed covers every earlier one with a key in common."""
    log = data.draw(histories())
    writers: dict[str, int] = {}
    number, file = 0, 1
    for transaction in log:
        if data.draw(st.integers(0, 14)) == 0:
            number, file = 0, file + 1
            writers.clear()
        transaction.file = f"binlog.{file:06}"
        number += data.draw(st.integers(1, 3))
        needed = max((writers.get(key, 0) for key in transaction.keys), default=number - 1)
        transaction.last_committed = needed
        transaction.sequence_number = number
        if data.draw(st.integers(0, 19)) == 0:
            transaction.last_committed = transaction.sequence_number = 0
            number = 0
            writers.clear()
            continue
        writers.update(dict.fromkeys(transaction.keys, number))
    target = Target(Database(lock_timeout=0.2))
    outcome = run_within(make_applier(log, target, workers=workers, policy="logical-clock"))
    assert not isinstance(outcome, BaseException), outcome
    check_serial(target, log)


NOT_HERE = ("logical-clock", "row", "unordered")
"""These need a log's numbers, a target that commits in two phases, and rows with times; real databases see them."""
COMBINATIONS = [combination for combination in allowed_combinations() if combination[0] not in NOT_HERE]


@given(
    log=histories(),
    combination=st.sampled_from(COMBINATIONS),
    workers=st.sampled_from([0, 1, 2, 8]),
    merge=st.sampled_from(["off", "auto", 5]),
    faults=st.dictionaries(st.integers(1, 60), FAULTS, max_size=5),
    culprit=st.none() | st.integers(1, 60),
    batch_size=st.booleans(),
)
def test_r20_r21_r23_every_policy_and_level_ends_as_serial_apply(log, combination, workers, merge, faults, culprit, batch_size):
    """With a failure, whatever is missing then is applied by the next run, each once."""
    policy, consistency, merges = combination
    options = {"policy": policy, "consistency": consistency, "workers": workers, "merge": merge if merges else "off"}
    target = Target(Database(lock_timeout=0.2), takes_batch=batch_size)
    target.database.faults.update({number: list(kinds) for number, kinds in faults.items()})
    if culprit is not None and culprit <= len(log):
        target.database.always[culprit] = ApplyFailed("the culprit")
    outcome = run_within(make_applier(log, target, **options))
    check_gaps(target, log)
    if target.database.always:
        assert isinstance(outcome, ApplyFailed)
        assert not isinstance(outcome, PrecedingFailed)
        assert outcome.gtid == log[culprit - 1].gtid
        assert set(target.database.applied) >= {t.ordinal for t in log[: culprit - 1]}
        if consistency == "any-time":
            check_serial(target, log[: culprit - 1])
        target.database.always.clear()
        outcome = run_within(make_applier(log, target, **options))
    assert not isinstance(outcome, BaseException), outcome
    check_gaps(target, log)
    assert sorted(target.database.applied) == [t.ordinal for t in log]
    if consistency == "any-time":
        check_serial(target, log)
