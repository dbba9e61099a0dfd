//! Values of system-versioned columns that another version of the target writes differently.

use std::sync::Arc;

use paraply_mysql::row_ends::RowEnds;
use pyo3::prelude::*;

/// The columns of the target's system-versioned tables whose values another version writes differently.
#[pyclass(name = "RowEnds", module = "paraply._native", frozen)]
pub struct PyRowEnds(pub Arc<RowEnds>);

#[pymethods]
impl PyRowEnds {
    #[new]
    fn new(later: bool) -> Self {
        Self(Arc::new(RowEnds::new(later)))
    }

    #[pyo3(signature = (fingerprint, column, fractions))]
    fn note(&self, fingerprint: u64, column: Option<usize>, fractions: Vec<Option<u8>>) {
        self.0.note(fingerprint, column, fractions);
    }
}
