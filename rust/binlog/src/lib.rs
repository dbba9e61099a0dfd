//! Binlogs and relay logs of MySQL and MariaDB: read, decoded, checked.

pub mod checksum;
pub mod cursor;
pub mod decode;
pub mod error;
pub mod event;
pub mod file;
pub mod format;
pub mod image_cursor;
pub mod json;
pub mod known_tables;
pub mod layout;
mod optional_metadata;
pub mod row_walk;
pub mod rows;
pub mod table_check;
pub mod table_map;
pub mod transaction;
