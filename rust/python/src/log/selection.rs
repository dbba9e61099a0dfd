//! Selection of transactions of a log, and positions where a log can be cut.

use std::path::PathBuf;
use std::sync::Arc;

use paraply_arrow::batch::{KINDS, kind_name};
use paraply_binlog::read::piece::{Piece, Resume};
use paraply_binlog::read::scan::{self, Scan, Split, scan_events, scan_transactions};
use paraply_binlog::read::selection::Selection;
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::transaction::Transaction;
use pyo3::prelude::*;

use crate::errors::{log_error, usage};
use crate::log::skip_list::PySkipList;
use crate::log::table_filter::PyTableFilter;
use crate::log::transaction::PyTransaction;
use crate::plan::gtid::parse_gtid;
use crate::records::{self, CommitTimes, ScannedPiece, ScannedStatements};

/// A position as Python keeps it: offset, offset of the format description, true for a relay log.
pub type Place = (u64, u64, bool);

pub fn resume((offset, format, relay_log): Place) -> Resume {
    Resume { offset, format, relay_log }
}

fn place(resume: Resume) -> records::Place {
    let Resume { offset, format, relay_log } = resume;
    records::Place { offset, format, relay_log }
}

pub fn piece((start, end): (Place, Option<u64>)) -> Piece {
    Piece { start: resume(start), end }
}

/// Conditions for transactions, all of which must hold; arguments left out add no condition.
///
/// Args:
///     positions: First and last position.
///     committed: Earliest and latest commit time, microseconds since 1970, UTC.
///     kinds: Kinds, of which it must have one.
///     gtids: GTIDs, of which it must have one.
///     server_ids: Server ids, of which it must have one.
///     tables: Tables; it must change rows of one.
///     named: Transactions by their GTIDs, as sets and ranges, of which it must be one.
#[pyclass(name = "Selection", module = "paraply._native", frozen)]
pub struct PySelection(pub Selection);

#[pymethods]
impl PySelection {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    #[pyo3(signature = (
        *, positions=(None, None), committed=(None, None), kinds=None, gtids=None, server_ids=None, tables=None, named=None,
    ))]
    fn new(
        positions: (Option<i64>, Option<i64>),
        committed: (Option<i64>, Option<i64>),
        kinds: Option<Vec<String>>,
        gtids: Option<Vec<String>>,
        server_ids: Option<Vec<u32>>,
        tables: Option<&PyTableFilter>,
        named: Option<&PySkipList>,
    ) -> PyResult<Self> {
        let named = named.map(|named| named.0.clone());
        let kind_of = |name: &String| {
            let found = KINDS.into_iter().find(|kind| kind_name(*kind) == name);
            found.ok_or_else(|| usage(&format!("there is no kind of transactions `{name}`")))
        };
        let kinds = kinds.map(|names| names.iter().map(kind_of).collect::<PyResult<_>>()).transpose()?;
        let gtid_of = |text: &String| parse_gtid(text);
        let gtids = gtids.map(|texts| texts.iter().map(gtid_of).collect::<PyResult<_>>()).transpose()?;
        let tables = tables.map_or_else(TableFilter::default, |tables| tables.0.clone());
        Ok(Self(Selection { positions, committed, kinds, gtids, named, server_ids, tables }))
    }
}

/// Result of ``scan_log``.
#[pyclass(name = "LogScan", module = "paraply._native", frozen)]
pub struct PyLogScan {
    scan: Scan,
    statements: Arc<Vec<Transaction>>,
    files: Arc<Vec<String>>,
}

#[pymethods]
impl PyLogScan {
    /// The pieces in order.
    #[getter]
    fn pieces(&self) -> Vec<ScannedPiece> {
        let told = |found: &scan::ScannedPiece| ScannedPiece {
            start: place(found.piece.start),
            end: found.piece.end.unwrap_or_default(),
            transactions: found.transactions,
            committed: found.committed.map(CommitTimes::from),
        };
        self.scan.pieces.iter().map(told).collect()
    }

    /// Transactions with statements, each with the number of its piece, without rows.
    #[getter]
    fn statements(&self, py: Python<'_>) -> PyResult<Vec<ScannedStatements>> {
        let transaction = |index| PyTransaction::new(&self.statements, &self.files, index);
        let statements = self.scan.statements.iter().enumerate();
        let found = |(index, (piece, _)): (usize, &(usize, Transaction))| {
            Ok(ScannedStatements { piece: *piece, transaction: Py::new(py, transaction(index))?.into_any() })
        };
        statements.map(found).collect()
    }

    /// Position after the last whole transaction, at which a later scan continues.
    #[getter]
    fn end(&self) -> records::Place {
        place(self.scan.end)
    }

    /// Error that ended the scan before the file's end.
    #[getter]
    fn failure<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.scan.failure.as_ref().map(|error| log_error(error, None).into_value(py).into_bound(py).into_any())
    }
}

/// Scan a log once, without its rows and checksums, and divide it at transaction boundaries.
///
/// Args:
///     path: The file.
///     split: Size of a piece in bytes.
///     start: Position at which to begin, as in ``LogScan.end``.
///     cuts: Further offsets at which to divide, if they are boundaries.
///     events: True to read only the GTID events that begin transactions.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (path, split, *, start=None, cuts=Vec::new(), events=false))]
pub fn scan_log(
    py: Python<'_>,
    path: PathBuf,
    split: u64,
    start: Option<Place>,
    cuts: Vec<u64>,
    events: bool,
) -> PyResult<PyLogScan> {
    let from = start.map_or(Resume::BEGIN, resume);
    let split = Split { bytes: split, at: &cuts };
    let scan = py
        .detach(|| if events { scan_events(&path, from, split) } else { scan_transactions(&path, from, split) })
        .map_err(|error| log_error(&error, None))?;
    let statements = scan.statements.iter().map(|(_, transaction)| transaction.clone()).collect();
    let files = Arc::new(vec![path.to_string_lossy().into_owned()]);
    Ok(PyLogScan { scan, statements: Arc::new(statements), files })
}
