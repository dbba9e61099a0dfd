//! Global transaction identifiers and sets of them, MySQL's and MariaDB's.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod cursor;
mod error;
mod intervals;
mod set;
mod set_text;
mod text;

pub use error::GtidError;
pub use intervals::Intervals;
pub use set::GtidSet;

/// The highest number that a MySQL GTID may have: one less than the largest signed 64-bit number.
pub const MYSQL_MAX_NUMBER: u64 = i64::MAX as u64 - 1;

/// Origin of a transaction: the part before the number of a GTID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// MySQL: the source's UUID and an optional tag (empty where there is none).
    MySql {
        /// The sixteen bytes of the UUID.
        uuid: [u8; 16],
        /// The tag in lower case; empty for none.
        tag: String,
    },
    /// MariaDB: the replication domain and the server.
    MariaDb {
        /// The domain.
        domain: u32,
        /// The server.
        server: u32,
    },
}

/// A global transaction identifier.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gtid {
    /// Origin of the transaction.
    pub origin: Origin,
    /// Its number, from 1.
    pub number: u64,
}

impl Origin {
    /// Returns the origin by which sets are kept: a MariaDB domain whatever the server.
    pub(crate) fn without_server(&self) -> Self {
        match self {
            Self::MySql { .. } => self.clone(),
            Self::MariaDb { domain, .. } => Self::MariaDb { domain: *domain, server: 0 },
        }
    }
}
