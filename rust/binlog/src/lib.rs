//! Reads MySQL and `MariaDB` binlogs.

pub mod cursor;
pub mod decode;
pub mod json;
pub mod layout;
mod optional_metadata;
pub mod rows;
pub mod table_map;
pub mod transaction;
