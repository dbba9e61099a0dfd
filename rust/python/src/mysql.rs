//! Connections to MySQL and MariaDB, and the `BINLOG` statements that they are handed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use paraply_binlog::transaction::Format;
use paraply_mysql::binlog_statement::{self, Limits, Place, Wanted};
use paraply_mysql::connection::{Cell, Connection, Error, Options, ResultSet, Tls, TlsMode};
use paraply_mysql::progress_row::ProgressRow;
use paraply_mysql::references::Check;
use paraply_mysql::row_ends::RowEnds;
use paraply_mysql::series::{Guard, WholeEnded, commit_each, run_each};
use paraply_plan::ledger::Entry;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyFloat, PyInt, PyList, PyTuple};

use crate::block::PyBlock;
use crate::errors::{Where, raise, server_error, usage};
use crate::ledger::PyLedger;
use crate::references::PyReferenceCheck;

/// What a slow network takes: one megabyte a second.
const BYTES_A_MILLISECOND: u64 = 1000;

/// A block of so many bytes is read sooner than the interpreter is given away and got back, which others may hold by then.
const FEW_BYTES: u64 = 16 * 1024;

/// Milliseconds since a moment of this process, never 0.
fn clock() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
}

/// How many transactions are committed; whether the next one's commit was sent, what its statements found, and the error.
type SeriesEnd<'py> = (usize, bool, Bound<'py, PyList>, Option<Bound<'py, PyAny>>);

#[pyclass(name = "MySqlConnection", module = "paraply._native", frozen)]
pub struct PyMySqlConnection {
    connection: Mutex<Option<Connection>>,
    /// When the answer to the query under way is due, in milliseconds of [`clock`]; 0 if there is none.
    due: AtomicU64,
    connection_id: u32,
    server_version: String,
}

#[pymethods]
impl PyMySqlConnection {
    #[new]
    #[pyo3(signature = (host, port, user, password=None, *, database=None, socket=None, tls=None, connect_timeout=10.0, read_timeout=None, found_rows=false))]
    #[allow(clippy::too_many_arguments)] // Python passes them by name
    fn new(
        py: Python<'_>,
        host: String,
        port: u16,
        user: String,
        password: Option<String>,
        database: Option<String>,
        socket: Option<String>,
        tls: Option<HashMap<String, String>>,
        connect_timeout: f64,
        read_timeout: Option<f64>,
        found_rows: bool,
    ) -> PyResult<Self> {
        let options = options(py, host, port, user, password, database, socket, tls, connect_timeout, read_timeout)?;
        let options = Options { found_rows, ..options };
        let connection = py.detach(|| Connection::open(&options)).map_err(|error| mysql_error(py, &error))?;
        let (connection_id, server_version) = (connection.connection_id(), connection.server_version().to_owned());
        Ok(Self { connection: Mutex::new(Some(connection)), due: AtomicU64::new(0), connection_id, server_version })
    }

    #[getter]
    fn connection_id(&self) -> u32 {
        self.connection_id
    }

    #[getter]
    fn server_version(&self) -> &str {
        &self.server_version
    }

    fn query<'py>(&self, py: Python<'py>, sql: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let owned;
        let text: &[u8] = if let Ok(bytes) = sql.cast::<PyBytes>() {
            bytes.as_bytes()
        } else {
            owned = sql.extract::<String>()?;
            owned.as_bytes()
        };
        let mut sets = Vec::new();
        let answer = py.detach(|| self.answer(text, &mut sets));
        answer.map_err(|error| mysql_error(py, &error))?;
        result_sets(py, &sets)
    }

    /// Runs and commits transactions, each commit in front of the next one's statements.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn commit_each<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyBytes>>,
        results: usize,
        first: usize,
        others: usize,
        epoch: u64,
    ) -> PyResult<SeriesEnd<'py>> {
        let texts: Vec<&[u8]> = texts.iter().map(PyBytesMethods::as_bytes).collect();
        let guard = Guard { results, first, others, epoch };
        let ended = py.detach(|| commit_each(&texts, guard, |text, sets| self.answer(text, sets)));
        let error = ended.error.map(|error| mysql_error(py, &error).into_value(py).into_bound(py).into_any());
        Ok((ended.done, ended.committing, result_sets(py, &ended.results)?, error))
    }

    /// Runs and commits transactions that are a statement each, with the session's progress.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (blocks, progress, channel, slot, epoch, max_bytes, row_ends=None))]
    fn apply_each<'py>(
        &self,
        py: Python<'py>,
        blocks: Vec<Bound<'py, PyBlock>>,
        progress: Progress<'py>,
        channel: &str,
        slot: u32,
        epoch: u64,
        max_bytes: usize,
        row_ends: Option<&PyRowEnds>,
    ) -> (usize, Option<Bound<'py, PyAny>>) {
        let blocks: Vec<&PyBlock> = blocks.iter().map(Bound::get).collect();
        let row = Row { channel, slot, epoch, max_bytes, ends: row_ends.map(|row_ends| &*row_ends.0) };
        let ended = match &progress {
            Progress::Texts(texts) => py.detach(|| self.run(&blocks, texts, row)),
            Progress::Ledger(ledger) => {
                let ledger = ledger.get();
                py.detach(|| {
                    let mut entries: Vec<_> = blocks.iter().map(|block| Entry::from(&block.block)).collect();
                    let texts = ledger.lock().texts(&entries, Some(slot.into()));
                    let ended = self.run(&blocks, &texts, row);
                    entries.truncate(ended.done);
                    ledger.lock().acknowledge(entries, Some(slot.into()));
                    ended
                })
            }
        };
        (ended.done, ended.error.map(|error| mysql_error(py, &error).into_value(py).into_bound(py).into_any()))
    }

    #[getter]
    fn overdue(&self) -> f64 {
        match self.due.load(Ordering::Relaxed) {
            0 => 0.0,
            due => Duration::from_millis(clock().saturating_sub(due)).as_secs_f64(),
        }
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.connection.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// What a session's row says once blocks are committed: the texts, or who knows them and is told.
#[derive(FromPyObject)]
enum Progress<'py> {
    Ledger(Bound<'py, PyLedger>),
    Texts(Vec<String>),
}

/// A session's row of progress, and the bytes that a statement may have.
#[derive(Clone, Copy)]
struct Row<'a> {
    channel: &'a str,
    slot: u32,
    epoch: u64,
    max_bytes: usize,
    ends: Option<&'a RowEnds>,
}

