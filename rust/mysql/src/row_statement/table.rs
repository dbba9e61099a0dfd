//! A table as statements write it, and the reasons why a change of it has no statement.

use std::sync::Arc;

use paraply_binlog::rows::image_cursor::Malformed;
use paraply_binlog::rows::row_statement::staged::StageTable;
use paraply_binlog::rows::step_rows::{CascadingKey, Values};
use paraply_core::schema::TableName;
use paraply_core::value::Value;

use super::literal::{Reason, StatementColumn};

/// Reason why a row change has no statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// An image lacks a column.
    #[error(
        "the log's rows of {table} leave out column {column}; the source must log with binlog_row_image=FULL; MariaDB from \
         11.x on leaves generated columns out: name these with --schema or --schema-from"
    )]
    MissingColumn {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// A partial update of a JSON document.
    #[error(
        "the log holds only the differences of column {column} of {table}; the source must log without \
         binlog_row_value_options=PARTIAL_JSON"
    )]
    PartialJson {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// A value that SQL text does not express exactly.
    #[error("column {column} of {table} holds {what}, which SQL text does not express exactly")]
    NotExpressible {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// The value.
        what: &'static str,
    },
    /// A foreign key within a table that changes other rows.
    #[error(
        "a foreign key of {table} to itself changes other rows (CASCADE or SET NULL), which no condition can prevent"
    )]
    OwnCascade {
        /// The table.
        table: TableName,
    },
    /// A damaged value.
    #[error("column {column} of {table} is damaged: {what}")]
    Damaged {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// The error.
        what: Malformed,
    },
}

/// A foreign key that changes of a table may break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCheck {
    /// The child table.
    pub child: TableName,
    /// The parent table.
    pub parent: TableName,
    /// Text of a query before the values of the key, and after them. Its rows are the values without a parent.
    pub query: (String, String),
    /// Columns of the changed table with the key's values.
    pub(super) columns: Vec<usize>,
    /// True if the changed table is the child.
    pub(super) is_child: bool,
}

/// A table as statements write it.
#[derive(Debug)]
pub struct StatementTable {
    pub(super) name: TableName,
    pub(super) columns: Vec<StatementColumn>,
    pub(super) keys: Vec<Vec<usize>>,
    /// Foreign keys whose cascades a condition prevents in each statement.
    pub(super) cascades: Vec<CascadingKey>,
    /// Foreign keys that are checked after all statements.
    pub(super) checks: Vec<KeyCheck>,
    pub(super) stage: Option<Arc<StageTable>>,
    pub(super) insert: Arc<str>,
    pub(super) delete: Arc<str>,
    pub(super) update: Arc<str>,
}

impl StatementTable {
    pub(super) fn usable_key(&self, image: &Values<'_>) -> Option<&[usize]> {
        let held = |&index: &usize| {
            let value = image.get(index).and_then(Option::as_ref);
            value.is_some_and(|value| !value.is_null())
                && self.columns.get(index).is_some_and(|column| column.kind.is_comparable())
        };
        self.keys.iter().find(|key| key.iter().all(held)).map(Vec::as_slice)
    }

    pub(super) fn value<'i, 'v>(
        &self,
        image: &'i Values<'v>,
        index: usize,
        column: &StatementColumn,
    ) -> Result<&'i Value<'v>, StatementError> {
        let missing = || StatementError::MissingColumn { table: self.name.clone(), column: column.name.clone() };
        image.get(index).and_then(Option::as_ref).ok_or_else(missing)
    }

    pub(super) fn write(
        &self,
        column: &StatementColumn,
        value: &Value<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        column.write(value, out).map_err(|reason| self.error(column, &reason))
    }

    pub(super) fn error(&self, column: &StatementColumn, reason: &Reason) -> StatementError {
        let (table, column) = (self.name.clone(), column.name.clone());
        match *reason {
            Reason::PartialJson => StatementError::PartialJson { table, column },
            Reason::NotExpressible(what) => StatementError::NotExpressible { table, column, what },
            Reason::Damaged(what) => StatementError::Damaged { table, column, what },
        }
    }
}
