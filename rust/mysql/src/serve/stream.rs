//! Transactions that are made while they are sent, in place of log files.

use std::sync::Arc;

use paraply_core::gtid::GtidSet;

/// Source of such transactions.
pub trait Transactions: Send + Sync {
    /// Begins to send them to a replica that has `received`; the first packet has this number.
    fn begin(&self, received: &GtidSet, packet: u8) -> Box<dyn Packets>;
}

/// The packets for one replica.
pub trait Packets: Send {
    /// Returns the next packets, whole ones; waits for some. None if nothing more may be sent on this connection.
    fn next(&mut self) -> Option<Vec<u8>>;
}

/// Transactions to serve, and the version of the server that wrote them.
#[derive(Clone)]
pub struct Stream {
    /// Version that replicas see.
    pub version: String,
    /// The transactions.
    pub transactions: Arc<dyn Transactions>,
}

impl Stream {
    /// Returns true for transactions of MariaDB, which only replicas of MariaDB can read.
    pub fn mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stream").field("version", &self.version).finish_non_exhaustive()
    }
}
