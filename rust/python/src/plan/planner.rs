//! Cutting batches of transactions into blocks.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_binlog::cpu::{Stage, within};
use paraply_plan::planner::{BlockLimits, Planner};
use pyo3::prelude::*;

use crate::errors::usage;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;
use crate::plan::block::{PyBlock, passed};
use crate::plan::gtid::PyGtidSet;

/// Planner that splits batches into blocks and finds their dependencies.
///
/// Args:
///     executed: Applied transactions, which are skipped.
///     after: The same for transactions without GTID: index of the file, and offset in it.
///     gathers_filtered: True to let transactions left empty by a filter join any block.
///     early_rows: True to allow early rows (``Block.steps``); needs commits in order, and write sets made ``by_event``.
#[pyclass(name = "Planner", module = "paraply._native", frozen)]
pub struct PyPlanner {
    planner: Mutex<Planner>,
}

#[pymethods]
impl PyPlanner {
    #[new]
    #[pyo3(signature = (*, executed=None, after=None, gathers_filtered=false, early_rows=false))]
    fn new(executed: Option<&PyGtidSet>, after: Option<(u32, u64)>, gathers_filtered: bool, early_rows: bool) -> Self {
        let planner = Planner::new(passed(executed, after)).gathering_filtered(gathers_filtered).early_rows(early_rows);
        Self { planner: Mutex::new(planner) }
    }

    /// Number of transactions skipped since the last block.
    #[getter]
    fn trailing_skipped(&self) -> u64 {
        self.planner.lock().unwrap_or_else(PoisonError::into_inner).trailing_skipped()
    }

    /// Number of transactions seen.
    #[getter]
    fn ordinal(&self) -> u64 {
        self.planner.lock().unwrap_or_else(PoisonError::into_inner).ordinal()
    }

    #[pyo3(signature = (batch, write_sets, *, merge, max_bytes, committed))]
    fn plan(
        &self,
        py: Python<'_>,
        batch: &PyTransactionBatch,
        write_sets: &PyWriteSets,
        merge: usize,
        max_bytes: u64,
        committed: u64,
    ) -> PyResult<Vec<PyBlock>> {
        if write_sets.sets.len() != batch.transactions.len() {
            return Err(usage("the write sets belong to another batch"));
        }
        let limits = BlockLimits { transactions: merge.max(1), bytes: max_bytes };
        let blocks = py.detach(|| {
            let mut planner = self.planner.lock().unwrap_or_else(PoisonError::into_inner);
            within(Stage::Plan, || planner.plan(&batch.transactions, &write_sets.sets, limits, committed))
        });
        Ok(blocks.into_iter().map(|block| PyBlock { block, files: Arc::clone(&batch.files) }).collect())
    }
}
