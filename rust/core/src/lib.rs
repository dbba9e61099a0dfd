//! The domain of parallel apply: GTIDs, write sets, certification and scheduling.
//!
//! Nothing in this crate reads a file, opens a socket or knows Python.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod calendar;
pub mod certifier;
pub mod collation;
pub mod generated;
pub mod gtid;
pub mod schedule;
pub mod schema;
pub mod simulate;
pub mod trace;
pub mod tracker;
pub mod value;
pub mod verification;
pub mod write_set;
