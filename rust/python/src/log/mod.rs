//! Logs: files, events, transactions and batches of them.

pub mod decrypt;
pub mod events;
pub mod head;
pub mod look_ahead;
pub mod reader;
pub mod selection;
pub mod skip_list;
pub mod stop;
pub mod table_filter;
pub mod table_map;
pub mod transaction;
pub mod transaction_batch;
pub mod unpack;
pub mod write_sets;
