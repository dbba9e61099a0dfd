//! Causes of lost time.

/// Reason why a worker of a replica has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// Transactions change the same row.
    HotRow = 1,
    /// Changes of a foreign key's parent and of its children.
    ForeignKeyParent,
    /// A statement that runs alone.
    Ddl,
    /// A table without a unique key of columns declared NOT NULL.
    NoKey,
    /// A collation, a key or a table that is not known, so that more conflicts than necessary.
    UnknownSchema,
    /// A collection of a group's certification info.
    GarbageCollection,
    /// The numbers start over: a new log file, or (0,0).
    Rotation,
    /// The source's history of write sets was full.
    HistoryOverflow,
    /// One transaction that takes much longer than the others.
    HugeTransaction,
    /// The order of the transactions of a session.
    SessionOrder,
    /// Workers wait for their turn to commit.
    CommitOrder,
    /// All workers are busy.
    TooFewWorkers,
    /// The source's numbers allow less than the keys.
    NarrowNumbers,
    /// The last transactions, after which there is nothing left to start.
    EndOfLog,
}

impl Cause {
    /// All causes in the order of their codes.
    pub const ALL: [Self; 14] = [
        Self::HotRow,
        Self::ForeignKeyParent,
        Self::Ddl,
        Self::NoKey,
        Self::UnknownSchema,
        Self::GarbageCollection,
        Self::Rotation,
        Self::HistoryOverflow,
        Self::HugeTransaction,
        Self::SessionOrder,
        Self::CommitOrder,
        Self::TooFewWorkers,
        Self::NarrowNumbers,
        Self::EndOfLog,
    ];

    /// Returns the code, which is never 0.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the cause of a code; none for 0 and unknown codes.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::HotRow => "hot_row",
            Self::ForeignKeyParent => "foreign_key_parent",
            Self::Ddl => "ddl",
            Self::NoKey => "table_without_key",
            Self::UnknownSchema => "unknown_collation_or_schema",
            Self::GarbageCollection => "garbage_collection",
            Self::Rotation => "rotation",
            Self::HistoryOverflow => "history_overflow",
            Self::HugeTransaction => "huge_transaction",
            Self::SessionOrder => "session_order",
            Self::CommitOrder => "commit_order",
            Self::TooFewWorkers => "too_few_workers",
            Self::NarrowNumbers => "narrow_numbers",
            Self::EndOfLog => "end_of_log",
        }
    }

    /// Returns the cause of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

/// A set of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Causes(u32);

impl Causes {
    /// Adds a cause.
    #[must_use]
    pub fn with(self, cause: Cause) -> Self {
        Self(self.0 | 1 << cause.code())
    }

    /// Returns true if the set has this cause.
    pub fn has(self, cause: Cause) -> bool {
        self.0 & 1 << cause.code() != 0
    }

    /// Returns true if the set has no cause.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_lead_back() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_code(cause.code()), Some(cause));
            assert_eq!(Cause::from_name(cause.name()), Some(cause));
            assert!(Causes::default().with(cause).has(cause));
        }
        assert_eq!((Cause::from_code(0), Cause::from_code(99)), (None, None));
    }
}
