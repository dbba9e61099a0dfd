//! From the events of files to transactions.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod decrypt;
pub mod file;
pub mod group;
pub mod head;
pub mod passed_over;
pub mod payload;
pub mod piece;
pub mod reader;
mod savepoint;
pub mod scan;
pub mod selection;
pub mod skip_list;
mod start;
pub mod stop;
pub mod unmatched;
pub mod unpack;
pub mod xa_scan;
