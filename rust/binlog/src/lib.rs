//! Binlogs and relay logs of MySQL and MariaDB: read, decoded, checked.
//!
//! * [`cpu`] measures the CPU time of the stages,
//! * [`data`] holds the bytes of a transaction, in memory or in files,
//! * [`event`] reads single events,
//! * [`read`] joins events to transactions,
//! * [`rows`] decodes row events under their table maps,
//! * [`write`](mod@write) makes events: relay logs, other numbers in a transaction, packets for a replica.

#![forbid(unsafe_code)]

pub mod cpu;
pub mod error;
pub mod event;
pub mod read;
pub mod rows;
pub mod transaction;
pub mod write;
