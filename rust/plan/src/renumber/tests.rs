use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
struct Step {
    exclusive: Vec<u64>,
    shared: Vec<u64>,
    barrier: bool,
    restart: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec(0_u64..8, 0..3);
    (keys(), keys(), prop::bool::weighted(0.05), prop::bool::weighted(0.05))
        .prop_map(|(exclusive, shared, barrier, restart)| Step { exclusive, shared, barrier, restart })
}

fn conflict(one: &Step, other: &Step) -> bool {
    let meets = |some: &[u64], others: &[u64]| some.iter().any(|key| others.contains(key));
    one.barrier
        || other.barrier
        || meets(&one.exclusive, &other.exclusive)
        || meets(&one.exclusive, &other.shared)
        || meets(&one.shared, &other.exclusive)
}

fn set(step: &Step) -> WriteSet {
    WriteSet { exclusive: step.exclusive.clone(), shared: step.shared.clone(), ..WriteSet::default() }
}

fn numbered(renumberer: &mut Renumberer, steps: &[Step], first: u64) -> Vec<Stamps> {
    let next = |(index, step): (usize, &Step)| {
        renumberer.next(&set(step), step.barrier, (index == 0 || step.restart).then_some(first))
    };
    steps.iter().enumerate().map(next).collect()
}

/// Returns the index of the first transaction since the counters started over.
fn start_of(steps: &[Step], index: usize) -> usize {
    (1..=index).rev().find(|&at| steps[at].restart).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn r37_no_number_is_below_that_of_a_transaction_on_which_its_own_depends(
        steps in prop::collection::vec(step(), 1..60), workers in 1_u64..70, most_keys in 1_usize..20, first in 1_u64..1000,
    ) {
        let mut renumberer = Renumberer::new(workers).with_most_keys(most_keys);
        let stamps = numbered(&mut renumberer, &steps, first);
        for (index, stamp) in stamps.iter().enumerate() {
            let start = start_of(&steps, index);
            prop_assert_eq!(stamp.sequence_number, first + (index - start) as u64);
            if index == start {
                prop_assert_eq!(stamp.last_committed, 0);
                continue;
            }
            prop_assert!(stamp.last_committed >= first && stamp.last_committed < stamp.sequence_number);
            prop_assert!(stamp.last_committed + workers >= stamp.sequence_number);
            for older in start..index {
                let needed = !conflict(&steps[older], &steps[index]) || stamps[older].sequence_number <= stamp.last_committed;
                prop_assert!(needed, "{index} does not wait for {older}: {stamps:?}");
            }
        }
    }

    #[test]
    fn r37_numbers_are_the_least_that_are_safe(steps in prop::collection::vec(step(), 1..60), workers in 1_u64..70) {
        let mut renumberer = Renumberer::new(workers);
        let stamps = numbered(&mut renumberer, &steps, 1);
        prop_assert_eq!(renumberer.overflows(), 0);
        for (index, stamp) in stamps.iter().enumerate() {
            let start = start_of(&steps, index);
            if index == start {
                continue;
            }
            let needed = (start..index).rev().find(|&older| conflict(&steps[older], &steps[index]));
            let needed = needed.map_or(0, |older| stamps[older].sequence_number);
            let least = needed.max(1).max(stamp.sequence_number.saturating_sub(workers));
            prop_assert_eq!(stamp.last_committed, least);
        }
    }
}

#[test]
fn r37_keys_are_forgotten_beyond_the_workers() {
    let mut renumberer = Renumberer::new(4);
    for position in 0..10_000_u64 {
        let set = WriteSet { exclusive: vec![2 * position, 2 * position + 1], ..WriteSet::default() };
        let stamps = renumberer.next(&set, false, (position == 0).then_some(1));
        assert_eq!(stamps.last_committed, if position == 0 { 0 } else { position.saturating_sub(3).max(1) });
        assert!(renumberer.tracker.keys_held() <= 30, "{} keys", renumberer.tracker.keys_held());
    }
}

#[test]
fn r37_after_too_many_keys_everything_waits_for_the_transaction_that_had_them() {
    let mut renumberer = Renumberer::new(MOST_WORKERS).with_most_keys(100);
    let one = |key: u64| WriteSet { exclusive: vec![key], ..WriteSet::default() };
    renumberer.next(&one(1), false, Some(1));
    renumberer.next(&one(2), false, None);
    renumberer.next(&WriteSet { exclusive: (10..500).collect(), ..WriteSet::default() }, false, None);
    assert_eq!(renumberer.overflows(), 1);
    assert_eq!(renumberer.next(&one(7), false, None), Stamps { last_committed: 3, sequence_number: 4 });
    assert_eq!(renumberer.next(&one(8), false, None), Stamps { last_committed: 3, sequence_number: 5 });
}

#[test]
fn r37_one_worker_gets_the_numbers_of_a_serial_log() {
    let mut renumberer = Renumberer::new(1);
    for number in 1..50 {
        let stamps = renumberer.next(&WriteSet::default(), false, (number == 1).then_some(1));
        assert_eq!(stamps, Stamps { last_committed: number - 1, sequence_number: number });
    }
}
