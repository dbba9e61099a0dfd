//! Cutting batches of transactions into blocks.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_arrow::batch::{file_name, gtid_text};
use paraply_binlog::cpu::{Stage, within};
use paraply_binlog::transaction::Transaction;
use paraply_plan::planner::{BlockLimits, Planner};
use pyo3::prelude::*;

use crate::errors::{Cause, Where, raise, usage};
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

    /// Return the next blocks.
    ///
    /// Raises:
    ///     LogNotUnderstood: A transaction follows the position of its MariaDB domain in the log, and has no higher number.
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
        let (blocks, disorder) = py.detach(|| {
            let mut planner = self.planner.lock().unwrap_or_else(PoisonError::into_inner);
            let blocks = within(Stage::Plan, || planner.plan(&batch.transactions, &write_sets.sets, limits, committed));
            (blocks, planner.disorder())
        });
        if let Some(transaction) = disorder.and_then(|index| batch.transactions.get(index)) {
            return Err(disordered(transaction, &batch.files));
        }
        Ok(blocks.into_iter().map(|block| PyBlock { block, files: Arc::clone(&batch.files) }).collect())
    }
}

/// Returns the error about a transaction that follows the position of its domain and has a lower number.
fn disordered(transaction: &Transaction, files: &[String]) -> PyErr {
    let gtid = gtid_text(transaction).unwrap_or_default();
    let place = Where {
        file: Some(file_name(files, transaction.file).to_owned()),
        position: Some(transaction.offset),
        gtid: Some(gtid.clone()),
        ..Where::default()
    };
    let message = format!(
        "transaction {gtid} comes after the position up to which its domain is applied, and has no higher number: the source \
         wrote it without gtid_strict_mode or after RESET MASTER, and such a position does not say whether it was applied. \
         See what it changed (paraply rows --gtid {gtid}), apply that by hand if the target lacks it, and go on with \
         --skip {gtid}"
    );
    raise(Cause::LogNotUnderstood, &message, &place)
}
