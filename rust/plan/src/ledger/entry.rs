//! A block whose commit is acknowledged.

use paraply_core::gtid::GtidSet;

use super::ranges::Ranges;
use crate::block::Block;

/// A block as the ledger needs it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Number of transactions before it in the log.
    pub begin: u64,
    /// Number of transactions before the next block.
    pub ordinal: u64,
    /// Its GTIDs.
    pub gtids: GtidSet,
    /// Numbers of its MariaDB GTIDs.
    pub numbers: Ranges,
}

impl Entry {
    /// Adds the GTIDs one by one: merging would read all of a set that already has many pieces.
    pub(super) fn add_to(&self, set: &mut GtidSet) {
        for (origin, first, last) in self.gtids.iter() {
            set.add_range(&origin, first, last);
        }
    }
}

impl From<&Block> for Entry {
    fn from(block: &Block) -> Self {
        Self {
            begin: block.ordinal.saturating_sub(block.len() as u64 + block.skipped),
            ordinal: block.ordinal,
            gtids: block.gtids(),
            numbers: Ranges::of(block.numbers()),
        }
    }
}
