//! Errors of rendering row changes.

use std::borrow::Cow;

use paraply_binlog::rows::image_cursor::Malformed;
use paraply_binlog::rows::image_cursor::UNKNOWN_FRACTION;
use paraply_binlog::rows::own_tables::DATABASE;
use paraply_core::schema::TableName;

/// Reason why a value cannot be stored in the target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotStorable {
    reason: Cow<'static, str>,
}

impl NotStorable {
    /// Creates the reason.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }
}

/// Reason why row changes cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// No definition of the table is known.
    #[error("the definition of table {table} is not known; {}", way_on(table))]
    UnknownTable {
        /// The table.
        table: TableName,
    },
    /// The row image and the known definition differ.
    #[error("the log's rows of {table} have {log} columns, the known definition has {known}")]
    ColumnCount {
        /// The table.
        table: TableName,
        /// Columns of the row image.
        log: usize,
        /// Columns of the definition.
        known: usize,
    },
    /// A log of MySQL 8.0.13 to 8.0.17, whose row events hold a hidden column for each functional index.
    #[error(
        "the log's rows of {table} have {log} columns, the known definition has {known}: row events of MySQL 8.0.13 to \
         8.0.17 also hold the hidden columns of functional indexes, which are not told apart here; leave the table out with \
         --exclude-table, or replay a log with GTIDs through the replication of a MySQL server (--via replication)"
    )]
    HiddenColumns {
        /// The table.
        table: TableName,
        /// Columns of the row image.
        log: usize,
        /// Columns of the definition.
        known: usize,
    },
    /// A column of the log's table map is not the one of the known definition.
    #[error("column {column} of {table} has {log} in the log")]
    Column {
        /// The table.
        table: TableName,
        /// The column in the known definition.
        column: String,
        /// The name in the log.
        log: String,
    },
    /// A temporal value of `MariaDB`'s old format, whose length depends on digits that are not known.
    #[error(
        "column {column} of {table} holds {UNKNOWN_FRACTION}; give the table's definition with --schema, or rebuild the table on the \
         source with ALTER TABLE ... FORCE and read the log from there on"
    )]
    UnknownFraction {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// The log is damaged.
    #[error("the event at offset {offset} is damaged: {what}")]
    Log {
        /// The event's offset in its file.
        offset: u64,
        /// The error.
        what: Malformed,
    },
    /// A new row without all of its columns, whose missing values only the source knows.
    #[error(
        "the row image of {table} leaves out column {column}, whose value cannot be known; the source must log with \
         binlog_row_image=FULL"
    )]
    MissingColumn {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// A row that gets a generated value which the log does not hold and which cannot be computed.
    #[error(
        "the row image of {table} leaves out generated column {column}, whose value cannot be known: MariaDB from version 11 \
         on does not log generated columns in UPDATE and DELETE, and this column's expression is none that is computed here \
         (+ - * % of integer columns, IF, CASE, IFNULL, COALESCE; a copy of a text column); leave the table out with a filter, \
         or drop the column in the source and copy the database again"
    )]
    GeneratedColumn {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// A generated column over an `AUTO_INCREMENT` column, which cannot be computed here.
    #[error(
        "generated column {column} of {table} reads the AUTO_INCREMENT column, and MariaDB logs the value that it had before \
         the row got its number; the column's expression is none that is computed here (+ - * % of integer columns, IF, \
         CASE, IFNULL, COALESCE; a copy of a text column); leave the table out with a filter, or drop the column in the \
         source and copy the database again"
    )]
    UncertainColumn {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// A row whose change cascades to other tables, in a log that does not hold what the cascade changes (R15a).
    #[error(
        "a change of a row of {table} changes rows of other tables through foreign keys (CASCADE or SET NULL), and the \
         source does not log those; leave the tables out with a filter, or use a target of the log's family"
    )]
    UnloggedCascade {
        /// The parent table.
        table: TableName,
    },
    /// A before image that holds neither a whole key nor the whole row.
    #[error("the row image of {table} identifies no row: it holds no whole key and not all columns")]
    NoKey {
        /// The table.
        table: TableName,
    },
    /// A value that the target cannot hold.
    #[error("column {column} of {table} holds {reason}")]
    NotStorable {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// The row's key as text, where it has one.
        key: Option<String>,
        /// Reason why it cannot be stored.
        reason: NotStorable,
    },
}

/// Returns the advice about a table without a definition.
fn way_on(table: &TableName) -> &'static str {
    if table.database == DATABASE {
        "that database is paraply's own in the target: leave it out with --exclude-database paraply"
    } else {
        "give it with --schema"
    }
}
