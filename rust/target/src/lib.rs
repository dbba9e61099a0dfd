//! What the targets need from the native side: connections, and the text that carries a log's events to a server.

pub mod mysql;
