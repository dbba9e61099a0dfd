//! Reading logs and hashing what was read.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use paraply_binlog::error::LogError;
use paraply_binlog::filter::TableFilter;
use paraply_binlog::known_tables::KnownTables;
use paraply_binlog::logged_cascades::corrected;
use paraply_binlog::plan::Passed;
use paraply_binlog::reader::{LogReader, ReaderOptions};
use paraply_binlog::relay::{Follower, StopHandle};
use paraply_binlog::row_walk::count_rows;
use paraply_binlog::selection::Selection;
use paraply_binlog::split::split_rows;
use paraply_binlog::stop::StopPoint;
use paraply_binlog::transaction::{Identity, Transaction};
use paraply_binlog::write_sets::{Options, Scratch, transaction_write_set};
use paraply_core::schema::Catalog;
use paraply_core::write_set::{Fallbacks, WriteSet};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::block::{PyBlock, passed};
use crate::catalog::PyCatalog;
use crate::errors::{log_error, usage};
use crate::gtid::{PyGtidSet, parse_gtid};
use crate::hashing::hash_options;
use crate::log_head::PyTableFilter;
use crate::selection::{Place as Start, PySelection};
use crate::table_map::{PyTableMap, table_maps};
use crate::transaction::{PyTransaction, file_name, gtid_text};

#[pyclass(name = "LogReader", module = "paraply._native", frozen)]
pub struct PyLogReader {
    state: Mutex<State>,
    files: RwLock<Arc<Vec<String>>>,
    /// Ends a reader that follows a relay log; it may be waiting under the lock of `state`.
    stop: Option<StopHandle>,
}

/// Longest sleep of a reader that follows a relay log before it checks for signals of Python.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Options for reading a log, as Python passes them.
pub struct ReadOptions<'a> {
    pub executed: Option<&'a PyGtidSet>,
    pub after: Option<(u32, u64)>,
    pub tables: Option<&'a PyTableFilter>,
    pub stop_time: Option<i64>,
    pub stop_before: Option<&'a str>,
    pub stop_after: Option<&'a str>,
    pub stop_view_change: Option<&'a PyGtidSet>,
}

impl ReadOptions<'_> {
    fn stop(&self, py: Python<'_>) -> PyResult<StopPoint> {
        let gtid = |text: Option<&str>| text.map(|text| parse_gtid(py, text)).transpose();
        let (before, after) = (gtid(self.stop_before)?, gtid(self.stop_after)?);
        let view_change = self.stop_view_change.map(PyGtidSet::snapshot);
        Ok(StopPoint { time: self.stop_time, before, after, view_change })
    }

    fn filter(&self) -> TableFilter {
        self.tables.map_or_else(TableFilter::default, |tables| tables.0.clone())
    }
}

impl PyLogReader {
    /// Follows a relay log while it is written.
    pub fn follow(py: Python<'_>, follower: Follower, options: &ReadOptions<'_>) -> PyResult<Self> {
        let stop = Some(follower.stop_handle());
        let reader = LogReader::follow(follower, ReaderOptions::default());
        let reader = reader.filtered(options.filter()).until(options.stop(py)?);
        let passed = passed(options.executed, options.after);
        let selection = Selection::default();
        let state = State { reader, damaged: None, passed, position: 0, selection, counts_rows: true };
        Ok(Self { state: Mutex::new(state), files: RwLock::default(), stop })
    }

    fn file_names(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.files.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the next batch; an empty one where a relay log has nothing more for the moment.
    fn read(&self, most: usize, bytes: u64) -> Result<Option<PyTransactionBatch>, Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut selected = state.next_selected(most, bytes)?;
        if selected.is_none() && !state.reader.is_over() {
            state.reader.wait(LONGEST_WAIT);
            selected = state.next_selected(most, bytes)?;
            if selected.is_none() && !state.reader.is_over() {
                selected = Some(Selected::default());
            }
        }
        let mut files = self.file_names();
        if state.reader.files().len() != files.len() {
            files = Arc::new(state.reader.files().iter().map(|file| file.name.to_string()).collect());
            *self.files.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&files);
        }
        Ok(selected.map(|(transactions, positions, wanted)| PyTransactionBatch {
            passed: transactions.iter().map(|transaction| state.passed.contains(transaction)).collect(),
            transactions: Arc::new(transactions),
            positions,
            wanted,
            files,
        }))
    }
}

/// The reader, and the error of a damaged row after transactions that are returned first (rule R27).
struct State {
    reader: LogReader,
    damaged: Option<Failure>,
    passed: Passed,
    /// The position of the last transaction read.
    position: i64,
    selection: Selection,
    counts_rows: bool,
}

/// Transactions, with the position of each and true for the wanted ones.
type Selected = (Vec<Transaction>, Vec<i64>, Vec<bool>);

/// An error, and the GTID of the failed transaction, if known.
type Failure = (LogError, Option<String>);
/// Stop of reading: file, offset, GTID, time of commit, and true if that transaction was still returned.
type Stopped = (String, u64, Option<String>, Option<i64>, bool);

