//! Copies of a source's log files, received by one thread and taken by another one.

use std::sync::Arc;
use std::time::Duration;

use paraply_binlog::write::copy::{KnownEvent, LogCopy, Piece};
use paraply_mysql::receive::copying::CopyQueue;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::log_error;
use crate::plan::gtid::PyGtidSet;

#[pyclass(name = "LogCopy", module = "paraply._native", frozen)]
pub struct PyLogCopy(Arc<CopyQueue>);

impl PyLogCopy {
    /// Returns the queue, for a receiver in another thread.
    pub fn queue(&self) -> Arc<CopyQueue> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl PyLogCopy {
    #[new]
    #[pyo3(signature = (file, *, known=None, piece_bytes=16_777_216))]
    fn new(file: &str, known: Option<(u64, u64, u64)>, piece_bytes: usize) -> Self {
        let copy = match known {
            Some((begin, end, hash)) => LogCopy::resume(file, KnownEvent { begin, end, hash }),
            None => LogCopy::begin(file),
        };
        Self(Arc::new(CopyQueue::new(copy, piece_bytes)))
    }

    #[getter]
    fn heard_at(&self) -> Option<i64> {
        Some(self.0.heard_at()).filter(|&time| time != 0)
    }

    fn append(&self, py: Python<'_>, event: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.append(event)).map_err(|error| log_error(&error, None))
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn take(&self, py: Python<'_>, seconds: f64) -> Option<PyLogPiece> {
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| self.0.take(timeout)).map(PyLogPiece)
    }
}

#[pyclass(name = "LogPiece", module = "paraply._native", frozen)]
pub struct PyLogPiece(Piece);

#[pymethods]
impl PyLogPiece {
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn begin(&self) -> u64 {
        self.0.begin
    }

    #[getter]
    fn end(&self) -> u64 {
        self.0.last.end
    }

    #[getter]
    fn whole(&self) -> u64 {
        self.0.whole
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes)
    }

    #[getter]
    fn last(&self) -> (u64, u64, u64) {
        (self.0.last.begin, self.0.last.end, self.0.last.hash)
    }

    #[getter]
    fn head(&self) -> Option<(u64, u64)> {
        self.0.facts.head
    }

    #[getter]
    fn previous_gtids(&self) -> Option<PyGtidSet> {
        self.0.facts.previous_gtids.clone().map(Into::into)
    }

    #[getter]
    fn gtids(&self) -> PyGtidSet {
        self.0.facts.gtids.clone().into()
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.0.facts.transactions
    }

    #[getter]
    fn committed(&self) -> Option<(i64, i64)> {
        self.0.facts.committed
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.closed
    }

    #[getter]
    fn next_file(&self) -> Option<&str> {
        self.0.next_file.as_deref()
    }
}
