//! Certification: conflicts between members and the two numbers that let an applier work in parallel.
//!
//! [`Certifier`] follows Group Replication's certifier rule by rule (R1 to R10). [`table`] and [`versions`] hold the
//! certification info, [`collect`] removes what every member has executed, [`transfer`] exports the info for a joining
//! member, [`blocks`] assigns GTIDs.

pub mod blocks;
mod certify;
pub mod collect;
mod seeds;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
pub mod transfer;
mod versions;

pub use blocks::GtidBlocks;
pub use certify::Certifier;
pub(crate) use seeds::Seeds;
pub use transfer::Export;

use crate::gtid::{Gtid, GtidSet};

/// Differences of a certifier from a MySQL 9.7 server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A collection uses up one number, as in MySQL 5.7 (R7).
    pub collection_burns_number: bool,
    /// The first remote transaction after the start is stamped (0,0) (R6); the worklog's examples do without.
    pub first_remote_alone: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { collection_burns_number: false, first_remote_alone: true }
    }
}

/// Kind of a transaction: whether it may run beside others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// The write set is complete; a transaction without one is a barrier all the same (R5).
    #[default]
    Rows,
    /// A barrier regardless of its write set: DDL, CREATE TABLE ... SELECT, too large to track (R5).
    Barrier,
}

/// Source of a transaction's GTID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GtidFrom<'a> {
    /// The transaction gets no GTID.
    #[default]
    Nowhere,
    /// The transaction brings its own GTID.
    Own(&'a Gtid),
    /// The block of this member (R10); the transaction gets no GTID if the certifier has no blocks.
    Block(u64),
}

/// A transaction to be certified.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate<'a> {
    /// The hashes of its write set; repeated ones do no harm.
    pub items: &'a [u64],
    /// Set that its member had executed before it. None: conflicts are not looked for, as in the verification of a
    /// relay log, whose transactions have all passed. Its items are then kept with their numbers only and reject no
    /// other transaction.
    pub snapshot: Option<&'a GtidSet>,
    /// Source of its GTID.
    pub gtid: GtidFrom<'a>,
    /// True if it began on this member (R4).
    pub local: bool,
    /// Kind of the transaction.
    pub kind: Kind,
}

/// The two numbers of the logical clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Number of the newest transaction that must have committed, with all before it, when this one starts.
    pub last_committed: i64,
    /// Its own number.
    pub sequence_number: i64,
}

impl Numbers {
    /// Alone, and the applier's counters start over (R6).
    pub const ALONE: Self = Self { last_committed: 0, sequence_number: 0 };
}

/// Reason why a transaction may not commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Another member's transaction wrote the same row, unseen by this one (R2).
    #[error(
        "write set item {item} was changed by a transaction that is not in the snapshot version; roll back and retry"
    )]
    Conflict {
        /// The first such item.
        item: u64,
    },
    /// The transaction's own GTID is taken (R10).
    #[error("the GTID {0} that the transaction brings has been certified and committed already; use another")]
    GtidUsed(Gtid),
}

/// The certifier's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The transaction may commit.
    Certified {
        /// The numbers to stamp it with; a local transaction gets none (R4).
        numbers: Option<Numbers>,
        /// The transaction's GTID.
        gtid: Option<Gtid>,
    },
    /// The transaction has to roll back, and used up neither number nor GTID.
    Rejected(Rejection),
}

/// Counters of a certifier since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that may commit.
    pub positive: u64,
    /// Transactions rejected for a conflict.
    pub conflicts: u64,
    /// Transactions rejected for their GTID.
    pub gtids_used: u64,
    /// Of the positive ones, those that began on this member.
    pub local: u64,
    /// Of the positive remote ones, those that were barriers.
    pub barriers: u64,
    /// Items of positive transactions, repeated ones counted again.
    pub items: u64,
    /// Collections that ran with a grown stable set.
    pub collections: u64,
}
