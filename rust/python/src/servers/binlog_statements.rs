//! `BINLOG` statements with the row events of blocks.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_binlog::cpu::{Stage, within};
use paraply_binlog::transaction::Format;
use paraply_mysql::binlog_statement::{self, Limits, Place, Wanted};
use paraply_mysql::progress_row::ProgressRow;
use paraply_mysql::references::Check;
use paraply_mysql::row_ends::RowEnds;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Cause, raise};
use crate::plan::block::PyBlock;
use crate::servers::references::PyReferenceCheck;
use crate::servers::row_ends::PyRowEnds;

/// Size up to which reading a block is faster than releasing the interpreter and waiting to get it back.
const FEW_BYTES: u64 = 16 * 1024;

/// A session's row of progress, and the bytes that a statement may have.
#[derive(Clone, Copy)]
pub struct WholeBlock<'a> {
    pub channel: &'a str,
    pub slot: u32,
    pub epoch: u64,
    pub max_bytes: usize,
    pub ends: Option<&'a RowEnds>,
}

impl WholeBlock<'_> {
    /// Returns a block with its progress as one statement, if one is enough and the server has got the block's format.
    pub fn statement(self, block: &PyBlock, executed: &str, format: &Arc<Format>) -> Option<Vec<u8>> {
        within(Stage::Render, || self.render(block, executed, format))
    }

    fn render(self, block: &PyBlock, executed: &str, format: &Arc<Format>) -> Option<Vec<u8>> {
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
        let limits = Limits {
            bytes: self.max_bytes,
            keyed: block.block.keyed,
            separate_tables: block.block.separate_tables,
            row_ends: self.ends,
            left_out: &[],
        };
        binlog_statement::whole_statement(transaction, &progress, limits, |event| block.block.wants(0, event)).ok()?
    }
}

/// Return ``BINLOG '...'`` statements with the block's row events, each with every table's map once, each made on request.
///
/// Args:
///     block: The block.
///     max_bytes: Longest statement that the server accepts; a statement of a megabyte is not extended further.
///     check: Rows whose foreign keys need no check by the server.
///     row_ends: Columns of system-versioned tables that may have to be converted.
///     left_out: Databases and names of tables whose rows are left out.
///
/// Raises:
///     ApplyFailed: A row is longer than the server accepts. Raised, like the next error, when its statement is requested.
///     LogDamaged: A row event is damaged.
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

/// Iterator over the statements of ``binlog_statements``.
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
                separate_tables: block.separate_tables,
                row_ends: self.row_ends.as_deref(),
                left_out: &self.left_out,
            };
            binlog_statement::next_wanted(block.transactions(), limits, &mut place, wanted)
        };
        let next = || within(Stage::Render, next);
        let next = if block.block.bytes() <= FEW_BYTES { next() } else { py.detach(next) };
        let statement = next.map_err(|error| {
            use binlog_statement::Error::{TooLarge, TooLate};
            let is_targets = matches!(error, TooLarge { .. } | TooLate { .. });
            let class = if is_targets { Cause::ApplyFailed } else { Cause::LogDamaged };
            raise(class, &error.to_string(), &block.place())
        })?;
        Ok(statement.map(|statement| PyBytes::new(py, &statement)))
    }
}

/// Return the statement of a block of one transaction as ``MySqlConnection.apply_each`` sends it, with its row of progress.
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
    let statement = WholeBlock { channel, slot, epoch, max_bytes, ends: None }.statement(block, executed, format)?;
    Some(PyBytes::new(py, &statement))
}

/// Return ``BINLOG '...'`` with the block's format description event.
#[pyfunction]
pub fn format_statement<'py>(py: Python<'py>, block: &PyBlock) -> Bound<'py, PyBytes> {
    let statement = block.block.first().map(|t| binlog_statement::format_statement(&t.format));
    PyBytes::new(py, &statement.unwrap_or_default())
}
