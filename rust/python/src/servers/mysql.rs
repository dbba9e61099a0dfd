//! Connections to MySQL and MariaDB.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use paraply_binlog::cpu::{Stage, within};
use paraply_mysql::batch::{Guard, WholeEnded, commit_each, run_each};
use paraply_mysql::connection::{Cell, Connection, Error, Options, ResultSet, Tls, TlsMode};
use paraply_plan::ledger::Entry;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyFloat, PyInt, PyList, PyTuple};

use crate::errors::{Cause, Where, raise, server_error, usage};
use crate::plan::block::PyBlock;
use crate::plan::ledger::PyLedger;
use crate::records::{self, AppliedBlocks};
use crate::servers::binlog_statements::WholeBlock;
use crate::servers::row_ends::PyRowEnds;

/// Rate of a slow network: one megabyte a second.
const BYTES_A_MILLISECOND: u64 = 1000;

/// Returns milliseconds since a moment of this process, never 0.
fn clock() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
}

/// End of a batch of transactions.
///
/// Attributes:
///     done: Number of committed transactions.
///     committing: True if the COMMIT of the next one was sent and not answered.
///     results: Results of its statements from the guard on.
///     error: Its error, if there is one.
#[pyclass(name = "BatchEnd", module = "paraply._native", frozen, get_all)]
pub struct PyBatchEnd {
    done: usize,
    committing: bool,
    results: Py<PyList>,
    error: Option<Py<PyAny>>,
}

/// Connection to MySQL or MariaDB; every call releases the GIL.
///
/// With ``found_rows`` an UPDATE counts the matched rows, not only the changed ones.
#[pyclass(name = "MySqlConnection", module = "paraply._native", frozen)]
pub struct PyMySqlConnection {
    connection: Mutex<Option<Connection>>,
    /// Time when the answer to the current query is due, in milliseconds of [`clock`]; 0 if there is none.
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
        let options = options(host, port, user, password, database, socket, tls, connect_timeout, read_timeout)?;
        let options = Options { found_rows, ..options };
        let connection = py.detach(|| Connection::open(&options)).map_err(|error| mysql_error(&error))?;
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

    /// Run one or several statements, and return their results.
    ///
    /// Raises ServerError, with ``code`` and ``sqlstate``, if the server reports an error.
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
        answer.map_err(|error| mysql_error(&error))?;
        result_sets(py, &sets)
    }

    /// Run and commit transactions until one fails.
    ///
    /// Args:
    ///     texts: Statements of each transaction up to its rows; from the second one on they begin with the COMMIT of the previous one.
    ///     results: Number of results of a text from its guard on; with fewer the transaction is not committed.
    ///     first: Number of statements before the guard in the first text.
    ///     others: Number of statements before the guard in the other texts.
    ///     epoch: Row that the guard must find.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn commit_each(
        &self,
        py: Python<'_>,
        texts: Vec<Bound<'_, PyBytes>>,
        results: usize,
        first: usize,
        others: usize,
        epoch: u64,
    ) -> PyResult<PyBatchEnd> {
        let texts: Vec<&[u8]> = texts.iter().map(PyBytesMethods::as_bytes).collect();
        let guard = Guard { results, first, others, epoch };
        let ended = py.detach(|| commit_each(&texts, guard, |text, sets| self.answer(text, sets)));
        let error = ended.error.map(|error| mysql_error(&error).into_value(py).into_any());
        let results = result_sets(py, &ended.results)?.unbind();
        Ok(PyBatchEnd { done: ended.done, committing: ended.committing, results, error })
    }

    /// Run transactions of one statement each, under autocommit, until one fails or needs more statements.
    ///
    /// The statement is a BINLOG with two parts: the row event that changes the session's row of ``paraply.progress``, which it finds by
    /// channel, slot and epoch; and the block's own rows. A block that needs more than one statement is left to the caller, with all later
    /// blocks. So are blocks of another log format than the first one's, which the server must know already.
    ///
    /// Args:
    ///     blocks: Blocks of one transaction each.
    ///     progress: Ledger that supplies the text of each row of progress, and records the commits; or the texts.
    ///     channel: First part of the row's key.
    ///     slot: Second part of the row's key.
    ///     epoch: Third part of the row's key.
    ///     max_bytes: Most bytes of a statement.
    ///     row_ends: Columns of system-versioned tables that may have to be converted.
    ///
    /// Returns:
    ///     The number of committed blocks, and the error of the next one.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (blocks, progress, channel, slot, epoch, max_bytes, row_ends=None))]
    fn apply_each(
        &self,
        py: Python<'_>,
        blocks: Vec<Bound<'_, PyBlock>>,
        progress: Progress<'_>,
        channel: &str,
        slot: u32,
        epoch: u64,
        max_bytes: usize,
        row_ends: Option<&PyRowEnds>,
    ) -> AppliedBlocks {
        let blocks: Vec<&PyBlock> = blocks.iter().map(Bound::get).collect();
        let row = WholeBlock { channel, slot, epoch, max_bytes, ends: row_ends.map(|row_ends| &*row_ends.0) };
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
        let error = ended.error.map(|error| mysql_error(&error).into_value(py).into_any());
        AppliedBlocks { done: ended.done, error }
    }

    /// Seconds by which the answer to the present query is late, less one for each megabyte sent; 0 if it is not late.
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

