//! Writing logs again with new numbers.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::file_name;
use paraply_binlog::write::rewrite::{Copied, RewriteError};
use paraply_plan::stamp::{StampError, Stamper};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::{Cause, Where, log_error, raise};
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;

/// Writer of logs with new numbers (R37). A log is written again as it is, but for its numbers and what follows from them.
///
/// Args:
///     files: Each log, the bytes of it to read, and the file to write, which must not exist.
///     workers: Most workers of the replica; no number is further back.
#[pyclass(name = "LogStamper", module = "paraply._native", frozen)]
pub struct PyLogStamper {
    stamper: Mutex<Stamper>,
}

impl PyLogStamper {
    fn lock(&self) -> MutexGuard<'_, Stamper> {
        self.stamper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyLogStamper {
    #[new]
    fn new(files: Vec<(PathBuf, u64, PathBuf)>, workers: u64) -> Self {
        let files = files.into_iter().map(|(from, size, to)| Copied { from, size, to });
        Self { stamper: Mutex::new(Stamper::new(files, workers)) }
    }

    /// Write the next transactions of the log, and everything before them.
    ///
    /// Raises:
    ///     UsageError: A MariaDB server wrote the log.
    ///     LogNotUnderstood: A transaction has no numbers, or is cut off and repeated later.
    ///     OSError: The file cannot be written.
    fn write(&self, py: Python<'_>, batch: &PyTransactionBatch, write_sets: &PyWriteSets) -> PyResult<()> {
        py.detach(|| self.lock().write(&batch.transactions, &write_sets.sets))
            .map_err(|error| exception(error, &batch.files))
    }

    /// Write the rest of all files; then they are durable.
    ///
    /// Raises:
    ///     LogError: The rest of a log is damaged.
    ///     OSError: A file cannot be written.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.lock().finish()).map_err(|error| exception(error, &[]))
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.lock().counts().transactions
    }

    /// Number of transactions that got other numbers than they had.
    #[getter]
    fn changed(&self) -> u64 {
        self.lock().counts().changed
    }

    /// Number of transactions that wait for all before them, and for which all after them wait.
    #[getter]
    fn barriers(&self) -> u64 {
        self.lock().counts().barriers
    }

    /// Number of transactions that may start while the one before them is applied, by the log's own numbers.
    #[getter]
    fn parallel_before(&self) -> u64 {
        self.lock().counts().parallel_before
    }

    /// The same number by the new numbers.
    #[getter]
    fn parallel_after(&self) -> u64 {
        self.lock().counts().parallel_after
    }

    /// Number of times that keys were forgotten for lack of memory.
    #[getter]
    fn overflows(&self) -> u64 {
        self.lock().overflows()
    }

    /// Bytes written.
    #[getter]
    fn written(&self) -> u64 {
        self.lock().written()
    }
}

fn exception(error: StampError, files: &[String]) -> PyErr {
    match error {
        StampError::Rewrite(RewriteError::Log(error)) => log_error(&error, None),
        StampError::Rewrite(RewriteError::Write { file, source }) => {
            PyOSError::new_err((source.raw_os_error().unwrap_or(0), source.to_string(), file))
        }
        StampError::MariaDb(file, offset) => {
            let place =
                Where { file: Some(file_name(files, file).to_owned()), position: Some(offset), ..Where::default() };
            let message =
                "a MariaDB server wrote the log: its transactions carry no last_committed and sequence_number";
            raise(Cause::Usage, message, &place)
        }
    }
}
