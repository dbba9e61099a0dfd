//! Recording of the transactions of a log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::{file_name, gtid_text};
use paraply_arrow::recording::add_to_recording;
use paraply_core::simulate::Cause;
use paraply_core::simulate::groups::Prediction;
use paraply_core::tracker::Rules;
use paraply_plan::record::{LogRecorder, Sets};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use crate::analysis::recording::PyRecording;
use crate::analysis::results::{PyCosts, PyPredicted, PyTotals};
use crate::errors::{Error, log_error, usage};
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;
use crate::records::{KeyConflicts, TransactionKey};

/// Greatest size of a source's history by default, to keep memory small: newer servers remember more.
const MOST_HISTORY: u64 = 2_000_000;

/// The recorder and the names of the log's files; without a recorder once it is finished.
struct State {
    recorder: Option<LogRecorder>,
    files: Vec<String>,
}

/// Recorder of what each transaction of a log has to wait for.
///
/// Args:
///     costs: Cost model, for the prediction of conflicts.
///     version: Version of the source.
///     history: Size of the source's history of write sets; None for its version's, at most 2,000,000.
///     primaries: Number of primaries of a group for which conflicts are predicted; 0 for none.
///     latency_us: Latency of the group's messages in microseconds.
#[pyclass(name = "LogRecorder", module = "paraply._native", frozen)]
pub struct PyLogRecorder {
    state: Mutex<State>,
}

impl PyLogRecorder {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn finished() -> PyErr {
    usage("the recording is finished")
}

#[pymethods]
impl PyLogRecorder {
    #[new]
    #[pyo3(signature = (costs, *, version=(9, 7), history=None, primaries=0, latency_us=0))]
    fn new(costs: &PyCosts, version: (u8, u8), history: Option<u64>, primaries: u32, latency_us: i64) -> Self {
        let history = history.unwrap_or_else(|| Rules::of_version(version).history_size.min(MOST_HISTORY));
        let prediction = (primaries > 1).then(|| Prediction::new(primaries, latency_us));
        let recorder = Some(LogRecorder::new(history, prediction, costs.0));
        Self { state: Mutex::new(State { recorder, files: Vec::new() }) }
    }

    fn __len__(&self) -> usize {
        self.lock().recorder.as_ref().map_or(0, LogRecorder::len)
    }

    /// Add a batch; return index and hash of each key whose name is to be found in it.
    #[pyo3(signature = (batch, fine, group=None))]
    fn observe(
        &self,
        py: Python<'_>,
        batch: &PyTransactionBatch,
        fine: &PyWriteSets,
        group: Option<&PyWriteSets>,
    ) -> PyResult<Vec<TransactionKey>> {
        let sets =
            Sets { fine: &fine.sets, group: group.map_or(&[], |group| &group.sets[..]), fallbacks: &fine.fallbacks };
        let observed = py.detach(|| {
            let mut state = self.lock();
            if state.files.len() != batch.files.len() {
                state.files.clone_from(&batch.files);
            }
            state.recorder.as_mut().map(|recorder| recorder.observe(&batch.transactions, &sets))
        });
        let wanted = observed.ok_or_else(finished)?.map_err(|error| {
            let gtid = batch.transactions.iter().find(|one| one.offset <= error.offset).and_then(gtid_text);
            log_error(&error.into_log_error(file_name(&batch.files, error.file)), gtid)
        })?;
        Ok(wanted.into_iter().map(|(transaction, key)| TransactionKey { transaction, key }).collect())
    }

    /// Add a record batch of a trace.
    fn observe_trace(&self, py: Python<'_>, transactions: PyRecordBatch) -> PyResult<()> {
        let batch = transactions.into_inner();
        let add = || {
            let mut state = self.lock();
            let State { recorder, files } = &mut *state;
            recorder.as_mut().map(|recorder| add_to_recording(recorder, &batch, files))
        };
        Ok(py.detach(add).ok_or_else(finished)?.map_err(Error::from)?)
    }

    /// Set the cause of conflicts over a key.
    fn set_cause(&self, key: u64, cause: &str) -> PyResult<()> {
        let cause = Cause::from_name(cause).ok_or_else(|| usage(&format!("there is no cause `{cause}`")))?;
        self.lock().recorder.as_mut().ok_or_else(finished)?.set_cause(key, cause);
        Ok(())
    }

    /// Return the totals so far.
    fn totals(&self) -> PyResult<PyTotals> {
        self.lock().recorder.as_ref().map(|recorder| PyTotals::from(recorder.totals())).ok_or_else(finished)
    }

    /// Return the expected certification conflicts, with the keys that have most of them.
    fn predicted(&self, most: usize) -> PyPredicted {
        let state = self.lock();
        let prediction = state.recorder.as_ref().and_then(LogRecorder::prediction);
        prediction.map_or_else(PyPredicted::default, |found| PyPredicted {
            conflicts: found.conflicts(),
            transactions: found.written(),
            keys: found.hottest(most).into_iter().map(|(key, conflicts)| KeyConflicts { key, conflicts }).collect(),
        })
    }

    /// Return the recording; nothing can be added any more.
    fn finish(&self) -> PyResult<PyRecording> {
        let mut state = self.lock();
        let (recorder, origins) = state.recorder.take().ok_or_else(finished)?.finish();
        Ok(PyRecording { recording: Arc::new(recorder.finish()), origins, files: std::mem::take(&mut state.files) })
    }
}
