//! The numbers of a trace in several processes: chunks, parts of the keys, and their combination.

use std::sync::{Mutex, PoisonError};

use paraply_arrow::resolver;
use paraply_core::trace::{ChunkHeader, ChunkResolver, CriticalPath, KeyAnswer, KeyResolver};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;

use crate::errors::{Error, usage};

/// Summary of a chunk for the resolvers of keys: first and last position, numbers used up, number of its last barrier.
type Header = (i64, i64, u32, u32);

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

    fn add(&self, py: Python<'_>, transactions: PyRecordBatch) -> PyResult<()> {
        let batch = transactions.into_inner();
        let add = || resolver::add_to_chunk(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), &batch);
        Ok(py.detach(add).map_err(Error::from)?)
    }

    fn finish<'py>(&self, py: Python<'py>) -> (Header, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>) {
        let report = py.detach(|| {
            let next = ChunkResolver::new(self.parts, self.shared_counts_as_exclusive);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *state, next).finish()
        });
        let ChunkHeader { first, last, numbers, barrier } = report.header;
        let edges = report.edges.iter().map(|edges| PyBytes::new(py, edges)).collect();
        ((first, last, numbers, barrier), PyBytes::new(py, &report.rows), edges)
    }
}

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

    fn add(&self, py: Python<'_>, transactions: PyRecordBatch) -> PyResult<()> {
        let batch = transactions.into_inner();
        let add = || resolver::add_to_path(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), &batch);
        Ok(py.detach(add).map_err(Error::from)?)
    }

    /// Returns transactions, barriers, and steps of the longest chain; the next path begins.
    fn finish(&self) -> (u64, u64, u32) {
        let path = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        (path.transactions(), path.barriers(), path.longest())
    }
}

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

    fn add<'py>(&self, py: Python<'py>, header: Header, edges: &[u8]) -> PyResult<(i64, i64, Bound<'py, PyBytes>)> {
        let (first, last, numbers, barrier) = header;
        let header = ChunkHeader { first, last, numbers, barrier };
        let answer = py
            .detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).add(header, edges))
            .map_err(|error| usage(&error.to_string()))?;
        Ok((answer.base, answer.floor, PyBytes::new(py, &answer.crossings)))
    }
}

/// Returns the numbers of a chunk's transactions.
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
