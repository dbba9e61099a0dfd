//! The head of a log's file, read before the rest.

use std::path::PathBuf;

use paraply_binlog::read::head::{Closing, FileHead, gtids_of, read_head};
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::plan::gtid::PyGtidSet;

/// Information in a log file's first and last events.
#[pyclass(name = "LogHead", module = "paraply._native", frozen)]
pub struct PyLogHead(FileHead);

#[pymethods]
impl PyLogHead {
    #[getter]
    fn mariadb(&self) -> bool {
        self.0.format.mariadb
    }

    #[getter]
    fn server_version(&self) -> &str {
        &self.0.format.server_version
    }

    #[getter]
    fn server_id(&self) -> u32 {
        self.0.format.server_id
    }

    /// Creation time of the file, seconds since 1970.
    #[getter]
    fn begun(&self) -> u32 {
        self.0.begun
    }

    #[getter]
    fn relay_log(&self) -> bool {
        self.0.relay_log
    }

    /// GTIDs executed before the file; None if it does not contain them.
    #[getter]
    fn previous_gtids(&self) -> Option<PyGtidSet> {
        self.0.previous_gtids.clone().map(PyGtidSet::from)
    }

    #[getter]
    fn has_transactions(&self) -> bool {
        self.0.first.is_some()
    }

    #[getter]
    fn first_gtid(&self) -> Option<String> {
        self.0.first.as_ref()?.gtid.as_ref().map(ToString::to_string)
    }

    /// Commit time of the first transaction, microseconds since 1970, UTC.
    #[getter]
    fn first_committed_at(&self) -> Option<i64> {
        self.0.first.as_ref().map(|first| first.committed_at)
    }

    /// Name of the next file, if the file ends with it.
    #[getter]
    fn next_file(&self) -> Option<&str> {
        match &self.0.closing {
            Closing::Next(name) => Some(name),
            Closing::Stopped | Closing::Open => None,
        }
    }

    /// True if the file ends like one that is complete.
    #[getter]
    fn closed(&self) -> bool {
        self.0.closing != Closing::Open
    }

    #[getter]
    fn size(&self) -> u64 {
        self.0.size
    }
}

/// Read the head and the tail of a log file of any size.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn log_head(py: Python<'_>, path: PathBuf) -> PyResult<PyLogHead> {
    py.detach(|| read_head(&path)).map(PyLogHead).map_err(|error| log_error(&error, None))
}

/// Return the GTIDs of a log file's transactions; scans its events without decoding them.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn log_gtids(py: Python<'_>, path: PathBuf) -> PyResult<PyGtidSet> {
    py.detach(|| gtids_of(&path)).map(PyGtidSet::from).map_err(|error| log_error(&error, None))
}
