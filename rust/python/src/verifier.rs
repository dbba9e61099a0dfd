//! Comparing recomputed numbers with a log's own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paraply_binlog::verify::{Place, StampVerifier};
use paraply_core::verification::Difference;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::usage;
use crate::log::{PyTransactionBatch, PyWriteSets};
use crate::transaction::file_name;

#[pyclass(name = "StampVerifier", module = "paraply._native", frozen)]
pub struct PyStampVerifier {
    verifier: Mutex<StampVerifier>,
    files: Mutex<Arc<Vec<String>>>,
    ordered: bool,
}

impl PyStampVerifier {
    fn lock(&self) -> MutexGuard<'_, StampVerifier> {
        self.verifier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_files(&self, files: &Arc<Vec<String>>) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(files);
    }
}

#[pymethods]
impl PyStampVerifier {
    #[new]
    #[pyo3(signature = (*, infer_gc=false, burn_on_collection=false, local_server_id=None))]
    fn new(infer_gc: bool, burn_on_collection: bool, local_server_id: Option<u32>) -> Self {
        Self {
            verifier: Mutex::new(StampVerifier::new(infer_gc, burn_on_collection, local_server_id)),
            files: Mutex::default(),
            ordered: local_server_id.is_some(),
        }
    }

    fn add_stamps(&self, py: Python<'_>, batch: &PyTransactionBatch) {
        self.keep_files(&batch.files);
        py.detach(|| self.lock().add_stamps(&batch.transactions));
    }

    #[getter]
    fn stamps_ahead(&self) -> usize {
        self.lock().stamps_ahead()
    }

    fn observe(&self, py: Python<'_>, batch: &PyTransactionBatch, write_sets: &PyWriteSets) -> PyResult<()> {
        if !self.ordered {
            self.keep_files(&batch.files);
        }
        py.detach(|| self.lock().observe(&batch.transactions, &write_sets.sets))
            .map_err(|error| usage(py, &error.to_string()))
    }

    fn finish(&self) {
        self.lock().finish();
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.lock().comparison().transactions()
    }

    #[getter]
    fn different(&self) -> u64 {
        self.lock().comparison().different()
    }

    #[getter]
    fn gc_after(&self) -> Vec<i64> {
        self.lock().comparison().collections().to_vec()
    }

    #[getter]
    fn missed(&self) -> u64 {
        self.lock().comparison().missed()
    }

    #[getter]
    fn first_difference<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.lock().comparison().first_difference().map(|first| self.dict(py, first)).transpose()
    }

    #[getter]
    fn differences<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.lock().comparison().differences().iter().map(|difference| self.dict(py, difference)).collect()
    }
}

impl PyStampVerifier {
    fn dict<'py>(&self, py: Python<'py>, difference: &Difference<Place>) -> PyResult<Bound<'py, PyDict>> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let dict = PyDict::new(py);
        dict.set_item("gtid", difference.place.gtid.as_ref().map(ToString::to_string))?;
        dict.set_item("file", file_name(&files, difference.place.file))?;
        dict.set_item("position", difference.place.offset)?;
        dict.set_item("logged", (difference.logged.last_committed, difference.logged.sequence_number))?;
        dict.set_item("computed", (difference.computed.last_committed, difference.computed.sequence_number))?;
        Ok(dict)
    }
}
