//! Reading transactions from logs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use paraply_arrow::batch::{file_name, gtid_text};
use paraply_binlog::cpu::{Stage, within};
use paraply_binlog::read::passed_over::PassedOver;
use paraply_binlog::read::reader::{GrowingLog, LogReader, ReaderOptions};
use paraply_binlog::read::selection::Selection;
use paraply_binlog::read::skip_list::SkipList;
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::row_walk::count_rows;
use paraply_binlog::transaction::{Identity, Transaction};
use paraply_binlog::write::relay::Follower;
use paraply_mysql::serve::PublishedLog;
use paraply_plan::planner::Passed;
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::log::selection::{Place as Start, PySelection};
use crate::log::skip_list::PySkipList;
use crate::log::stop::{PyStopCondition, stop_point};
use crate::log::table_filter::PyTableFilter;
use crate::log::transaction_batch::{Failure, PyTransactionBatch};
use crate::plan::block::passed;
use crate::plan::gtid::PyGtidSet;
use crate::records::FilePosition;

/// Reader of the transactions of log files, in order.
///
/// Args:
///     paths: The files.
///     verify_checksums: Compare the checksums of all events.
///     executed: Applied transactions, whose rows are not decoded: ``rows`` is 0, write sets are empty.
///     after: The same for transactions without GTID: index of the file, and offset in it.
///     tables: Filter that removes the row changes of other tables; a statement is then in a batch of its own.
///     stop: Condition at which reading ends; None for the logs' end.
///     skip: Transactions that are left out by name: they keep only their identity. A statement, or a part of an XA transaction, is
///         returned whole and in a batch of its own instead, with ``skipped`` set.
///     piece: Start and end in the only file. The start is an offset, the offset of the format description, and True for a relay log; the
///         end is None for the file's end.
///     position: Number of transactions before the first one.
///     selection: Conditions for transactions; others are returned only if they have statements.
///     count_rows: True to count the rows of each transaction, and find damaged rows before it is returned; else ``rows`` is 0.
///     sizes: Number of bytes to read from each file, as if it ended there; empty for all.
///     passes_statements: True to pass over changes in statement format, for a look at a log that is not applied; else only those of
///         applied transactions, and of databases that the filter leaves out for certain, are passed over.
#[pyclass(name = "LogReader", module = "paraply._native", frozen)]
pub struct PyLogReader {
    state: Mutex<State>,
    files: RwLock<Arc<Vec<String>>>,
    /// Ends a reader that follows a log; it may be waiting under the lock of `state`.
    stop: Option<Box<dyn Fn() + Send + Sync>>,
}

/// Longest sleep of a reader that follows a relay log before it checks for signals of Python.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Options for reading a log, as Python passes them.
#[derive(Default)]
pub struct ReadOptions<'a> {
    pub executed: Option<&'a PyGtidSet>,
    pub after: Option<(u32, u64)>,
    pub tables: Option<&'a PyTableFilter>,
    pub stop: Option<&'a PyStopCondition>,
    pub skip: Option<&'a PySkipList>,
}

impl ReadOptions<'_> {
    fn skips(&self) -> SkipList {
        self.skip.map_or_else(SkipList::default, |skip| skip.0.clone())
    }

    fn filter(&self) -> TableFilter {
        self.tables.map_or_else(TableFilter::default, |tables| tables.0.clone())
    }

    /// Returns the changes in statement format that are passed over; `everything` for a log that is not applied.
    fn passed_over(&self, everything: bool) -> PassedOver {
        let passed = passed(self.executed, self.after);
        let (executed, after) = (passed.executed, passed.after);
        PassedOver { everything, executed, after, skipped: self.skips(), tables: self.filter() }
    }
}

impl PyLogReader {
    /// Follows a relay log while it is written.
    pub fn follow(follower: Follower, options: &ReadOptions<'_>) -> Self {
        let stop = follower.stop_handle();
        Self::growing(follower, Box::new(move || stop.stop()), options)
    }

    /// Follows a log that is served while it is written.
    pub fn follow_published(log: PublishedLog) -> Self {
        let stop = Box::new(log.stop());
        Self::growing(log, stop, &ReadOptions::default())
    }