impl Row<'_> {
    /// A block with its progress as one statement, if it is such a one and in the format that the server has got.
    fn statement(self, block: &PyBlock, executed: &str, format: &Arc<Format>) -> Option<Vec<u8>> {
        let transaction = block.block.first()?;
        if block.block.len() != 1 || !Arc::ptr_eq(format, &transaction.format) {
            return None;
        }
        let progress = ProgressRow {
            channel: self.channel,
            slot: self.slot,
            epoch: self.epoch,
            executed,
            file: block.end_file(),
            position: block.end_offset(),
            ordinal: block.block.ordinal,
        };
        let limits = Limits { bytes: self.max_bytes, keyed: block.block.keyed, row_ends: self.ends, left_out: &[] };
        binlog_statement::whole_statement(transaction, &progress, limits, |event| block.block.wants(0, event)).ok()?
    }
}

impl PyMySqlConnection {
    /// Runs blocks until one fails or is no single statement.
    fn run(&self, blocks: &[&PyBlock], executed: &[String], row: Row<'_>) -> WholeEnded {
        let format = blocks.first().and_then(|block| block.block.first()).map(|first| &first.format);
        let texts = blocks.iter().zip(executed).map(|(block, executed)| row.statement(block, executed, format?));
        run_each(texts, |text, sets| self.answer(text, sets))
    }

    /// Sends a text and waits for all its results; it is known meanwhile when they are due.
    fn answer(&self, text: &[u8], sets: &mut Vec<ResultSet>) -> Result<(), Error> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = connection.as_mut().ok_or_else(|| Error::Lost("the connection is closed".to_owned()))?;
        self.due.store(clock() + text.len() as u64 / BYTES_A_MILLISECOND, Ordering::Relaxed);
        let answer = connection.query_into(text, sets);
        self.due.store(0, Ordering::Relaxed);
        answer
    }
}

fn result_sets<'py>(py: Python<'py>, sets: &[ResultSet]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, sets.iter().map(|set| result_set(py, set)).collect::<PyResult<Vec<_>>>()?)
}

/// The options of a connection as Python names them.
#[allow(clippy::too_many_arguments)] // keywords in Python
pub fn options(
    py: Python<'_>,
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
    database: Option<String>,
    socket: Option<String>,
    tls: Option<HashMap<String, String>>,
    connect_timeout: f64,
    read_timeout: Option<f64>,
) -> PyResult<Options> {
    let tls = tls_options(py, tls.unwrap_or_default())?;
    let connect_timeout = Duration::try_from_secs_f64(connect_timeout)
        .map_err(|_| usage(py, "connect-timeout is no number of seconds"))?;
    let read_timeout = read_timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(Options { host, port, user, password, database, socket, tls, connect_timeout, read_timeout, found_rows: false })
}

fn tls_options(py: Python<'_>, mut given: HashMap<String, String>) -> PyResult<Tls> {
    let mode = match given.remove("mode").as_deref() {
        None | Some("preferred") => TlsMode::Preferred,
        Some("disabled") => TlsMode::Disabled,
        Some("required") => TlsMode::Required,
        Some("verify-ca") => TlsMode::VerifyCa,
        Some("verify-identity") => TlsMode::VerifyIdentity,
        Some(other) => return Err(usage(py, &format!("unknown TLS mode `{other}`"))),
    };
    let ca = given.remove("ca").map(PathBuf::from);
    let identity = match (given.remove("cert"), given.remove("key")) {
        (Some(cert), Some(key)) => Some((PathBuf::from(cert), PathBuf::from(key))),
        (None, None) => None,
        _ => return Err(usage(py, "tls-cert and tls-key go together")),
    };
    Ok(Tls { mode, ca, identity })
}

