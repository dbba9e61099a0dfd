//! GTIDs for a group's members (R10).

use std::collections::BTreeMap;

use crate::gtid::{Gtid, GtidSet, Intervals, MYSQL_MAX_NUMBER, Origin};

/// Assigns the group's GTIDs. Each member gets numbers from a block of its own, so that the numbers of one member's
/// transactions are consecutive and gaps stay few.
#[derive(Debug, Clone)]
pub struct GtidBlocks {
    origin: Origin,
    size: u64,
    /// Unused part of each member's block: next and last number.
    blocks: BTreeMap<u64, (u64, u64)>,
    /// Every number that is or was in a block.
    reserved: Intervals,
}

impl GtidBlocks {
    /// Creates blocks of `size` numbers (at least 1) of `origin`, the group's UUID.
    pub fn new(origin: Origin, size: u64) -> Self {
        Self { origin, size: size.max(1), blocks: BTreeMap::new(), reserved: Intervals::default() }
    }

    /// Returns the next GTID of `member` that is not in `known`; None if the numbers are used up.
    pub fn assign(&mut self, member: u64, known: &GtidSet) -> Option<Gtid> {
        let nothing = Intervals::default();
        let taken = known.intervals(&self.origin).unwrap_or(&nothing);
        loop {
            let (next, last) = match self.blocks.get(&member) {
                Some(block) if block.0 <= block.1 => *block,
                _ => self.reserve(taken)?,
            };
            let number = taken.first_gap(next, last).map_or(last + 1, |gap| gap.0);
            self.blocks.insert(member, (number + 1, last));
            if number <= last {
                return Some(Gtid { origin: self.origin.clone(), number });
            }
        }
    }

    /// Reserves the first run of free numbers, at most one block of them.
    fn reserve(&mut self, taken: &Intervals) -> Option<(u64, u64)> {
        let (first, last) = taken.union(&self.reserved).first_gap(1, MYSQL_MAX_NUMBER)?;
        let last = last.min(first.saturating_add(self.size - 1));
        self.reserved.add_range(first, last);
        Some((first, last))
    }

    /// Releases the numbers that the members have not used, as on a view change. They are assigned again, lowest first.
    pub fn release(&mut self) {
        self.blocks.clear();
        self.reserved = Intervals::default();
    }
}
