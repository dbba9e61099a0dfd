//! Names of keys that are known by their hashes.

use paraply_core::simulate::Cause;
use paraply_plan::key_names::{NamedKey, find_keys};
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::log::transaction::PyTransaction;
use crate::rows::catalog::PyCatalog;
use crate::rows::hashing::hash_options;

/// Key that was found by its hash.
#[pyclass(name = "NamedKey", module = "paraply._native", frozen, get_all)]
pub struct PyNamedKey {
    pub hash: u64,
    pub table: String,
    /// Name of the key; empty for a whole table.
    pub key: String,
    pub values: Vec<String>,
    /// Cause of conflicts over it; None for an ordinary key.
    pub cause: Option<&'static str>,
}

impl From<NamedKey> for PyNamedKey {
    fn from(named: NamedKey) -> Self {
        let NamedKey { hash, table, key, values, cause } = named;
        Self { hash, table: table.to_string(), key, values, cause: cause.map(Cause::name) }
    }
}

/// Return the names of those keys that the rows of a transaction have.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn name_keys(
    py: Python<'_>,
    transaction: &PyTransaction,
    catalog: &PyCatalog,
    scheme: &str,
    hashes: Vec<u64>,
) -> PyResult<Vec<PyNamedKey>> {
    let options = hash_options(scheme, false)?;
    let catalog = catalog.snapshot();
    let found = py
        .detach(|| find_keys(transaction.inner(), &catalog, options, &hashes))
        .map_err(|error| log_error(&error.into_log_error(transaction.file_name()), transaction.gtid()))?;
    Ok(found.into_iter().map(PyNamedKey::from).collect())
}
