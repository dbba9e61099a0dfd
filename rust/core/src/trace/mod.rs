//! Numbers for a trace that is too large for one process (rules R1, R3 to R7, R15).
//!
//! The trace is cut into chunks of ascending positions. [`ChunkResolver`] gives each transaction its number inside its
//! chunk and the newest number there that it depends on, and reports the first and the last touch of every key, split
//! by key. [`KeyResolver`] takes those reports for one part of the keys, chunk after chunk, and finds the dependencies
//! across chunks. [`number_rows`] combines both. A barrier hides everything before it, so only touches before a chunk's
//! first and after its last barrier are reported.
//!
//! One process that holds everything uses one chunk, and needs no report. The result is that of
//! [`Certifier`](crate::certifier::Certifier), with shared keys besides. A transaction that shares a key depends on its
//! last exclusive touch only. A transaction that takes it exclusively depends on that and on all that shared it since.

// These numbers come from logs and traces: an access outside of a list is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod chunk;
mod keys;
mod numbers;
mod path;
mod slot;
#[cfg(test)]
mod tests;
mod wire;

pub use chunk::{ChunkReport, ChunkResolver, OrderError, Touches};
pub use keys::{KeyAnswer, KeyError, KeyResolver};
pub use numbers::{Numbered, number_rows};
pub use path::CriticalPath;
pub use wire::WireError;

/// R1: the number that everything may depend on at the start.
const FIRST_LAST_COMMITTED: i64 = 1;

/// Role of a transaction for the certifier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// A remote transaction; a barrier all the same if it touches nothing (R5).
    #[default]
    Rows,
    /// A remote transaction that is a barrier whatever it touches (R5).
    Barrier,
    /// A transaction that began on this member: it uses up no number (R4).
    Local,
    /// A view change (R6).
    ViewChange,
}

impl Role {
    /// Returns the role of a code; none for an unknown code.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Rows, Self::Barrier, Self::Local, Self::ViewChange].get(usize::from(code)).copied()
    }

    /// Returns the role's code: 0 to 3 in the order above.
    pub fn code(self) -> u8 {
        match self {
            Self::Rows => 0,
            Self::Barrier => 1,
            Self::Local => 2,
            Self::ViewChange => 3,
        }
    }
}

/// Summary of a chunk before its keys are resolved; numbers count from 1 inside the chunk, 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Position of its first transaction.
    pub first: i64,
    /// Position of its last transaction.
    pub last: i64,
    /// The numbers that it uses up.
    pub numbers: u32,
    /// The number of its last barrier.
    pub barrier: u32,
}
