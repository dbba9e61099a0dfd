use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
struct Step {
    key: u64,
    shares: bool,
    barrier: bool,
    back: i64,
}

fn step() -> impl Strategy<Value = Step> {
    (0_u64..5, any::<bool>(), prop::bool::weighted(0.1), 1_i64..12).prop_map(|(key, shares, barrier, back)| Step {
        key,
        shares,
        barrier,
        back,
    })
}

fn conflict(one: &Step, other: &Step) -> bool {
    one.barrier || other.barrier || (one.key == other.key && !(one.shares && other.shares))
}

fn set(step: &Step) -> WriteSet {
    let (exclusive, shared) = if step.shares { (vec![], vec![step.key]) } else { (vec![step.key], vec![]) };
    WriteSet { exclusive, shared, ..WriteSet::default() }
}

fn compare(stamps: &[(i64, i64)], steps: &[Step]) -> Vec<u64> {
    let mut verifier = DependencyVerifier::new();
    for (index, (step, &(last_committed, sequence_number))) in steps.iter().zip(stamps).enumerate() {
        let place = Place { gtid: None, file: 0, offset: index as u64 };
        verifier.compare(Stamp { last_committed, sequence_number }, &set(step), step.barrier, None, place);
    }
    verifier.finish();
    verifier.comparison().differences().iter().map(|difference| difference.place.offset).collect()
}

proptest! {
    #[test]
    fn r37_it_finds_every_number_that_is_too_low_and_no_other(steps in prop::collection::vec(step(), 1..40)) {
        let stamps: Vec<(i64, i64)> =
            steps.iter().zip(1..).map(|(step, number)| ((number - step.back).max(i64::from(number > 1)), number)).collect();
        let too_low = |index: usize| {
            (0..index).any(|older| conflict(&steps[older], &steps[index]) && stamps[older].1 > stamps[index].0)
        };
        let expected: Vec<u64> = (1..steps.len()).filter(|&index| too_low(index)).map(|index| index as u64).collect();
        prop_assert_eq!(compare(&stamps, &steps), expected);
    }
}

fn writer() -> Step {
    Step { key: 1, shares: false, barrier: false, back: 1 }
}

#[test]
fn r37_an_applier_waits_for_everything_where_numbers_are_not_known_or_start_over() {
    let steps = vec![writer(); 4];
    assert_eq!(compare(&[(0, 1), (1, 2), (1, 3), (3, 4)], &steps), [2]);
    assert_eq!(compare(&[(0, 1), (1, 2), (0, 3), (3, 4)], &steps), [0_u64; 0], "not known");
    assert_eq!(compare(&[(0, 500), (500, 501), (0, 0), (1, 3)], &steps), [0_u64; 0], "a member that was started anew");
    assert_eq!(compare(&[(0, 500), (500, 501), (0, 1), (1, 2)], &steps), [0_u64; 0], "the source's next file");
    assert_eq!(compare(&[(0, 7), (7, 8), (7, 20), (8, 21)], &steps), [2, 3], "gaps do not count");
}

#[test]
fn a_log_without_numbers_differs() {
    assert_eq!(compare(&[(-1, -1), (-1, -1)], &[writer(), writer()]), [0, 1]);
}
