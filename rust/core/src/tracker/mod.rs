//! The source-side tracker (rule R16): the numbers that a server stamps into its own binary log from write sets.
//!
//! A [`Tracker`] keeps the transaction that last touched each item. [`CommitOrder`] keeps what a log still shows of the
//! order of commits. A transaction starts its commit after those of its own session are committed, so the newest of
//! them is the lower bound of its commit-order parent, and the one right before it in the log is the upper bound. Where
//! both are the same, the parent is exact.
//!
//! Seen on MySQL 9.7: every hash counts against the history's size, repeats included (an update of a row with one key
//! counts two); a transaction with more hashes than the whole history has none at all for the tracker; an empty
//! transaction has a write set without items; a table without a key adds no items and leaves the history as it is;
//! being some foreign key's parent matters only for a table that has a key; XA PREPARE is tracked like other changes,
//! XA COMMIT and CREATE TABLE ... SELECT like DDL.

mod bounds;
mod commit_order;
mod history;

pub use bounds::Bounds;
pub use commit_order::{CommitOrder, Sessions};
pub use history::{Change, Restart, Rules, Tracker};

/// Tracking mode of a server (`binlog_transaction_dependency_tracking`; from MySQL 8.4 on always write sets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Commit order alone.
    CommitOrder,
    /// Write sets, never later than commit order.
    #[default]
    WriteSet,
    /// Write sets, but never before the session's own last transaction.
    WriteSetSession,
}

/// The tracker and the commit order together: the bounds of every transaction of a binary log.
#[derive(Debug, Clone)]
pub struct Source {
    mode: Mode,
    tracker: Tracker,
    commit_order: CommitOrder,
}

impl Source {
    /// Creates the state of a source at the beginning of a log file.
    pub fn new(mode: Mode, rules: Rules, sessions: Sessions) -> Self {
        Self { mode, tracker: Tracker::new(rules), commit_order: CommitOrder::new(sessions) }
    }

    /// Begins a new log file: numbers and history start over.
    pub fn rotate(&mut self) {
        self.tracker.rotate();
        self.commit_order.rotate();
    }

    /// Returns the reason if the last transaction made the history start over.
    pub fn last_restart(&self) -> Option<Restart> {
        self.tracker.last_restart()
    }

    /// Returns the bounds of the transaction with this number. `session` is given only if the log's own server ran it.
    pub fn observe(&mut self, number: i64, session: Option<u32>, change: &Change<'_>) -> Bounds {
        let last_of_session = self.commit_order.last_of(session);
        let commit_order = self.commit_order.observe(number, session);
        if self.mode == Mode::CommitOrder {
            return commit_order;
        }
        let bounds = match self.tracker.observe(number, change) {
            Some(parent) => commit_order.lowered(parent),
            None => commit_order,
        };
        if self.mode == Mode::WriteSetSession { bounds.raised(last_of_session) } else { bounds }
    }
}

#[cfg(test)]
mod tests;
