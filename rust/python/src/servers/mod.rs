//! Connections to servers, and the statements for them.

pub mod binlog_statements;
pub mod copying;
pub mod dump;
pub mod mysql;
pub mod postgres;
pub mod references;
pub mod relay;
pub mod replica;
pub mod row_ends;
pub mod serve;
pub mod transaction_server;
