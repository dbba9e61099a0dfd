//! Batches of transactions that were read together.

use std::sync::Arc;

use paraply_arrow::batch::{Batch, file_name, gtid_text};
use paraply_binlog::cpu::{Stage, within};
use paraply_binlog::error::LogError;
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::known_tables::KnownTables;
use paraply_binlog::rows::logged_cascades::corrected;
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::Catalog;
use paraply_core::write_set::{Fallbacks, WriteSet};
use paraply_plan::split::split_rows;
use paraply_plan::write_sets::{Options, Scratch, transaction_write_set};
use paraply_spool::most_keys;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::errors::{log_error, usage};
use crate::log::table_filter::PyTableFilter;
use crate::log::table_map::{PyTableMap, table_maps};
use crate::log::transaction::PyTransaction;
use crate::log::write_sets::PyWriteSets;
use crate::plan::block::PyBlock;
use crate::rows::catalog::PyCatalog;
use crate::rows::hashing::hash_options;

/// An error, and the GTID of the failed transaction, if known.
pub type Failure = (LogError, Option<String>);

/// Batch of transactions.
#[pyclass(name = "TransactionBatch", module = "paraply._native", frozen)]
pub struct PyTransactionBatch {
    pub transactions: Arc<Vec<Transaction>>,
    /// True for transactions that were applied before: their rows are not decoded.
    pub(super) passed: Vec<bool>,
    /// Position of each transaction in the log, from 1.
    pub positions: Vec<i64>,
    /// True for wanted transactions; others are included because their statements change tables.
    pub wanted: Vec<bool>,
    pub files: Arc<Vec<String>>,
}

impl PyTransactionBatch {
    /// Return the batch without what only a reader needs.
    pub fn batch(&self) -> Batch {
        Batch {
            transactions: Arc::clone(&self.transactions),
            positions: self.positions.clone(),
            wanted: self.wanted.clone(),
            files: Arc::clone(&self.files),
        }
    }
}

