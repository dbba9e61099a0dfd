//! Schedules of small logs.

use super::*;
use proptest::prelude::*;

const COSTS: Costs = Costs { transaction_ns: 10, row_ns: 0, byte_ps: 0, commit_ns: 5, ddl_ns: 0 };

/// Exclusive and shared keys, barrier, rows, and the number of the older transactions that its stamp needs.
#[derive(Debug, Clone)]
struct Given {
    exclusive: Vec<u64>,
    shared: Vec<u64>,
    barrier: bool,
    rows: u64,
    need: u32,
}

fn given(exclusive: &[u64], need: u32) -> Given {
    Given { exclusive: exclusive.to_vec(), shared: Vec::new(), barrier: false, rows: 1, need }
}

fn record(transactions: &[Given]) -> Recording {
    let mut recorder = Recorder::new(1000);
    for (index, given) in transactions.iter().enumerate() {
        recorder.add(&Entry {
            exclusive: &given.exclusive,
            shared: &given.shared,
            barrier: given.barrier.then_some(Cause::Ddl),
            rows: given.rows,
            stamp: Some((i64::from(given.need), index as i64 + 1)),
            session: Some(index as u64 % 3),
            ..Entry::default()
        });
    }
    recorder.finish()
}

fn time(recording: &Recording, applier: Applier, numbers: Numbers, workers: u32) -> u64 {
    simulate(recording, &Setup::new(applier, numbers, workers, COSTS)).total_ns
}

#[test]
fn r21_independent_transactions_run_at_once() {
    let recording = record(&[given(&[1], 0), given(&[2], 0), given(&[3], 0), given(&[4], 0)]);
    assert_eq!(time(&recording, Applier::MySql, Numbers::Stamped, 1), 60);
    assert_eq!(time(&recording, Applier::MySql, Numbers::Stamped, 2), 30);
    assert_eq!(time(&recording, Applier::MySql, Numbers::Stamped, 4), 15);
}

#[test]
fn r21_numbers_that_are_too_narrow_make_it_serial_but_not_the_keys() {
    let recording = record(&[given(&[1], 0), given(&[2], 1), given(&[3], 2), given(&[4], 3)]);
    assert_eq!(time(&recording, Applier::MySql, Numbers::Stamped, 4), 60);
    assert_eq!(time(&recording, Applier::MySql, Numbers::Fine, 4), 15);
    let setup = Setup::new(Applier::MySql, Numbers::Stamped, 4, COSTS);
    let (outcome, losses) = explain(&recording, &setup, 4, 3);
    assert_eq!((outcome.total_ns, losses.first().map(|loss| loss.cause)), (60, Some(Cause::NarrowNumbers)));
}

#[test]
fn a_hot_row_is_named_with_its_key_and_leaving_it_out_frees_the_workers() {
    let recording = record(&[given(&[9], 0), given(&[9], 1), given(&[9], 2), given(&[9], 3)]);
    let mut setup = Setup::new(Applier::MySql, Numbers::Stamped, 4, COSTS);
    let (_, losses) = explain(&recording, &setup, 4, 3);
    let first: Vec<_> = losses.iter().take(2).map(|loss| (loss.cause, loss.key)).collect();
    assert_eq!(first, [(Cause::HotRow, None), (Cause::HotRow, Some(KeyTag::new(9, false)))]);
    setup.without.key = Some(KeyTag::new(9, false));
    assert_eq!(simulate(&recording, &setup).total_ns, 15);
}

#[test]
fn r20_a_worker_of_the_change_stream_applier_does_not_wait_for_its_turn() {
    let slow = Given { rows: 100, ..given(&[1], 0) };
    let mut transactions = vec![slow];
    transactions.extend((2..12).map(|key| given(&[key], 0)));
    let recording = record(&transactions);
    let costs = Costs { row_ns: 10, ..COSTS };
    let time = |applier| simulate(&recording, &Setup::new(applier, Numbers::Stamped, 2, costs)).total_ns;
    assert!(time(Applier::ChangeStream) < time(Applier::MySql));
    let (_, losses) = explain(&recording, &Setup::new(Applier::MySql, Numbers::Stamped, 2, costs), 2, 3);
    assert_eq!(losses.first().map(|loss| loss.cause), Some(Cause::CommitOrder));
}

#[test]
fn r21_optimistic_transactions_on_one_row_wait_or_are_tried_again() {
    let setup = |recording: &Recording| simulate(recording, &Setup::new(Applier::MariaDb, Numbers::Stamped, 4, COSTS));
    let apart = record(&[given(&[1], 0), given(&[2], 0), given(&[3], 0), given(&[4], 0)]);
    assert_eq!((setup(&apart).total_ns, setup(&apart).retries), (15, 0));
    let same = record(&[given(&[1], 0), given(&[1], 0)]);
    assert_eq!((setup(&same).total_ns, setup(&same).retries), (25, 0));
    let slow = Given { rows: 10, ..given(&[1], 0) };
    let again = record(&[slow, given(&[1], 0)]);
    let costs = Costs { row_ns: 10, ..COSTS };
    let outcome = simulate(&again, &Setup::new(Applier::MariaDb, Numbers::Stamped, 4, costs));
    assert_eq!((outcome.total_ns, outcome.retries), (110 + 5 + 20 + 5, 1));
}

