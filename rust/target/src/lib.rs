//! What a target is handed: connections, the text that carries a log's events to a server, rendered row changes, and the progress.

pub mod distance;
pub mod ledger;
pub mod mysql;
pub mod postgres;
