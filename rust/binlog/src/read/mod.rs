//! From the events of files to transactions.

pub mod file;
pub mod group;
pub mod head;
pub mod payload;
pub mod piece;
pub mod reader;
mod savepoint;
pub mod scan;
pub mod selection;
mod start;
pub mod stop;
pub mod xa_scan;
