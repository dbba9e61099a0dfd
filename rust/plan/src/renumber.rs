//! New numbers for the transactions of a log, from their write sets (rule R37).

use paraply_binlog::write::restamp::Stamps;
use paraply_core::schedule::DependencyTracker;
use paraply_core::write_set::WriteSet;

/// The most workers that a MySQL replica can have (`replica_parallel_workers`).
pub const MOST_WORKERS: u64 = 1024;

/// Keys that are remembered; beyond, later transactions depend on all before.
const MOST_KEYS: usize = 4 << 20;

/// Gives each transaction of a log a `last_committed` and a `sequence_number`.
///
/// `last_committed` is the number of the newest transaction that it depends on. It is at least:
/// - the number of the last barrier,
/// - the first number since the counters started over,
/// - the own number less the number of workers. When more transactions may start than there are workers, MySQL's
///   coordinator searches for a free worker in a loop that does not sleep (`get_least_occupied_worker`). For a number it
///   sleeps. So nothing is gained by a number that is further back, and the keys of older transactions are forgotten.
#[derive(Debug)]
pub struct Renumberer {
    tracker: DependencyTracker,
    workers: u64,
    most_keys: usize,
    /// Position of the last transaction, from 1 and without gaps.
    position: u64,
    /// Position of the first transaction since the counters started over, and its number.
    start: u64,
    first_number: u64,
    /// Position up to which the keys were forgotten for lack of memory.
    forgotten: u64,
    overflows: u64,
}

impl Renumberer {
    /// Creates a renumberer for a replica of at most so many workers.
    pub fn new(workers: u64) -> Self {
        Self {
            tracker: DependencyTracker::new(),
            workers: workers.clamp(1, MOST_WORKERS),
            most_keys: MOST_KEYS,
            position: 0,
            start: 1,
            first_number: 1,
            forgotten: 0,
            overflows: 0,
        }
    }

    /// Returns the renumberer with room for other than the usual number of keys.
    #[must_use]
    pub fn with_most_keys(self, most_keys: usize) -> Self {
        Self { most_keys, ..self }
    }

    /// Returns the number of times that keys were forgotten for lack of memory.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Returns the numbers of the next transaction.
    ///
    /// `restart` is its number if the counters start over with it: an applier then waits for everything before.
    pub fn next(&mut self, set: &WriteSet, barrier: bool, restart: Option<u64>) -> Stamps {
        self.position += 1;
        let position = self.position;
        if let Some(number) = restart {
            (self.start, self.first_number) = (position, number.max(1));
        }
        let floor = self.start.max(position.saturating_sub(self.workers)).max(self.forgotten);
        self.tracker.forget_up_to(floor.min(position) - 1);
        let found = self.tracker.add(position, &set.exclusive, &set.shared, barrier);
        let newest = if found.all { position - 1 } else { found.blocks.last().copied().unwrap_or(0) };
        if self.tracker.keys_held() > self.most_keys {
            self.tracker.forget_up_to(position);
            self.forgotten = position;
            self.overflows += 1;
        }
        let sequence_number = self.number(position);
        // 0 stands for "not known": an applier waits for everything before.
        let last_committed = if position == self.start { 0 } else { self.number(newest.max(floor)) };
        Stamps { last_committed, sequence_number }
    }

    fn number(&self, position: u64) -> u64 {
        self.first_number + position.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests;
