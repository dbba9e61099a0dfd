//! The search for transactions that depend on undone ones.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::{file_name, gtid_text};
use paraply_binlog::rows::filter::TableFilter;
use paraply_core::schema::Catalog;
use paraply_plan::dependents::{DependentFinder, SearchError};
use pyo3::prelude::*;

use crate::errors::{Cause, Error, Where};
use crate::log::table_filter::PyTableFilter;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;
use crate::records::TableName;
use crate::rows::catalog::PyCatalog;

/// Transaction that depends on undone ones.
///
/// Attributes:
///     index: Its index in the batch.
///     hashes: Hashes of some common keys.
///     unknown: True if its keys are not known.
#[pyclass(name = "Dependent", module = "paraply._native", frozen, get_all)]
pub struct PyDependent {
    index: usize,
    hashes: Vec<u64>,
    unknown: bool,
}

/// Finder of the transactions that depend on undone ones (R38).
///
/// Args:
///     tables: Tables whose rows are undone; None for all.
///     keep: True if dependents are not undone, so that nothing depends on them.
#[pyclass(name = "DependentFinder", module = "paraply._native", frozen)]
pub struct PyDependentFinder {
    finder: Mutex<DependentFinder>,
}

#[pymethods]
impl PyDependentFinder {
    #[new]
    #[pyo3(signature = (tables=None, *, keep=false))]
    fn new(tables: Option<&PyTableFilter>, keep: bool) -> Self {
        let filter = tables.map_or_else(TableFilter::default, |tables| tables.0.clone());
        Self { finder: Mutex::new(DependentFinder::new(filter, keep)) }
    }

    /// Look at the next batch; return its dependents.
    ///
    /// Args:
    ///     batch: The transactions.
    ///     write_sets: Their write sets of scheme ``fine``.
    ///     catalog: The valid definitions.
    ///     chosen: Indexes of the transactions to undo.
    ///
    /// Raises:
    ///     LogDamaged: A row event is damaged.
    ///     SchemaMismatch: The keys of a table that is undone are unknown.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn observe(
        &self,
        py: Python<'_>,
        batch: &PyTransactionBatch,
        write_sets: &PyWriteSets,
        catalog: &PyCatalog,
        chosen: HashSet<usize>,
    ) -> PyResult<Vec<PyDependent>> {
        let catalog = catalog.snapshot();
        let found = py.detach(|| self.search(batch, write_sets, &catalog, &chosen))?;
        Ok(found)
    }

    /// Databases and names of the tables that are undone, and the numbers of their row changes.
    #[getter]
    fn affected(&self) -> BTreeMap<TableName, u64> {
        let finder = self.lock();
        let tables = finder.affected().iter();
        tables.map(|(name, rows)| (TableName::from(name.clone()), *rows)).collect()
    }
}

impl PyDependentFinder {
    /// Returns the finder.
    pub fn lock(&self) -> MutexGuard<'_, DependentFinder> {
        self.finder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search(
        &self,
        batch: &PyTransactionBatch,
        write_sets: &PyWriteSets,
        catalog: &Catalog,
        chosen: &HashSet<usize>,
    ) -> Result<Vec<PyDependent>, Error> {
        let mut finder = self.lock();
        let mut found = Vec::new();
        for (index, (transaction, set)) in batch.transactions.iter().zip(&write_sets.sets).enumerate() {
            let answer = finder.observe(transaction, set, catalog, chosen.contains(&index));
            match answer {
                Ok(None) => {}
                Ok(Some((hashes, unknown))) => found.push(PyDependent { index, hashes, unknown }),
                Err(SearchError::Rows(error)) => {
                    let error = error.into_log_error(file_name(&batch.files, error.file));
                    return Err(paraply_arrow::Error::Log { error, gtid: gtid_text(transaction) }.into());
                }
                Err(SearchError::UnknownKeys { table, reason }) => {
                    let place = Where {
                        file: Some(file_name(&batch.files, transaction.file).to_owned()),
                        position: Some(transaction.offset),
                        gtid: gtid_text(transaction),
                        table: Some(table.to_string()),
                        key: None,
                    };
                    let message =
                        format!("nothing of {table} can be undone: {reason}; give its definition with --schema");
                    return Err(Error::Of(Cause::SchemaMismatch, message, Box::new(place)));
                }
            }
        }
        Ok(found)
    }
}