#[pymethods]
impl PyTransactionBatch {
    fn __len__(&self) -> usize {
        self.transactions.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<PyTransaction> {
        let length = self.transactions.len();
        let place = if index < 0 { index + length as isize } else { index };
        match usize::try_from(place) {
            Ok(place) if place < length => Ok(PyTransaction::new(&self.transactions, &self.files, place)),
            _ => Err(PyIndexError::new_err("the batch has no such transaction")),
        }
    }

    /// Return each table map once.
    fn table_maps(&self) -> PyResult<Vec<PyTableMap>> {
        table_maps(self.transactions.iter())
    }

    /// Position of each transaction in the log, from 1.
    #[getter]
    fn positions(&self) -> Vec<i64> {
        self.positions.clone()
    }

    /// True for each wanted transaction; others are there because their statements change tables.
    #[getter]
    fn wanted(&self) -> Vec<bool> {
        self.wanted.clone()
    }

    /// Return the batch with one more transaction that is wanted.
    fn choosing(&self, index: usize) -> PyResult<Self> {
        let mut wanted = self.wanted.clone();
        let place = wanted.get_mut(index).ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        *place = true;
        Ok(Self {
            transactions: Arc::clone(&self.transactions),
            files: Arc::clone(&self.files),
            passed: self.passed.clone(),
            positions: self.positions.clone(),
            wanted,
        })
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.transactions.iter().map(|t| t.bytes).sum()
    }

    /// Return a batch of one transaction with only its identity, after a filter has left it out.
    ///
    /// Args:
    ///     own: True if it was left out because it is about paraply's own tables.
    #[pyo3(signature = (*, own=false))]
    fn emptied(&self, own: bool) -> PyResult<Self> {
        self.changed(|transaction| {
            transaction.empty_out();
            transaction.own_left_out |= own;
        })
    }

    /// Return a batch of one transaction with other statements: the text and the default database of each.
    fn with_statements(&self, statements: Vec<(Vec<u8>, String)>) -> PyResult<Self> {
        let known = self.transactions.first().map_or(0, |transaction| transaction.statements.len());
        if known != statements.len() {
            return Err(usage("each statement of a transaction needs another one"));
        }
        self.changed(|transaction| {
            for (statement, (sql, database)) in transaction.statements.iter_mut().zip(statements) {
                (statement.sql, statement.database) = (sql, database);
            }
        })
    }

    /// Return a batch of the transactions before an index.
    fn before(&self, index: usize) -> Self {
        let index = index.min(self.transactions.len());
        let cut = |places: usize| index.min(places);
        Self {
            transactions: Arc::new(self.transactions[..index].to_vec()),
            files: Arc::clone(&self.files),
            passed: self.passed[..cut(self.passed.len())].to_vec(),
            positions: self.positions[..cut(self.positions.len())].to_vec(),
            wanted: self.wanted[..cut(self.wanted.len())].to_vec(),
        }
    }

    /// Return the batch with all rows changed by its server, if a MySQL that logs cascades wrote it otherwise; None if nothing differs.
    ///
    /// Args:
    ///     catalog: The valid definitions.
    ///     tables: Filter that was used to read the batch.
    ///
    /// Raises:
    ///     LogDamaged: A row event is damaged.
    #[pyo3(signature = (catalog, tables=None))]
    fn corrected(&self, py: Python<'_>, catalog: &PyCatalog, tables: Option<&PyTableFilter>) -> PyResult<Option<Self>> {
        let filter = tables.map_or_else(TableFilter::default, |tables| tables.0.clone());
        let catalog = catalog.snapshot();
        let found =
            py.detach(|| self.corrections(&catalog, &filter)).map_err(|(error, gtid)| log_error(&error, gtid))?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut transactions = (*self.transactions).clone();
        for (index, transaction) in found {
            if let Some(place) = transactions.get_mut(index) {
                *place = transaction;
            }
        }
        Ok(Some(Self {
            transactions: Arc::new(transactions),
            files: Arc::clone(&self.files),
            passed: self.passed.clone(),
            positions: self.positions.clone(),
            wanted: self.wanted.clone(),
        }))
    }

    /// Hash the rows (R11 to R15).
    ///
    /// Args:
    ///     catalog: The valid definitions; it also keeps the state of hashing between the batches of a log.
    ///     scheme: ``fine``, the applier's, ``group``, the server's certifier's, ``writeset``, its tracker's (R16),
    ///         or ``none``: nothing is hashed.
    ///     bytewise: True to hash text without its collation; wrong on purpose, for tests.
    ///     by_event: True to keep the hashes of each row event too, for a planner of early rows.
    ///     bounded: True to make a transaction with very many keys a barrier instead of keeping their hashes.
    #[pyo3(signature = (catalog, *, scheme="fine", bytewise=false, by_event=false, bounded=false))]
    fn write_sets(
        &self,
        py: Python<'_>,
        catalog: &PyCatalog,
        scheme: &str,
        bytewise: bool,
        by_event: bool,
        bounded: bool,
    ) -> PyResult<PyWriteSets> {
        if scheme == "none" {
            return Ok(PyWriteSets { sets: Vec::new(), fallbacks: Fallbacks::default() });
        }
        let options =
            Options { by_event, most_keys: if bounded { most_keys() } else { 0 }, ..hash_options(scheme, bytewise)? };
        let (sets, fallbacks) = py
            .detach(|| {
                within(Stage::Hash, || catalog.with_scratch(options, |catalog, scratch| self.hash(catalog, scratch)))
            })
            .map_err(|(error, gtid)| log_error(&error, gtid))?;
        Ok(PyWriteSets { sets, fallbacks })
    }

    /// Return the parts of one transaction that may be applied separately (R21a), at most ``most``; none if it stays whole.
    ///
    /// Row events stay together if they have a common hash that one of them takes exclusively. All of them stay together if a key is
    /// unknown (R13).
    ///
    /// Raises:
    ///     IndexError: The batch has no such transaction.
    ///     LogDamaged: A row event is damaged.
    fn split_rows(&self, py: Python<'_>, index: usize, catalog: &PyCatalog, most: usize) -> PyResult<Vec<PyBlock>> {
        let transaction = self.transactions.get(index);
        let transaction = transaction.ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        let options = hash_options("fine", false)?;
        let split = |catalog: &Catalog, scratch: &mut Scratch| {
            let parts = split_rows(transaction, catalog, scratch, most);
            // The whole transaction was counted before.
            scratch.take_fallbacks();
            parts
        };
        let parts = py.detach(|| catalog.with_scratch(options, split)).map_err(|error| {
            log_error(&error.into_log_error(file_name(&self.files, error.file)), gtid_text(transaction))
        })?;
        Ok(parts.into_iter().map(|block| PyBlock { block, files: Arc::clone(&self.files) }).collect())
    }
}

impl PyTransactionBatch {
    /// Returns a batch whose only transaction is changed.
    fn changed(&self, change: impl FnOnce(&mut Transaction)) -> PyResult<Self> {
        let [transaction] = &self.transactions[..] else {
            return Err(usage("only a batch of one transaction can be changed"));
        };
        let mut changed = transaction.clone();
        change(&mut changed);
        Ok(Self {
            transactions: Arc::new(vec![changed]),
            files: Arc::clone(&self.files),
            passed: self.passed.clone(),
            positions: self.positions.clone(),
            wanted: self.wanted.clone(),
        })
    }

    /// Returns the transactions with changes that differ from their log, by index.
    fn corrections(&self, catalog: &Catalog, filter: &TableFilter) -> Result<Vec<(usize, Transaction)>, Failure> {
        let mut known = KnownTables::default();
        let mut found = Vec::new();
        let unread = self.passed.iter().zip(&self.wanted).map(|(passed, wanted)| *passed || !wanted);
        for ((index, transaction), unread) in self.transactions.iter().enumerate().zip(unread) {
            if unread {
                continue;
            }
            let corrected = corrected(transaction, catalog, filter, &mut known)
                .map_err(|error| (error.into_log_error(file_name(&self.files, error.file)), gtid_text(transaction)))?;
            found.extend(corrected.map(|corrected| (index, corrected)));
        }
        Ok(found)
    }

    fn hash(&self, catalog: &Catalog, scratch: &mut Scratch) -> Result<(Vec<WriteSet>, Fallbacks), Failure> {
        let mut sets = Vec::with_capacity(self.transactions.len());
        let unread = self.passed.iter().zip(&self.wanted).map(|(passed, wanted)| *passed || !wanted);
        for (transaction, unread) in self.transactions.iter().zip(unread) {
            let set = if unread {
                WriteSet::default()
            } else {
                transaction_write_set(transaction, catalog, scratch).map_err(|error| {
                    (error.into_log_error(file_name(&self.files, error.file)), gtid_text(transaction))
                })?
            };
            sets.push(set);
        }
        Ok((sets, scratch.take_fallbacks()))
    }
}
