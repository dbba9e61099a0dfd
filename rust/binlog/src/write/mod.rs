//! Events that are written: relay logs, packets for a replica, and transactions made by hand.

pub mod dump;
pub mod encode;
pub mod relay;
pub mod restamp;
