//! Terms of a dump, and its end.

use std::io;
use std::time::Duration;

use crate::serve::wire::Refusal;

/// Terms of a replica's request, apart from the start.
#[derive(Debug, Clone, Copy)]
pub(in crate::serve) struct Terms {
    /// The server id of this source.
    pub(in crate::serve) server_id: u32,
    /// True if the replica wants checksums before the first format description too; none if it does not know any.
    pub(in crate::serve) checksums: Option<bool>,
    /// Time without an event after which a heartbeat is sent; none for no heartbeats.
    pub(in crate::serve) heartbeat: Option<Duration>,
    pub(in crate::serve) heartbeats_v2: bool,
    /// False if the dump ends with the log.
    pub(in crate::serve) waits: bool,
}

/// End of a dump.
#[derive(Debug)]
pub(in crate::serve) enum End {
    /// Everything was sent to a peer that does not wait.
    Whole,
    /// The server was stopped.
    Stopped,
    /// The peer has closed the connection.
    Gone,
    /// The log cannot be sent any more.
    Failed(Refusal),
}

/// Failure inside of a large event.
pub(super) enum Piece {
    Peer(io::Error),
    Log(io::Error),
}

impl From<io::Error> for Piece {
    fn from(error: io::Error) -> Self {
        Self::Log(error)
    }
}

/// Reason why a dump ends early.
pub(super) enum Failure {
    Peer(io::Error),
    Log(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Peer(error)
    }
}
