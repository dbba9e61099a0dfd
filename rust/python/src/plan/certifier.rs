//! The certifier, one transaction at a time and over Arrow.

use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_schema::SchemaRef;
use paraply_arrow::certifier_batch::{CandidateColumns, export_batch, import_batch, outcome_batch, outcome_schema};
use paraply_core::certifier::{Candidate, Certifier, Export, GtidBlocks, GtidFrom, Kind, Numbers, Options, Outcome};
use paraply_core::gtid::{Gtid, GtidSet, Origin};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyTable};

use crate::errors::{Error, usage};
use crate::plan::gtid::{PyGtidSet, parse_gtid};
use crate::records::Stamps;

/// Returns blocks of GTIDs of a group, if it has a name: `uuid` or `uuid:tag` (R10); by default of the size of
/// `group_replication_gtid_assignment_block_size`.
fn blocks(group: Option<&str>, size: u64) -> PyResult<Option<GtidBlocks>> {
    let Some(name) = group else { return Ok(None) };
    match parse_gtid(&format!("{name}:1"))?.origin {
        origin @ Origin::MySql { .. } => Ok(Some(GtidBlocks::new(origin, size))),
        Origin::MariaDb { .. } => Err(usage(&format!("a group's name is a UUID, not {name}"))),
    }
}

/// Answer of the certifier.
#[pyclass(name = "Certified", module = "paraply._native", frozen, get_all)]
pub struct PyCertified {
    /// True if the transaction may commit.
    committed: bool,
    /// The newest transaction that must be committed before this one starts; none for local and rejected ones.
    last_committed: Option<i64>,
    /// Its own number; none for local and rejected ones.
    sequence_number: Option<i64>,
    /// Its GTID, if it has one.
    gtid: Option<String>,
    /// Reason of the rejection.
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

/// Certifier of transactions, which stamps them with ``last_committed`` and ``sequence_number`` (WL#8440, rules R1 to R10).
///
/// Args:
///     collection_burns_number: True to let a collection use up one number, as in MySQL 5.7.
///     first_remote_alone: True to stamp the first remote transaction with (0, 0), like a started member.
///     group: Name of the group, a UUID: transactions that name their member get GTIDs from its blocks (R10).
///     block_size: Number of GTIDs in a block.
#[pyclass(name = "Certifier", module = "paraply._native", frozen)]
pub struct PyCertifier {
    certifier: Mutex<Certifier>,
}

impl PyCertifier {
    fn made(certifier: Certifier, blocks: Option<GtidBlocks>) -> Self {
        let certifier = match blocks {
            Some(blocks) => certifier.with_blocks(blocks),
            None => certifier,
        };
        Self { certifier: Mutex::new(certifier) }
    }

