//! The keys that cause most conflicts, counted in bounded memory.

use std::collections::HashMap;

use crate::certifier::Seeds;

/// Number of keys that are counted at once; beyond it, those counted least are forgotten.
const MOST_KEYS: usize = 1 << 16;
/// Number of conflicts from which on a key's name is asked for.
const FIRST_ASKED: u32 = 2;
/// Number of names from which on a key needs more conflicts for a name.
const NAMES: u32 = 256;

/// Counts of conflicts by key, and the keys whose names are to be found.
#[derive(Debug, Default)]
pub(super) struct HotKeys {
    counts: HashMap<u64, (u32, bool), Seeds>,
    asked: u32,
}

impl HotKeys {
    /// Counts a conflict; returns true if the key's name should be found now.
    pub(super) fn count(&mut self, key: u64) -> bool {
        if self.counts.len() >= MOST_KEYS && !self.counts.contains_key(&key) {
            self.forget();
        }
        let (count, asked) = self.counts.entry(key).or_default();
        *count += 1;
        if *asked || *count < FIRST_ASKED.max(self.asked / NAMES) {
            return false;
        }
        *asked = true;
        self.asked += 1;
        true
    }

    /// Forgets the keys that were counted least, at least half of them; those with names stay.
    fn forget(&mut self) {
        let mut counts: Vec<u32> = self.counts.values().map(|(count, _)| *count).collect();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2).copied().unwrap_or_default();
        self.counts.retain(|_, (count, _)| *count > median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_asked_for_once_and_memory_is_bounded() {
        let mut hot = HotKeys::default();
        assert_eq!([hot.count(7), hot.count(7), hot.count(7)], [false, true, false]);
        for key in 0..3 * MOST_KEYS as u64 {
            hot.count(7);
            hot.count(1000 + key);
            assert!(hot.counts.len() <= MOST_KEYS);
        }
        assert!(hot.counts.contains_key(&7));
    }
}
