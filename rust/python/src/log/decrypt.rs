//! Decryption of whole log files.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use paraply_binlog::read::decrypt::{Decrypter, Keys};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::log_error;

/// Reader of an encrypted log of MySQL or MariaDB, which gives the log as the server sends it.
///
/// Args:
///     path: The file.
///     keys: Keys by their name: the key id of MySQL's keyring, or the number in MariaDB's key file.
///
/// Raises:
///     LogNotUnderstood: It is no encrypted log, or its key is missing or does not fit.
///     LogDamaged: The file is damaged or, as ``LogTruncated``, cut off.
#[pyclass(name = "Decrypter", module = "paraply._native", frozen)]
pub struct PyDecrypter(Mutex<Decrypter>);

#[pymethods]
impl PyDecrypter {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn new(py: Python<'_>, path: PathBuf, keys: Keys) -> PyResult<Self> {
        let opened = py.detach(|| Decrypter::open(&path, &keys));
        Ok(Self(Mutex::new(opened.map_err(|error| log_error(&error, None))?)))
    }

    /// Return the next plain bytes; None at the end.
    fn next_piece<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let piece = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next_piece());
        Ok(piece.map_err(|error| log_error(&error, None))?.map(|bytes| PyBytes::new(py, &bytes)))
    }
}

/// Return True if the first bytes of a file, about a kilobyte, are those of an encrypted log.
#[pyfunction]
pub fn is_encrypted(start: &[u8]) -> bool {
    paraply_binlog::read::decrypt::is_encrypted(start)
}
