//! The columnar trace as Arrow record batches.

use paraply_arrow::trace;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

use crate::errors::Error;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;

/// Return the schema of the trace.
#[pyfunction]
pub fn trace_schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    PySchema::new(trace::schema()).into_pyarrow(py)
}

/// Return the requested transactions of a batch and their write sets as rows of the trace.
///
/// Args:
///     batch: The transactions.
///     write_sets: Write sets of the batch.
///     reads: True if the scheme has shared keys; else the column is null.
#[pyfunction]
#[pyo3(signature = (batch, write_sets, *, reads=true))]
pub fn trace_batch<'py>(
    py: Python<'py>,
    batch: &PyTransactionBatch,
    write_sets: &PyWriteSets,
    reads: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = py.detach(|| trace::trace_batch(&batch.batch(), &write_sets.sets, reads)).map_err(Error::from)?;
    PyRecordBatch::new(rows).into_pyarrow(py)
}
