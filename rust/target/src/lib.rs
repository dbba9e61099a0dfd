//! Everything for a target: connections, the text of a log's events for a server, rendered row changes, and the
//! progress.

pub mod distance;
pub mod ledger;
pub mod mysql;
pub mod postgres;
