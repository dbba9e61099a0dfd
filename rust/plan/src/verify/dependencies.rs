//! Comparison of a log's numbers with the least ones that are safe: those of scheme `fine` (rule R37).

use paraply_binlog::transaction::Transaction;
use paraply_core::schedule::DependencyTracker;
use paraply_core::verification::{Stamp, StampComparison};
use paraply_core::write_set::WriteSet;

use super::{Place, logged, place};
use crate::trace::is_barrier;

/// Computes dependencies, and compares them with each transaction's number.
///
/// An applier waits for everything before where a number is 0 (not known) or does not grow; the counters start over.
#[derive(Debug)]
pub struct DependencyVerifier {
    tracker: DependencyTracker,
    comparison: StampComparison<Place>,
    position: u64,
    /// Position of the first transaction since the counters started over.
    start: u64,
    /// Numbers of the transactions since then.
    numbers: Vec<i64>,
}

impl Default for DependencyVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl DependencyVerifier {
    /// Creates a verifier at the beginning of a log.
    pub fn new() -> Self {
        Self {
            tracker: DependencyTracker::new(),
            comparison: StampComparison::new(false),
            position: 0,
            start: 1,
            numbers: Vec::new(),
        }
    }

    /// Compares the next transactions of the log.
    pub fn observe(&mut self, transactions: &[Transaction], sets: &[WriteSet]) {
        for (transaction, set) in transactions.iter().zip(sets) {
            let barrier = is_barrier(transaction, set);
            self.compare(logged(transaction), set, barrier, transaction.committed_at, place(transaction));
        }
    }

    /// Ends the comparison.
    pub fn finish(&mut self) {
        self.comparison.finish();
    }

    /// Returns the results so far.
    pub fn comparison(&self) -> &StampComparison<Place> {
        &self.comparison
    }

    fn compare(&mut self, logged: Stamp, set: &WriteSet, barrier: bool, committed_at: Option<i64>, place: Place) {
        self.position += 1;
        let last = self.numbers.last().copied().unwrap_or(0);
        if last == 0 || logged.last_committed == 0 || logged.sequence_number <= last {
            self.start = self.position;
            self.numbers.clear();
            self.tracker.forget_up_to(self.position - 1);
        }
        let found = self.tracker.add(self.position, &set.exclusive, &set.shared, barrier);
        let newest = if found.all { self.numbers.last() } else { found.blocks.last().and_then(|at| self.number(*at)) };
        let needed = newest.copied().unwrap_or(0);
        self.numbers.push(logged.sequence_number.max(0));
        let has_numbers = logged.sequence_number >= 0 && logged.last_committed >= 0;
        let computed = Stamp {
            last_committed: if has_numbers { logged.last_committed.max(needed) } else { needed },
            sequence_number: logged.sequence_number.max(0),
        };
        self.comparison.observe(logged, computed, committed_at, place);
    }

    fn number(&self, position: u64) -> Option<&i64> {
        self.numbers.get(usize::try_from(position.checked_sub(self.start)?).ok()?)
    }
}

#[cfg(test)]
mod tests;
