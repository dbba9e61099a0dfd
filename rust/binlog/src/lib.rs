//! Binlogs and relay logs of MySQL and MariaDB: read, decoded, checked.

pub mod checksum;
pub mod cursor;
pub mod error;
pub mod event;
pub mod file;
pub mod format;
pub mod group;
pub mod gtid_event;
pub mod mariadb;
pub mod payload;
pub mod query;
pub mod reader;
mod refusal;
mod start;
pub mod text;
pub mod transaction;
