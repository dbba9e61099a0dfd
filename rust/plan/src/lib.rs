//! The plan of an apply: write sets of transactions, blocks and what they wait for, and which transactions are committed.
//!
//! [`stamp`] writes a log again with numbers from these write sets. [`verify`], [`trace`] and [`explain`] answer questions
//! about a log with the same write sets.

#![forbid(unsafe_code)]

pub mod block;
pub mod dependents;
mod early_rows;
pub mod explain;
pub mod key_names;
pub mod ledger;
pub mod pieces;
pub mod planner;
pub mod record;
pub mod renumber;
mod row_links;
pub mod single_rows;
pub mod split;
pub mod stamp;
mod statement_times;
pub mod trace;
pub mod verify;
pub mod write_sets;
