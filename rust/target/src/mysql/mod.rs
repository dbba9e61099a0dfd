//! MySQL and MariaDB as targets: a plain connection, and `BINLOG` statements with raw row events.

pub mod binlog_statement;
pub mod connection;
pub mod progress_row;
pub mod receive;
pub mod references;
pub mod replica;
pub mod row_ends;
pub mod series;
