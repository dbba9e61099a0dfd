//! The blocks that touched a key last.

use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The blocks that a later one on the same key may have to wait for; small, because a large transaction touches many keys.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The last block that took the key exclusively; blocks are numbered from 1.
    exclusive: Option<NonZeroU64>,
    /// The blocks that have shared the key since, ascending and distinct; most keys are never shared.
    #[allow(clippy::box_collection)] // the map holds many of these, nearly all of them empty
    shared: Option<Box<VecDeque<u64>>>,
}

impl History {
    /// Takes the key exclusively, and adds the blocks that `block` has to wait for: the last owner and all that shared
    /// it since.
    pub(super) fn take_exclusive(&mut self, block: u64, wait_for: &mut Vec<u64>) {
        let owner = NonZeroU64::new(block);
        if self.exclusive != owner {
            wait_for.extend(self.exclusive.map(NonZeroU64::get));
        }
        let sharers = self.shared.take();
        wait_for.extend(sharers.iter().flat_map(|sharers| sharers.iter().copied()).filter(|sharer| *sharer != block));
        self.exclusive = owner;
    }

    /// Shares the key, and adds the block that `block` has to wait for: the last owner. Committed blocks that shared
    /// the key are forgotten.
    pub(super) fn share(&mut self, block: u64, committed: Option<u64>, wait_for: &mut Vec<u64>) {
        if self.exclusive == NonZeroU64::new(block) {
            return;
        }
        wait_for.extend(self.exclusive.map(NonZeroU64::get));
        let sharers = self.shared.get_or_insert_default();
        while sharers.front().is_some_and(|sharer| Some(*sharer) <= committed) {
            sharers.pop_front();
        }
        if sharers.back() != Some(&block) {
            sharers.push_back(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_those_who_share_a_key_only_those_in_flight_are_kept() {
        let (mut history, mut wait_for) = (History::default(), Vec::new());
        for block in 1..=1000 {
            history.share(block, block.checked_sub(11), &mut wait_for);
        }
        assert_eq!(wait_for, [0_u64; 0]);
        history.take_exclusive(1001, &mut wait_for);
        assert_eq!(wait_for, (990..=1000).collect::<Vec<u64>>());
    }
}