impl State {
    fn file_name(&self, file: u32) -> Arc<str> {
        self.reader.files().get(file as usize).map(|file| Arc::clone(&file.name)).unwrap_or_default()
    }

    fn next_batch(&mut self, most: usize, bytes: u64) -> Result<Option<Vec<Transaction>>, Failure> {
        if let Some(error) = &self.damaged {
            return Err(error.clone());
        }
        let batch = self.reader.next_batch(most, bytes);
        let batch = batch.map_err(|error| (error, self.reader.open_gtid().map(ToString::to_string)))?;
        let Some(mut batch) = batch else { return Ok(None) };
        for index in 0..batch.len() {
            if !self.counts_rows || self.passed.contains(&batch[index]) {
                continue;
            }
            match count_rows(&batch[index]) {
                Ok(rows) => batch[index].rows = rows,
                Err(error) => {
                    let error = (error.into_log_error(&self.file_name(error.file)), gtid_text(&batch[index]));
                    self.damaged = Some(error.clone());
                    batch.truncate(index);
                    return if batch.is_empty() { Err(error) } else { Ok(Some(batch)) };
                }
            }
        }
        Ok(Some(batch))
    }

    /// Returns the next batch with a wanted transaction, or a statement, which may change tables.
    fn next_selected(&mut self, most: usize, bytes: u64) -> Result<Option<Selected>, Failure> {
        loop {
            let Some(batch) = self.next_batch(most, bytes)? else { return Ok(None) };
            let mut kept: Selected = (Vec::with_capacity(batch.len()), Vec::new(), Vec::new());
            for transaction in batch {
                self.position += 1;
                let wanted = self
                    .selection
                    .chooses(self.position, &transaction)
                    .map_err(|error| (error.into_log_error(&self.file_name(error.file)), gtid_text(&transaction)))?;
                if wanted || !transaction.statements.is_empty() {
                    kept.0.push(transaction);
                    kept.1.push(self.position);
                    kept.2.push(wanted);
                }
            }
            if !kept.0.is_empty() {
                return Ok(Some(kept));
            }
        }
    }
}

#[pymethods]
impl PyLogReader {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[allow(clippy::too_many_arguments)] // keywords in Python
    #[pyo3(signature = (
        paths, *, verify_checksums=true, executed=None, after=None, tables=None, stop_time=None, stop_before=None,
        stop_after=None, stop_view_change=None, piece=None, position=0, selection=None, count_rows=true,
        sizes=Vec::new(),
    ))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        verify_checksums: bool,
        executed: Option<&PyGtidSet>,
        after: Option<(u32, u64)>,
        tables: Option<&PyTableFilter>,
        stop_time: Option<i64>,
        stop_before: Option<&str>,
        stop_after: Option<&str>,
        stop_view_change: Option<&PyGtidSet>,
        piece: Option<(Start, Option<u64>)>,
        position: i64,
        selection: Option<&PySelection>,
        count_rows: bool,
        sizes: Vec<u64>,
    ) -> PyResult<Self> {
        let wanted = ReadOptions { executed, after, tables, stop_time, stop_before, stop_after, stop_view_change };
        let stop = wanted.stop(py)?;
        let files = Arc::new(paths.iter().map(|p| p.to_string_lossy().into_owned()).collect::<Vec<_>>());
        let options = ReaderOptions { verify_checksums, ..ReaderOptions::default() };
        let reader = py
            .detach(|| match (piece, &paths[..]) {
                (Some(part), [path]) => LogReader::open_piece(path, crate::selection::piece(part), options),
                _ => LogReader::open(&paths, options),
            })
            .map_err(|error| log_error(py, &error, None))?
            .sized(sizes)
            .filtered(wanted.filter())
            .until(stop);
        let selection = selection.map_or_else(Selection::default, |selection| selection.0.clone());
        let passed = passed(executed, after);
        let state = State { reader, damaged: None, passed, position, selection, counts_rows: count_rows };
        Ok(Self { state: Mutex::new(state), files: RwLock::new(files), stop: None })
    }

    #[getter]
    fn files(&self) -> Vec<String> {
        self.file_names().to_vec()
    }

    /// Ends a reader that follows a relay log, from any thread.
    fn stop(&self) {
        if let Some(stop) = &self.stop {
            stop.stop();
        }
    }

    /// Returns file, offset, GTID, commit time and whether it is applied of the transaction at which reading stopped.
    #[getter]
    fn stopped(&self) -> Option<Stopped> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let place = state.reader.stopped()?;
        let gtid = match &place.identity {
            Identity::Gtid(gtid) => Some(gtid.to_string()),
            Identity::Anonymous => None,
        };
        Some((
            file_name(&self.file_names(), place.file).to_owned(),
            place.offset,
            gtid,
            place.committed_at,
            place.included,
        ))
    }

    #[pyo3(signature = (max_transactions=1024, max_bytes=16_777_216))]
    fn next_batch(
        &self,
        py: Python<'_>,
        max_transactions: usize,
        max_bytes: u64,
    ) -> PyResult<Option<PyTransactionBatch>> {
        py.detach(|| self.read(max_transactions.max(1), max_bytes)).map_err(|(error, gtid)| log_error(py, &error, gtid))
    }
}

