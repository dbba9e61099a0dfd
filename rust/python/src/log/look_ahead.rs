//! Scan of logs for facts that must be known before anything is written.

use std::path::PathBuf;

use paraply_binlog::read::passed_over::PassedOver;
use paraply_binlog::read::xa_scan::{self, StatementFound, XaFound};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::log::table_filter::PyTableFilter;

/// A part of an XA transaction: file, offset, number of the file and end offset, GTID, XID, true for an end, and its
/// tables.
type XaPart = (String, u64, (u32, u64), Option<String>, String, bool, Vec<(String, String)>);
/// A change of rows in text: file, offset of its transaction, number of the file and end offset, GTID, its own offset,
/// table, text.
type RowStatement<'py> = (String, u64, (u32, u64), Option<String>, u64, String, Bound<'py, PyBytes>);

/// Databases, and tables with their databases.
type Unmatched = (Vec<String>, Vec<(String, String)>);

/// Return the parts of XA transactions that are prepared and ended apart (R35), and the row changes in statement format (R27), in order.
///
/// Then come the databases and tables that the filter names and no event has; none of them if a file could not be read to its end.
///
/// For a part: file, offset, index of the file with the offset after the part, GTID, XID, True for an end (XA COMMIT or XA ROLLBACK), and
/// the tables of its row events. For a change: file, offset of its transaction, index of the file with the offset after the statement,
/// GTID, offset of the statement, the first table in the statement (else its first word), and its text. Damage ends the scan of a file
/// without an
/// error: the reader reports it.
#[pyfunction]
#[pyo3(signature = (paths, tables=None))]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn look_ahead<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    tables: Option<&PyTableFilter>,
) -> (Vec<XaPart>, Vec<RowStatement<'py>>, Unmatched) {
    let tables = tables.map(|tables| tables.0.clone()).unwrap_or_default();
    let passed_over = PassedOver { tables, ..PassedOver::default() };
    let found = py.detach(|| xa_scan::look_ahead(&paths, &passed_over));
    let part = |part: XaFound| {
        let gtid = part.gtid.map(|gtid| gtid.to_string());
        let tables = part.tables.into_iter().map(|name| (name.database, name.table)).collect();
        (part.file, part.offset, (part.end.file, part.end.offset), gtid, part.xid, part.ends, tables)
    };
    let statement = |found: StatementFound| {
        let (gtid, end) = (found.gtid.map(|gtid| gtid.to_string()), (found.end.file, found.end.offset));
        let sql = PyBytes::new(py, &found.sql);
        (found.file, found.offset, end, gtid, found.statement_offset, found.table, sql)
    };
    let unmatched = (found.unmatched.databases, found.unmatched.tables);
    (found.xa.into_iter().map(part).collect(), found.statements.into_iter().map(statement).collect(), unmatched)
}
