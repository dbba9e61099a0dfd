//! Events of a log as Arrow record batches, with only their headers parsed.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use paraply_binlog::error::LogError;
use paraply_binlog::event::{Event, type_name, types};
use paraply_binlog::read::file::EventReader;
use paraply_binlog::read::head::gtid_of;
use paraply_binlog::read::scan::begins_transaction;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

use crate::errors::{internal, log_error};
use crate::log::selection::{Place, resume};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("file", DataType::Utf8, false),
        Field::new("offset", DataType::Int64, false),
        Field::new("type", DataType::Utf8, false),
        Field::new("type_code", DataType::Int32, false),
        Field::new("size", DataType::Int64, false),
        Field::new("server_id", DataType::Int64, false),
        Field::new("timestamp", time, false),
        Field::new("gtid", DataType::Utf8, true),
        Field::new("end_position", DataType::Int64, false),
        Field::new("flags", DataType::Int32, false),
    ]))
});

/// Return the schema of events.
#[pyfunction]
pub fn event_schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    PySchema::new(Arc::clone(&SCHEMA)).into_pyarrow(py)
}

/// Reader of the events of a log, which decodes only their headers.
///
/// Args:
///     path: The file.
///     piece: Start and end, as for ``LogReader``.
///     verify_checksums: Compare the checksums of all events.
///     size: Number of bytes to read, as if the file ended there; None for all.
#[pyclass(name = "EventReader", module = "paraply._native", frozen)]
pub struct PyEventReader {
    state: Mutex<State>,
}

struct State {
    reader: EventReader<'static>,
    name: String,
    end: Option<u64>,
    gtid: Option<String>,
    failed: Option<LogError>,
}

#[pymethods]
impl PyEventReader {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (path, *, piece=None, verify_checksums=true, size=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        piece: Option<(Place, Option<u64>)>,
        verify_checksums: bool,
        size: Option<u64>,
    ) -> PyResult<Self> {
        let reader = py
            .detach(|| match piece {
                Some((start, _)) => EventReader::open_at(&path, resume(start), size, verify_checksums),
                None => EventReader::open_sized(&path, size, verify_checksums),
            })
            .map_err(|error| log_error(&error, None))?;
        let end = piece.and_then(|(_, end)| end);
        let name = path.to_string_lossy().into_owned();
        Ok(Self { state: Mutex::new(State { reader, name, end, gtid: None, failed: None }) })
    }

    /// Return the next events; None at the end. An error is raised after the events before it.
    #[pyo3(signature = (max_events=65_536))]
    fn next_batch<'py>(&self, py: Python<'py>, max_events: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let made = py.detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).next_batch(max_events));
        match made.map_err(|error| log_error(&error, None))? {
            None => Ok(None),
            Some(rows) => {
                let rows = rows.map_err(|error| internal(&error.to_string()))?;
                PyRecordBatch::new(rows).into_pyarrow(py).map(Some)
            }
        }
    }
}

type Made = Option<Result<RecordBatch, ArrowError>>;

impl State {
    /// Returns the next events; an error is returned after the events before it.
    fn next_batch(&mut self, most: usize) -> Result<Made, LogError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut columns = Columns::default();
        while columns.rows < most.max(1) && self.end.is_none_or(|end| self.reader.offset() < end) {
            match self.reader.next_event() {
                Ok(Some(event)) => {
                    if begins_transaction(&event) {
                        self.gtid = gtid_of(&event).map(|gtid| gtid.to_string());
                    }
                    columns.append(&self.name, &event, self.gtid.as_deref());
                }
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(error.clone());
                    if columns.rows == 0 {
                        return Err(error);
                    }
                    break;
                }
            }
        }
        Ok((columns.rows > 0).then(|| columns.finish()))
    }
}

/// Returns true if an event belongs to a transaction, and not to the log.
fn inside(event: &Event<'_>) -> bool {
    !matches!(
        event.header.type_code,
        types::FORMAT_DESCRIPTION
            | types::ROTATE
            | types::STOP
            | types::PREVIOUS_GTIDS
            | types::HEARTBEAT
            | types::HEARTBEAT_V2
            | types::TRANSACTION_CONTEXT
            | types::MARIADB_GTID_LIST
            | types::MARIADB_BINLOG_CHECKPOINT
    )
}

#[derive(Default)]
struct Columns {
    rows: usize,
    texts: [StringBuilder; 3],
    numbers: [Int64Builder; 4],
    small: [Int32Builder; 2],
    timestamp: TimestampMicrosecondBuilder,
}

impl Columns {
    fn append(&mut self, file: &str, event: &Event<'_>, gtid: Option<&str>) {
        let header = &event.header;
        let name = type_name(header.type_code).map_or_else(|| Cow::Owned(header.type_code.to_string()), Cow::Borrowed);
        let [files, names, gtids] = &mut self.texts;
        files.append_value(file);
        names.append_value(name);
        gtids.append_option(gtid.filter(|_| inside(event)));
        let numbers = [event.offset, u64::from(header.event_size), header.server_id.into(), header.log_pos.into()];
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.append_value(number as i64);
        }
        let [codes, flags] = &mut self.small;
        codes.append_value(i32::from(header.type_code));
        flags.append_value(i32::from(header.flags));
        self.timestamp.append_value(i64::from(header.timestamp) * 1_000_000);
        self.rows += 1;
    }

    fn finish(self) -> Result<RecordBatch, ArrowError> {
        let [mut files, mut names, mut gtids] = self.texts;
        let [mut offsets, mut sizes, mut servers, mut positions] = self.numbers;
        let [mut codes, mut flags] = self.small;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(files.finish()),
            Arc::new(offsets.finish()),
            Arc::new(names.finish()),
            Arc::new(codes.finish()),
            Arc::new(sizes.finish()),
            Arc::new(servers.finish()),
            Arc::new(self.timestamp.with_timezone("UTC").finish()),
            Arc::new(gtids.finish()),
            Arc::new(positions.finish()),
            Arc::new(flags.finish()),
        ];
        RecordBatch::try_new(Arc::clone(&SCHEMA), columns)
    }
}
