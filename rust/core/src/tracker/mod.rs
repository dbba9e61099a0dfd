//! The source-side tracker (rule R16): the numbers that a server stamps into its own binary log from write sets.
//!
//! A [`Tracker`] keeps which transaction last touched each item. [`CommitOrder`] keeps what a log still shows of the order in which
//! transactions committed: a transaction starts its commit after those of its own session are through, so the newest of them is the least
//! that its commit-order parent can be, and the one right before it in the log is the most. Where both are the same, the parent is exact.
//!
//! Seen on MySQL 9.7: what counts against the history's size is every hash, repeats included (an update of a row with one key counts two);
//! a transaction with more hashes than the whole history has none at all for the tracker; an empty transaction has a write set without
//! items; a table without a key adds no items and leaves the history as it is; being some foreign key's parent matters only for a table
//! that has a key; XA PREPARE is tracked like other changes, XA COMMIT and CREATE TABLE ... SELECT like DDL.

mod commit_order;
mod history;

pub use commit_order::{CommitOrder, Sessions};
pub use history::{Change, Rules, Tracker};

/// Whose numbers a server writes (`binlog_transaction_dependency_tracking`; from MySQL 8.4 on always write sets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Commit order alone.
    CommitOrder,
    /// Write sets, never later than commit order.
    #[default]
    WriteSet,
    /// The same, but never before the session's own last transaction.
    WriteSetSession,
}

/// The least and the most that a transaction's `last_committed` can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub least: i64,
    /// The most.
    pub most: i64,
}

impl Bounds {
    /// Whether there is only one possible number.
    pub fn exact(self) -> bool {
        self.least == self.most
    }

    /// The possible number nearest to this one.
    pub fn nearest(self, number: i64) -> i64 {
        number.min(self.most).max(self.least)
    }

    /// What write sets make of a commit-order parent within these bounds.
    fn lowered(self, parent: i64) -> Self {
        Self { least: self.least.min(parent), most: self.most.min(parent) }
    }

    /// Not before this number.
    fn raised(self, number: i64) -> Self {
        Self { least: self.least.max(number), most: self.most.max(number) }
    }
}

/// Both together: the bounds of every transaction of a binary log.
#[derive(Debug, Clone)]
pub struct Source {
    mode: Mode,
    tracker: Tracker,
    commit_order: CommitOrder,
}

impl Source {
    /// A source at the beginning of a log file.
    pub fn new(mode: Mode, rules: Rules, sessions: Sessions) -> Self {
        Self { mode, tracker: Tracker::new(rules), commit_order: CommitOrder::new(sessions) }
    }

    /// The source went on with a new log file: numbers and history start over.
    pub fn rotate(&mut self) {
        self.tracker.rotate();
        self.commit_order.rotate();
    }

    /// What the transaction with this number may be stamped with; `session` only where the log's own server ran it.
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
