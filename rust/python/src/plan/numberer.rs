//! Giving new numbers to the transactions of a log that is served.

use std::sync::{Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::{file_name, gtid_text};
use paraply_binlog::error::{Fault, LogError};
use paraply_mysql::serve::{Begun, Numbering};
use paraply_plan::stamp::{Counts, Numberer};
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::log::transaction_batch::{Failure, PyTransactionBatch};
use crate::log::write_sets::PyWriteSets;

/// Giver of new numbers to the transactions of a log that is served (R37); from ``LogServer.numberer``.
#[pyclass(name = "LogNumberer", module = "paraply._native", frozen)]
pub struct PyLogNumberer {
    state: Mutex<State>,
}

/// Log file that was begun.
///
/// Attributes:
///     number: Its number.
///     path: Its path.
///     first_number: Number of its first transaction; None if the counters start over.
///     source_file: File of the source's log in which it begins; None if not known.
#[pyclass(name = "BegunFile", module = "paraply._native", frozen, get_all)]
pub struct PyBegunFile {
    number: u64,
    path: String,
    first_number: Option<u64>,
    source_file: Option<String>,
}

struct State {
    numbering: Numbering,
    numberer: Numberer,
    /// Number of the first transaction.
    first: Option<u64>,
    /// Number of the next transaction, unless the counters start over with it.
    next: Option<u64>,
    begun: Vec<PyBegunFile>,
}

impl PyLogNumberer {
    pub fn new(numbering: Numbering, workers: u64, first: Option<u64>) -> Self {
        let state = State { numbering, numberer: Numberer::new(workers), first, next: first, begun: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> Counts {
        self.lock().numberer.counts()
    }
}

impl State {
    /// Gives numbers to a batch, and returns the log files that were begun up to its last transaction: those after it
    /// begin with other tables, if it is a statement.
    fn write(&mut self, batch: &PyTransactionBatch, sets: &PyWriteSets) -> Result<Vec<PyBegunFile>, Failure> {
        for (transaction, set) in batch.transactions.iter().zip(&sets.sets) {
            let file = file_name(&batch.files, transaction.file);
            let failed = |error: LogError| (error, gtid_text(transaction));
            let restarts = self.numbering.advance(file, transaction.offset).map_err(failed)?;
            self.note_begun();
            let first = self.first.take().filter(|_| !self.numbering.source_moved());
            let stamps = self.numberer.next(transaction, set, restarts, first);
            self.numbering.put(transaction, stamps).map_err(failed)?;
            self.next = Some(stamps.sequence_number + 1);
        }
        let begun = std::mem::take(&mut self.begun);
        self.publish()?;
        Ok(begun)
    }

    fn publish(&mut self) -> Result<(), Failure> {
        let published = self.numbering.publish();
        self.note_begun();
        published.map_err(|error| (error, None))
    }

    fn note_begun(&mut self) {
        for Begun { number, path, source_file, restarts } in self.numbering.take_begun() {
            let first_number = self.next.filter(|_| !restarts);
            let path = path.to_string_lossy().into_owned();
            self.begun.push(PyBegunFile { number, path, first_number, source_file });
        }
    }
}

#[pymethods]
impl PyLogNumberer {
    /// Give numbers to the next transactions of the log, and let replicas have them.
    ///
    /// Returns:
    ///     Log files that were begun before the batch's last transaction.
    ///
    /// Raises:
    ///     LogError: A transaction has no numbers that could be changed, or the log cannot be read.
    fn write(
        &self,
        py: Python<'_>,
        batch: &PyTransactionBatch,
        write_sets: &PyWriteSets,
    ) -> PyResult<Vec<PyBegunFile>> {
        let begun = py.detach(|| self.lock().write(batch, write_sets));
        begun.map_err(|(error, gtid)| log_error(&error, gtid))
    }

    /// Let replicas have what is after the last transaction.
    ///
    /// Returns:
    ///     Log files that were begun since the last call.
    ///
    /// Raises:
    ///     LogError: The log cannot be read.
    fn publish(&self, py: Python<'_>) -> PyResult<Vec<PyBegunFile>> {
        py.detach(|| {
            let mut state = self.lock();
            state.publish()?;
            Ok(std::mem::take(&mut state.begun))
        })
        .map_err(|(error, gtid): Failure| log_error(&error, gtid))
    }

    /// End with the log: nothing more gets numbers. Replicas get the log's damage, or this reason and its place.
    #[pyo3(signature = (reason=None, file="", position=0))]
    fn end(&self, py: Python<'_>, reason: Option<&str>, file: &str, position: u64) {
        let failure = reason.map(|reason| Fault::not_understood(reason).at(file, position));
        py.detach(|| self.lock().numbering.end(failure));
    }

    /// Number of transactions.
    #[getter]
    fn transactions(&self) -> u64 {
        self.counts().transactions
    }

    /// Transactions that got other numbers than they had.
    #[getter]
    fn changed(&self) -> u64 {
        self.counts().changed
    }

    /// Transactions that wait for all before them, and for which all after them wait.
    #[getter]
    fn barriers(&self) -> u64 {
        self.counts().barriers
    }

    /// Transactions that may start while the one before them is applied, by the log's own numbers.
    #[getter]
    fn parallel_before(&self) -> u64 {
        self.counts().parallel_before
    }

    /// The same by the new numbers.
    #[getter]
    fn parallel_after(&self) -> u64 {
        self.counts().parallel_after
    }
}
