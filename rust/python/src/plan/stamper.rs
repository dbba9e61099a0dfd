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

    fn write(&self, py: Python<'_>, batch: &PyTransactionBatch, write_sets: &PyWriteSets) -> PyResult<()> {
        py.detach(|| self.lock().write(&batch.transactions, &write_sets.sets))
            .map_err(|error| exception(error, &batch.files))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.lock().finish()).map_err(|error| exception(error, &[]))
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.lock().counts().transactions
    }

    #[getter]
    fn changed(&self) -> u64 {
        self.lock().counts().changed
    }

    #[getter]
    fn barriers(&self) -> u64 {
        self.lock().counts().barriers
    }

    #[getter]
    fn parallel_before(&self) -> u64 {
        self.lock().counts().parallel_before
    }

    #[getter]
    fn parallel_after(&self) -> u64 {
        self.lock().counts().parallel_after
    }

    #[getter]
    fn overflows(&self) -> u64 {
        self.lock().overflows()
    }

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
