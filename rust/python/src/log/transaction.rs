//! Transactions, their statements and their format, for Python.

use std::sync::Arc;

use paraply_arrow::batch::{file_name, gtid_text, kind_name};
use paraply_binlog::transaction::{Format, Statement, Transaction};
use paraply_binlog::write::encode::rows_of;
use paraply_plan::write_sets::transaction_write_set;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::log_error;
use crate::log::write_sets::PyTransactionKeys;
use crate::moment::moment;
use crate::records::ServerVersion;
use crate::rows::catalog::PyCatalog;
use crate::rows::hashing::hash_options;

/// Format description under which a transaction was written.
#[pyclass(name = "Format", module = "paraply._native", frozen)]
pub struct PyFormat(pub Arc<Format>);

#[pymethods]
impl PyFormat {
    #[getter]
    fn server_version(&self) -> &str {
        &self.0.server_version
    }

    #[getter]
    fn version(&self) -> ServerVersion {
        let (major, minor, patch) = self.0.version;
        ServerVersion { major, minor, patch }
    }

    #[getter]
    fn mariadb(&self) -> bool {
        self.0.mariadb
    }

    #[getter]
    fn server_id(&self) -> u32 {
        self.0.server_id
    }

    #[getter]
    fn created(&self) -> u32 {
        self.0.created
    }
}

/// Statement logged as text, with everything that its meaning depends on (R33).
#[pyclass(name = "Statement", module = "paraply._native", frozen)]
pub struct PyStatement(pub Statement);

#[pymethods]
impl PyStatement {
    #[getter]
    fn sql<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.sql)
    }

    #[getter]
    fn database(&self) -> &str {
        &self.0.database
    }

    #[getter]
    fn timestamp(&self) -> u32 {
        self.0.timestamp
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset
    }

    /// Status variables by the names of StatementContext.
    ///
    /// For example ``sql_mode`` int, ``charset`` (client, connection, server) collation numbers, ``time_zone`` str, ``unknown`` list[int].
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let context = &self.0.context;
        let dict = PyDict::new(py);
        dict.set_item("thread_id", context.thread_id)?;
        dict.set_item("error_code", context.error_code)?;
        set(&dict, "flags2", context.flags2)?;
        set(&dict, "sql_mode", context.sql_mode)?;
        set(&dict, "auto_increment", context.auto_increment)?;
        set(&dict, "charset", context.charset)?;
        set(&dict, "time_zone", context.time_zone.as_deref())?;
        set(&dict, "lc_time_names", context.lc_time_names)?;
        set(&dict, "charset_database", context.charset_database)?;
        set(&dict, "invoker", context.invoker.clone())?;
        dict.set_item("updated_databases", &context.updated_databases)?;
        set(&dict, "explicit_defaults_for_timestamp", context.explicit_defaults_for_timestamp)?;
        set(&dict, "default_collation_for_utf8mb4", context.default_collation_for_utf8mb4)?;
        set(&dict, "sql_require_primary_key", context.sql_require_primary_key)?;
        set(&dict, "default_table_encryption", context.default_table_encryption)?;
        set(&dict, "microseconds", context.microseconds)?;
        dict.set_item("character_set_collations", &context.character_set_collations)?;
        dict.set_item("unknown", context.unknown.iter().map(|&code| u32::from(code)).collect::<Vec<_>>())?;
        Ok(dict)
    }
}

fn set<'py, T: IntoPyObject<'py>>(dict: &Bound<'py, PyDict>, name: &str, value: Option<T>) -> PyResult<()> {
    match value {
        Some(value) => dict.set_item(name, value),
        None => Ok(()),
    }
}

/// Transaction of a log.
#[pyclass(name = "Transaction", module = "paraply._native", frozen)]
pub struct PyTransaction {
    batch: Arc<Vec<Transaction>>,
    files: Arc<Vec<String>>,
    index: usize,
}

impl PyTransaction {
    /// Returns the transaction at `index` of a batch; the caller has checked that it exists.
    pub fn new(batch: &Arc<Vec<Transaction>>, files: &Arc<Vec<String>>, index: usize) -> Self {
        Self { batch: Arc::clone(batch), files: Arc::clone(files), index }
    }