    fn growing(log: impl GrowingLog + 'static, stop: Box<dyn Fn() + Send + Sync>, options: &ReadOptions<'_>) -> Self {
        let reader = LogReader::follow(log, ReaderOptions::default());
        let reader = reader.filtered(options.filter()).until(stop_point(options.stop)).skipping(options.skips());
        let reader = reader.passing_over(options.passed_over(false));
        let passed = passed(options.executed, options.after);
        let selection = Selection::default();
        let state = State { reader, damaged: None, passed, position: 0, selection, counts_rows: true };
        Self { state: Mutex::new(state), files: RwLock::default(), stop: Some(stop) }
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

/// Transaction at which reading stopped.
///
/// Attributes:
///     file: Name of the file, as given.
///     offset: Offset of its first event.
///     gtid: Its GTID, if there is one.
///     committed_at: Commit time, microseconds since 1970, UTC.
///     included: True if it was still returned.
#[pyclass(name = "ReaderStop", module = "paraply._native", frozen, get_all)]
pub struct PyReaderStop {
    file: String,
    offset: u64,
    gtid: Option<String>,
    committed_at: Option<i64>,
    included: bool,
}

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
        paths, *, verify_checksums=true, executed=None, after=None, tables=None, stop=None, skip=None, piece=None, position=0,
        selection=None, count_rows=true, sizes=Vec::new(), passes_statements=false,
    ))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        verify_checksums: bool,
        executed: Option<&PyGtidSet>,
        after: Option<(u32, u64)>,
        tables: Option<&PyTableFilter>,
        stop: Option<&PyStopCondition>,
        skip: Option<&PySkipList>,
        piece: Option<(Start, Option<u64>)>,
        position: i64,
        selection: Option<&PySelection>,
        count_rows: bool,
        sizes: Vec<u64>,
        passes_statements: bool,
    ) -> PyResult<Self> {
        let wanted = ReadOptions { executed, after, tables, stop, skip };
        let files = Arc::new(paths.iter().map(|p| p.to_string_lossy().into_owned()).collect::<Vec<_>>());
        let options = ReaderOptions { verify_checksums, ..ReaderOptions::default() };
        let reader = py
            .detach(|| match (piece, &paths[..]) {
                (Some(part), [path]) => LogReader::open_piece(path, crate::log::selection::piece(part), options),
                _ => LogReader::open(&paths, options),
            })
            .map_err(|error| log_error(&error, None))?
            .sized(sizes)
            .filtered(wanted.filter())
            .until(stop_point(stop))
            .skipping(wanted.skips())
            .passing_over(wanted.passed_over(passes_statements));
        let selection = selection.map_or_else(Selection::default, |selection| selection.0.clone());
        let passed = passed(executed, after);
        let state = State { reader, damaged: None, passed, position, selection, counts_rows: count_rows };
        Ok(Self { state: Mutex::new(state), files: RwLock::new(files), stop: None })
    }

    #[getter]
    fn files(&self) -> Vec<String> {
        self.file_names().to_vec()
    }

    /// End a reader that follows a relay log; no effect for files. May be called from any thread.
    fn stop(&self) {
        if let Some(stop) = &self.stop {
            stop();
        }
    }

    /// Transaction at which reading stopped; None if it did not.
    #[getter]
    fn stopped(&self) -> Option<PyReaderStop> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let place = state.reader.stopped()?;
        let gtid = match &place.identity {
            Identity::Gtid(gtid) => Some(gtid.to_string()),
            Identity::Anonymous => None,
        };
        Some(PyReaderStop {
            file: file_name(&self.file_names(), place.file).to_owned(),
            offset: place.offset,
            gtid,
            committed_at: place.committed_at,
            included: place.included,
        })
    }

    /// File and offset of the starts of the last two transactions read; only with a stop ``position``, and in the log that it names.
    #[getter]
    fn begins(&self) -> Vec<FilePosition> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = state.reader.begins().iter().flatten();
        begins.map(|begin| FilePosition { file: begin.file.clone(), offset: begin.offset }).collect()
    }

    /// Transactions found so far that are left out by name.
    #[getter]
    fn skipped(&self) -> PySkipList {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        PySkipList(state.reader.skipped().clone())
    }

    /// Return the next transactions; a batch ends after a transaction with a statement, so that the schema can be advanced.
    ///
    /// A reader that follows a relay log waits up to a tenth of a second for more, and then returns an empty batch.
    ///
    /// An error of the log is raised only after the transactions before it were returned.
    #[pyo3(signature = (max_transactions=1024, max_bytes=16_777_216))]
    fn next_batch(
        &self,
        py: Python<'_>,
        max_transactions: usize,
        max_bytes: u64,
    ) -> PyResult<Option<PyTransactionBatch>> {
        py.detach(|| within(Stage::Decode, || self.read(max_transactions.max(1), max_bytes)))
            .map_err(|(error, gtid)| log_error(&error, gtid))
    }
}
