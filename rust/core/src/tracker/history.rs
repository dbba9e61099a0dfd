//! The transaction that last touched each item.

use std::collections::HashMap;

use crate::certifier::Seeds;

/// Differences between versions of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Greatest number of items in the history (`binlog_transaction_dependency_history_size`).
    pub history_size: u64,
    /// True if a transaction's repeated items count once against that (MySQL 5.7).
    pub repeats_count_once: bool,
}

impl Rules {
    /// Returns the rules and the default history size of a server's version.
    ///
    /// The default was 25,000 up to 9.4 and 1,000,000 in 9.5 (its release notes); 9.7 was seen with 10,000,000.
    pub fn of_version(version: (u8, u8)) -> Self {
        let history_size = match version {
            (9, 0..=4) | (0..=8, _) => 25_000,
            (9, 5..=6) => 1_000_000,
            _ => 10_000_000,
        };
        Self { history_size, repeats_count_once: version < (8, 0) }
    }
}

/// A transaction's changes, as the tracker takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Row changes; an empty transaction has none.
    Rows {
        /// The distinct hashes of its write set.
        items: &'a [u64],
        /// Number of hashes before repeats were left out.
        hashed: u64,
        /// True if one of its tables has no key: commit order is stamped.
        missing_keys: bool,
    },
    /// A change of a foreign key's parent, DDL, and everything else that has no write set: commit order is stamped, and
    /// the history is cleared.
    Untracked,
}

/// Reason why the history starts over after a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Restart {
    /// The history has no space for its items.
    Overflow,
    /// The transaction is not tracked by its items.
    Untracked,
}

/// Number at the start: after a rotation the first transaction of the new file is the parent of all.
const START: i64 = 1;

/// The history of items.
#[derive(Debug, Clone)]
pub struct Tracker {
    rules: Rules,
    start: i64,
    last: HashMap<u64, i64, Seeds>,
    restart: Option<Restart>,
}

impl Tracker {
    /// Creates a tracker at the beginning of a log file.
    pub fn new(rules: Rules) -> Self {
        Self { rules, start: START, last: HashMap::default(), restart: None }
    }

    /// Begins a new log file, with an empty history.
    pub fn rotate(&mut self) {
        self.restart(START);
    }

    /// Returns the newest transaction that this one depends on by its items; none where commit order decides.
    pub fn observe(&mut self, number: i64, change: &Change<'_>) -> Option<i64> {
        self.restart = None;
        let Change::Rows { items, hashed, missing_keys } = *change else {
            self.restart_for(Restart::Untracked, number);
            return None;
        };
        // The server counts while it collects, and then drops the whole set.
        if hashed > self.rules.history_size {
            self.restart_for(Restart::Overflow, number);
            return None;
        }
        let counted = if self.rules.repeats_count_once { items.len() as u64 } else { hashed };
        let overflows = self.last.len() as u64 + counted > self.rules.history_size;
        let parent = items.iter().filter_map(|item| self.last.get(item)).fold(self.start, |a, b| a.max(*b));
        if overflows {
            self.restart_for(Restart::Overflow, number);
        } else {
            self.last.extend(items.iter().map(|item| (*item, number)));
        }
        (!missing_keys).then_some(parent)
    }

    /// Returns the reason if the last transaction made the history start over.
    pub fn last_restart(&self) -> Option<Restart> {
        self.restart
    }

    fn restart_for(&mut self, reason: Restart, number: i64) {
        self.restart = Some(reason);
        self.restart(number);
    }

    fn restart(&mut self, number: i64) {
        self.start = number;
        self.last.clear();
    }
}
