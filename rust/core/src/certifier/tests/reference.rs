//! Compares the certifier with one that follows the rules literally on a plain hash map.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{gtid, set};
use crate::certifier::{Candidate, Certifier, GtidFrom, Kind, Numbers, Options, Outcome, Rejection};
use crate::gtid::GtidSet;

#[derive(Debug, Clone)]
enum Step {
    Transaction { items: Vec<u64>, executed: u64, hole: u64, local: bool, barrier: bool, snapshot: bool },
    Collect { upto: u64, hole: u64 },
    ViewChange,
    Sweep,
    Rejoin,
}

fn step() -> impl Strategy<Value = Step> {
    let items = prop::collection::vec(0_u64..12, 0..4);
    let transaction =
        (items, 0_u64..6, 0_u64..60, prop::bool::weighted(0.3), prop::bool::weighted(0.05), prop::bool::weighted(0.9));
    prop_oneof![
        20 => transaction.prop_map(|(items, executed, hole, local, barrier, snapshot)| {
            Step::Transaction { items, executed, hole, local, barrier, snapshot }
        }),
        2 => (0_u64..60, 0_u64..60).prop_map(|(upto, hole)| Step::Collect { upto, hole }),
        1 => Just(Step::ViewChange),
        2 => Just(Step::Sweep),
        1 => Just(Step::Rejoin),
    ]
}

/// Returns the numbers 1 to `upto` but for one.
fn with_hole(upto: u64, hole: u64) -> GtidSet {
    if upto == 0 {
        return GtidSet::new();
    }
    set(&format!("$:1-{upto}")).difference(&if hole == 0 { GtidSet::new() } else { set(&format!("$:{hole}")) })
}

/// A literal implementation of the rules, with nothing done for speed.
struct Plain {
    info: HashMap<u64, (Option<GtidSet>, i64)>,
    global: i64,
    next: i64,
    stable: GtidSet,
    burns: bool,
    first_pending: bool,
}

impl Plain {
    fn new(burns: bool) -> Self {
        Self { info: HashMap::new(), global: 1, next: 2, stable: GtidSet::new(), burns, first_pending: true }
    }

    fn certify(&mut self, candidate: &Candidate<'_>) -> Outcome {
        let GtidFrom::Own(own) = candidate.gtid else { panic!("every transaction here has a GTID") };
        for item in candidate.items {
            if let (Some(snapshot), Some((Some(version), _))) = (candidate.snapshot, self.info.get(item))
                && !snapshot.contains_set(version)
            {
                return Outcome::Rejected(Rejection::Conflict { item: *item });
            }
        }
        let stored = candidate.items.iter().filter_map(|item| self.info.get(item)).map(|(_, number)| *number).max();
        let number = if candidate.local { -1 } else { self.next };
        for item in candidate.items {
            let version = candidate.snapshot.map(|snapshot| snapshot.union(&[own.clone()].into_iter().collect()));
            self.info.insert(*item, (version, number));
        }
        let numbers = (!candidate.local).then(|| self.stamp(candidate, stored.unwrap_or(-1)));
        Outcome::Certified { numbers, gtid: Some(own.clone()) }
    }

    fn stamp(&mut self, candidate: &Candidate<'_>, stored: i64) -> Numbers {
        let number = self.next;
        self.next += 1;
        let mut last_committed = self.global.max(stored);
        if candidate.items.is_empty() || candidate.kind == Kind::Barrier {
            last_committed = number - 1;
            self.global = number;
        }
        if std::mem::take(&mut self.first_pending) {
            return Numbers::ALONE;
        }
        Numbers { last_committed, sequence_number: number }
    }

    fn collect(&mut self, stable: &GtidSet) -> bool {
        if self.stable.contains_set(stable) {
            return false;
        }
        self.stable = stable.clone();
        self.info
            .retain(|_, (version, _)| version.as_ref().is_none_or(|version| !stable.strictly_contains_set(version)));
        self.global = self.next - 1 + i64::from(self.burns);
        self.next += i64::from(self.burns);
        true
    }

    fn rejoin(&mut self) {
        let info = std::mem::take(&mut self.info);
        let imported = info.into_iter().filter(|(_, (version, _))| version.is_some());
        *self = Self::new(self.burns);
        self.info = imported.map(|(item, (version, _))| (item, (version, -1))).collect();
    }

    fn export(&self) -> HashMap<u64, GtidSet> {
        self.info.iter().filter_map(|(item, (version, _))| Some((*item, version.clone()?))).collect()
    }
}

fn export(certifier: &mut Certifier) -> HashMap<u64, GtidSet> {
    let versions = certifier.export().versions.into_iter();
    versions.flat_map(|(version, items)| items.into_iter().map(move |item| (item, version.clone()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn it_answers_as_the_rules_do(steps in prop::collection::vec(step(), 1..120), burns in any::<bool>(), batch in any::<bool>()) {
        let options = Options { collection_burns_number: burns, ..Options::default() };
        let mut ours = Certifier::new(options);
        let mut plain = Plain::new(burns);
        for (index, step) in steps.iter().enumerate() {
            match step {
                Step::Transaction { items, executed, hole, local, barrier, snapshot } => {
                    let own = gtid(index as u64 + 1);
                    let seen = with_hole((index as u64).saturating_sub(*executed), *hole);
                    let candidate = Candidate {
                        items,
                        snapshot: snapshot.then_some(&seen),
                        gtid: GtidFrom::Own(&own),
                        local: *local,
                        kind: if *barrier { Kind::Barrier } else { Kind::Rows },
                    };
                    let answer = if batch {
                        ours.certify_batch(&[candidate]).remove(0)
                    } else {
                        ours.certify(&candidate)
                    };
                    prop_assert_eq!(answer, plain.certify(&candidate), "at step {}", index);
                }
                Step::Collect { upto, hole } => {
                    let stable = with_hole(*upto, *hole);
                    prop_assert_eq!(ours.collect_garbage(&stable), plain.collect(&stable));
                }
                Step::ViewChange => prop_assert_eq!(ours.view_change(), Numbers::ALONE),
                Step::Sweep => (0..700).for_each(|_| { ours.sweep_step(); }),
                Step::Rejoin => {
                    ours = Certifier::import(options, &ours.export());
                    plain.rejoin();
                }
            }
            prop_assert_eq!(ours.last_committed_global(), plain.global);
            prop_assert_eq!(ours.next_number(), plain.next);
        }
        prop_assert_eq!(export(&mut ours), plain.export());
    }

    #[test]
    fn a_batch_is_certified_as_its_transactions_one_by_one(
        batch in prop::collection::vec(prop::collection::vec(0_u64..5000, 0..90), 0..60),
    ) {
        let candidates: Vec<_> = batch.iter().map(|items| Candidate { items, ..Candidate::default() }).collect();
        let mut one = Certifier::new(Options::default());
        let single: Vec<_> = candidates.iter().map(|candidate| one.certify(candidate)).collect();
        let mut certifier = Certifier::new(Options::default());
        prop_assert_eq!(certifier.certify_batch(&candidates), single);
        prop_assert_eq!(certifier.stats(), one.stats());
    }
}
