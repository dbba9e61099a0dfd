//! A recorded log, and simulations of it.

use std::collections::HashMap;
use std::sync::Arc;

use paraply_core::simulate::{
    Applier, Cause, Causes, KeyTag, Numbers, Recording, Setup, Span, Without, critical_path, explain, merged_span,
    numbered_span, schedule, simulate,
};
use pyo3::prelude::*;

use crate::analysis::results::{PyChain, PyCosts, PyLoss, PyOutcome, PyRecordedTransaction, PyScheduleSlot};
use crate::errors::usage;
use crate::records::{ChainKey, ChainLength, ChainTransaction, ExplainedLosses};

/// One simulation.
///
/// Args:
///     applier: ``mysql``, ``change_stream``, ``mariadb`` or ``paraply``.
///     workers: Number of workers.
///     costs: The cost model.
///     numbers: Numbers by which MySQL's coordinator schedules: ``stamped``, ``writeset``, ``group`` or ``fine``.
///     ordered: True if commits keep the log's order.
///     merge: Most transactions of a commit of paraply; 0 for as many as it would choose itself.
///     without: Causes that are left out.
///     without_key: Tag of a key whose conflicts are left out.
#[pyclass(name = "Setup", module = "paraply._native", frozen)]
pub struct PySetup(Setup);

#[pymethods]
impl PySetup {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (applier, workers, costs, *, numbers="stamped", ordered=true, merge=0, without=Vec::new(), without_key=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        applier: &str,
        workers: u32,
        costs: &PyCosts,
        numbers: &str,
        ordered: bool,
        merge: u32,
        without: Vec<String>,
        without_key: Option<u32>,
    ) -> PyResult<Self> {
        let applier = match applier {
            "mysql" => Applier::MySql,
            "change_stream" => Applier::ChangeStream,
            "mariadb" => Applier::MariaDb,
            "paraply" => Applier::Paraply,
            other => return Err(usage(&format!("there is no applier `{other}`"))),
        };
        let mut causes = Causes::default();
        for name in &without {
            let cause = Cause::from_name(name).ok_or_else(|| usage(&format!("there is no cause `{name}`")))?;
            causes = causes.with(cause);
        }
        let without = Without { causes, key: without_key.map(KeyTag::from_number) };
        let numbers = numbers_of(numbers)?;
        Ok(Self(Setup { applier, numbers, workers, ordered, merge, costs: costs.0, without }))
    }
}

fn numbers_of(name: &str) -> PyResult<Numbers> {
    match name {
        "stamped" => Ok(Numbers::Stamped),
        "writeset" => Ok(Numbers::WriteSet),
        "group" => Ok(Numbers::Group),
        "fine" => Ok(Numbers::Fine),
        other => Err(usage(&format!("there are no numbers `{other}`"))),
    }
}

/// Recorded log.
#[pyclass(name = "Recording", module = "paraply._native", frozen)]
pub struct PyRecording {
    pub recording: Arc<Recording>,
    pub origins: Vec<String>,
    pub files: Vec<String>,
}

#[pymethods]
impl PyRecording {
    fn __len__(&self) -> usize {
        self.recording.len()
    }

    /// True if the transactions carry numbers of a source or a certifier.
    #[getter]
    fn has_stamps(&self) -> bool {
        self.recording.has_stamps()
    }

    /// True if the numbers of a source and of a certifier were computed.
    #[getter]
    fn has_recomputed(&self) -> bool {
        self.recording.has_recomputed()
    }

    /// Bytes in use.
    #[getter]
    fn memory(&self) -> usize {
        self.recording.memory()
    }

    /// Return the nanoseconds of one worker that applies everything.
    fn work(&self, py: Python<'_>, costs: &PyCosts) -> u64 {
        py.detach(|| self.recording.work(&costs.0))
    }

    /// Return the nanoseconds of one transaction, with its commit.
    fn time_of(&self, costs: &PyCosts, index: usize) -> PyResult<u64> {
        self.known(index)?;
        Ok(costs.0.apply(&self.recording, index) + costs.0.commit_ns)
    }

