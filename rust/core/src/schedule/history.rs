//! Who touched a key last.

use std::collections::VecDeque;

/// The blocks that a later one on the same key may have to wait for.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The last block that took the key exclusively.
    exclusive: Option<u64>,
    /// The blocks that have shared the key since, ascending and distinct.
    shared: VecDeque<u64>,
}

impl History {
    /// Takes the key exclusively, and adds whom `block` has to wait for: the last owner and all who shared it since.
    pub(super) fn take_exclusive(&mut self, block: u64, wait_for: &mut Vec<u64>) {
        if self.exclusive != Some(block) {
            wait_for.extend(self.exclusive);
        }
        wait_for.extend(self.shared.iter().copied().filter(|sharer| *sharer != block));
        self.exclusive = Some(block);
        self.shared.clear();
    }

    /// Shares the key, and adds whom `block` has to wait for: the last owner.
    pub(super) fn share(&mut self, block: u64, wait_for: &mut Vec<u64>) {
        if self.exclusive == Some(block) {
            return;
        }
        wait_for.extend(self.exclusive);
        if self.shared.back() != Some(&block) {
            self.shared.push_back(block);
        }
    }

    /// Forgets the blocks up to `committed`; gives whether nothing is left.
    pub(super) fn forget_up_to(&mut self, committed: u64) -> bool {
        self.exclusive = self.exclusive.filter(|block| *block > committed);
        while self.shared.front().is_some_and(|block| *block <= committed) {
            self.shared.pop_front();
        }
        self.exclusive.is_none() && self.shared.is_empty()
    }
}
