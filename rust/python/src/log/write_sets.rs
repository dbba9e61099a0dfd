//! The write sets of a batch of transactions.

use paraply_core::write_set::{Fallbacks, WriteSet};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::records::WriteSetFallback;

/// Write set of one transaction.
///
/// Attributes:
///     exclusive: Hashes of keys that it writes.
///     shared: Hashes of keys that it only depends on.
///     barrier: True if it waits for all before it, and all after it wait.
#[pyclass(name = "TransactionKeys", module = "paraply._native", frozen, get_all, eq)]
#[derive(PartialEq, Eq)]
pub struct PyTransactionKeys {
    exclusive: Vec<u64>,
    shared: Vec<u64>,
    barrier: bool,
}

impl From<WriteSet> for PyTransactionKeys {
    fn from(set: WriteSet) -> Self {
        Self { exclusive: set.exclusive, shared: set.shared, barrier: set.barrier }
    }
}

/// Write sets of a batch.
#[pyclass(name = "WriteSets", module = "paraply._native", frozen)]
pub struct PyWriteSets {
    pub sets: Vec<WriteSet>,
    pub fallbacks: Fallbacks,
}

#[pymethods]
impl PyWriteSets {
    fn __len__(&self) -> usize {
        self.sets.len()
    }

    /// Number of hashes of all transactions together.
    #[getter]
    fn key_count(&self) -> usize {
        self.sets.iter().map(|set| set.exclusive.len() + set.shared.len()).sum()
    }

    /// Return the write set of a transaction of the batch.
    fn items(&self, index: usize) -> PyResult<PyTransactionKeys> {
        let set = self.sets.get(index).ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        Ok(set.clone().into())
    }

    /// Coarser write sets.
    #[getter]
    fn fallbacks(&self) -> Vec<WriteSetFallback> {
        let sorted = self.fallbacks.sorted().into_iter();
        let named = |reason: &'static str, table: String, number| WriteSetFallback { reason, table, number };
        sorted.map(|(reason, table, count)| named(reason.text(), table.to_string(), count)).collect()
    }
}
