//! The keys of blocks in flight, in two generations.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::swap;

use super::history::History;
use crate::certifier::Seeds;

/// Number of keys whose memory a generation keeps; what a busy hour took beyond it is released.
const KEPT: usize = 4096;

/// The blocks that touched each key last.
///
/// Looking a key up only to remove it costs as much as adding it, and a large transaction has thousands. So keys are
/// removed by generation, once the generation's last block is committed. A key that is touched again moves to the
/// younger generation.
#[derive(Debug, Default)]
pub(super) struct Generations {
    young: HashMap<u64, History, Seeds>,
    old: HashMap<u64, History, Seeds>,
    /// The last block that touched a key of each generation; none where there is no such block.
    young_last: Option<u64>,
    old_last: Option<u64>,
}

impl Generations {
    /// Returns the histories of keys that `block` touches.
    pub(super) fn touched_by(&mut self, block: u64) -> Touched<'_> {
        self.young_last = Some(block);
        Touched { young: &mut self.young, old: &mut self.old }
    }

    /// Notes that every block up to `committed` has committed.
    pub(super) fn forget_up_to(&mut self, committed: u64) {
        for _ in 0..2 {
            if self.old_last.is_some_and(|last| last > committed) || (self.old.is_empty() && self.young.is_empty()) {
                return;
            }
            swap(&mut self.old, &mut self.young);
            self.old_last = self.young_last.take();
            self.young.clear();
            if self.young.capacity() > KEPT && self.young.capacity() / 4 > self.old.len() {
                self.young.shrink_to(KEPT);
            }
        }
    }

    /// Returns the number of keys held.
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

/// The keys that one block touches.
pub(super) struct Touched<'g> {
    young: &'g mut HashMap<u64, History, Seeds>,
    old: &'g mut HashMap<u64, History, Seeds>,
}

impl Touched<'_> {
    /// Returns the history of a key, which moves to the younger generation.
    #[inline]
    pub(super) fn history(&mut self, key: u64) -> &mut History {
        match self.young.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(self.old.remove(&key).unwrap_or_default()),
        }
    }
}
