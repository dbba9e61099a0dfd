//! A batch of transactions with their positions.

use std::sync::Arc;

use paraply_binlog::rows::row_walk::RowsError;
use paraply_binlog::transaction::{Identity, Kind, Transaction};

use crate::error::Error;

/// All kinds of transactions, in the order in which they are listed for the user.
pub const KINDS: [Kind; 6] = [Kind::Dml, Kind::Ddl, Kind::Empty, Kind::ViewChange, Kind::XaPrepare, Kind::XaEnd];

/// Transactions that were read together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The transactions in the log's order.
    pub transactions: Arc<Vec<Transaction>>,
    /// Position of each transaction in the log, from 1.
    pub positions: Vec<i64>,
    /// True for each that is given as rows; the others are here because their statements change tables.
    pub wanted: Vec<bool>,
    /// The names of the log's files.
    pub files: Arc<Vec<String>>,
}

impl Batch {
    /// Return the error of a row event of this batch with its file and its transaction.
    pub(crate) fn error(&self, error: &RowsError, transaction: &Transaction) -> Error {
        let file = file_name(&self.files, error.file).to_owned();
        let error = error.into_log_error(&file);
        Error::Log { error, gtid: gtid_text(transaction) }
    }
}

/// Return the name of a kind of transactions.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Dml => "dml",
        Kind::Ddl => "ddl",
        Kind::Empty => "empty",
        Kind::ViewChange => "view_change",
        Kind::XaPrepare => "xa_prepare",
        Kind::XaEnd => "xa_end",
    }
}

/// Return the GTID of a transaction as text.
pub fn gtid_text(transaction: &Transaction) -> Option<String> {
    match &transaction.identity {
        Identity::Gtid(gtid) => Some(gtid.to_string()),
        Identity::Anonymous => None,
    }
}

/// Return the name of a file by its index in the reader's list.
pub fn file_name(files: &[String], index: u32) -> &str {
    files.get(index as usize).map_or("", String::as_str)
}
