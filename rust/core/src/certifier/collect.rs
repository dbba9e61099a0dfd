//! Garbage collection, R7 and R8.
//!
//! A collection takes effect at once, between two transactions: from then on the versions that it covers are dead. It
//! touches none of them. Code that finds a dead version treats its item as absent, and the items themselves are swept
//! out shard by shard while certification goes on.

use super::certify::{Certifier, drop_if_dead};
use super::table::SHARDS;
use crate::gtid::GtidSet;

/// Items certified for each shard swept: a sweep of a shard costs about as much as certifying its own items, a
/// thousandth of all.
const ITEMS_PER_SHARD: usize = 4096;

impl Certifier {
    /// Removes the items whose version is a strict subset of `stable`, the set that every member has executed, and
    /// opens a new window: everything certified later depends on everything certified before (R7).
    ///
    /// Returns false, and does nothing, if `stable` has not grown. Call it at its position in the order of transactions
    /// (R8).
    pub fn collect_garbage(&mut self, stable: &GtidSet) -> bool {
        if self.versions.stable().contains_set(stable) {
            return false;
        }
        self.versions.collect(stable);
        self.open_window();
        true
    }

    /// Opens a new window as a collection does, where a log shows that one ran but not its stable set.
    pub fn open_window(&mut self) {
        self.stats.collections += 1;
        if self.options.collection_burns_number {
            self.last_committed_global = self.next_number;
            self.next_number += 1;
        } else {
            self.last_committed_global = self.next_number - 1;
        }
        self.sweep.left = SHARDS;
    }

    /// Returns true if items that a collection has made dead may be left.
    pub(super) fn is_sweeping(&self) -> bool {
        self.sweep.left > 0
    }

    /// Sweeps a shard each time enough items have been certified.
    pub(super) fn sweep_on(&mut self, items: usize) {
        if self.sweep.left == 0 {
            return;
        }
        self.sweep.credit += items.max(1);
        if self.sweep.credit >= ITEMS_PER_SHARD {
            self.sweep.credit %= ITEMS_PER_SHARD;
            self.sweep_step();
        }
    }

    /// Sweeps dead items out of one shard, a thousandth of all; returns false if none is left to sweep.
    ///
    /// Certification does this by itself; call it when there is nothing to certify.
    pub fn sweep_step(&mut self) -> bool {
        if self.sweep.left == 0 {
            return false;
        }
        let window = self.window();
        let Self { table, versions, sweep, .. } = self;
        table.sweep(sweep.next, |mark| drop_if_dead(mark, versions, window, true));
        sweep.next = (sweep.next + 1) % SHARDS;
        sweep.left -= 1;
        true
    }
}
