//! Relay logs: the writer, its status, and readers that follow it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use paraply_binlog::event::{EventHeader, HEADER_LENGTH};
use paraply_binlog::write::relay::{
    Cut, Follower, Head, Purger, Received, RelayError, RelayWriter, Shared, WriterOptions, compose_event, mysql_format,
    purge_folder,
};
use paraply_mysql::receive::Signals;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Cause, Where, log_error, raise, usage};
use crate::log::reader::{PyLogReader, ReadOptions};
use crate::log::skip_list::PySkipList;
use crate::log::stop::PyStopCondition;
use crate::log::table_filter::PyTableFilter;
use crate::moment::moment;
use crate::plan::gtid::PyGtidSet;

/// Data that was removed from a relay log when it was opened.
///
/// Attributes:
///     file: The file.
///     position: End of its last whole transaction.
///     bytes: Number of bytes removed.
///     reason: Description of the damage.
#[pyclass(name = "RelayCut", module = "paraply._native", frozen, get_all)]
pub struct PyRelayCut {
    file: String,
    position: u64,
    bytes: u64,
    reason: String,
}

impl From<Cut> for PyRelayCut {
    fn from(Cut { file, position, bytes, reason }: Cut) -> Self {
        Self { file, position, bytes, reason }
    }
}

/// Relay log: one writer, any number of readers, and no lock between them (R28).
///
/// The format is MySQL's binlog. Readers get whole transactions only, as soon as they are published. Opening a log removes an incomplete
/// transaction after a crash. The received set and the source's position are part of the log itself.
///
/// Args:
///     folder: Folder of the files; made if missing.
///     name: Prefix of the files' names.
///     max_bytes: Size at which a new file begins, after the present transaction.
///     server_id: Server id in the events that the receiver writes itself.
///
/// Raises:
///     RelayLogError: The folder cannot be written, or does not match its index.
///     LogError: A file cannot be read.
#[pyclass(name = "RelayLog", module = "paraply._native", frozen)]
pub struct PyRelayLog {
    writer: Arc<Mutex<RelayWriter>>,
    /// State for readers and status queries; the writer's own lock is for the writing threads only.
    shared: Arc<Shared>,
    purger: Purger,
    folder: PathBuf,
    signals: Arc<Signals>,
}

impl PyRelayLog {
    /// Returns the writer, for a receiver in another thread.
    pub fn writer(&self) -> Arc<Mutex<RelayWriter>> {
        Arc::clone(&self.writer)
    }

    /// Returns the signals of a receiver: its stop flag, and the time when it heard from its source.
    pub fn signals(&self) -> Arc<Signals> {
        Arc::clone(&self.signals)
    }

    fn write<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut RelayWriter) -> Result<T, RelayError> + Send,
    ) -> PyResult<T> {
        py.detach(|| act(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner)))
            .map_err(|error| relay_error(&error))
    }
}

/// Returns an error of a relay log as the exception of its cause.
pub fn relay_error(error: &RelayError) -> PyErr {
    match error {
        RelayError::Log(error) => log_error(error, None),
        RelayError::InsideTransaction { .. } => usage(&error.to_string()),
        other => {
            let place = Where { file: Some(other.file().to_owned()), ..Where::default() };
            raise(Cause::RelayLog, &other.to_string(), &place)
        }
    }
}

