//! The certifier, one transaction at a time and over Arrow.

use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_schema::SchemaRef;
use paraply_core::certifier::{Candidate, Certifier, Export, GtidFrom, Kind, Numbers, Options, Outcome};
use paraply_core::gtid::{Gtid, GtidSet};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyTable};

use crate::certifier_batch::{CandidateColumns, export_batch, import_batch, outcome_batch, outcome_schema};
use crate::errors::usage;
use crate::gtid::{PyGtidSet, parse_gtid};

/// What the certifier answers for one transaction.
#[pyclass(name = "Certified", module = "paraply._native", frozen, get_all)]
pub struct PyCertified {
    /// Whether it may commit.
    committed: bool,
    /// The newest transaction that must be committed before this one starts; none for local and rejected ones.
    last_committed: Option<i64>,
    /// Its own number; none for local and rejected ones.
    sequence_number: Option<i64>,
    /// Its GTID, where it has one.
    gtid: Option<String>,
    /// Why it was rejected.
    reason: Option<String>,
}

#[pymethods]
impl PyCertified {
    fn __repr__(&self) -> String {
        match (&self.reason, self.last_committed, self.sequence_number) {
            (Some(reason), _, _) => format!("Certified(rejected: {reason})"),
            (None, Some(last), Some(number)) => format!("Certified(last_committed={last}, sequence_number={number})"),
            _ => "Certified(local)".to_owned(),
        }
    }
}

impl From<Outcome> for PyCertified {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Certified { numbers, gtid } => Self {
                committed: true,
                last_committed: numbers.map(|n| n.last_committed),
                sequence_number: numbers.map(|n| n.sequence_number),
                gtid: gtid.map(|gtid| gtid.to_string()),
                reason: None,
            },
            Outcome::Rejected(rejection) => Self {
                committed: false,
                last_committed: None,
                sequence_number: None,
                gtid: None,
                reason: Some(rejection.to_string()),
            },
        }
    }
}

#[pyclass(name = "Certifier", module = "paraply._native", frozen)]
pub struct PyCertifier {
    certifier: Mutex<Certifier>,
}

impl PyCertifier {
    fn lock(&self) -> MutexGuard<'_, Certifier> {
        self.certifier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyCertifier {
    #[new]
    #[pyo3(signature = (*, collection_burns_number=false, first_remote_alone=true))]
    fn new(collection_burns_number: bool, first_remote_alone: bool) -> Self {
        let options = Options { collection_burns_number, first_remote_alone };
        Self { certifier: Mutex::new(Certifier::new(options)) }
    }

    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (write_set, *, snapshot=None, gtid=None, local=false, barrier=false))]
    fn certify(
        &self,
        py: Python<'_>,
        write_set: Vec<u64>,
        snapshot: Option<&PyGtidSet>,
        gtid: Option<&str>,
        local: bool,
        barrier: bool,
    ) -> PyResult<PyCertified> {
        let gtid: Option<Gtid> = gtid.map(|text| parse_gtid(py, text)).transpose()?;
        let snapshot: Option<GtidSet> = snapshot.map(PyGtidSet::snapshot);
        let candidate = Candidate {
            items: &write_set,
            snapshot: snapshot.as_ref(),
            gtid: gtid.as_ref().map_or(GtidFrom::Nowhere, GtidFrom::Own),
            local,
            kind: if barrier { Kind::Barrier } else { Kind::Rows },
        };
        Ok(self.lock().certify(&candidate).into())
    }

    fn certify_batch<'py>(&self, py: Python<'py>, transactions: AnyRecordBatch) -> PyResult<Bound<'py, PyAny>> {
        match transactions {
            AnyRecordBatch::RecordBatch(batch) => {
                let batch = batch.into_inner();
                let columns = CandidateColumns::read(py, &batch)?;
                let outcomes = py.detach(|| columns.certify(&mut self.lock()));
                PyRecordBatch::new(outcome_batch(py, outcomes)?).into_pyarrow(py)
            }
            AnyRecordBatch::Stream(stream) => {
                let schema: SchemaRef = outcome_schema();
                let mut answers = Vec::new();
                for batch in stream.into_reader()? {
                    let batch = batch.map_err(|error| usage(py, &error.to_string()))?;
                    let columns = CandidateColumns::read(py, &batch)?;
                    let outcomes = py.detach(|| columns.certify(&mut self.lock()));
                    answers.push(outcome_batch(py, outcomes)?);
                }
                Ok(PyTable::try_new(answers, schema)?.into_pyarrow(py)?)
            }
        }
    }

    fn collect_garbage(&self, py: Python<'_>, stable: &PyGtidSet) -> bool {
        let stable = stable.snapshot();
        py.detach(|| self.lock().collect_garbage(&stable))
    }

    fn view_change(&self) -> (i64, i64) {
        let Numbers { last_committed, sequence_number } = self.lock().view_change();
        (last_committed, sequence_number)
    }

    fn commit(&self, gtids: &PyGtidSet) {
        let gtids = gtids.snapshot();
        self.lock().commit(&gtids);
    }

    fn export<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let export: Export = py.detach(|| self.lock().export());
        PyRecordBatch::new(export_batch(&export)?).into_pyarrow(py)
    }

    #[staticmethod]
    #[pyo3(signature = (exported, *, collection_burns_number=false))]
    fn joined(py: Python<'_>, exported: PyRecordBatch, collection_burns_number: bool) -> PyResult<Self> {
        let export = import_batch(py, &exported.into_inner())?;
        let options = Options { collection_burns_number, ..Options::default() };
        Ok(Self { certifier: Mutex::new(py.detach(|| Certifier::import(options, &export))) })
    }

    #[getter]
    fn last_committed_global(&self) -> i64 {
        self.lock().last_committed_global()
    }

    #[getter]
    fn next_sequence_number(&self) -> i64 {
        self.lock().next_number()
    }

    fn __len__(&self) -> usize {
        self.lock().items_held()
    }

    #[getter]
    fn memory(&self) -> usize {
        self.lock().memory()
    }
}