    fn get(&self) -> &Transaction {
        &self.batch[self.index]
    }

    /// Returns the transaction itself.
    pub fn inner(&self) -> &Transaction {
        self.get()
    }

    /// Returns the file that it is in.
    pub fn file_name(&self) -> &str {
        file_name(&self.files, self.get().file)
    }
}

#[pymethods]
impl PyTransaction {
    /// Settings of the source's session for the rows, with the names of ``Statement.context``; None if the log has none, as MariaDB's.
    ///
    /// ``sql_mode`` int, ``time_zone`` str if a row depended on it, ``lc_time_names`` int if it is not 0.
    #[getter]
    fn row_settings<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(settings) = &self.get().row_settings else { return Ok(None) };
        let dict = PyDict::new(py);
        set(&dict, "sql_mode", settings.sql_mode)?;
        set(&dict, "time_zone", settings.time_zone.as_deref())?;
        set(&dict, "lc_time_names", settings.lc_time_names)?;
        Ok(Some(dict))
    }

    /// Return its table maps and row events, joined, without checksums; for ``encode_transaction``.
    fn row_events<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &rows_of(self.inner()))
    }

    #[getter]
    pub fn gtid(&self) -> Option<String> {
        gtid_text(self.get())
    }

    /// ``dml``, ``ddl``, ``empty``, ``view_change``, ``xa_prepare`` or ``xa_end``.
    #[getter]
    fn kind(&self) -> &'static str {
        kind_name(self.get().kind)
    }

    #[getter]
    fn server_id(&self) -> u32 {
        self.get().server_id
    }

    #[getter]
    fn session(&self) -> Option<u32> {
        self.get().session
    }

    /// Commit time on the original source, in UTC; None if not known, or after the year 9999.
    #[getter]
    fn committed_at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        moment(py, self.get().committed_at)
    }

    /// The same in microseconds since 1970.
    #[getter]
    fn committed_us(&self) -> Option<i64> {
        self.get().committed_at
    }

    #[getter]
    fn last_committed(&self) -> Option<i64> {
        self.get().last_committed
    }

    #[getter]
    fn sequence_number(&self) -> Option<i64> {
        self.get().sequence_number
    }

    #[getter]
    fn tables(&self) -> PyResult<Vec<String>> {
        crate::log::table_map::table_names(self.get())
    }

    #[getter]
    fn statements(&self) -> Vec<PyStatement> {
        self.get().statements.iter().cloned().map(PyStatement).collect()
    }

    #[getter]
    fn xid(&self) -> Option<&str> {
        self.get().xid.as_deref()
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.get().rows
    }

    /// True if a filter removed all its changes.
    #[getter]
    fn filtered(&self) -> bool {
        self.get().filtered
    }

    /// True if changes of paraply's own tables were removed from it.
    #[getter]
    fn own_left_out(&self) -> bool {
        self.get().own_left_out
    }

    /// True if it is left out by name.
    #[getter]
    fn skipped(&self) -> bool {
        self.get().skipped
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.get().bytes
    }

    #[getter]
    fn file(&self) -> &str {
        file_name(&self.files, self.get().file)
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.get().offset
    }

    #[getter]
    fn end_offset(&self) -> u64 {
        self.get().end_offset
    }

    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat(Arc::clone(&self.get().format))
    }

    /// Return the write set.
    #[pyo3(signature = (catalog, *, scheme="fine"))]
    fn write_set(&self, catalog: &PyCatalog, scheme: &str) -> PyResult<PyTransactionKeys> {
        let options = hash_options(scheme, false)?;
        let set = catalog
            .with_scratch(options, |catalog, scratch| transaction_write_set(self.get(), catalog, scratch))
            .map_err(|error| log_error(&error.into_log_error(self.file()), self.gtid()))?;
        Ok(set.into())
    }

    fn __repr__(&self) -> String {
        let transaction = self.get();
        let name = gtid_text(transaction).unwrap_or_else(|| "anonymous".to_owned());
        format!("<Transaction {name} {} of {} rows>", kind_name(transaction.kind), transaction.rows)
    }
}
