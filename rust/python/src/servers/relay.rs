//! Relay logs: the writer, its status, and readers that follow it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use paraply_binlog::event::{EventHeader, HEADER_LENGTH};
use paraply_binlog::write::relay::{
    Follower, Head, Purger, Received, RelayError, RelayWriter, Shared, WriterOptions, compose_event, mysql_format,
    purge_folder,
};
use paraply_mysql::receive::Signals;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Cause, Where, log_error, raise, usage};
use crate::log::reader::{PyLogReader, ReadOptions};
use crate::log::skip_list::PySkipList;
use crate::log::table_filter::PyTableFilter;
use crate::plan::gtid::PyGtidSet;

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

    #[getter]
    fn files(&self) -> Vec<String> {
        self.shared.files().iter().map(|file| file.name.to_string()).collect()
    }

    /// Returns the time of the source's last report that it has nothing more, microseconds since 1970, UTC.
    #[getter]
    fn idle_at(&self) -> Option<i64> {
        Some(self.signals.idle_at.load(Ordering::Relaxed)).filter(|&time| time != 0)
    }

    /// Returns the time when the source was heard last, microseconds since 1970, UTC.
    #[getter]
    fn heard_at(&self) -> Option<i64> {
        Some(self.signals.heard_at.load(Ordering::Relaxed)).filter(|&time| time != 0)
    }

    /// Returns the number of the source's reports that it has nothing more.
    #[getter]
    fn heartbeats(&self) -> u64 {
        self.signals.heartbeats.load(Ordering::Relaxed)
    }

    /// Returns the number of acknowledgements sent to the source.
    #[getter]
    fn acknowledgements(&self) -> u64 {
        self.signals.acknowledgements.load(Ordering::Relaxed)
    }

    /// Ends a receiver in another thread at the next event or heartbeat; no receiver can begin any more.
    fn stop_receiving(&self) {
        self.signals.stop.store(true, Ordering::SeqCst);
    }

    /// Returns file, end, number of bytes and reason of the cut made when the log was opened.
    #[getter]
    fn cut(&self, py: Python<'_>) -> PyResult<Option<(String, u64, u64, String)>> {
        self.write(py, |writer| {
            Ok(writer.cut().map(|cut| (cut.file.clone(), cut.position, cut.bytes, cut.reason.clone())))
        })
    }

    fn status(&self) -> PyRelayStatus {
        PyRelayStatus(self.shared.received())
    }

    fn hold(&self, py: Python<'_>, gtids: &PyGtidSet) -> PyResult<()> {
        let gtids = gtids.snapshot();
        self.write(py, |writer| {
            writer.hold(&gtids);
            Ok(())
        })
    }

    #[pyo3(signature = (events, *, checksums=false))]
    fn append(&self, py: Python<'_>, events: &[u8], checksums: bool) -> PyResult<()> {
        let events = whole_events(events).ok_or_else(|| usage("what is appended must be whole events"))?;
        self.write(py, |writer| {
            events.iter().try_for_each(|event| writer.append(event, checksums))?;
            writer.publish()
        })
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::sync)
    }

    fn interrupted(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::interrupted)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, RelayWriter::flush)
    }

    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn purge(&self, py: Python<'_>, before: PathBuf) -> PyResult<Vec<PathBuf>> {
        let number = self.shared.files().iter().find(|file| same_file(&file.path, &before)).map(|file| file.number);
        let Some(number) = number else { return Ok(Vec::new()) };
        py.detach(|| self.purger.purge_before(number)).map_err(|error| relay_error(&error))
    }

    #[pyo3(signature = (
        *, executed=None, after=None, tables=None, stop_time=None, stop_before=None, stop_after=None,
        stop_view_change=None, stop_position=None, skip=None,
    ))]
    #[allow(clippy::too_many_arguments)] // keywords in Python
    fn reader(
        &self,
        executed: Option<&PyGtidSet>,
        after: Option<(u32, u64)>,
        tables: Option<&PyTableFilter>,
        stop_time: Option<i64>,
        stop_before: Option<&str>,
        stop_after: Option<&str>,
        stop_view_change: Option<&PyGtidSet>,
        stop_position: Option<(String, u64)>,
        skip: Option<&PySkipList>,
    ) -> PyResult<PyLogReader> {
        let options = ReadOptions {
            executed,
            after,
            tables,
            stop_time,
            stop_before,
            stop_after,
            stop_view_change,
            stop_position,
            skip,
        };
        PyLogReader::follow(Follower::new(Arc::clone(&self.shared)), &options)
    }

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

#[pyclass(name = "RelayStatus", module = "paraply._native", frozen)]
pub struct PyRelayStatus(Arc<Received>);

#[pymethods]
impl PyRelayStatus {
    #[getter]
    fn received(&self) -> PyGtidSet {
        self.0.gtids.clone().into()
    }

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

    #[getter]
    fn transactions(&self) -> u64 {
        self.0.transactions
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn last_gtid(&self) -> Option<String> {
        self.0.last_gtid.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn committed_at(&self) -> Option<i64> {
        Some(self.0.committed_at).filter(|&time| time != 0)
    }
}

/// Removes the files of a relay log before this one; another process may be writing the log.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn purge_relay_log(py: Python<'_>, folder: PathBuf, before: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| purge_folder(&folder, &before)).map_err(|error| relay_error(&error))
}

/// Returns one event without a checksum, as a source would send it.
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

/// Returns a format description event of MySQL 8.0 or later.
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
