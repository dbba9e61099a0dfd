//! Binlogs and relay logs of MySQL and MariaDB: read, decoded, checked.

pub mod checksum;
pub mod cursor;
pub mod decode;
pub mod error;
pub mod event;
pub mod file;
pub mod format;
pub mod group;
pub mod gtid_event;
pub mod image_cursor;
pub mod json;
pub mod known_tables;
pub mod layout;
pub mod mariadb;
mod optional_metadata;
pub mod payload;
pub mod query;
pub mod reader;
mod refusal;
pub mod row_walk;
pub mod rows;
mod start;
pub mod table_check;
pub mod table_map;
pub mod text;
pub mod transaction;
