//! Cases in which hashing had to be coarser than the keys, with reasons (rule R13).

use std::collections::HashMap;
use std::fmt;

use crate::schema::TableName;

/// Reason why a key, a row or a transaction was hashed coarser than it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A key column's collation is not known exactly: its values count as one.
    UnknownCollation,
    /// A value is not valid text in its character set, or not a valid value of its type.
    InvalidValue,
    /// A key over an expression, whose value no row image has: it counts as one value.
    ExpressionKey,
    /// A partial row image lacks a column of a key that may have changed.
    MissingKeyColumn,
    /// The table's definition is not known: its transaction is a barrier.
    UnknownTable,
    /// The table's known definition is not the one that its rows were written under: its transaction is a barrier.
    OtherDefinition,
    /// The parent of a foreign key is not known.
    UnknownParent,
    /// A foreign key to columns that are not a whole unique key: the parent table counts as one value.
    NonUniqueParentKey,
    /// A foreign key whose columns compare differently from the parent's: the parent table counts as one value.
    DifferentParentType,
    /// A table without a unique key of columns declared NOT NULL, and a row without a key with all parts set.
    NoUniqueKey,
    /// A change that foreign keys carry on to other rows, which the log does not hold.
    CascadeNotLogged,
    /// Rows of a cascade and the row that began it, of one table: the log does not show for which of them foreign keys
    /// were checked.
    CascadeIntoItself,
    /// A transaction with more keys than are kept in memory: it is a barrier.
    TooManyKeys,
}

impl Reason {
    /// Returns one line for reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::UnknownCollation => "unknown collation",
            Self::InvalidValue => "invalid value",
            Self::ExpressionKey => "expression key",
            Self::MissingKeyColumn => "key column missing in a partial row image",
            Self::UnknownTable => "unknown table",
            Self::OtherDefinition => "known definition differs from the log",
            Self::UnknownParent => "unknown parent table",
            Self::NonUniqueParentKey => "foreign key to a non-unique parent key",
            Self::DifferentParentType => "foreign key and parent key compare differently",
            Self::NoUniqueKey => "no unique key",
            Self::CascadeNotLogged => "cascade not in the log",
            Self::CascadeIntoItself => "cascade into its own table",
            Self::TooManyKeys => "too many keys",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Number of times that each reason occurred for each table; counted once a row and reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fallbacks {
    counts: HashMap<TableName, HashMap<Reason, u64>>,
}

impl Fallbacks {
    /// Counts one fallback.
    pub fn add(&mut self, reason: Reason, table: &TableName) {
        if let Some(count) = self.counts.get_mut(table).and_then(|reasons| reasons.get_mut(&reason)) {
            *count += 1;
        } else {
            *self.counts.entry(table.clone()).or_default().entry(reason).or_default() += 1;
        }
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (reason, table, count) in other.iter() {
            *self.counts.entry(table.clone()).or_default().entry(reason).or_default() += count;
        }
    }

    /// Iterates over the counts, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, &TableName, u64)> {
        self.counts
            .iter()
            .flat_map(|(table, reasons)| reasons.iter().map(move |(reason, count)| (*reason, table, *count)))
    }

    /// Returns the counts ordered by table and reason.
    pub fn sorted(&self) -> Vec<(Reason, &TableName, u64)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_by(|a, b| (a.1, a.0).cmp(&(b.1, b.0)));
        all
    }

    /// Returns the sum of all counts.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, _, count)| count).sum()
    }

    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}