    /// Return the times of a schedule.
    fn simulate(&self, py: Python<'_>, setup: &PySetup) -> PyOutcome {
        py.detach(|| simulate(&self.recording, &setup.0)).into()
    }

    /// Divide the time that a schedule loses against ``most`` workers that are always busy: each cause, and after it its keys.
    fn explain(&self, py: Python<'_>, setup: &PySetup, most: u32, most_keys: usize) -> PyResult<ExplainedLosses> {
        let (outcome, losses) = py.detach(|| explain(&self.recording, &setup.0, most, most_keys));
        let outcome = Py::new(py, PyOutcome::from(outcome))?.into_any();
        let losses = losses.into_iter().map(|loss| Ok(Py::new(py, PyLoss::from(loss))?.into_any()));
        Ok(ExplainedLosses { outcome, losses: losses.collect::<PyResult<_>>()? })
    }

    /// Return a part of a schedule.
    fn schedule(&self, py: Python<'_>, setup: &PySetup, first: usize, most: usize) -> Vec<PyScheduleSlot> {
        let slots = py.detach(|| schedule(&self.recording, &setup.0, first, most));
        slots.into_iter().map(PyScheduleSlot::from).collect()
    }

    /// Return nanoseconds and steps of the longest chain under numbers, or of blocks.
    #[pyo3(signature = (costs, numbers, merge=1))]
    fn span(&self, py: Python<'_>, costs: &PyCosts, numbers: &str, merge: u32) -> PyResult<ChainLength> {
        let (numbers, recording) = (numbers_of(numbers)?, &self.recording);
        let Span { total_ns, steps } = py.detach(|| match numbers {
            Numbers::Fine if merge > 1 => merged_span(recording, &costs.0, merge),
            Numbers::Fine => critical_path(recording, &costs.0).0,
            other => numbered_span(recording, &costs.0, other),
        });
        Ok(ChainLength { total_ns, steps })
    }

    /// Return the longest chain under exact dependencies.
    fn critical_path(&self, py: Python<'_>, costs: &PyCosts, most: usize) -> PyChain {
        py.detach(|| {
            let (span, steps) = critical_path(&self.recording, &costs.0);
            let mut counts: HashMap<u32, u64> = HashMap::new();
            for key in steps.iter().filter_map(|step| step.key) {
                *counts.entry(key.key().number()).or_default() += 1;
            }
            let mut keys: Vec<_> = counts.into_iter().collect();
            keys.sort_by_key(|(key, count)| (u64::MAX - count, *key));
            keys.truncate(most);
            let mut largest = steps;
            largest.sort_by_key(|step| (u64::MAX - costs.0.apply(&self.recording, step.index as usize), step.index));
            largest.truncate(most);
            let largest = largest
                .iter()
                .map(|step| ChainTransaction { transaction: step.index, key: step.key.map(|key| key.key().number()) });
            let keys = keys.into_iter().map(|(key, steps)| ChainKey { key, steps }).collect();
            PyChain { total_ns: span.total_ns, steps: span.steps, largest: largest.collect(), keys }
        })
    }

    /// Return the record of a transaction.
    fn transaction(&self, index: usize) -> PyResult<PyRecordedTransaction> {
        self.known(index)?;
        let (identity, place) = (self.recording.identity(index), self.recording.place(index));
        let origin = self.origins.get(usize::from(identity.origin)).filter(|_| identity.number > 0);
        Ok(PyRecordedTransaction {
            index,
            gtid: origin.map(|origin| gtid_of(origin, identity.number)),
            file: self.files.get(place.file as usize).cloned().unwrap_or_default(),
            position: place.offset,
            rows: self.recording.rows(index),
            bytes: self.recording.bytes(index),
        })
    }
}

impl PyRecording {
    fn known(&self, index: usize) -> PyResult<()> {
        if index < self.recording.len() { Ok(()) } else { Err(usage("the recording has no such transaction")) }
    }
}

/// Returns a GTID from the text of its origin: `MySQL` separates the number by a colon, `MariaDB` by a dash.
fn gtid_of(origin: &str, number: i64) -> String {
    let separator = if origin.len() > 32 { ':' } else { '-' };
    format!("{origin}{separator}{number}")
}
