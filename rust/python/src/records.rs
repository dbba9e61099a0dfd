//! Results of several values: named tuples of Python, so that each value has a name and callers can still unpack them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::plan::gtid::PyGtidSet;

/// Class of a named tuple, made once for each interpreter.
struct Class {
    name: &'static str,
    doc: &'static str,
    fields: &'static [&'static str],
    made: PyOnceLock<Py<PyAny>>,
}

impl Class {
    /// Returns the class.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let made = self.made.get_or_try_init(py, || {
            let arguments = PyDict::new(py);
            arguments.set_item("module", "paraply._native")?;
            let make = py.import("collections")?.getattr("namedtuple")?;
            let class = make.call((self.name, self.fields.to_vec()), Some(&arguments))?;
            class.setattr("__doc__", self.doc.trim())?;
            Ok::<_, PyErr>(class.unbind())
        })?;
        Ok(made.bind(py))
    }

    /// Returns a tuple of the class.
    fn with<'py, const N: usize>(
        &self,
        py: Python<'py>,
        values: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyAny>> {
        self.get(py)?.call1(PyTuple::new(py, values)?)
    }
}

/// Defines structures that Python gets as named tuples, and `add_classes`, which adds their classes to a module.
macro_rules! named_tuples {
    ($($(#[doc = $doc:literal])+ $(#[derive($($derived:ident),+)])? $name:ident { $($field:ident: $kind:ty),+ $(,)? })+) => {
        $(
            $(#[doc = $doc])+
            $(#[derive($($derived),+)])?
            pub struct $name { $(pub $field: $kind),+ }

            impl $name {
                fn class() -> &'static Class {
                    static CLASS: Class = Class {
                        name: stringify!($name),
                        doc: concat!($($doc, "\n"),+),
                        fields: &[$(stringify!($field)),+],
                        made: PyOnceLock::new(),
                    };
                    &CLASS
                }
            }

            impl<'py> IntoPyObject<'py> for $name {
                type Target = PyAny;
                type Output = Bound<'py, PyAny>;
                type Error = PyErr;

                fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
                    Self::class().with(py, [$(self.$field.into_bound_py_any(py)?),+])
                }
            }
        )+

        /// Adds the classes to the module.
        pub fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($name), $name::class().get(module.py())?)?;)+
            Ok(())
        }
    };
}

// Values of logs.
named_tuples! {
    /// Version of a server.
    ServerVersion { major: u8, minor: u8, patch: u8 }
    /// GTID of MariaDB.
    MariadbGtid { domain: u32, number: u64, server_id: u32 }
    /// Range of MariaDB's GTIDs in one domain and of one server.
    MariadbGtidRange { domain: u32, server_id: u32, first: u64, last: u64 }
    /// Client session of a source; ``session`` is None for one that the log does not name.
    SourceSession { server_id: u32, session: Option<u32> }
    /// Database and name of a table.
    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
    TableName { database: String, table: String }
    /// Columns of a changed row before and after the change, by their index; None if there is no such row.
    RowImages { before: Option<Py<PyDict>>, after: Option<Py<PyDict>> }
    /// Name of a column, and its value as text; None for NULL.
    ColumnText { column: String, text: Option<String> }
    /// Name of a file, and an offset in it.
    FilePosition { file: String, offset: u64 }
    /// Index of a file among the given ones, and an offset in it.
    #[derive(Clone, Copy)]
    LogPosition { file: u32, offset: u64 }
    /// Earliest and latest commit time, microseconds since 1970, UTC.
    #[derive(Clone, Copy)]
    CommitTimes { earliest: i64, latest: i64 }
    /// Boundary between transactions: its offset, the offset of the valid format description, and True for a relay log.
    Place { offset: u64, format: u64, relay_log: bool }
    /// Part of a log between two boundaries: its start and the offset of its end, the number and the commit times of its transactions.
    ScannedPiece { start: Place, end: u64, transactions: u64, committed: Option<CommitTimes> }
    /// Transaction with statements, without rows, and the number of its piece.
    ScannedStatements { piece: usize, transaction: Py<PyAny> }
    /// Reason for a coarser write set, the table, and the number of write sets.
    WriteSetFallback { reason: &'static str, table: String, number: u64 }
    /// Event of a source's file: its offset, the offset after it, and its hash.
    CopiedEvent { offset: u64, end: u64, hash: u64 }
    /// Bytes of a source's file up to its format description: their number and their hash.
    FileHead { size: u64, hash: u64 }
    /// Numbers of a transaction: it waits for ``last_committed``, and others wait for its ``sequence_number``.
    Stamps { last_committed: i64, sequence_number: i64 }
    /// Numbers of MariaDB's GTIDs in one domain: the first, the last, and the server of the last.
    NumberRange { first: u64, last: u64, server_id: u32 }
    /// Position of MariaDB's GTIDs, and the ranges of numbers after a gap, for each domain.
    RaisedPosition { low: PyGtidSet, beyond: BTreeMap<u32, Vec<NumberRange>> }
    /// Result of a statement: its column names, its rows (None, int, float, bytes), and the number of affected rows.
    ResultSet { columns: Vec<String>, rows: Py<PyList>, affected: u64 }
    /// Number of committed blocks, and the error of the next one.
    AppliedBlocks { done: usize, error: Option<Py<PyAny>> }
    /// Query that returns one number, and the expected number.
    NumberQuery { sql: String, expected: usize }
    /// Table, and key as text, of a row that was left out.
    SkippedRow { table: String, key: String }
    /// Packets of a transaction, and the number of its bytes sent then; None when all are sent.
    DumpPackets { packets: Py<PyBytes>, sent: Option<u64> }
    /// Host and port on which a server listens.
    ListenAddress { host: String, port: u16 }
    /// Log file with its number.
    NumberedFile { number: u64, path: PathBuf }
    /// Index of a transaction, and hash of one of its keys.
    TransactionKey { transaction: usize, key: u64 }
    /// Hash of a key, and the expected number of conflicts over it.
    #[derive(Clone, Copy)]
    KeyConflicts { key: u64, conflicts: f64 }
    /// Index of a transaction, and tag of the key for which it waits; None if it waits for no key.
    #[derive(Clone, Copy)]
    ChainTransaction { transaction: u32, key: Option<u32> }
    /// Tag of a key, and the number of steps that wait for it.
    #[derive(Clone, Copy)]
    ChainKey { key: u32, steps: u64 }
    /// Length of a chain: nanoseconds and steps.
    ChainLength { total_ns: u64, steps: u64 }
    /// Times of a schedule, and the time that it loses for each cause, each followed by its keys.
    ExplainedLosses { outcome: Py<PyAny>, losses: Vec<Py<PyAny>> }
}

impl From<paraply_core::schema::TableName> for TableName {
    fn from(name: paraply_core::schema::TableName) -> Self {
        Self { database: name.database, table: name.table }
    }
}

impl From<(String, String)> for TableName {
    fn from((database, table): (String, String)) -> Self {
        Self { database, table }
    }
}

impl From<(i64, i64)> for CommitTimes {
    fn from((earliest, latest): (i64, i64)) -> Self {
        Self { earliest, latest }
    }
}