    fn lock(&self) -> MutexGuard<'_, Certifier> {
        self.certifier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyCertifier {
    #[new]
    #[pyo3(signature = (*, collection_burns_number=false, first_remote_alone=true, group=None, block_size=1_000_000))]
    fn new(
        collection_burns_number: bool,
        first_remote_alone: bool,
        group: Option<&str>,
        block_size: u64,
    ) -> PyResult<Self> {
        let certifier = Certifier::new(Options { collection_burns_number, first_remote_alone });
        Ok(Self::made(certifier, blocks(group, block_size)?))
    }

    /// Certify one transaction.
    ///
    /// Args:
    ///     write_set: Its hashes; without any it is a barrier.
    ///     snapshot: GTIDs that its member had executed before it; None to skip the search for conflicts.
    ///     gtid: GTID that it brings.
    ///     member: Member whose block gives it a GTID, if it brings none and the certifier knows the group's name.
    ///     local: True if it began on this member.
    ///     barrier: True to make it a barrier whatever its write set.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[allow(clippy::too_many_arguments)] // the names of the Python call
    #[pyo3(signature = (write_set, *, snapshot=None, gtid=None, member=None, local=false, barrier=false))]
    fn certify(
        &self,
        write_set: Vec<u64>,
        snapshot: Option<&PyGtidSet>,
        gtid: Option<&str>,
        member: Option<u64>,
        local: bool,
        barrier: bool,
    ) -> PyResult<PyCertified> {
        let gtid: Option<Gtid> = gtid.map(parse_gtid).transpose()?;
        let snapshot: Option<GtidSet> = snapshot.map(PyGtidSet::snapshot);
        let candidate = Candidate {
            items: &write_set,
            snapshot: snapshot.as_ref(),
            gtid: match (&gtid, member) {
                (Some(own), _) => GtidFrom::Own(own),
                (None, Some(member)) => GtidFrom::Block(member),
                (None, None) => GtidFrom::Nowhere,
            },
            local,
            kind: if barrier { Kind::Barrier } else { Kind::Rows },
        };
        Ok(self.lock().certify(&candidate).into())
    }

    /// Certify transactions over Arrow, in order.
    ///
    /// Args:
    ///     transactions: Object with ``__arrow_c_array__`` or ``__arrow_c_stream__``: column ``write_set`` (list of 64-bit integers), and
    ///         optionally ``snapshot`` and ``gtid`` (text), ``local`` and ``barrier`` (bool).
    ///
    /// Returns:
    ///     ``committed``, ``last_committed``, ``sequence_number``, ``gtid``; a record batch for an array, a table for a stream.
    fn certify_batch<'py>(&self, py: Python<'py>, transactions: AnyRecordBatch) -> PyResult<Bound<'py, PyAny>> {
        match transactions {
            AnyRecordBatch::RecordBatch(batch) => {
                let batch = batch.into_inner();
                let columns = CandidateColumns::read(&batch).map_err(Error::from)?;
                let outcomes = py.detach(|| columns.certify(&mut self.lock()));
                PyRecordBatch::new(outcome_batch(outcomes).map_err(Error::from)?).into_pyarrow(py)
            }
            AnyRecordBatch::Stream(stream) => {
                let schema: SchemaRef = outcome_schema();
                let mut answers = Vec::new();
                for batch in stream.into_reader()? {
                    let batch = batch.map_err(|error| usage(&error.to_string()))?;
                    let columns = CandidateColumns::read(&batch).map_err(Error::from)?;
                    let outcomes = py.detach(|| columns.certify(&mut self.lock()));
                    answers.push(outcome_batch(outcomes).map_err(Error::from)?);
                }
                Ok(PyTable::try_new(answers, schema)?.into_pyarrow(py)?)
            }
        }
    }

    /// Remove the items that every member has executed (R7, R8); return False if the stable set has not grown.
    fn collect_garbage(&self, py: Python<'_>, stable: &PyGtidSet) -> bool {
        let stable = stable.snapshot();
        py.detach(|| self.lock().collect_garbage(&stable))
    }

    /// Return the numbers of a view change; the rest of the members' blocks of GTIDs is withdrawn.
    fn view_change(&self) -> Stamps {
        let Numbers { last_committed, sequence_number } = self.lock().view_change();
        Stamps { last_committed, sequence_number }
    }

    /// Record that these GTIDs are committed (R10).
    fn commit(&self, gtids: &PyGtidSet) {
        let gtids = gtids.snapshot();
        self.lock().commit(&gtids);
    }

    /// Return the certification info for a joining member (R9).
    fn export<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let export: Export = py.detach(|| self.lock().export());
        PyRecordBatch::new(export_batch(&export).map_err(Error::from)?).into_pyarrow(py)
    }

    #[staticmethod]
    #[pyo3(signature = (
        exported, *, collection_burns_number=false, first_remote_alone=true, group=None, block_size=1_000_000
    ))]
    /// Return the certifier of a joining member (R9); arguments as for a new one.
    fn joined(
        py: Python<'_>,
        exported: PyRecordBatch,
        collection_burns_number: bool,
        first_remote_alone: bool,
        group: Option<&str>,
        block_size: u64,
    ) -> PyResult<Self> {
        let export = import_batch(&exported.into_inner()).map_err(Error::from)?;
        let options = Options { collection_burns_number, first_remote_alone };
        let certifier = py.detach(|| Certifier::import(options, &export));
        Ok(Self::made(certifier, blocks(group, block_size)?))
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

    /// Size of the certification info in bytes.
    #[getter]
    fn memory(&self) -> usize {
        self.lock().memory()
    }
}
