//! Events that are written: relay logs, logs with other numbers, packets for a replica, and transactions made by hand.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod copy;
pub mod dump;
pub mod encode;
pub mod relay;
pub mod restamp;
pub mod rewrite;
