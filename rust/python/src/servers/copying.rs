//! Copies of a source's log files, received by one thread and taken by another one.

use std::sync::Arc;
use std::time::Duration;

use paraply_binlog::write::copy::{KnownEvent, LogCopy, Piece};
use paraply_mysql::receive::copying::CopyQueue;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::log_error;
use crate::plan::gtid::PyGtidSet;
use crate::records::{CommitTimes, CopiedEvent, FileHead};

/// Copy of a source's files, byte for byte, that one thread fills and another one empties; its calls release the GIL.
///
/// Args:
///     file: Name of the source's file to start with.
///     known: Offset of the last copied event in it, the offset after that event, and its hash: the source must have the same event there.
///         None for the file's start.
///     piece_bytes: Size of a piece; the receiver waits while twice as many bytes are not taken.
#[pyclass(name = "LogCopy", module = "paraply._native", frozen)]
pub struct PyLogCopy(Arc<CopyQueue>);

impl PyLogCopy {
    /// Returns the queue, for a receiver in another thread.
    pub fn queue(&self) -> Arc<CopyQueue> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl PyLogCopy {
    #[new]
    #[pyo3(signature = (file, *, known=None, piece_bytes=16_777_216))]
    fn new(file: &str, known: Option<(u64, u64, u64)>, piece_bytes: usize) -> Self {
        let copy = match known {
            Some((begin, end, hash)) => LogCopy::resume(file, KnownEvent { begin, end, hash }),
            None => LogCopy::begin(file),
        };
        Self(Arc::new(CopyQueue::new(copy, piece_bytes)))
    }

    /// Time when the source was heard last, microseconds since 1970, UTC.
    #[getter]
    fn heard_at(&self) -> Option<i64> {
        Some(self.0.heard_at()).filter(|&time| time != 0)
    }

    /// Append one event as a source sends it; wait while too many bytes are not taken.
    ///
    /// Raises:
    ///     LogDamaged: The event contradicts itself, does not follow the one before it, or differs from the known one.
    ///     LogNotUnderstood: The source encrypts its files.
    fn append(&self, py: Python<'_>, event: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.append(event)).map_err(|error| log_error(&error, None))
    }

    /// End the receiver in another thread at the next event or heartbeat.
    fn stop(&self) {
        self.0.stop();
    }

    /// Wait for a whole piece, for so long or until ``stop``; return what there is, up to the last whole transaction.
    fn take(&self, py: Python<'_>, seconds: f64) -> Option<PyLogPiece> {
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| self.0.take(timeout)).map(PyLogPiece)
    }
}

/// Consecutive bytes of a source's file.
#[pyclass(name = "LogPiece", module = "paraply._native", frozen)]
pub struct PyLogPiece(Piece);

#[pymethods]
impl PyLogPiece {
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn begin(&self) -> u64 {
        self.0.begin
    }

    #[getter]
    fn end(&self) -> u64 {
        self.0.last.end
    }

    /// Offset after the file's last whole transaction.
    #[getter]
    fn whole(&self) -> u64 {
        self.0.whole
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes)
    }

    /// The last event.
    #[getter]
    fn last(&self) -> CopiedEvent {
        let KnownEvent { begin, end, hash } = self.0.last;
        CopiedEvent { offset: begin, end, hash }
    }

    /// The file's bytes up to its format description, if they are in the piece.
    #[getter]
    fn head(&self) -> Option<FileHead> {
        self.0.facts.head.map(|(size, hash)| FileHead { size, hash })
    }

    /// GTIDs executed before the file, if the event that states them is in the piece.
    #[getter]
    fn previous_gtids(&self) -> Option<PyGtidSet> {
        self.0.facts.previous_gtids.clone().map(Into::into)
    }

    /// GTIDs of the transactions that end in the piece.
    #[getter]
    fn gtids(&self) -> PyGtidSet {
        self.0.facts.gtids.clone().into()
    }

    #[getter]
    fn transactions(&self) -> u64 {
        self.0.facts.transactions
    }

    /// Earliest and latest commit time, microseconds since 1970, UTC.
    #[getter]
    fn committed(&self) -> Option<CommitTimes> {
        self.0.facts.committed.map(CommitTimes::from)
    }

    /// True if the file has ended.
    #[getter]
    fn closed(&self) -> bool {
        self.0.closed
    }

    /// Name of the next file, if the file ends with it.
    #[getter]
    fn next_file(&self) -> Option<&str> {
        self.0.next_file.as_deref()
    }
}
