//! Reading logs and hashing what was read.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use paraply_binlog::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::Transaction;
use paraply_binlog::write_sets::{Options, Scheme, batch_write_sets};
use paraply_core::write_set::{Fallbacks, WriteSet};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::catalog::PyCatalog;
use crate::errors::{log_error, usage};
use crate::transaction::PyTransaction;

#[pyclass(name = "LogReader", module = "paraply._native", frozen)]
pub struct PyLogReader {
    reader: Mutex<LogReader>,
    files: Arc<Vec<String>>,
}

#[pymethods]
impl PyLogReader {
    #[new]
    #[pyo3(signature = (paths, *, verify_checksums=true))]
    fn new(py: Python<'_>, paths: Vec<PathBuf>, verify_checksums: bool) -> PyResult<Self> {
        let files = Arc::new(paths.iter().map(|p| p.to_string_lossy().into_owned()).collect::<Vec<_>>());
        let reader = py
            .detach(|| LogReader::open(&paths, ReaderOptions { verify_checksums, ..ReaderOptions::default() }))
            .map_err(|error| log_error(py, &error))?;
        Ok(Self { reader: Mutex::new(reader), files })
    }

    #[getter]
    fn files(&self) -> Vec<String> {
        self.files.to_vec()
    }

    #[pyo3(signature = (max_transactions=1024, max_bytes=16_777_216))]
    fn next_batch(
        &self,
        py: Python<'_>,
        max_transactions: usize,
        max_bytes: u64,
    ) -> PyResult<Option<PyTransactionBatch>> {
        let batch = py
            .detach(|| {
                let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
                reader.next_batch(max_transactions.max(1), max_bytes)
            })
            .map_err(|error| log_error(py, &error))?;
        Ok(batch.map(|transactions| PyTransactionBatch {
            transactions: Arc::new(transactions),
            files: Arc::clone(&self.files),
        }))
    }
}

#[pyclass(name = "TransactionBatch", module = "paraply._native", frozen)]
pub struct PyTransactionBatch {
    pub transactions: Arc<Vec<Transaction>>,
    pub files: Arc<Vec<String>>,
}

#[pymethods]
impl PyTransactionBatch {
    fn __len__(&self) -> usize {
        self.transactions.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<PyTransaction> {
        let length = self.transactions.len();
        let place = if index < 0 { index + length as isize } else { index };
        match usize::try_from(place) {
            Ok(place) if place < length => Ok(PyTransaction::new(&self.transactions, &self.files, place)),
            _ => Err(PyIndexError::new_err("the batch has no such transaction")),
        }
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.transactions.iter().map(|t| t.bytes).sum()
    }

    #[pyo3(signature = (catalog, *, scheme="fine", bytewise=false))]
    fn write_sets(
        &self,
        py: Python<'_>,
        catalog: &PyCatalog,
        scheme: &str,
        bytewise: bool,
    ) -> PyResult<PyWriteSets> {
        let scheme = match scheme {
            "fine" => Scheme::Fine,
            "group" => Scheme::Group,
            other => return Err(usage(py, &format!("unknown scheme `{other}`: it is fine or group"))),
        };
        let options = Options { scheme, bytewise, ..Options::default() };
        let catalog = catalog.snapshot();
        let hashed = py.detach(|| batch_write_sets(&self.transactions, &catalog, &options));
        let (sets, fallbacks) = hashed.map_err(|error| {
            let file = self.files.get(error.file as usize).map_or("", String::as_str);
            log_error(py, &error.into_log_error(file))
        })?;
        Ok(PyWriteSets { sets, fallbacks })
    }
}

#[pyclass(name = "WriteSets", module = "paraply._native", frozen)]
pub struct PyWriteSets {
    pub sets: Vec<WriteSet>,
    pub fallbacks: Fallbacks,
}

#[pymethods]
impl PyWriteSets {
    fn __len__(&self) -> usize {
        self.sets.len()
    }

    fn items(&self, index: usize) -> PyResult<(Vec<u64>, Vec<u64>, bool)> {
        let set = self.sets.get(index).ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        Ok((set.exclusive.clone(), set.shared.clone(), set.barrier))
    }
}
