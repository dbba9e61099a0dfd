//! Which transaction last touched each item.

use std::collections::HashMap;

/// What a version of the server does differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How many items the history holds (`binlog_transaction_dependency_history_size`).
    pub history_size: u64,
    /// Whether a transaction's repeated items count once against that (MySQL 5.7).
    pub repeats_count_once: bool,
}

impl Rules {
    /// The rules and the default history size of a server's version.
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

/// What a transaction is to the tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Row changes; an empty transaction has none.
    Rows {
        /// The distinct hashes of its write set.
        items: &'a [u64],
        /// How many there were before repeats were left out.
        hashed: u64,
        /// Whether some of its tables has no key: commit order is stamped.
        missing_keys: bool,
    },
    /// A change of a foreign key's parent, DDL, and everything else that has no write set: commit order is stamped, and what was
    /// known is forgotten.
    Untracked,
}

/// After a rotation the first transaction of the new file is everybody's parent.
const START: i64 = 1;

/// The history of items.
#[derive(Debug, Clone)]
pub struct Tracker {
    rules: Rules,
    start: i64,
    last: HashMap<u64, i64>,
}

impl Tracker {
    /// A tracker at the beginning of a log file.
    pub fn new(rules: Rules) -> Self {
        Self { rules, start: START, last: HashMap::new() }
    }

    /// A new log file: nothing is known of what went before.
    pub fn rotate(&mut self) {
        self.restart(START);
    }

    /// The newest transaction that this one depends on by its items; none where commit order decides.
    pub fn observe(&mut self, number: i64, change: &Change<'_>) -> Option<i64> {
        let Change::Rows { items, hashed, missing_keys } = *change else {
            self.restart(number);
            return None;
        };
        // The server counts while it collects, and then drops the whole set.
        if hashed > self.rules.history_size {
            self.restart(number);
            return None;
        }
        let counted = if self.rules.repeats_count_once { items.len() as u64 } else { hashed };
        let overflows = self.last.len() as u64 + counted > self.rules.history_size;
        let parent = items.iter().filter_map(|item| self.last.get(item)).fold(self.start, |a, b| a.max(*b));
        if overflows {
            self.restart(number);
        } else {
            self.last.extend(items.iter().map(|item| (*item, number)));
        }
        (!missing_keys).then_some(parent)
    }

    fn restart(&mut self, number: i64) {
        self.start = number;
        self.last.clear();
    }
}
