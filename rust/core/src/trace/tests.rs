use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::certifier::{Candidate, Certifier, Kind, Numbers, Options, Outcome};

/// A transaction of a generated trace.
#[derive(Debug, Clone)]
struct Step {
    role: Role,
    exclusive: Vec<u64>,
    shared: Vec<u64>,
    session: Option<u64>,
}

fn touches(step: &Step) -> Touches<'_> {
    Touches { exclusive: &step.exclusive, shared: &step.shared, session: step.session }
}

/// A plain implementation of the rules in one process.
#[derive(Default)]
struct Naive {
    keys: HashMap<u64, (i64, i64)>,
    last_number: i64,
    floor: i64,
}

impl Naive {
    fn number(&mut self, step: &Step, collections: &[i64]) -> Option<Numbers> {
        match step.role {
            Role::ViewChange => return Some(Numbers::ALONE),
            Role::Local => {
                self.keys.extend(step.exclusive.iter().map(|key| (*key, (0, 0))));
                return None;
            }
            Role::Rows | Role::Barrier => {}
        }
        if collections.contains(&self.last_number) {
            self.floor = self.last_number;
        }
        self.last_number += 1;
        let own = self.last_number;
        let mut newest = self.floor;
        for key in step.exclusive.iter().chain(&step.session) {
            let (exclusive, shared) = self.keys.get(key).copied().unwrap_or_default();
            newest = [exclusive, shared].into_iter().filter(|number| *number != own).fold(newest, i64::max);
            self.keys.insert(*key, (own, 0));
        }
        for key in &step.shared {
            let last = self.keys.entry(*key).or_default();
            if last.0 != own {
                newest = newest.max(last.0);
                last.1 = own;
            }
        }
        let barrier = step.role == Role::Barrier || (step.exclusive.is_empty() && step.shared.is_empty());
        if barrier {
            (newest, self.floor) = (own - 1, own);
        }
        Some(if own == 2 { Numbers::ALONE } else { Numbers { last_committed: newest, sequence_number: own } })
    }
}

fn naive(steps: &[Step], collections: &[i64]) -> Vec<Option<Numbers>> {
    let mut naive = Naive { last_number: 1, floor: 1, ..Naive::default() };
    steps.iter().map(|step| naive.number(step, collections)).collect()
}

/// Cuts the trace into chunks of these lengths (the last takes the rest), and resolves it as several processes would.
fn chunked(steps: &[Step], lengths: &[usize], parts: usize, collections: &[i64]) -> Vec<Option<Numbers>> {
    let mut chunks: Vec<ChunkReport> = Vec::new();
    let mut rest: Vec<(usize, &Step)> = steps.iter().enumerate().collect();
    let mut lengths = lengths.iter();
    while !rest.is_empty() {
        let length = lengths.next().copied().unwrap_or(rest.len()).clamp(1, rest.len());
        let mut resolver = ChunkResolver::new(parts, false);
        for (index, step) in rest.drain(..length) {
            resolver.add(index as i64 * 3, step.role, touches(step)).expect("ascending");
        }
        chunks.push(resolver.finish());
    }
    let mut keys: Vec<KeyResolver> = (0..parts).map(|_| KeyResolver::new()).collect();
    let mut out = Vec::new();
    for chunk in &chunks {
        let answers = keys.iter_mut().zip(&chunk.edges).map(|(keys, edges)| keys.add(chunk.header, edges));
        let answers: Vec<KeyAnswer> = answers.collect::<Result<_, _>>().expect("good reports");
        number_rows(&chunk.rows, &answers, collections, &mut out).expect("good rows");
    }
    assert!(out.iter().enumerate().all(|(index, row)| row.position == index as i64 * 3));
    out.into_iter().map(|row| row.numbers).collect()
}

fn alone(steps: &[Step], collections: &[i64]) -> Vec<Option<Numbers>> {
    let mut resolver = ChunkResolver::new(0, false);
    for (index, step) in steps.iter().enumerate() {
        resolver.add(index as i64, step.role, touches(step)).expect("ascending");
    }
    let mut out = Vec::new();
    number_rows(&resolver.finish().rows, &[], collections, &mut out).expect("good rows");
    out.into_iter().map(|row| row.numbers).collect()
}

fn step(shared: usize) -> impl Strategy<Value = Step> {
    let keys = |most: usize| prop::collection::vec(0_u64..8, 0..=most);
    let role = prop_oneof![
        16 => Just(Role::Rows),
        1 => Just(Role::Barrier),
        3 => Just(Role::Local),
        1 => Just(Role::ViewChange)
    ];
    (role, keys(4), keys(shared), prop::option::weighted(0.3, 100_u64..103))
        .prop_map(|(role, exclusive, shared, session)| Step { role, exclusive, shared, session })
}