#[test]
fn r21_merged_transactions_share_a_commit_and_early_rows_do_not_wait() {
    let transactions: Vec<Given> = (0..8).map(|key| given(&[key], 0)).collect();
    let recording = record(&transactions);
    let merged = Setup { merge: 4, ..Setup::new(Applier::Paraply, Numbers::Fine, 2, COSTS) };
    let outcome = simulate(&recording, &merged);
    assert_eq!((outcome.commits, outcome.total_ns), (2, 20));
    assert_eq!(merged_span(&recording, &COSTS, 4), Span { total_ns: 15, steps: 1 });
}

#[test]
fn the_critical_path_has_its_transactions_and_keys() {
    let recording = record(&[given(&[1], 0), given(&[2], 0), given(&[1], 0), given(&[3], 0), given(&[1], 0)]);
    let (span, steps) = critical_path(&recording, &COSTS);
    assert_eq!(span, Span { total_ns: 45, steps: 3 });
    let steps: Vec<_> = steps.iter().map(|step| (step.index, step.key.is_some())).collect();
    assert_eq!(steps, [(0, false), (2, true), (4, true)]);
}

#[test]
fn r13_a_barrier_waits_for_all_and_all_wait_for_it() {
    let barrier = Given { barrier: true, ..given(&[], 2) };
    let recording = record(&[given(&[1], 0), given(&[2], 0), barrier, given(&[3], 3), given(&[4], 3)]);
    for applier in [Applier::MySql, Applier::MariaDb, Applier::Paraply] {
        let mut setup = Setup { merge: 1, ..Setup::new(applier, Numbers::Fine, 4, COSTS) };
        // paraply sends a commit when the older one is acknowledged.
        let expected = if applier == Applier::Paraply { 20 + 15 + 20 } else { 45 };
        assert_eq!(simulate(&recording, &setup).total_ns, expected, "{applier:?}");
        setup.without.causes = Causes::default().with(Cause::Ddl);
        assert!(simulate(&recording, &setup).total_ns < expected, "{applier:?}");
    }
}

#[test]
fn a_statement_takes_its_time_and_none_where_it_is_left_out() {
    let costs = Costs { ddl_ns: 100, ..COSTS };
    for applier in [Applier::MySql, Applier::MariaDb, Applier::Paraply] {
        for (micros, expected) in [(0, 100), (3, 3_000)] {
            let mut recorder = Recorder::new(1000);
            for index in 0..3 {
                let barrier = (index == 1).then_some(Cause::Ddl);
                let stamp = Some((index, index + 1));
                recorder.add(&Entry { barrier, statement_us: barrier.map(|_| micros), stamp, ..Entry::default() });
            }
            let recording = recorder.finish();
            let mut setup = Setup { merge: 1, ..Setup::new(applier, Numbers::Stamped, 1, costs) };
            assert_eq!(simulate(&recording, &setup).total_ns, 45 + expected, "{applier:?}");
            assert_eq!(
                (recording.work(&costs), critical_path(&recording, &costs).0.total_ns),
                (45 + expected, 45 + expected)
            );
            setup.without.causes = Causes::default().with(Cause::Ddl);
            assert_eq!(simulate(&recording, &setup).total_ns, 45, "{applier:?}");
        }
    }
}

fn transaction() -> impl Strategy<Value = Given> {
    let keys = || prop::collection::vec(0_u64..6, 0..3);
    (keys(), keys(), prop::bool::weighted(0.05), 0_u64..50, 0_u32..40)
        .prop_map(|(exclusive, shared, barrier, rows, need)| Given { exclusive, shared, barrier, rows, need })
}

proptest! {
    #[test]
    fn no_schedule_beats_the_critical_path_and_more_workers_never_do_harm_to_one(
        transactions in prop::collection::vec(transaction(), 1..40)
    ) {
        let recording = record(&transactions);
        let costs = Costs { row_ns: 3, ..COSTS };
        let work = recording.work(&costs);
        let (span, steps) = critical_path(&recording, &costs);
        prop_assert_eq!(steps.len() as u64, span.steps);
        prop_assert!(span.total_ns <= work);
        for workers in [1, 2, 8, 64] {
            for ordered in [true, false] {
                let setup = Setup { ordered, ..Setup::new(Applier::MySql, Numbers::Fine, workers, costs) };
                let outcome = simulate(&recording, &setup);
                prop_assert!(outcome.total_ns >= span.total_ns && outcome.total_ns <= work);
                prop_assert!(outcome.total_ns >= work / u64::from(workers));
            }
        }
        let serial = Setup { merge: 1, ..Setup::new(Applier::Paraply, Numbers::Fine, 1, costs) };
        prop_assert_eq!(simulate(&recording, &serial).total_ns, work);
        prop_assert_eq!(simulate(&recording, &Setup::new(Applier::MySql, Numbers::Stamped, 1, costs)).total_ns, work);
    }

    #[test]
    fn the_lost_time_is_divided_completely(transactions in prop::collection::vec(transaction(), 1..40)) {
        let recording = record(&transactions);
        for applier in [Applier::MySql, Applier::MariaDb] {
            let setup = Setup::new(applier, Numbers::Stamped, 4, COSTS);
            let (outcome, losses) = explain(&recording, &setup, 8, 0);
            prop_assert_eq!(outcome, simulate(&recording, &setup));
            let lost = outcome.total_ns.saturating_sub(recording.work(&COSTS) / 8) as f64 / 1e9;
            let sum: f64 = losses.iter().map(|loss| loss.seconds).sum();
            prop_assert!(losses.is_empty() || (sum - lost).abs() < 1e-9, "{} {}", sum, lost);
        }
    }
}
