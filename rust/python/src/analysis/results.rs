//! Values of simulations: costs, outcomes, losses, slots and transactions.

use paraply_core::simulate::totals::Totals;
use paraply_core::simulate::{Costs, Loss, Outcome, Slot};
use pyo3::prelude::*;

use crate::records::{ChainKey, ChainTransaction, CommitTimes, KeyConflicts};

/// Cost model of the simulation in integers; what is not given has its default.
#[pyclass(name = "Costs", module = "paraply._native", frozen)]
pub struct PyCosts(pub Costs);

#[pymethods]
impl PyCosts {
    #[new]
    #[pyo3(signature = (*, transaction_ns=None, row_ns=None, byte_ps=None, commit_ns=None, ddl_ns=None))]
    fn new(
        transaction_ns: Option<u64>,
        row_ns: Option<u64>,
        byte_ps: Option<u64>,
        commit_ns: Option<u64>,
        ddl_ns: Option<u64>,
    ) -> Self {
        let default = Costs::default();
        Self(Costs {
            transaction_ns: transaction_ns.unwrap_or(default.transaction_ns),
            row_ns: row_ns.unwrap_or(default.row_ns),
            byte_ps: byte_ps.unwrap_or(default.byte_ps),
            commit_ns: commit_ns.unwrap_or(default.commit_ns),
            ddl_ns: ddl_ns.unwrap_or(default.ddl_ns),
        })
    }

    #[getter]
    fn transaction_ns(&self) -> u64 {
        self.0.transaction_ns
    }

    #[getter]
    fn row_ns(&self) -> u64 {
        self.0.row_ns
    }

    #[getter]
    fn byte_ps(&self) -> u64 {
        self.0.byte_ps
    }

    #[getter]
    fn commit_ns(&self) -> u64 {
        self.0.commit_ns
    }

    #[getter]
    fn ddl_ns(&self) -> u64 {
        self.0.ddl_ns
    }
}

/// Times of a simulated schedule.
#[pyclass(name = "Outcome", module = "paraply._native", frozen, get_all)]
pub struct PyOutcome {
    pub total_ns: u64,
    pub busy_ns: u64,
    pub commits: u64,
    pub retries: u64,
}

impl From<Outcome> for PyOutcome {
    fn from(outcome: Outcome) -> Self {
        let Outcome { total_ns, busy_ns, commits, retries } = outcome;
        Self { total_ns, busy_ns, commits, retries }
    }
}

/// Time lost for a cause, or for one of its keys.
#[pyclass(name = "Loss", module = "paraply._native", frozen, get_all)]
pub struct PyLoss {
    pub cause: &'static str,
    /// Tag of the key; None for the cause as a whole.
    pub key: Option<u32>,
    pub seconds: f64,
}

impl From<Loss> for PyLoss {
    fn from(loss: Loss) -> Self {
        Self { cause: loss.cause.name(), key: loss.key.map(|key| key.key().number()), seconds: loss.seconds }
    }
}

/// Transaction or block of a schedule; times in nanoseconds.
#[pyclass(name = "ScheduleSlot", module = "paraply._native", frozen, get_all)]
pub struct PyScheduleSlot {
    /// Index of its first transaction.
    pub first: u32,
    /// Number of transactions.
    pub count: u32,
    pub worker: u32,
    pub start: u64,
    pub applied: u64,
    pub commit: u64,
    pub end: u64,
}

impl From<Slot> for PyScheduleSlot {
    fn from(slot: Slot) -> Self {
        let Slot { first, count, worker, start, applied, commit, end } = slot;
        Self { first, count, worker, start, applied, commit, end }
    }
}

/// Transaction as it was recorded.
#[pyclass(name = "RecordedTransaction", module = "paraply._native", frozen, get_all)]
pub struct PyRecordedTransaction {
    pub index: usize,
    pub gtid: Option<String>,
    pub file: String,
    pub position: u64,
    pub rows: u32,
    pub bytes: u32,
}

/// Longest chain of transactions that wait for one another.
#[pyclass(name = "Chain", module = "paraply._native", frozen, get_all)]
pub struct PyChain {
    pub total_ns: u64,
    pub steps: u64,
    /// Indexes of its largest transactions, and tags of the keys for which they wait.
    pub largest: Vec<ChainTransaction>,
    /// Tags of the keys for which most of its steps wait, and numbers of steps.
    pub keys: Vec<ChainKey>,
}

/// Expected certification conflicts.
///
/// Attributes:
///     conflicts: Their number.
///     transactions: Number of transactions that were looked at.
///     keys: Keys with most conflicts, each with its number of them.
#[pyclass(name = "Predicted", module = "paraply._native", frozen, get_all)]
#[derive(Default)]
pub struct PyPredicted {
    pub conflicts: f64,
    pub transactions: u64,
    pub keys: Vec<KeyConflicts>,
}

/// Load of a span of time.
#[pyclass(name = "SpanLoad", module = "paraply._native", frozen, get_all)]
#[derive(Clone, Copy)]
pub struct PySpanLoad {
    pub transactions: u64,
    pub rows: u64,
    pub bytes: u64,
}

/// Totals of a recorded log.
#[pyclass(name = "LogTotals", module = "paraply._native", frozen, get_all)]
pub struct PyTotals {
    pub transactions: u64,
    pub rows: u64,
    pub bytes: u64,
    /// Number of transactions that run alone.
    pub barriers: u64,
    /// Number of client sessions.
    pub sessions: usize,
    /// Earliest and latest commit time, microseconds since 1970, UTC.
    pub times: Option<CommitTimes>,
    /// True if no commit time has a part of a second.
    pub whole_seconds: bool,
    /// Start of the first span of time, microseconds since 1970, UTC.
    pub spans_begin: i64,
    /// Length of each span, microseconds.
    pub span_length: i64,
    /// Load of each span.
    pub spans: Vec<PySpanLoad>,
}

impl From<&Totals> for PyTotals {
    fn from(totals: &Totals) -> Self {
        let (spans_begin, span_length, spans) = totals.spans();
        let spans = spans
            .iter()
            .map(|load| PySpanLoad { transactions: load.transactions, rows: load.rows, bytes: load.bytes })
            .collect();
        Self {
            transactions: totals.load.transactions,
            rows: totals.load.rows,
            bytes: totals.load.bytes,
            barriers: totals.barriers,
            sessions: totals.sessions(),
            times: totals.times.map(CommitTimes::from),
            whole_seconds: totals.whole_seconds,
            spans_begin,
            span_length,
            spans,
        }
    }
}