/// An error of a connection as the exception of its cause.
pub fn mysql_error(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Server { code, state, message } => server_error(py, message, *code, state),
        Error::Lost(message) => raise(py, "ConnectionLost", message, &Where::default()),
        other => raise(py, "ConnectionFailed", &other.to_string(), &Where::default()),
    }
}

fn result_set<'py>(py: Python<'py>, set: &ResultSet) -> PyResult<Bound<'py, PyTuple>> {
    let rows = set
        .rows
        .iter()
        .map(|row| PyTuple::new(py, row.iter().map(|value| cell(py, value))))
        .collect::<PyResult<Vec<_>>>()?;
    (set.columns.clone(), PyList::new(py, rows)?, set.affected).into_pyobject(py)
}

fn cell<'py>(py: Python<'py>, value: &Cell) -> Bound<'py, PyAny> {
    match value {
        Cell::Null => py.None().into_bound(py),
        Cell::Int(number) => PyInt::new(py, *number).into_any(),
        Cell::Unsigned(number) => PyInt::new(py, *number).into_any(),
        Cell::Float(number) => PyFloat::new(py, *number).into_any(),
        Cell::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
    }
}

/// The columns of the target's system-versioned tables whose values another version writes differently.
#[pyclass(name = "RowEnds", module = "paraply._native", frozen)]
pub struct PyRowEnds(Arc<RowEnds>);

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

/// `BINLOG` statements with the block's row events, made one after the other.
#[pyfunction]
#[pyo3(signature = (block, max_bytes=None, check=None, row_ends=None, left_out=Vec::new()))]
pub fn binlog_statements(
    block: &Bound<'_, PyBlock>,
    max_bytes: Option<usize>,
    check: Option<&PyReferenceCheck>,
    row_ends: Option<&PyRowEnds>,
    left_out: Vec<(String, String)>,
) -> PyBinlogStatements {
    let bytes = max_bytes.unwrap_or(Limits::default().bytes);
    let check = check.map(|check| Arc::clone(&check.check));
    let row_ends = row_ends.map(|row_ends| Arc::clone(&row_ends.0));
    PyBinlogStatements { block: block.clone().unbind(), bytes, row_ends, left_out, check, place: Mutex::default() }
}

#[pyclass(name = "BinlogStatements", module = "paraply._native", frozen)]
pub struct PyBinlogStatements {
    block: Py<PyBlock>,
    bytes: usize,
    row_ends: Option<Arc<RowEnds>>,
    left_out: Vec<(String, String)>,
    check: Option<Arc<Check>>,
    place: Mutex<Place>,
}

#[pymethods]
impl PyBinlogStatements {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let block = self.block.get();
        let next = || {
            let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            let block = &block.block;
            let wanted = |transaction, event| {
                let is_checked = || self.check.as_ref().is_some_and(|check| check.covers(transaction, event));
                match block.wants(transaction, event) {
                    false => Wanted::No,
                    true if is_checked() => Wanted::Unchecked,
                    true => Wanted::AsItIs,
                }
            };
            let limits = Limits {
                bytes: self.bytes,
                keyed: block.keyed,
                row_ends: self.row_ends.as_deref(),
                left_out: &self.left_out,
            };
            binlog_statement::next_wanted(block.transactions(), limits, &mut place, wanted)
        };
        let next = if block.block.bytes() <= FEW_BYTES { next() } else { py.detach(next) };
        let statement = next.map_err(|error| {
            use binlog_statement::Error::{TooLarge, TooLate};
            let is_targets = matches!(error, TooLarge { .. } | TooLate { .. });
            let class = if is_targets { "ApplyFailed" } else { "LogDamaged" };
            raise(py, class, &error.to_string(), &block.place())
        })?;
        Ok(statement.map(|statement| PyBytes::new(py, &statement)))
    }
}

/// A block of one transaction as one statement, with a session's row of progress; none where it takes more than one.
#[pyfunction]
pub fn whole_statement<'py>(
    py: Python<'py>,
    block: &PyBlock,
    executed: &str,
    channel: &str,
    slot: u32,
    epoch: u64,
    max_bytes: usize,
) -> Option<Bound<'py, PyBytes>> {
    let format = &block.block.first()?.format;
    let statement = Row { channel, slot, epoch, max_bytes, ends: None }.statement(block, executed, format)?;
    Some(PyBytes::new(py, &statement))
}

/// `BINLOG` with the block's format description event.
#[pyfunction]
pub fn format_statement<'py>(py: Python<'py>, block: &PyBlock) -> Bound<'py, PyBytes> {
    let statement = block.block.first().map(|t| binlog_statement::format_statement(&t.format));
    PyBytes::new(py, &statement.unwrap_or_default())
}
