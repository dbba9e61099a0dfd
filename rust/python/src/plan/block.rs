//! Blocks: transactions that are applied together.

use std::sync::Arc;

use paraply_arrow::batch::{file_name, gtid_text, kind_name};
use paraply_binlog::read::piece::Place;
use paraply_binlog::rows::changes::{Change, PlainImage, PlainValue, changes};
use paraply_binlog::rows::image_cursor::UNKNOWN_FRACTION;
use paraply_core::gtid::GtidSet;
use paraply_core::schema::TableName;
use paraply_plan::block::Block;
use paraply_plan::planner::Passed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{Cause, Where, log_error, raise};
use crate::log::table_map::{PyTableMap, table_maps};
use crate::log::transaction::{PyFormat, PyStatement, PyTransaction};
use crate::plan::gtid::PyGtidSet;
use crate::records::{MariadbGtid, RowImages, SourceSession};

/// Block: consecutive transactions that become one commit on the target; most methods release the GIL.
#[pyclass(name = "Block", module = "paraply._native", frozen)]
pub struct PyBlock {
    pub block: Block,
    pub files: Arc<Vec<String>>,
}

/// Sums over blocks: transactions, those left empty by filters, those skipped, and rows.
///
/// Attributes:
///     named: Transactions left out by name, which are among the skipped ones.
///     own_left_out: Transactions from which changes of paraply's own tables were removed.
///     merged: Transactions of blocks with several, without those left empty by filters.
#[derive(Default)]
#[pyclass(name = "BlockSums", module = "paraply._native", frozen)]
pub struct PyBlockSums {
    #[pyo3(get)]
    transactions: usize,
    #[pyo3(get)]
    filtered: usize,
    #[pyo3(get)]
    skipped: u64,
    #[pyo3(get)]
    named: usize,
    #[pyo3(get)]
    own_left_out: usize,
    #[pyo3(get)]
    rows: u64,
    #[pyo3(get)]
    merged: usize,
    gtids: GtidSet,
}

#[pymethods]
impl PyBlockSums {
    #[getter]
    fn gtids(&self) -> PyGtidSet {
        self.gtids.clone().into()
    }
}

impl PyBlock {
    /// Returns the position where the block begins, for errors.
    pub fn place(&self) -> Where {
        let first = self.block.first();
        Where {
            file: first.map(|t| file_name(&self.files, t.file).to_owned()),
            position: first.map(|t| t.offset),
            gtid: first.and_then(gtid_text),
            ..Where::default()
        }
    }
}

#[pymethods]
impl PyBlock {
    /// Number of the block, dense from 1 in the source's order.
    #[getter]
    fn id(&self) -> u64 {
        self.block.id
    }

