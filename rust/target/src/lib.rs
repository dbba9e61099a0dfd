//! Targets: how transactions of a log are written to a database.

pub mod postgres;
