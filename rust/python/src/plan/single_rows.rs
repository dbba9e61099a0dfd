//! Row events and rows of a block, each as a block of its own.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_arrow::batch::{file_name, gtid_text};
use paraply_binlog::rows::row_walk::RowsError;
use paraply_binlog::transaction::RowsKind;
use paraply_plan::single_rows::{ImageText, RowBlocks, RowEvents, block_rows};
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::plan::block::PyBlock;
use crate::records::ColumnText;
use crate::rows::catalog::PyCatalog;

/// Return an iterator over the row events of a block, each as a block of its own.
///
/// Raises:
///     LogDamaged: A row event is damaged.
#[pyfunction]
pub fn row_events(py: Python<'_>, block: &Bound<'_, PyBlock>) -> PyResult<PyRowEvents> {
    let own = block.get();
    let events = py.detach(|| RowEvents::of(&own.block)).map_err(|error| damaged(own, &error))?;
    Ok(PyRowEvents { block: block.clone().unbind(), events: Mutex::new(events) })
}

/// Iterator over the blocks of ``row_events``.
#[pyclass(name = "RowEvents", module = "paraply._native", frozen)]
pub struct PyRowEvents {
    block: Py<PyBlock>,
    events: Mutex<RowEvents>,
}

#[pymethods]
impl PyRowEvents {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> Option<PyBlock> {
        let block = self.block.get();
        let next = self.events.lock().unwrap_or_else(PoisonError::into_inner).next_block(&block.block)?;
        Some(PyBlock { block: next, files: Arc::clone(&block.files) })
    }
}

/// One changed row of a block.
///
/// Attributes:
///     database: The database.
///     table: The table.
///     operation: ``insert``, ``update`` or ``delete``.
///     before: Columns and values as text before the change, in order; a value is None for NULL. None for an insert.
///     after: The same after the change; None for a deletion.
///     missing: Columns that the image after the change lacks, or holds only as differences.
#[pyclass(name = "SingleRow", module = "paraply._native", frozen)]
pub struct PySingleRow {
    row: RowBlocks,
    files: Arc<Vec<String>>,
}

#[pymethods]
impl PySingleRow {
    #[getter]
    fn database(&self) -> &str {
        &self.row.table.database
    }

    #[getter]
    fn table(&self) -> &str {
        &self.row.table.table
    }

    #[getter]
    fn operation(&self) -> &'static str {
        match self.row.kind {
            RowsKind::Insert => "insert",
            RowsKind::Update | RowsKind::PartialUpdate => "update",
            RowsKind::Delete => "delete",
        }
    }

    #[getter]
    fn before(&self) -> Option<Vec<ColumnText>> {
        self.row.before.as_ref().map(columns)
    }

    #[getter]
    fn after(&self) -> Option<Vec<ColumnText>> {
        self.row.after.as_ref().map(columns)
    }

    #[getter]
    fn missing(&self) -> Vec<String> {
        self.row.missing.clone()
    }

    /// The change as a block of its own.
    #[getter]
    fn block(&self) -> PyBlock {
        PyBlock { block: self.row.itself.clone(), files: Arc::clone(&self.files) }
    }

    /// The change for a target whose row differs: for an insert an update of the row with its key, for an update an insert.
    ///
    /// None for a deletion, and where the log has only the differences of a document.
    #[getter]
    fn overwriting(&self) -> Option<PyBlock> {
        self.row.overwriting.clone().map(|block| PyBlock { block, files: Arc::clone(&self.files) })
    }
}

/// Return the rows of a block in order.
///
/// Args:
///     block: The block.
///     catalog: Definitions of its tables, for the names and types of columns that the log does not describe.
///
/// Raises:
///     LogDamaged: A row event is damaged.
#[pyfunction]
pub fn single_rows(py: Python<'_>, block: &PyBlock, catalog: &PyCatalog) -> PyResult<Vec<PySingleRow>> {
    let definitions = catalog.snapshot();
    let rows = py.detach(|| block_rows(&block.block, &definitions)).map_err(|error| damaged(block, &error))?;
    Ok(rows.into_iter().map(|row| PySingleRow { row, files: Arc::clone(&block.files) }).collect())
}

fn columns(image: &ImageText) -> Vec<ColumnText> {
    image.iter().map(|(column, text)| ColumnText { column: column.clone(), text: text.clone() }).collect()
}

fn damaged(block: &PyBlock, error: &RowsError) -> PyErr {
    let gtid = block.block.first().and_then(gtid_text);
    log_error(&error.into_log_error(file_name(&block.files, error.file)), gtid)
}
