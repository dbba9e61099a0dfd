//! Events that are written: relay logs, logs with other numbers, packets for a replica, and transactions made by hand.

pub mod copy;
pub mod dump;
pub mod encode;
pub mod relay;
pub mod restamp;
pub mod rewrite;
