//! The numbers of a trace in several processes: chunks, parts of the keys, and their combination.

use std::sync::{Mutex, PoisonError};

use paraply_arrow::resolver;
use paraply_core::trace::{ChunkHeader, ChunkResolver, CriticalPath, KeyAnswer, KeyResolver};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;

use crate::errors::{Error, usage};

/// Report of a chunk.
///
/// Attributes:
///     first: Position of its first transaction.
///     last: Position of its last transaction.
///     numbers: Count of numbers used.
///     barrier: Number of the last barrier.
///     rows: Its transactions, for ``chunk_numbers``.
///     edges: Uses of keys that other chunks may depend on, for each part of the keys.
#[pyclass(name = "ChunkReport", module = "paraply._native", frozen, get_all)]
pub struct PyChunkReport {
    first: i64,
    last: i64,
    numbers: u32,
    barrier: u32,
    rows: Py<PyBytes>,
    edges: Vec<Py<PyBytes>>,
}

/// Dependencies of a chunk on the chunks before it, for one part of the keys.
///
/// Attributes:
///     base: Numbers used by the chunks before.
///     floor: Number of the last barrier before.
///     crossings: The dependencies.
#[pyclass(name = "KeyAnswer", module = "paraply._native", frozen, get_all)]
pub struct PyKeyAnswer {
    base: i64,
    floor: i64,
    crossings: Py<PyBytes>,
}

/// Length of the longest chain of dependencies.
///
/// Attributes:
///     transactions: Number of transactions.
///     barriers: Number of transactions that run alone.
///     steps: Steps of the longest chain.
#[pyclass(name = "PathLength", module = "paraply._native", frozen, get_all)]
pub struct PyPathLength {
    transactions: u64,
    barriers: u64,
    steps: u32,
}

/// Resolver of a chunk of a trace, which also reports the uses of keys that other chunks may depend on.
///
/// Args:
///     parts: Number of parts of the report, by key; 0 if the chunk is the whole trace.
///     shared_counts_as_exclusive: True for the server's own rules, which have no shared keys.
#[pyclass(name = "ChunkResolver", module = "paraply._native", frozen)]
pub struct PyChunkResolver {
    state: Mutex<ChunkResolver>,
    parts: usize,
    shared_counts_as_exclusive: bool,
}

#[pymethods]
impl PyChunkResolver {
    #[new]
    #[pyo3(signature = (parts, *, shared_counts_as_exclusive=false))]
    fn new(parts: usize, shared_counts_as_exclusive: bool) -> Self {
        let state = Mutex::new(ChunkResolver::new(parts, shared_counts_as_exclusive));
        Self { state, parts, shared_counts_as_exclusive }
    }

    fn __len__(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Add a record batch in ascending order of its ``position``.
    ///
    /// Columns: ``position`` int64, ``role`` int8 (0 rows, 1 barrier, 2 local, 3 view change), ``write_set`` list<int64>, and optionally
    ///     ``reads`` list<int64> and ``session`` int64.
    fn add(&self, py: Python<'_>, transactions: PyRecordBatch) -> PyResult<()> {
        let batch = transactions.into_inner();
        let add = || resolver::add_to_chunk(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), &batch);
        Ok(py.detach(add).map_err(Error::from)?)
    }

    /// End the chunk and begin the next; return its report.
    fn finish(&self, py: Python<'_>) -> PyChunkReport {
        let report = py.detach(|| {
            let next = ChunkResolver::new(self.parts, self.shared_counts_as_exclusive);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *state, next).finish()
        });
        let ChunkHeader { first, last, numbers, barrier } = report.header;
        let edges = report.edges.iter().map(|edges| PyBytes::new(py, edges).unbind()).collect();
        PyChunkReport { first, last, numbers, barrier, rows: PyBytes::new(py, &report.rows).unbind(), edges }
    }
}

/// Longest chain of dependencies among transactions, each of which takes one step.
#[pyclass(name = "CriticalPath", module = "paraply._native", frozen)]
#[derive(Default)]
pub struct PyCriticalPath {
    state: Mutex<CriticalPath>,
}

#[pymethods]
impl PyCriticalPath {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Add a record batch in order, with the columns of ``ChunkResolver``.
    fn add(&self, py: Python<'_>, transactions: PyRecordBatch) -> PyResult<()> {
        let batch = transactions.into_inner();
        let add = || resolver::add_to_path(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), &batch);
        Ok(py.detach(add).map_err(Error::from)?)
    }

    /// End the path and begin the next; return its length.
    fn finish(&self) -> PyPathLength {
        let path = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        PyPathLength { transactions: path.transactions(), barriers: path.barriers(), steps: path.longest() }
    }
}

/// Finder of the dependencies across chunks, for one part of the keys.
#[pyclass(name = "KeyResolver", module = "paraply._native", frozen)]
pub struct PyKeyResolver {
    state: Mutex<KeyResolver>,
}

#[pymethods]
impl PyKeyResolver {
    #[new]
    fn new() -> Self {
        Self { state: Mutex::new(KeyResolver::new()) }
    }

    /// Add the report of the next chunk; return its dependencies, for ``chunk_numbers``.
    ///
    /// Args:
    ///     first: Position of its first transaction.
    ///     last: Position of its last transaction.
    ///     numbers: Count of numbers used.
    ///     barrier: Number of the last barrier.
    ///     edges: Its uses of keys, for this part.
    ///
    /// Raises:
    ///     UsageError: Chunks overlap or arrive in the wrong order.
    fn add(
        &self,
        py: Python<'_>,
        first: i64,
        last: i64,
        numbers: u32,
        barrier: u32,
        edges: &[u8],
    ) -> PyResult<PyKeyAnswer> {
        let header = ChunkHeader { first, last, numbers, barrier };
        let answer = py
            .detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).add(header, edges))
            .map_err(|error| usage(&error.to_string()))?;
        let crossings = PyBytes::new(py, &answer.crossings).unbind();
        Ok(PyKeyAnswer { base: answer.base, floor: answer.floor, crossings })
    }
}

/// Return the numbers of a chunk's transactions.
///
/// Args:
///     rows: Result of ``ChunkResolver.finish``.
///     answers: Base, floor and crossings of each ``KeyAnswer``, one for every part of the keys; empty if the chunk is the whole trace.
///     collections: Numbers after which a collection ran, ascending (R7).
///
/// Returns:
///     ``position``, ``computed_last_committed``, ``computed_sequence_number``.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn chunk_numbers<'py>(
    py: Python<'py>,
    rows: &[u8],
    answers: Vec<(i64, i64, PyBackedBytes)>,
    collections: Vec<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let batch = py.detach(|| {
        let answer = |(base, floor, crossings): &(i64, i64, PyBackedBytes)| KeyAnswer {
            base: *base,
            floor: *floor,
            crossings: crossings.to_vec(),
        };
        let answers: Vec<KeyAnswer> = answers.iter().map(answer).collect();
        resolver::chunk_numbers(rows, &answers, &collections)
    });
    PyRecordBatch::new(batch.map_err(Error::from)?).into_pyarrow(py)
}
