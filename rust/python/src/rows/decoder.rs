//! Row changes as Arrow record batches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use paraply_arrow::Wanted;
use paraply_arrow::rows::{RowDecoder, schema};
use paraply_binlog::rows::filter::TableFilter;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

use crate::errors::Error;
use crate::log::table_filter::PyTableFilter;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::rows::catalog::PyCatalog;

/// Return the schema of rows; with columns (name, and True for bytes) the images are structs of these.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (values=None))]
pub fn row_schema(py: Python<'_>, values: Option<Vec<Wanted>>) -> PyResult<Bound<'_, PyAny>> {
    PySchema::new(schema(values.as_deref())).into_pyarrow(py)
}

/// Decoder of the rows of transactions into Arrow.
///
/// Args:
///     columns: The requested columns, in order.
///     tables: The requested tables.
///     operations: The requested operations: ``insert``, ``update``, ``delete``.
///     values: Columns of one table (name, and True for bytes), if images are structs.
///     whole: True to refuse an after image that lacks one of these columns, where it would be null.
#[pyclass(name = "RowDecoder", module = "paraply._native", frozen)]
pub struct PyRowDecoder {
    state: Mutex<RowDecoder>,
}

impl PyRowDecoder {
    fn lock(&self) -> MutexGuard<'_, RowDecoder> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyRowDecoder {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (columns, *, tables=None, operations=None, values=None, whole=false))]
    fn new(
        columns: Vec<String>,
        tables: Option<&PyTableFilter>,
        operations: Option<Vec<String>>,
        values: Option<Vec<Wanted>>,
        whole: bool,
    ) -> PyResult<Self> {
        let tables = tables.map_or_else(TableFilter::default, |tables| tables.0.clone());
        let decoder = RowDecoder::new(&columns, tables, operations, values, whole).map_err(Error::from)?;
        Ok(Self { state: Mutex::new(decoder) })
    }

    /// Begin with transactions, under the definitions valid now.
    fn begin(&self, batch: &PyTransactionBatch, catalog: &PyCatalog) {
        self.lock().begin(batch.batch(), catalog.snapshot());
    }

    /// Return the next rows of these transactions; None after the last one.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let rows = py.detach(|| self.lock().next_batch()).map_err(Error::from)?;
        rows.map(|rows| PyRecordBatch::new(rows).into_pyarrow(py)).transpose()
    }
}
