//! Rows and their hashes, and table definitions.

pub mod catalog;
pub mod charset;
pub mod decoder;
pub mod dependents;
pub mod encode;
pub mod explain;
pub mod hash_columns;
pub mod hashing;
pub mod row_statement;
pub mod row_values;
pub mod statements;
pub mod trace;
