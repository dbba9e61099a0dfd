//! Dependencies between blocks of transactions, found from their shared and exclusive keys (scheme `fine`, R13 to R15).

use super::generations::Generations;

/// Older blocks that a block has to wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The blocks, ascending and distinct. Blocks that these in turn wait for need not be among them.
    pub blocks: Vec<u64>,
    /// True if the block has to wait for all older blocks.
    pub all: bool,
}

/// Finds conflicting blocks, in memory proportional to what is in flight.
///
/// Two blocks conflict if one takes a key exclusively that the other takes or shares, or if one is a barrier.
#[derive(Debug, Default)]
pub struct DependencyTracker {
    keys: Generations,
    barrier: Option<u64>,
    committed: Option<u64>,
}

impl DependencyTracker {
    /// Creates a tracker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a transaction to `block`, and returns what the block has to wait for on its account.
    ///
    /// Blocks come in ascending order. A block made of several transactions is added by several consecutive calls, and
    /// waits for what each of them returns; it never waits for itself.
    pub fn add(&mut self, block: u64, exclusive: &[u64], shared: &[u64], barrier: bool) -> Dependencies {
        let mut blocks = Vec::new();
        if barrier {
            // Everything older is before the barrier, and a block that waits for the barrier waits for it too.
            self.barrier = Some(block);
            self.keys = Generations::default();
        } else {
            blocks.extend(self.barrier.filter(|barrier| *barrier != block));
            let mut touched = self.keys.touched_by(block);
            for key in exclusive {
                touched.history(*key).take_exclusive(block, &mut blocks);
            }
            for key in shared {
                touched.history(*key).share(block, self.committed, &mut blocks);
            }
            blocks.retain(|older| Some(*older) > self.committed);
            blocks.sort_unstable();
            blocks.dedup();
        }
        Dependencies { blocks, all: barrier }
    }

    /// Forgets every block up to `committed`: nothing waits for them any more, and their keys are released.
    pub fn forget_up_to(&mut self, committed: u64) {
        self.committed = self.committed.max(Some(committed));
        self.barrier = self.barrier.filter(|barrier| *barrier > committed);
        self.keys.forget_up_to(committed);
    }