fn rows(exclusive: &[u64], shared: &[u64]) -> Step {
    Step { role: Role::Rows, exclusive: exclusive.to_vec(), shared: shared.to_vec(), session: None }
}

fn last_committed(numbers: &[Option<Numbers>]) -> Vec<i64> {
    numbers.iter().map(|numbers| numbers.map_or(-1, |numbers| numbers.last_committed)).collect()
}

#[test]
fn r15_sharers_of_a_key_depend_on_its_owner_and_the_next_owner_on_them() {
    let steps = [rows(&[9], &[]), rows(&[7], &[]), rows(&[21], &[7]), rows(&[22], &[7]), rows(&[7], &[])];
    assert_eq!(last_committed(&alone(&steps, &[])), [0, 1, 3, 3, 5]);
    assert_eq!(last_committed(&chunked(&steps, &[1, 1, 1, 1], 3, &[])), [0, 1, 3, 3, 5]);
}

#[test]
fn r5_touches_behind_a_barrier_are_not_reported() {
    let mut resolver = ChunkResolver::new(1, false);
    for (index, step) in [rows(&[1], &[]), rows(&[], &[]), rows(&[2], &[])].iter().enumerate() {
        resolver.add(index as i64, step.role, touches(step)).expect("ascending");
    }
    let report = resolver.finish();
    assert_eq!(report.header, ChunkHeader { first: 0, last: 2, numbers: 3, barrier: 2 });
    let (heads, tails) = wire::read_edges(&report.edges[0]).expect("a good report");
    assert_eq!(heads.map(|head| head.key).collect::<Vec<_>>(), [1]);
    assert_eq!(tails.map(|tail| tail.key).collect::<Vec<_>>(), [2]);
}

#[test]
fn positions_that_do_not_ascend_are_refused() {
    let mut resolver = ChunkResolver::new(0, false);
    resolver.add(5, Role::Rows, Touches::default()).expect("the first one");
    assert_eq!(resolver.add(5, Role::Rows, Touches::default()), Err(OrderError::Order { position: 5, before: 5 }));
    let mut keys = KeyResolver::new();
    let header = ChunkHeader { first: 1, last: 9, numbers: 9, barrier: 0 };
    keys.add(header, &wire::write_edges(&[], &[])).expect("the first chunk");
    let overlapping = ChunkHeader { first: 9, last: 12, ..header };
    assert!(matches!(keys.add(overlapping, &[]), Err(KeyError::Overlap { first: 9, last: 12, before: 9 })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn one_chunk_gives_what_the_certifier_gives(steps in prop::collection::vec(step(0), 0..60)) {
        let mut certifier = Certifier::new(Options::default());
        let expected: Vec<Option<Numbers>> = steps.iter().map(|step| {
            if step.role == Role::ViewChange {
                return Some(certifier.view_change());
            }
            let kind = if step.role == Role::Barrier { Kind::Barrier } else { Kind::Rows };
            let local = step.role == Role::Local;
            match certifier.certify(&Candidate { items: &step.exclusive, local, kind, ..Candidate::default() }) {
                Outcome::Certified { numbers, .. } => numbers,
                Outcome::Rejected(_) => None,
            }
        }).collect();
        let steps: Vec<Step> = steps.into_iter().map(|step| Step { session: None, ..step }).collect();
        prop_assert_eq!(alone(&steps, &[]), expected);
    }

    #[test]
    fn chunks_give_what_one_process_gives(
        steps in prop::collection::vec(step(3), 0..60),
        lengths in prop::collection::vec(1_usize..12, 0..20),
        parts in 1_usize..5,
        collections in prop::collection::btree_set(0_i64..60, 0..3),
    ) {
        let collections: Vec<i64> = collections.into_iter().collect();
        let expected = naive(&steps, &collections);
        prop_assert_eq!(&alone(&steps, &collections), &expected);
        prop_assert_eq!(chunked(&steps, &lengths, parts, &collections), expected);
    }

    #[test]
    fn damaged_reports_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let header = ChunkHeader { first: 1, last: 2, numbers: 2, barrier: 0 };
        let _ = KeyResolver::new().add(header, &bytes);
        let answer = KeyAnswer { base: 1, floor: 1, crossings: bytes.clone() };
        let _ = number_rows(&bytes, &[answer], &[], &mut Vec::new());
    }
}
