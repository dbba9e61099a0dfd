//! Reasons why rows cannot be written.

use std::collections::HashMap;

use paraply_core::gtid::Gtid;
use paraply_core::schema::{Column, Table};

/// The numbers of collations by their names.
pub type Collations = HashMap<String, u32>;

/// Reason why rows cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A value or a type.
    #[error("column `{column}` of table {table} {reason}")]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Description of the problem.
        reason: &'static str,
    },
    /// A table and the problem.
    #[error("table {0}: {1}")]
    Table(String, &'static str),
    /// The inner part of a transaction cannot be read.
    #[error("the content between BEGIN and the end of the transaction is not a sequence of events")]
    Rows,
    /// The GTID is tagged, or not MySQL's.
    #[error("the GTID {0} cannot be logged: it is tagged, or not MySQL's")]
    Gtid(Gtid),
}

impl EncodeError {
    pub(super) fn of(table: &Table, column: &Column, reason: &'static str) -> Self {
        Self::Column { table: table.name.to_string(), column: column.name.clone(), reason }
    }
}