    /// Returns the number of keys held.
    pub fn keys_held(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn blocks(dependencies: &Dependencies) -> &[u64] {
        &dependencies.blocks
    }

    #[test]
    fn r15_a_parents_change_and_its_childrens_wait_but_not_two_children() {
        let mut tracker = DependencyTracker::new();
        assert_eq!(blocks(&tracker.add(1, &[7], &[], false)), [0_u64; 0]);
        assert_eq!(blocks(&tracker.add(2, &[21], &[7], false)), [1]);
        assert_eq!(blocks(&tracker.add(3, &[22], &[7], false)), [1]);
        assert_eq!(blocks(&tracker.add(4, &[7], &[], false)), [1, 2, 3]);
        assert_eq!(blocks(&tracker.add(5, &[23], &[7], false)), [4]);
    }

    #[test]
    fn a_barrier_waits_for_all_older_and_all_younger_wait_for_it() {
        let mut tracker = DependencyTracker::new();
        tracker.add(1, &[1], &[], false);
        assert_eq!(tracker.add(2, &[], &[], true), Dependencies { blocks: vec![], all: true });
        assert_eq!(blocks(&tracker.add(3, &[1], &[], false)), [2]);
        assert_eq!(blocks(&tracker.add(4, &[], &[], false)), [2]);
        tracker.forget_up_to(2);
        assert_eq!(blocks(&tracker.add(5, &[9], &[], false)), [0_u64; 0]);
    }

    #[test]
    fn a_merged_block_never_waits_for_itself() {
        let mut tracker = DependencyTracker::new();
        tracker.add(1, &[1], &[2], false);
        assert_eq!(blocks(&tracker.add(2, &[], &[1], false)), [1]);
        assert_eq!(blocks(&tracker.add(2, &[1], &[2], false)), [1]);
        assert_eq!(blocks(&tracker.add(2, &[1, 2], &[1], false)), [1]);
        assert_eq!(tracker.add(3, &[], &[], true).blocks, [0_u64; 0]);
        assert_eq!(blocks(&tracker.add(3, &[1], &[], false)), [0_u64; 0]);
    }

    #[test]
    fn memory_is_bounded_by_what_is_in_flight() {
        let mut tracker = DependencyTracker::new();
        for block in 1..=20_000_u64 {
            let keys: Vec<u64> = (0..8).map(|key| block * 8 + key).collect();
            tracker.add(block, &keys, &[0], false);
            tracker.forget_up_to(block.saturating_sub(10));
            // Two generations, neither of which has more blocks than are in flight.
            assert!(tracker.keys_held() <= 2 * 11 * 8 + 1, "{} keys at block {block}", tracker.keys_held());
        }
        tracker.forget_up_to(20_000);
        assert_eq!(tracker.keys_held(), 0);
    }

    /// One transaction: true if it begins a block of its own, its keys, and the last block that has committed.
    #[derive(Debug, Clone)]
    struct Step {
        new_block: bool,
        exclusive: Vec<u64>,
        shared: Vec<u64>,
        barrier: bool,
        commits: u64,
    }

    fn step() -> impl Strategy<Value = Step> {
        let keys = || prop::collection::vec(0_u64..6, 0..3);
        (prop::bool::weighted(0.7), keys(), keys(), prop::bool::weighted(0.05), 0_u64..3).prop_map(
            |(new_block, exclusive, shared, barrier, commits)| Step { new_block, exclusive, shared, barrier, commits },
        )
    }

    #[derive(Default)]
    struct NaiveBlock {
        exclusive: BTreeSet<u64>,
        shared: BTreeSet<u64>,
        barrier: bool,
        waits_for: BTreeSet<u64>,
        committed_then: u64,
    }

    impl NaiveBlock {
        fn conflicts(&self, other: &Self) -> bool {
            self.barrier
                || other.barrier
                || !self.exclusive.is_disjoint(&other.exclusive)
                || !self.exclusive.is_disjoint(&other.shared)
                || !self.shared.is_disjoint(&other.exclusive)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn it_orders_what_the_definition_orders(steps in prop::collection::vec(step(), 1..40)) {
            let mut tracker = DependencyTracker::new();
            let mut history: Vec<NaiveBlock> = Vec::new();
            let mut committed = 0_usize;
            for step in steps {
                if step.new_block || history.is_empty() {
                    committed = (committed + step.commits as usize).min(history.len());
                    tracker.forget_up_to(committed as u64);
                    history.push(NaiveBlock { committed_then: committed as u64, ..NaiveBlock::default() });
                }
                let block = history.len() as u64;
                let got = tracker.add(block, &step.exclusive, &step.shared, step.barrier);
                prop_assert!(got.blocks.is_sorted() && got.blocks.iter().all(|older| *older < block));
                prop_assert!(got.blocks.iter().all(|older| *older > committed as u64));
                let older = if got.all { (1..block).collect() } else { got.blocks };
                let last = history.last_mut().expect("just pushed");
                last.exclusive.extend(step.exclusive);
                last.shared.extend(step.shared);
                last.barrier |= step.barrier;
                last.waits_for.extend(older);
            }
            // Direct: only conflicts. Through other blocks: everything that conflicts and was not committed then.
            let mut reaches: Vec<BTreeSet<u64>> = Vec::new();
            for (index, block) in history.iter().enumerate() {
                let mut all = block.waits_for.clone();
                for older in &block.waits_for {
                    prop_assert!(block.conflicts(&history[*older as usize - 1]));
                    all.extend(&reaches[*older as usize - 1]);
                }
                reaches.push(all);
                let must = (1..=index as u64).filter(|older| block.conflicts(&history[*older as usize - 1]));
                let missed: Vec<u64> = must.filter(|older| !reaches[index].contains(older)).collect();
                prop_assert!(missed.iter().all(|older| *older <= block.committed_then), "{} misses {missed:?}", index + 1);
            }
        }
    }
}
