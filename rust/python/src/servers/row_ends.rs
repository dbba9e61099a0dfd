//! Values of system-versioned columns that another version of the target writes differently.

use std::sync::Arc;

use paraply_mysql::row_ends::RowEnds;
use pyo3::prelude::*;

/// Columns with the end of a row version, in the target's system-versioned tables. Thread-safe.
///
/// MariaDB 11.5 changed the end of current rows. If log and target differ in this, the value is converted in the rows.
///
/// Args:
///     later: True if the target is MariaDB 11.5 or newer.
#[pyclass(name = "RowEnds", module = "paraply._native", frozen)]
pub struct PyRowEnds(pub Arc<RowEnds>);

#[pymethods]
impl PyRowEnds {
    #[new]
    fn new(later: bool) -> Self {
        Self(Arc::new(RowEnds::new(later)))
    }

    /// Note the column of a table, given by its table map's fingerprint; None for a table without versions.
    ///
    /// ``fractions`` are the fractional digits of its columns: for MariaDB's old temporal types the log does not contain them.
    #[pyo3(signature = (fingerprint, column, fractions))]
    fn note(&self, fingerprint: u64, column: Option<usize>, fractions: Vec<Option<u8>>) {
        self.0.note(fingerprint, column, fractions);
    }
}