    /// ``dml`` (one or more row transactions), else the kind of its only transaction.
    #[getter]
    fn kind(&self) -> &'static str {
        kind_name(self.block.kind())
    }

    /// Blocks that must be committed before this one may start, all above the low-water mark given to ``plan``.
    #[getter]
    fn depends_on(&self) -> Vec<u64> {
        self.block.needs.blocks.clone()
    }

    /// True for a barrier: it starts after the commit of every older block, and every younger one starts after its commit.
    #[getter]
    fn depends_on_all(&self) -> bool {
        self.block.needs.all
    }

    /// Ids of older blocks, ascending: when all blocks up to one of them are committed, further rows of this block may be applied.
    ///
    /// Empty if all rows wait for the same blocks. The first id may be 0, for rows that wait for no block.
    #[getter]
    fn steps(&self) -> Vec<u64> {
        self.block.steps().to_vec()
    }

    /// Return the block with only the rows that wait for a block above ``after``, if given, and for none above ``up_to``.
    #[pyo3(signature = (after, up_to))]
    fn step(&self, after: Option<u64>, up_to: u64) -> PyBlock {
        PyBlock { block: self.block.step(after, up_to), files: Arc::clone(&self.files) }
    }

    /// Return the rows of a large block in pieces, each a block with some of them; empty if the block is not large.
    ///
    /// Raises:
    ///     LogDamaged: A table map is damaged.
    fn pieces(&self, py: Python<'_>) -> PyResult<Vec<PyBlock>> {
        let pieces = py.detach(|| self.block.pieces()).map_err(|error| {
            let place = self.place();
            log_error(&error.into_log_error(file_name(&self.files, error.file)), place.gtid)
        })?;
        Ok(pieces.into_iter().map(|block| PyBlock { block, files: Arc::clone(&self.files) }).collect())
    }

    #[getter]
    fn transactions(&self) -> Vec<PyTransaction> {
        let batch = self.block.batch();
        self.block.members().iter().map(|&index| PyTransaction::new(batch, &self.files, index as usize)).collect()
    }

    #[getter]
    fn transaction_count(&self) -> usize {
        self.block.len()
    }

    /// Number of its transactions that a filter left empty: they are only recorded.
    #[getter]
    fn filtered(&self) -> usize {
        self.block.filtered()
    }

    /// Number of its transactions from which changes of paraply's own tables were removed.
    #[getter]
    fn own_left_out(&self) -> usize {
        self.block.own_left_out()
    }

    /// Number of transactions skipped right before this block, because they are already applied; they commit with it.
    #[getter]
    fn skipped(&self) -> u64 {
        self.block.skipped
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.block.rows()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.block.bytes()
    }

    #[getter]
    fn gtids(&self) -> PyGtidSet {
        PyGtidSet::from(self.block.gtids())
    }

    /// Domain, number and server of the MariaDB GTIDs of its transactions, in order; other GTIDs are left out.
    #[getter]
    fn numbers(&self) -> Vec<MariadbGtid> {
        let numbers = self.block.numbers();
        numbers.map(|(domain, number, server_id)| MariadbGtid { domain, number, server_id }).collect()
    }

    /// Server and session of the source for its transactions, each once; None for a session that the log does not name.
    #[getter]
    fn sessions(&self) -> Vec<SourceSession> {
        let sessions = self.block.sessions().into_iter();
        sessions.map(|(server_id, session)| SourceSession { server_id, session }).collect()
    }

    /// GTIDs that are executed once this block and all older ones are committed.
    #[getter]
    fn executed(&self) -> PyGtidSet {
        PyGtidSet::from((*self.block.executed).clone())
    }

    #[getter]
    fn first_gtid(&self) -> Option<String> {
        self.block.first().and_then(gtid_text)
    }

    #[getter]
    fn last_gtid(&self) -> Option<String> {
        self.block.last().and_then(gtid_text)
    }

    #[getter]
    fn file(&self) -> &str {
        self.block.first().map_or("", |t| file_name(&self.files, t.file))
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.block.first().map_or(0, |t| t.offset)
    }

    #[getter]
    pub fn end_file(&self) -> &str {
        self.block.last().map_or("", |t| file_name(&self.files, t.file))
    }

    #[getter]
    pub fn end_offset(&self) -> u64 {
        self.block.last().map_or(0, |t| t.end_offset)
    }

    /// Position of the last transaction in the log: dense from 1 over all transactions read, including skipped ones.
    #[getter]
    fn ordinal(&self) -> u64 {
        self.block.ordinal
    }

    #[getter]
    fn last_committed(&self) -> Option<i64> {
        self.block.first().and_then(|t| t.last_committed)
    }

    #[getter]
    fn sequence_number(&self) -> Option<i64> {
        self.block.last().and_then(|t| t.sequence_number)
    }

    /// Commit time of the last transaction on the source, microseconds since 1970, UTC.
    #[getter]
    fn committed_at(&self) -> Option<i64> {
        self.block.last().and_then(|t| t.committed_at)
    }

    #[getter]
    fn statement(&self) -> Option<PyStatement> {
        self.block.first().and_then(|t| t.statements.last()).cloned().map(PyStatement)
    }

    #[getter]
    fn xid(&self) -> Option<&str> {
        self.block.first().and_then(|t| t.xid.as_deref())
    }

    #[getter]
    fn has_rows(&self) -> bool {
        self.block.transactions().any(|t| !t.events.is_empty())
    }

    #[getter]
    fn format(&self) -> Option<PyFormat> {
        self.block.first().map(|t| PyFormat(Arc::clone(&t.format)))
    }

    #[getter]
    fn no_foreign_key_checks(&self) -> bool {
        self.block.transactions().any(|t| t.no_foreign_key_checks)
    }

    /// Return each table map once.
    fn table_maps(&self) -> PyResult<Vec<PyTableMap>> {
        table_maps(self.block.transactions())
    }

    /// Return the first changed rows of a table: the requested columns before and after the change, by their index.
    ///
    /// A column missing in an image is left out. Numbers, and ENUM, SET and BIT, are int or float; DECIMAL and times are text, a TIMESTAMP
    /// in seconds since 1970; all other values are bytes.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn changes(
        &self,
        py: Python<'_>,
        database: &str,
        table: &str,
        columns: Vec<usize>,
        most: usize,
    ) -> PyResult<Vec<RowImages>> {
        let name = TableName::new(database, table);
        let found = py.detach(|| changes(self.block.transactions(), &name, &columns, most));
        let found = match found {
            Err(error) if error.what == UNKNOWN_FRACTION => {
                return Err(raise(Cause::LogNotUnderstood, &format!("{name} holds {UNKNOWN_FRACTION}"), &self.place()));
            }
            found => found.map_err(|error| raise(Cause::LogDamaged, &error.to_string(), &self.place()))?,
        };
        let dict = |image: Option<PlainImage>| image.map(|image| image_dict(py, image).map(Bound::unbind)).transpose();
        let images = |change: Change| Ok(RowImages { before: dict(change.before)?, after: dict(change.after)? });
        found.into_iter().map(images).collect()
    }

    /// Return the sums over blocks.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn sums(blocks: Vec<Bound<'_, PyBlock>>) -> PyBlockSums {
        let mut sums = PyBlockSums::default();
        for block in blocks.iter().map(|block| &block.get().block) {
            let (transactions, filtered, named) = (block.len(), block.filtered(), block.named());
            sums.transactions += transactions - named;
            sums.filtered += filtered - named;
            sums.skipped += block.skipped + named as u64;
            sums.named += named;
            sums.own_left_out += block.own_left_out();
            sums.rows += block.rows();
            sums.merged += if transactions - filtered > 1 { transactions - filtered } else { 0 };
            sums.gtids.extend(&block.gtids());
        }
        sums
    }

    /// Return one block for each transaction, with the same ``id``, to be applied and committed one after the other.
    fn split(&self) -> Vec<PyBlock> {
        self.block.split().into_iter().map(|block| PyBlock { block, files: Arc::clone(&self.files) }).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Block {} of {} transactions>", self.block.id, self.block.len())
    }
}

/// Returns the transactions applied before, from Python's values.
pub fn passed(executed: Option<&PyGtidSet>, after: Option<(u32, u64)>) -> Passed {
    Passed {
        executed: executed.map(PyGtidSet::snapshot).unwrap_or_default(),
        after: after.map(|(file, offset)| Place { file, offset }),
    }
}

fn image_dict(py: Python<'_>, image: PlainImage) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (column, value) in image {
        match value {
            PlainValue::Null => dict.set_item(column, py.None())?,
            PlainValue::Int(number) => dict.set_item(column, number)?,
            PlainValue::UInt(number) => dict.set_item(column, number)?,
            PlainValue::Double(number) => dict.set_item(column, number)?,
            PlainValue::Text(text) => dict.set_item(column, text)?,
            PlainValue::Bytes(bytes) => dict.set_item(column, PyBytes::new(py, &bytes))?,
        }
    }
    Ok(dict)
}
