//! Bytes of large transactions, in temporary files that are read like memory.
//!
//! A large transaction is kept in such files, so that an apply needs memory for a few of its pieces and not for all of
//! it. A file has no name and no open descriptor once its content is mapped, so nothing can change or shorten it.

mod data;
mod mapped;
mod segments;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use data::Data;
pub use mapped::Mapped;
pub use segments::Segments;

/// Bytes of one transaction that are held in memory.
const MOST_IN_MEMORY: usize = 32 << 20;
/// Number of pieces of that size that a large transaction is written and rendered in.
const PIECES: usize = 8;
/// Bytes of that limit for which one hash of a row's key is kept.
const BYTES_A_KEY: usize = 32;

static LIMIT: AtomicUsize = AtomicUsize::new(MOST_IN_MEMORY);

/// Returns the number of bytes of a transaction's events from which on they are kept in temporary files.
#[inline]
pub fn most_in_memory() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Returns the number of bytes of one piece of a large transaction.
#[inline]
pub fn piece_bytes() -> usize {
    most_in_memory() / PIECES
}

/// Returns the number of different keys of one transaction that are kept.
#[inline]
pub fn most_keys() -> usize {
    most_in_memory() / BYTES_A_KEY
}

/// Sets [`most_in_memory`] for the whole process, and with it the other limits: for tests.
pub fn set_most_in_memory(bytes: usize) {
    LIMIT.store(bytes.max(PIECES), Ordering::Relaxed);
}
