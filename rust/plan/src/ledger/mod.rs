//! The GTIDs whose commits were acknowledged, and the content of each session's row (rule R25).
//!
//! Every session writes a row of its own, so that sessions do not wait for each other. A row holds everything that was
//! acknowledged when its transaction began, and that transaction itself. The union of the rows is then exactly what is
//! committed: a commit is in its own session's row, and a later content of that row includes it. This holds in any
//! order of commits, and the text stays short because all but the newest commits are one interval.

mod entry;
mod gaps;
mod ranges;

use paraply_core::gtid::GtidSet;

pub use entry::Entry;
pub use gaps::{GapLedger, MOST_PIECES};
pub use ranges::{Range, Ranges};

/// Tracks the acknowledged GTIDs.
#[derive(Debug)]
pub enum Ledger {
    /// Sets whose text can hold gaps: MySQL's. Also MariaDB's where there are none.
    Sets(GtidSet),
    /// MariaDB's positions where commits leave gaps.
    Gaps(Box<GapLedger>),
}

impl Ledger {
    /// Returns the texts to write in transactions that a session commits one after the other: each includes those
    /// before it.
    ///
    /// # Arguments
    ///
    /// * `entries`: their blocks.
    /// * `slot`: the slot of the row, which is written by one session after the other; none if it is not given.
    pub fn texts(&mut self, entries: &[Entry], slot: Option<i64>) -> Vec<String> {
        match self {
            Self::Sets(executed) => {
                let mut known = executed.clone();
                let text = |entry: &Entry| {
                    entry.add_to(&mut known);
                    known.to_string()
                };
                entries.iter().map(text).collect()
            }
            Self::Gaps(ledger) => ledger.texts(entries, slot),
        }
    }

    /// Notes that blocks' commits were acknowledged.
    ///
    /// # Arguments
    ///
    /// * `entries`: the blocks.
    /// * `slot`: the slot of the row that holds them and will be written again, with the same slot given to
    ///   [`Self::texts`]; none where no row will.
    pub fn acknowledge(&mut self, entries: Vec<Entry>, slot: Option<i64>) {
        match self {
            Self::Sets(executed) => entries.iter().for_each(|entry| entry.add_to(executed)),
            Self::Gaps(ledger) => ledger.acknowledge(entries, slot),
        }
    }

    /// Returns the acknowledged GTIDs.
    pub fn executed(&self) -> &GtidSet {
        match self {
            Self::Sets(executed) => executed,
            Self::Gaps(ledger) => ledger.executed(),
        }
    }
}
