//! MySQL and MariaDB: connections, the replica protocol, and `BINLOG` statements that hand raw row events over.

#![deny(unsafe_code)]

pub mod batch;
pub mod binlog_statement;
pub mod connection;
pub mod progress_row;
mod read_limit;
pub mod receive;
pub mod references;
pub mod replica;
pub mod row_ends;
pub mod row_statement;
#[cfg(test)]
mod scripted_stream;
pub mod serve;