#[pyclass(name = "TransactionBatch", module = "paraply._native", frozen)]
pub struct PyTransactionBatch {
    pub transactions: Arc<Vec<Transaction>>,
    /// True for transactions that were applied before: their rows are not decoded.
    passed: Vec<bool>,
    /// Position of each transaction in the log, from 1.
    pub positions: Vec<i64>,
    /// True for wanted transactions; others are included because their statements change tables.
    pub wanted: Vec<bool>,
    pub files: Arc<Vec<String>>,
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

    /// Returns each distinct table map of the batch.
    fn table_maps(&self, py: Python<'_>) -> PyResult<Vec<PyTableMap>> {
        table_maps(py, self.transactions.iter())
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.transactions.iter().map(|t| t.bytes).sum()
    }

    /// Returns a batch of one transaction with nothing but its identity.
    fn emptied(&self, py: Python<'_>) -> PyResult<Self> {
        let [transaction] = &self.transactions[..] else {
            return Err(usage(py, "only a batch of one transaction can be emptied"));
        };
        let mut emptied = transaction.clone();
        emptied.empty_out();
        Ok(Self {
            transactions: Arc::new(vec![emptied]),
            files: Arc::clone(&self.files),
            passed: self.passed.clone(),
            positions: self.positions.clone(),
            wanted: self.wanted.clone(),
        })
    }

    /// Returns the batch as its server changed the rows, if it logs cascades differently; none where the log agrees.
    #[pyo3(signature = (catalog, tables=None))]
    fn corrected(&self, py: Python<'_>, catalog: &PyCatalog, tables: Option<&PyTableFilter>) -> PyResult<Option<Self>> {
        let filter = tables.map_or_else(TableFilter::default, |tables| tables.0.clone());
        let catalog = catalog.snapshot();
        let found =
            py.detach(|| self.corrections(&catalog, &filter)).map_err(|(error, gtid)| log_error(py, &error, gtid))?;
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

    #[pyo3(signature = (catalog, *, scheme="fine", bytewise=false, by_event=false))]
    fn write_sets(
        &self,
        py: Python<'_>,
        catalog: &PyCatalog,
        scheme: &str,
        bytewise: bool,
        by_event: bool,
    ) -> PyResult<PyWriteSets> {
        if scheme == "none" {
            return Ok(PyWriteSets { sets: Vec::new(), fallbacks: Fallbacks::default() });
        }
        let options = Options { by_event, ..hash_options(py, scheme, bytewise)? };
        let (sets, fallbacks) = py
            .detach(|| catalog.with_scratch(options, |catalog, scratch| self.hash(catalog, scratch)))
            .map_err(|(error, gtid)| log_error(py, &error, gtid))?;
        Ok(PyWriteSets { sets, fallbacks })
    }

    /// Returns the parts of one transaction that may be applied separately, as blocks; none if it stays whole.
    fn split_rows(&self, py: Python<'_>, index: usize, catalog: &PyCatalog, most: usize) -> PyResult<Vec<PyBlock>> {
        let transaction = self.transactions.get(index);
        let transaction = transaction.ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        let options = hash_options(py, "fine", false)?;
        let split = |catalog: &Catalog, scratch: &mut Scratch| {
            let parts = split_rows(transaction, catalog, scratch, most);
            // The whole transaction was counted before.
            scratch.take_fallbacks();
            parts
        };
        let parts = py.detach(|| catalog.with_scratch(options, split)).map_err(|error| {
            log_error(py, &error.into_log_error(file_name(&self.files, error.file)), gtid_text(transaction))
        })?;
        Ok(parts.into_iter().map(|block| PyBlock { block, files: Arc::clone(&self.files) }).collect())
    }
}

impl PyTransactionBatch {
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

    /// Returns the number of hashes of all transactions.
    #[getter]
    fn key_count(&self) -> usize {
        self.sets.iter().map(|set| set.exclusive.len() + set.shared.len()).sum()
    }

    fn items(&self, index: usize) -> PyResult<(Vec<u64>, Vec<u64>, bool)> {
        let set = self.sets.get(index).ok_or_else(|| PyIndexError::new_err("the batch has no such transaction"))?;
        Ok((set.exclusive.clone(), set.shared.clone(), set.barrier))
    }

    #[getter]
    fn fallbacks(&self) -> Vec<(&'static str, String, u64)> {
        let sorted = self.fallbacks.sorted().into_iter();
        sorted.map(|(reason, table, count)| (reason.text(), table.to_string(), count)).collect()
    }
}
