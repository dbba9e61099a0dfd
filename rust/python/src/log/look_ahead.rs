//! Scan of logs for facts that must be known before anything is written.

use std::path::PathBuf;

use paraply_binlog::read::passed_over::PassedOver;
use paraply_binlog::read::xa_scan::{self, StatementFound, XaFound};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::log::table_filter::PyTableFilter;
use crate::records::{LogPosition, TableName};

/// Part of an XA transaction that is prepared and ended apart (R35).
///
/// Attributes:
///     file: Name of the file, as given.
///     offset: Start of the part.
///     end: Index of the file, and offset after the part.
///     gtid: Its GTID, if there is one.
///     xid: Name of the XA transaction.
///     ends: True for XA COMMIT and XA ROLLBACK, False for XA PREPARE.
///     tables: Tables of its row events; an end has none.
#[pyclass(name = "LoggedXaPart", module = "paraply._native", frozen, get_all)]
pub struct PyLoggedXaPart {
    file: String,
    offset: u64,
    end: LogPosition,
    gtid: Option<String>,
    xid: String,
    ends: bool,
    tables: Vec<TableName>,
}

/// Row change in statement format (R27).
///
/// Attributes:
///     file: Name of the file, as given.
///     offset: Start of its transaction.
///     end: Index of the file, and offset after the statement.
///     gtid: GTID of its transaction, if there is one.
///     position: Start of the statement.
///     table: Name of the first table in the statement; else its first word.
///     sql: Text of the statement; empty after the first statements of many.
#[pyclass(name = "LoggedRowStatement", module = "paraply._native", frozen, get_all)]
pub struct PyLoggedRowStatement {
    file: String,
    offset: u64,
    end: LogPosition,
    gtid: Option<String>,
    position: u64,
    table: String,
    sql: Py<PyBytes>,
}

/// Facts of logs that must be known before anything is written.
///
/// Attributes:
///     xa_parts: Parts of XA transactions, in order.
///     statements: Row changes in statement format, in order.
///     unmatched_databases: Databases that the filter names and no event has; none if a file could not be read to its end.
///     unmatched_tables: Tables, with their databases, that the filter names and no event has.
#[pyclass(name = "LookAhead", module = "paraply._native", frozen, get_all)]
pub struct PyLookAhead {
    xa_parts: Vec<Py<PyLoggedXaPart>>,
    statements: Vec<Py<PyLoggedRowStatement>>,
    unmatched_databases: Vec<String>,
    unmatched_tables: Vec<TableName>,
}

/// Return the parts of XA transactions (R35), the row changes in statement format (R27), and the names of the filter that no event has.
///
/// Damage ends the scan of a file without an error: the reader reports it.
///
/// Args:
///     paths: The files, in order.
///     tables: The filter; None for all tables.
#[pyfunction]
#[pyo3(signature = (paths, tables=None))]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn look_ahead(py: Python<'_>, paths: Vec<PathBuf>, tables: Option<&PyTableFilter>) -> PyResult<PyLookAhead> {
    let tables = tables.map(|tables| tables.0.clone()).unwrap_or_default();
    let passed_over = PassedOver { tables, ..PassedOver::default() };
    let found = py.detach(|| xa_scan::look_ahead(&paths, &passed_over));
    Ok(PyLookAhead {
        xa_parts: found.xa.into_iter().map(|part| Py::new(py, xa_part(part))).collect::<PyResult<_>>()?,
        statements: found
            .statements
            .into_iter()
            .map(|found| Py::new(py, row_statement(py, found)))
            .collect::<PyResult<_>>()?,
        unmatched_databases: found.unmatched.databases,
        unmatched_tables: found.unmatched.tables.into_iter().map(TableName::from).collect(),
    })
}

fn xa_part(found: XaFound) -> PyLoggedXaPart {
    PyLoggedXaPart {
        file: found.file,
        offset: found.offset,
        end: LogPosition { file: found.end.file, offset: found.end.offset },
        gtid: found.gtid.map(|gtid| gtid.to_string()),
        xid: found.xid,
        ends: found.ends,
        tables: found.tables.into_iter().map(TableName::from).collect(),
    }
}

fn row_statement(py: Python<'_>, found: StatementFound) -> PyLoggedRowStatement {
    PyLoggedRowStatement {
        sql: PyBytes::new(py, &found.sql).unbind(),
        file: found.file,
        offset: found.offset,
        end: LogPosition { file: found.end.file, offset: found.end.offset },
        gtid: found.gtid.map(|gtid| gtid.to_string()),
        position: found.statement_offset,
        table: found.table,
    }
}