#[pymethods]
impl PyRelayLog {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (folder, *, name="relay-bin", max_bytes=268_435_456, server_id=0))]
    fn new(py: Python<'_>, folder: PathBuf, name: &str, max_bytes: u64, server_id: u32) -> PyResult<Self> {
        let options = WriterOptions { stem: name.to_owned(), max_bytes, server_id, ..WriterOptions::default() };
        let writer = py.detach(|| RelayWriter::open(&folder, options)).map_err(|error| relay_error(&error))?;
        let (shared, purger) = (Arc::clone(writer.shared()), writer.purger());
        Ok(Self { writer: Arc::new(Mutex::new(writer)), shared, purger, folder, signals: Arc::default() })
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Files, oldest first; none before the first format description.
    #[getter]
    fn files(&self) -> Vec<String> {
        self.shared.files().iter().map(|file| file.name.to_string()).collect()
    }

    /// Time of the last heartbeat of the idle source, microseconds since 1970, UTC.
    #[getter]
    fn idle_at(&self) -> Option<i64> {
        Some(self.signals.idle_at.load(Ordering::Relaxed)).filter(|&time| time != 0)
    }

    /// Time of the last data from the source, microseconds since 1970, UTC.
    #[getter]
    fn heard_at(&self) -> Option<i64> {
        Some(self.signals.heard_at.load(Ordering::Relaxed)).filter(|&time| time != 0)
    }

    /// Number of heartbeats of the idle source.
    #[getter]
    fn heartbeats(&self) -> u64 {
        self.signals.heartbeats.load(Ordering::Relaxed)
    }

    /// Number of acknowledgements sent to the source, for data synced to disk.
    #[getter]
    fn acknowledgements(&self) -> u64 {
        self.signals.acknowledgements.load(Ordering::Relaxed)
    }

    /// End a receiver in another thread at the next event or heartbeat; none can begin any more.
    fn stop_receiving(&self) {
        self.signals.stop.store(true, Ordering::SeqCst);
    }

    /// Data removed when the log was opened; None if there was none.
    #[getter]
    fn cut(&self, py: Python<'_>) -> PyResult<Option<PyRelayCut>> {
        self.write(py, |writer| Ok(writer.cut().cloned().map(PyRelayCut::from)))
    }

    /// Return the received transactions, as last published; never waits, and makes no other thread wait (R29).
    fn status(&self) -> PyRelayStatus {
        PyRelayStatus(self.shared.received())
    }

    /// Count transactions as received that the target holds from elsewhere; files begun from now on include them.
    fn hold(&self, py: Python<'_>, gtids: &PyGtidSet) -> PyResult<()> {
        let gtids = gtids.snapshot();
        self.write(py, |writer| {
            writer.hold(&gtids);
            Ok(())
        })
    }

    /// Append whole events, and publish the whole transactions among them.
    ///
    /// Args:
    ///     events: One or several events as sent by a source; the first one of a new log is a format description.
    ///     checksums: True if they end with a checksum, which is then verified.
    ///
    /// Raises:
    ///     LogDamaged: An event contradicts itself.
    ///     RelayLogError: The disk is full, or the log is closed.
    #[pyo3(signature = (events, *, checksums=false))]
    fn append(&self, py: Python<'_>, events: &[u8], checksums: bool) -> PyResult<()> {
        let events = whole_events(events).ok_or_else(|| usage("what is appended must be whole events"))?;
        self.write(py, |writer| {
            events.iter().try_for_each(|event| writer.append(event, checksums))?;
            writer.publish()
        })
    }

    /// Publish everything, and sync it to disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::sync)
    }

    /// Remove the received part of an unfinished transaction, which the source will send again from its beginning.
    fn interrupted(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::interrupted)
    }

    /// End the current file and begin the next one.
    ///
    /// Raises:
    ///     UsageError: A transaction is being received.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::flush)
    }

    /// Remove the files before this one, and return their paths; remove none if the file is not part of the log.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn purge(&self, py: Python<'_>, before: PathBuf) -> PyResult<Vec<PathBuf>> {
        let number = self.shared.files().iter().find(|file| same_file(&file.path, &before)).map(|file| file.number);
        let Some(number) = number else { return Ok(Vec::new()) };
        py.detach(|| self.purger.purge_before(number)).map_err(|error| relay_error(&error))
    }

    #[pyo3(signature = (*, executed=None, after=None, tables=None, stop=None, skip=None))]
    /// Return a reader with a descriptor of its own, from the oldest file on, that follows the log; arguments as for ``LogReader``.
    fn reader(
        &self,
        executed: Option<&PyGtidSet>,
        after: Option<(u32, u64)>,
        tables: Option<&PyTableFilter>,
        stop: Option<&PyStopCondition>,
        skip: Option<&PySkipList>,
    ) -> PyLogReader {
        let options = ReadOptions { executed, after, tables, stop, skip };
        PyLogReader::follow(Follower::new(Arc::clone(&self.shared)), &options)
    }

    /// Publish and sync everything, and end the log: readers end after the present data.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::close)
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    one == other || one.file_name() == Some(other.as_os_str())
}

