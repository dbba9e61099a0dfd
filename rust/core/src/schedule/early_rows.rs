//! Dependencies of the rows of one block, each row event by itself.
//!
//! The transactions of a block become one commit, so their order is not visible. The rows of a transaction that
//! conflicts with an older block need not delay the others. Rows that touch the same key keep their order: a later row
//! waits for whatever the earlier one waits for.

use std::collections::HashMap;

use crate::certifier::Seeds;

/// Newest older blocks that earlier rows of this block with the same key wait for.
#[derive(Debug, Default, Clone, Copy)]
struct Waits {
    exclusive: u64,
    shared: u64,
}

/// Tracks the rows of one block after another.
///
/// ```
/// use paraply_core::schedule::EarlyRows;
/// let mut steps = EarlyRows::default();
/// steps.begin();
/// assert_eq!(steps.add(&[(1, true)], 7), 7);
/// assert_eq!(steps.add(&[(2, true)], 0), 0);
/// assert_eq!(steps.add(&[(2, true), (1, false)], 0), 7);
/// ```
#[derive(Debug, Default)]
pub struct EarlyRows {
    /// Only keys of rows that wait for something.
    keys: HashMap<u64, Waits, Seeds>,
}

impl EarlyRows {
    /// Begins a block.
    pub fn begin(&mut self) {
        self.keys.clear();
    }

    /// Returns the block up to which everything must be committed before the rows may be applied; 0 for none.
    ///
    /// `touches` are the hashes of the rows, each true if it is taken exclusively; `older` is the newest older block
    /// that the rows conflict with, 0 for none.
    pub fn add(&mut self, touches: &[(u64, bool)], older: u64) -> u64 {
        let of = |(key, exclusive): &(u64, bool)| {
            let waits = self.keys.get(key).copied().unwrap_or_default();
            if *exclusive { waits.exclusive.max(waits.shared) } else { waits.exclusive }
        };
        let wait = touches.iter().map(of).fold(older, u64::max);
        if wait > 0 {
            for (key, exclusive) in touches {
                let waits = self.keys.entry(*key).or_default();
                let kept = if *exclusive { &mut waits.exclusive } else { &mut waits.shared };
                *kept = wait.max(*kept);
            }
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn touches() -> impl Strategy<Value = Vec<(u64, bool)>> {
        prop::collection::vec((0_u64..5, prop::bool::ANY), 0..4)
    }

    proptest! {
        #[test]
        fn r21_rows_that_conflict_keep_their_order(rows in prop::collection::vec((touches(), 0_u64..4), 1..30)) {
            let mut steps = EarlyRows::default();
            steps.begin();
            let waits: Vec<u64> = rows.iter().map(|(touches, older)| steps.add(touches, *older)).collect();
            for (later, (touches, older)) in rows.iter().enumerate() {
                let conflicts = |(one, _): &&(Vec<(u64, bool)>, u64)| {
                    one.iter().any(|(a, first)| touches.iter().any(|(b, second)| a == b && (*first || *second)))
                };
                let before = rows[..later].iter().zip(&waits).filter(|(row, _)| conflicts(row)).map(|(_, wait)| *wait);
                // No row waits for less than an earlier row that it conflicts with, nor for more than it must.
                prop_assert_eq!(waits[later], before.fold(*older, u64::max));
            }
        }
    }
}
