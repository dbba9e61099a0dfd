//! Who touched a key last.

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
    /// Takes the key exclusively, and adds whom `block` has to wait for: the last owner and all who shared it since.
    pub(super) fn take_exclusive(&mut self, block: u64, wait_for: &mut Vec<u64>) {
        let owner = NonZeroU64::new(block);
        if self.exclusive != owner {
            wait_for.extend(self.exclusive.map(NonZeroU64::get));
        }
        let sharers = self.shared.take();
        wait_for.extend(sharers.iter().flat_map(|sharers| sharers.iter().copied()).filter(|sharer| *sharer != block));
        self.exclusive = owner;
    }

    /// Shares the key, and adds whom `block` has to wait for: the last owner.
    pub(super) fn share(&mut self, block: u64, wait_for: &mut Vec<u64>) {
        if self.exclusive == NonZeroU64::new(block) {
            return;
        }
        wait_for.extend(self.exclusive.map(NonZeroU64::get));
        let sharers = self.shared.get_or_insert_default();
        if sharers.back() != Some(&block) {
            sharers.push_back(block);
        }
    }

    /// Whether it is shared.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Forgets the blocks up to `committed`; gives whether nothing is left.
    pub(super) fn forget_up_to(&mut self, committed: u64) -> bool {
        self.exclusive = self.exclusive.filter(|block| block.get() > committed);
        if let Some(sharers) = &mut self.shared {
            while sharers.front().is_some_and(|block| *block <= committed) {
                sharers.pop_front();
            }
            if sharers.is_empty() {
                self.shared = None;
            }
        }
        self.exclusive.is_none() && self.shared.is_none()
    }
}
