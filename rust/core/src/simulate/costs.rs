//! The cost model: the time that a worker needs for a transaction.

use super::recording::Recording;

/// Times of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Nanoseconds for each transaction besides its rows.
    pub transaction_ns: u64,
    /// Nanoseconds for each row.
    pub row_ns: u64,
    /// Picoseconds for each byte.
    pub byte_ps: u64,
    /// Nanoseconds for each commit.
    pub commit_ns: u64,
    /// Nanoseconds for each DDL statement, unless the log says that it took a second or more.
    pub ddl_ns: u64,
}

impl Default for Costs {
    /// Returns the times of a server with durable commits on a disk that needs about a tenth of a millisecond for a
    /// forced write.
    fn default() -> Self {
        Self { transaction_ns: 60_000, row_ns: 15_000, byte_ps: 4_000, commit_ns: 400_000, ddl_ns: 10_000_000 }
    }
}

impl Costs {
    /// Returns the time for the rows of a transaction, or for its statement.
    pub fn rows(&self, recording: &Recording, index: usize) -> u64 {
        self.image(recording, index) + self.statement(recording, index)
    }

    /// Returns the time for the rows of a transaction without its statement.
    pub(super) fn image(&self, recording: &Recording, index: usize) -> u64 {
        u64::from(recording.rows(index)) * self.row_ns + u64::from(recording.bytes(index)) * self.byte_ps / 1000
    }

    /// Returns the time of a DDL statement; 0 for a transaction without one.
    fn statement(&self, recording: &Recording, index: usize) -> u64 {
        recording.statement_us(index).map_or(0, |micros| self.ddl_ns.max(micros * 1000))
    }

    /// Returns the time from the begin of a transaction to its commit.
    pub fn apply(&self, recording: &Recording, index: usize) -> u64 {
        self.transaction_ns + self.rows(recording, index)
    }
}

impl Recording {
    /// Returns the time beyond which a transaction is huge: a hundredth of the whole log and twenty times the mean.
    pub fn huge_from(&self, costs: &Costs) -> u64 {
        let total: u64 = (0..self.len()).map(|index| costs.apply(self, index)).sum();
        (total / 100).max(20 * total / self.len().max(1) as u64).max(1)
    }

    /// Returns true if the rows of a transaction take as long as a huge one's.
    pub(super) fn is_huge(&self, index: usize, costs: &Costs, huge_from: u64) -> bool {
        costs.transaction_ns + costs.image(self, index) >= huge_from
    }

    /// Returns the time of one worker that applies everything.
    pub fn work(&self, costs: &Costs) -> u64 {
        (0..self.len()).map(|index| costs.apply(self, index) + costs.commit_ns).sum()
    }
}
