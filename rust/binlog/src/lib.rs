//! Binlogs and relay logs of MySQL and MariaDB: read, decoded, checked.

pub mod checksum;
pub mod cursor;
pub mod error;
pub mod event;
pub mod file;
pub mod format;
pub mod transaction;
