//! What a target is handed: connections, the text that carries a log's events to a server, and rendered row changes.

pub mod distance;
pub mod mysql;
pub mod postgres;
