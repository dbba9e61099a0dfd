//! Comparing recomputed numbers with a log's own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::file_name;
use paraply_core::tracker::{Mode, Rules, Sessions};
use paraply_core::verification::{Difference, StampComparison};
use paraply_plan::verify::dependencies::DependencyVerifier;
use paraply_plan::verify::tracked::TrackerVerifier;
use paraply_plan::verify::{Place, StampVerifier};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::usage;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;

/// A verifier that several threads may use, and the files of the transactions that it has read.
struct Guarded<T> {
    verifier: Mutex<T>,
    files: Mutex<Arc<Vec<String>>>,
}

impl<T> Guarded<T> {
    fn new(verifier: T) -> Self {
        Self { verifier: Mutex::new(verifier), files: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.verifier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_files(&self, files: &Arc<Vec<String>>) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(files);
    }

    fn comparison(&self, found: &StampComparison<Place>) -> PyComparison {
        let files = Arc::clone(&self.files.lock().unwrap_or_else(PoisonError::into_inner));
        PyComparison { found: found.clone(), files }
    }
}

/// Verifier that computes the numbers of a group member's relay log and compares them with the log's own.
#[pyclass(name = "StampVerifier", module = "paraply._native", frozen)]
pub struct PyStampVerifier {
    guarded: Guarded<StampVerifier>,
    ordered: bool,
}

#[pymethods]
impl PyStampVerifier {
    #[new]
    #[pyo3(signature = (*, infer_gc=false, burn_on_collection=false, local_server_id=None))]
    fn new(infer_gc: bool, burn_on_collection: bool, local_server_id: Option<u32>) -> Self {
        Self {
            guarded: Guarded::new(StampVerifier::new(infer_gc, burn_on_collection, local_server_id)),
            ordered: local_server_id.is_some(),
        }
    }

    fn add_stamps(&self, py: Python<'_>, batch: &PyTransactionBatch) {
        self.guarded.keep_files(&batch.files);
        py.detach(|| self.guarded.lock().add_stamps(&batch.transactions));
    }

    #[getter]
    fn stamps_ahead(&self) -> usize {
        self.guarded.lock().stamps_ahead()
    }

    fn observe(&self, py: Python<'_>, batch: &PyTransactionBatch, write_sets: &PyWriteSets) -> PyResult<()> {
        if !self.ordered {
            self.guarded.keep_files(&batch.files);
        }
        py.detach(|| self.guarded.lock().observe(&batch.transactions, &write_sets.sets))
            .map_err(|error| usage(&error.to_string()))
    }

    fn finish(&self) -> PyComparison {
        let mut verifier = self.guarded.lock();
        verifier.finish();
        self.guarded.comparison(verifier.comparison())
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.guarded.lock().comparison().transactions()
    }
}

/// Result of a verifier.
#[pyclass(name = "Comparison", module = "paraply._native", frozen)]
pub struct PyComparison {
    found: StampComparison<Place>,
    files: Arc<Vec<String>>,
}

#[pymethods]
impl PyComparison {
    #[getter]
    fn transactions(&self) -> u64 {
        self.found.transactions()
    }

    #[getter]
    fn different(&self) -> u64 {
        self.found.different()
    }

    /// Number of different transactions whose computed ``last_committed`` is smaller than the server's.
    #[getter]
    fn missed(&self) -> u64 {
        self.found.missed()
    }

    #[getter]
    fn gc_after(&self) -> Vec<i64> {
        self.found.collections().to_vec()
    }

    #[getter]
    fn first_difference<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.found.first_difference().map(|first| dict_of(py, first, &self.files)).transpose()
    }

    /// The first thousand differences, each like ``first_difference``.
    #[getter]
    fn differences<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.found.differences().iter().map(|difference| dict_of(py, difference, &self.files)).collect()
    }
}

/// Returns a transaction that differs as a dict for Python.
fn dict_of<'py>(py: Python<'py>, difference: &Difference<Place>, files: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("gtid", difference.place.gtid.as_ref().map(ToString::to_string))?;
    dict.set_item("file", file_name(files, difference.place.file))?;
    dict.set_item("position", difference.place.offset)?;
    dict.set_item("logged", (difference.logged.last_committed, difference.logged.sequence_number))?;
    dict.set_item("computed", (difference.computed.last_committed, difference.computed.sequence_number))?;
    Ok(dict)
}

/// Verifier that computes the numbers of a source's own binary log (R16) and compares them with the log's own.
///
/// Args:
///     version: Version of the server, for its rules and its default history size.
///     history_size: ``binlog_transaction_dependency_history_size``.
///     tracking: ``writeset``, ``writeset-session`` or ``commit-order``.
///     sessions: ``auto`` (as logged), ``single`` or ``many``.
///
/// Raises:
///     UsageError: An option is unknown.
#[pyclass(name = "TrackerVerifier", module = "paraply._native", frozen)]
pub struct PyTrackerVerifier {
    guarded: Guarded<TrackerVerifier>,
}

#[pymethods]
impl PyTrackerVerifier {
    #[new]
    #[pyo3(signature = (*, version, history_size=None, tracking="writeset", sessions="auto"))]
    fn new(version: (u8, u8), history_size: Option<u64>, tracking: &str, sessions: &str) -> PyResult<Self> {
        let mut rules = Rules::of_version(version);
        rules.history_size = history_size.unwrap_or(rules.history_size);
        let mode = match tracking {
            "writeset" => Mode::WriteSet,
            "writeset-session" => Mode::WriteSetSession,
            "commit-order" => Mode::CommitOrder,
            other => return Err(usage(&format!("unknown tracking `{other}`"))),
        };
        let sessions = match sessions {
            "auto" => Sessions::Logged,
            "single" => Sessions::Single,
            "many" => Sessions::Many,
            other => return Err(usage(&format!("unknown sessions `{other}`: it is auto, single or many"))),
        };
        Ok(Self { guarded: Guarded::new(TrackerVerifier::new(mode, rules, sessions)) })
    }

    fn observe(&self, py: Python<'_>, batch: &PyTransactionBatch, write_sets: &PyWriteSets) {
        self.guarded.keep_files(&batch.files);
        py.detach(|| self.guarded.lock().observe(&batch.transactions, &write_sets.sets));
    }

    fn finish(&self) -> PyComparison {
        let mut verifier = self.guarded.lock();
        verifier.finish();
        self.guarded.comparison(verifier.comparison())
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.guarded.lock().comparison().transactions()
    }

    /// Number of transactions with only one possible pair of numbers.
    #[getter]
    fn exact(&self) -> u64 {
        self.guarded.lock().exact()
    }
}

/// Verifier that computes what each transaction depends on, and finds numbers below that (R37).
#[pyclass(name = "DependencyVerifier", module = "paraply._native", frozen)]
pub struct PyDependencyVerifier {
    guarded: Guarded<DependencyVerifier>,
}

#[pymethods]
impl PyDependencyVerifier {
    #[new]
    fn new() -> Self {
        Self { guarded: Guarded::new(DependencyVerifier::default()) }
    }

    fn observe(&self, py: Python<'_>, batch: &PyTransactionBatch, write_sets: &PyWriteSets) {
        self.guarded.keep_files(&batch.files);
        py.detach(|| self.guarded.lock().observe(&batch.transactions, &write_sets.sets));
    }

    fn finish(&self) -> PyComparison {
        let mut verifier = self.guarded.lock();
        verifier.finish();
        self.guarded.comparison(verifier.comparison())
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.guarded.lock().comparison().transactions()
    }
}