/// Content of a session's row once blocks are committed: the texts, or the ledger that makes them and is updated.
#[derive(FromPyObject)]
enum Progress<'py> {
    Ledger(Bound<'py, PyLedger>),
    Texts(Vec<String>),
}

impl PyMySqlConnection {
    /// Runs blocks until one fails or needs more than one statement.
    fn run(&self, blocks: &[&PyBlock], executed: &[String], row: WholeBlock<'_>) -> WholeEnded {
        let format = blocks.first().and_then(|block| block.block.first()).map(|first| &first.format);
        let texts = blocks.iter().zip(executed).map(|(block, executed)| row.statement(block, executed, format?));
        run_each(texts, |text, sets| self.answer(text, sets))
    }

    /// Sends a text and waits for all its results; meanwhile the time when they are due is set.
    fn answer(&self, text: &[u8], sets: &mut Vec<ResultSet>) -> Result<(), Error> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = connection.as_mut().ok_or_else(|| Error::Lost("the connection is closed".to_owned()))?;
        self.due.store(clock() + text.len() as u64 / BYTES_A_MILLISECOND, Ordering::Relaxed);
        let answer = within(Stage::Send, || connection.query_into(text, sets));
        self.due.store(0, Ordering::Relaxed);
        answer
    }
}

fn result_sets<'py>(py: Python<'py>, sets: &[ResultSet]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, sets.iter().map(|set| result_set(py, set)).collect::<PyResult<Vec<_>>>()?)
}

/// Returns the options of a connection from Python's keywords.
#[allow(clippy::too_many_arguments)] // keywords in Python
pub fn options(
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
    let tls = tls_options(tls.unwrap_or_default())?;
    let connect_timeout =
        Duration::try_from_secs_f64(connect_timeout).map_err(|_| usage("connect-timeout is no number of seconds"))?;
    let read_timeout = read_timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(Options { host, port, user, password, database, socket, tls, connect_timeout, read_timeout, found_rows: false })
}

fn tls_options(mut given: HashMap<String, String>) -> PyResult<Tls> {
    let mode = match given.remove("mode").as_deref() {
        None | Some("preferred") => TlsMode::Preferred,
        Some("disabled") => TlsMode::Disabled,
        Some("required") => TlsMode::Required,
        Some("verify-ca") => TlsMode::VerifyCa,
        Some("verify-identity") => TlsMode::VerifyIdentity,
        Some(other) => return Err(usage(&format!("unknown TLS mode `{other}`"))),
    };
    let ca = given.remove("ca").map(PathBuf::from);
    let identity = match (given.remove("cert"), given.remove("key")) {
        (Some(cert), Some(key)) => Some((PathBuf::from(cert), PathBuf::from(key))),
        (None, None) => None,
        _ => return Err(usage("tls-cert and tls-key go together")),
    };
    Ok(Tls { mode, ca, identity })
}

/// Returns an error of a connection as the exception of its cause.
pub fn mysql_error(error: &Error) -> PyErr {
    match error {
        Error::Server { code, state, message } => server_error(message, *code, state),
        Error::Lost(message) => raise(Cause::ConnectionLost, message, &Where::default()),
        other => raise(Cause::ConnectionFailed, &other.to_string(), &Where::default()),
    }
}

fn result_set(py: Python<'_>, set: &ResultSet) -> PyResult<records::ResultSet> {
    let rows = set
        .rows
        .iter()
        .map(|row| PyTuple::new(py, row.iter().map(|value| cell(py, value))))
        .collect::<PyResult<Vec<_>>>()?;
    let rows = PyList::new(py, rows)?.unbind();
    Ok(records::ResultSet { columns: set.columns.clone(), rows, affected: set.affected })
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
