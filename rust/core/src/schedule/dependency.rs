//! Dependencies between blocks of transactions, found from their shared and exclusive keys (scheme `fine`, R13 to R15).

use std::collections::{HashMap, VecDeque};
use std::hint::black_box;

use super::history::History;
use crate::certifier::Seeds;

/// Touches looked at for each one that comes in: more than one, so that what is committed goes faster than what comes.
const FORGET_PER_TOUCH: usize = 2;
/// Keys that an idle tracker keeps room for; what a busy hour took beyond it is given back.
const KEPT_WHEN_IDLE: usize = 4096;
/// Keys from which on most of them are not in the processor's cache.
const MANY: usize = 16 * 1024;
/// And for each call besides.
const FORGET_PER_CALL: usize = 64;

/// Whom a block has to wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The blocks, ascending and distinct. Those that they in turn wait for need not be among them.
    pub blocks: Vec<u64>,
    /// Whether it has to wait for all older blocks.
    pub all: bool,
}

/// Finds out which blocks conflict, in memory that what is in flight determines.
///
/// Two blocks conflict if one takes a key exclusively that the other takes or shares, or if one is a barrier.
#[derive(Debug, Default)]
pub struct DependencyTracker {
    keys: HashMap<u64, History, Seeds>,
    /// Every touch that may still be in `keys`, oldest first: when its block is committed, its key is looked at.
    touches: VecDeque<(u64, u64)>,
    barrier: Option<u64>,
    committed: Option<u64>,
}

impl DependencyTracker {
    /// A tracker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a transaction to `block`, and gives whom the block has to wait for on its account.
    ///
    /// Blocks come in ascending order. A block made of several transactions is added by several calls one after
    /// another, and waits for what each of them gives; it never waits for itself.
    pub fn add(&mut self, block: u64, exclusive: &[u64], shared: &[u64], barrier: bool) -> Dependencies {
        let mut blocks = Vec::new();
        if barrier {
            self.raise_barrier(block);
        } else {
            blocks.extend(self.barrier.filter(|barrier| *barrier != block));
            self.load(exclusive.iter().chain(shared));
            for key in exclusive {
                self.keys.entry(*key).or_default().take_exclusive(block, &mut blocks);
            }
            for key in shared {
                self.keys.entry(*key).or_default().share(block, &mut blocks);
            }
            self.touches.extend(exclusive.iter().chain(shared).map(|key| (block, *key)));
            blocks.retain(|older| Some(*older) > self.committed);
            blocks.sort_unstable();
            blocks.dedup();
        }
        self.forget(FORGET_PER_TOUCH * (exclusive.len() + shared.len()));
        Dependencies { blocks, all: barrier }
    }

    /// Everything older is behind the barrier, and whoever waits for the barrier waits for it too.
    fn raise_barrier(&mut self, block: u64) {
        self.barrier = Some(block);
        self.keys = HashMap::default();
        self.touches = VecDeque::new();
    }

    /// Learns that every block up to `committed` has committed: nobody waits for them any more. What was kept for them
    /// is removed a few keys at a time, here and in later calls.
    pub fn forget_up_to(&mut self, committed: u64) {
        self.committed = self.committed.max(Some(committed));
        self.barrier = self.barrier.filter(|barrier| *barrier > committed);
        self.forget(FORGET_PER_CALL);
    }

    /// Loads what is known of the keys, all at once: one after the other, each would wait for memory.
    fn load<'a>(&self, keys: impl Iterator<Item = &'a u64>) {
        if self.keys.len() > MANY {
            black_box(keys.filter_map(|key| self.keys.get(key)).filter(|history| history.is_shared()).count());
        }
    }

    fn forget(&mut self, mut steps: usize) {
        let Some(committed) = self.committed else { return };
        let due = self.touches.iter().take(steps).take_while(|(block, _)| *block <= committed);
        self.load(due.map(|(_, key)| key));
        while let Some((block, key)) = self.touches.front().copied()
            && block <= committed
            && steps > 0
        {
            self.touches.pop_front();
            if self.keys.get_mut(&key).is_some_and(|history| history.forget_up_to(committed)) {
                self.keys.remove(&key);
            }
            steps -= 1;
        }
        if self.touches.is_empty() && self.keys.capacity() > KEPT_WHEN_IDLE {
            self.keys.shrink_to(KEPT_WHEN_IDLE / 2);
            self.touches.shrink_to(KEPT_WHEN_IDLE / 2);
        }
    }

    /// How many keys are kept.
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
            assert!(tracker.keys_held() <= 11 * 9 + 1, "{} keys at block {block}", tracker.keys_held());
        }
        tracker.forget_up_to(20_000);
        (0..10).for_each(|_| tracker.forget_up_to(20_000));
        assert_eq!((tracker.keys_held(), tracker.touches.len()), (0, 0));
    }

    /// One transaction: whether it begins a block of its own, its keys, and how far the others have committed.
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
            // Directly: only what conflicts. Through others: everything that conflicts and was not committed then.
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