/// Cuts bytes into events by the sizes in their headers.
fn whole_events(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let size = EventHeader::parse(bytes).ok()?.event_size as usize;
        let (event, rest) = bytes.split_at_checked(size).filter(|_| size >= HEADER_LENGTH)?;
        events.push(event);
        bytes = rest;
    }
    Some(events)
}

/// Transactions received by a relay log, at a transaction boundary.
#[pyclass(name = "RelayStatus", module = "paraply._native", frozen)]
pub struct PyRelayStatus(Arc<Received>);

#[pymethods]
impl PyRelayStatus {
    /// Received transactions, and those held before.
    #[getter]
    fn received(&self) -> PyGtidSet {
        self.0.gtids.clone().into()
    }

    /// File of the source's log; empty if the source did not name one.
    #[getter]
    fn source_file(&self) -> &str {
        &self.0.source_file
    }

    #[getter]
    fn source_position(&self) -> u64 {
        self.0.source_position
    }

    #[getter]
    fn relay_file(&self) -> &str {
        &self.0.relay_file
    }

    #[getter]
    fn relay_position(&self) -> u64 {
        self.0.relay_position
    }

    /// Number of transactions since the log was opened.
    #[getter]
    fn transactions(&self) -> u64 {
        self.0.transactions
    }

    /// Number of bytes since the log was opened.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn last_gtid(&self) -> Option<String> {
        self.0.last_gtid.as_ref().map(ToString::to_string)
    }

    /// Commit time of the last transaction on its original source, in UTC.
    #[getter]
    fn committed_at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        moment(py, self.committed_us())
    }

    /// The same in microseconds since 1970.
    #[getter]
    fn committed_us(&self) -> Option<i64> {
        Some(self.0.committed_at).filter(|&time| time != 0)
    }
}

/// Remove the files of a relay log before this one, and return their paths. Another process may be writing the log.
///
/// Raises:
///     RelayLogError: The name is none of a relay log's files, or the index cannot be written.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn purge_relay_log(py: Python<'_>, folder: PathBuf, before: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| purge_folder(&folder, &before)).map_err(|error| relay_error(&error))
}

/// Return one event without a checksum, as a source would send it.
#[pyfunction]
#[pyo3(signature = (type_code, body, *, server_id=1, timestamp=0, flags=0))]
pub fn relay_event<'py>(
    py: Python<'py>,
    type_code: u8,
    body: &[u8],
    server_id: u32,
    timestamp: u32,
    flags: u16,
) -> Bound<'py, PyBytes> {
    let mut event = Vec::new();
    compose_event(&mut event, Head { type_code, flags, timestamp, server_id, offset: None }, body, false);
    PyBytes::new(py, &event)
}

/// Return a format description event of MySQL 8.0 or later.
#[pyfunction]
#[pyo3(signature = (server_version="9.7.0", *, server_id=1, created=0))]
pub fn relay_format<'py>(
    py: Python<'py>,
    server_version: &str,
    server_id: u32,
    created: u32,
) -> PyResult<Bound<'py, PyBytes>> {
    let event = mysql_format(server_version, server_id, created);
    event.map(|event| PyBytes::new(py, &event)).ok_or_else(|| usage("a server version has at most 49 bytes"))
}
