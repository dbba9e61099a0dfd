//! A log written again with new numbers (rule R37).

use paraply_binlog::transaction::Transaction;
use paraply_binlog::write::restamp::Stamps;
use paraply_binlog::write::rewrite::{Copied, RewriteError, Rewriter};
use paraply_core::write_set::WriteSet;

use crate::renumber::Renumberer;
use crate::trace::is_barrier;

/// Largest number that a log's own numbers are followed from; a larger one is damage, and the new ones begin with 1.
const LARGEST_FIRST: u64 = 1 << 48;

/// Reason why a log is not stamped.
#[derive(Debug, thiserror::Error)]
pub enum StampError {
    /// The log cannot be read, or the new one not be written.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// A `MariaDB` server wrote the transaction; index of its file, and its offset.
    #[error("a log of MariaDB carries no such numbers")]
    MariaDb(u32, u64),
}

/// Transactions that were stamped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub transactions: u64,
    /// Transactions that got other numbers than they had.
    pub changed: u64,
    /// Transactions that wait for all before, while all after wait for them.
    pub barriers: u64,
    /// Transactions that may start while the one before them is applied, by the log's own numbers.
    pub parallel_before: u64,
    /// The same, by the new numbers.
    pub parallel_after: u64,
}

/// Gives new numbers to the transactions of a log, and counts them.
#[derive(Debug)]
pub struct Numberer {
    renumberer: Renumberer,
    counts: Counts,
}

impl Numberer {
    /// Creates a numberer for a replica of at most so many workers.
    pub fn new(workers: u64) -> Self {
        Self { renumberer: Renumberer::new(workers), counts: Counts::default() }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the number of times that keys were forgotten for lack of memory.
    pub fn overflows(&self) -> u64 {
        self.renumberer.overflows()
    }

    /// Returns the numbers of the next transaction.
    ///
    /// With `restarts` the counters start over with it, at `first` or the number that it has in the log.
    pub fn next(&mut self, transaction: &Transaction, set: &WriteSet, restarts: bool, first: Option<u64>) -> Stamps {
        let logged = (transaction.last_committed.unwrap_or(0), transaction.sequence_number.unwrap_or(0));
        let first = first.or_else(|| u64::try_from(logged.1).ok()).filter(|first| (1..LARGEST_FIRST).contains(first));
        let barrier = is_barrier(transaction, set);
        let stamps = self.renumberer.next(set, barrier, restarts.then_some(first.unwrap_or(1)));
        self.counts.transactions += 1;
        self.counts.barriers += u64::from(barrier);
        self.counts.changed += u64::from(logged != (stamps.last_committed as i64, stamps.sequence_number as i64));
        self.counts.parallel_before += u64::from(logged.0 > 0 && logged.0 < logged.1.saturating_sub(1));
        self.counts.parallel_after += u64::from(is_parallel(stamps));
        stamps
    }
}

/// Writes logs again, a batch at a time.
pub struct Stamper {
    rewriter: Rewriter,
    numberer: Numberer,
    file: Option<u32>,
}

impl Stamper {
    /// Creates a stamper for these files, in order, and a replica of at most so many workers.
    pub fn new(files: impl IntoIterator<Item = Copied>, workers: u64) -> Self {
        Self { rewriter: Rewriter::new(files), numberer: Numberer::new(workers), file: None }
    }

    /// Writes the next transactions, and everything before them.
    pub fn write(&mut self, transactions: &[Transaction], sets: &[WriteSet]) -> Result<(), StampError> {
        transactions.iter().zip(sets).try_for_each(|(transaction, set)| self.write_one(transaction, set))
    }

    /// Writes the rest of the files. None is durable before.
    pub fn finish(&mut self) -> Result<(), StampError> {
        Ok(self.rewriter.finish()?)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.numberer.counts()
    }

    /// Returns the bytes written.
    pub fn written(&self) -> u64 {
        self.rewriter.written()
    }

    /// Returns the number of times that keys were forgotten for lack of memory.
    pub fn overflows(&self) -> u64 {
        self.numberer.overflows()
    }

    fn write_one(&mut self, transaction: &Transaction, set: &WriteSet) -> Result<(), StampError> {
        if transaction.format.mariadb {
            return Err(StampError::MariaDb(transaction.file, transaction.offset));
        }
        let logged = self.rewriter.advance(transaction.file, transaction.offset)?;
        // A source's numbers start over in each file, which begins after a rotate event that appliers follow. Those of a
        // relay log go on from one file to the next: an applier refuses a number that does not grow.
        let restarts = self.file.is_none() || (self.file != Some(transaction.file) && !logged.relay_log);
        self.file = Some(transaction.file);
        let stamps = self.numberer.next(transaction, set, restarts, None);
        self.rewriter.write_gtid(stamps)?;
        Ok(())
    }
}

fn is_parallel(stamps: Stamps) -> bool {
    stamps.last_committed > 0 && stamps.last_committed + 1 < stamps.sequence_number
}
