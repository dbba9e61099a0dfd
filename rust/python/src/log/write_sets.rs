//! The write sets of a batch of transactions.

use paraply_core::write_set::{Fallbacks, WriteSet};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

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

    /// Return exclusive hashes, shared hashes, and True if the transaction is a barrier.
    fn items(&self, index: usize) -> PyResult<(Vec<u64>, Vec<u64>, bool)> {
        let set = self.sets.get(index).ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        Ok((set.exclusive.clone(), set.shared.clone(), set.barrier))
    }

    /// Coarser write sets, as (reason, table, count).
    #[getter]
    fn fallbacks(&self) -> Vec<(&'static str, String, u64)> {
        let sorted = self.fallbacks.sorted().into_iter();
        sorted.map(|(reason, table, count)| (reason.text(), table.to_string(), count)).collect()
    }
}
