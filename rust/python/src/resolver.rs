//! The numbers of a trace in several processes: chunks, parts of the keys, and their combination.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use paraply_core::trace::{
    ChunkHeader, ChunkResolver, CriticalPath, KeyAnswer, KeyResolver, Role, Touches, number_rows,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;

use crate::errors::{internal, usage};

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
        py.detach(|| {
            let columns = Columns::read(&batch)?;
            let mut resolver = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            columns.each(|position, role, touches| {
                resolver.add(position, role, touches).map_err(|error| error.to_string())
            })
        })
        .map_err(|message| usage(py, &message))
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
        py.detach(|| {
            let columns = Columns::read(&batch)?;
            let mut path = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            columns.each(|_, role, touches| {
                path.add(role, touches);
                Ok(())
            })
        })
        .map_err(|message| usage(py, &message))
    }

    /// Returns transactions, barriers, and steps of the longest chain; the next path begins.
    fn finish(&self) -> (u64, u64, u32) {
        let path = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        (path.transactions(), path.barriers(), path.longest())
    }
}

/// The columns of a batch: `position`, `role`, `write_set`, and optionally `reads` and `session`.
struct Columns<'a> {
    positions: &'a Int64Array,
    roles: &'a PrimitiveArray<Int8Type>,
    exclusive: Lists<'a>,
    shared: Option<Lists<'a>>,
    sessions: Option<&'a Int64Array>,
}

impl<'a> Columns<'a> {
    fn read(batch: &'a RecordBatch) -> Result<Self, String> {
        let positions = column(batch, "position")?.as_primitive_opt().ok_or("the column `position` is no int64")?;
        let roles = column(batch, "role")?.as_primitive_opt().ok_or("the column `role` is no int8")?;
        if positions.null_count() > 0 || roles.null_count() > 0 {
            return Err("a transaction of the trace has no position".to_owned());
        }
        let sessions = batch.column_by_name("session").and_then(|column| column.as_primitive_opt::<Int64Type>());
        Ok(Self {
            positions,
            roles,
            exclusive: Lists::read(column(batch, "write_set")?, "write_set")?,
            shared: batch.column_by_name("reads").map(|column| Lists::read(column, "reads")).transpose()?,
            sessions,
        })
    }

    /// Calls `take` with position, role and touches of each transaction.
    fn each(&self, mut take: impl FnMut(i64, Role, Touches<'_>) -> Result<(), String>) -> Result<(), String> {
        let (mut exclusive, mut shared) = (Vec::new(), Vec::new());
        for row in 0..self.positions.len() {
            let code = self.roles.value(row);
            let role = u8::try_from(code).ok().and_then(Role::from_code).ok_or_else(|| format!("no role {code}"))?;
            self.exclusive.copy(row, &mut exclusive);
            shared.clear();
            if let Some(lists) = &self.shared {
                lists.copy(row, &mut shared);
            }
            let session = self.sessions.filter(|column| column.is_valid(row)).map(|column| column.value(row) as u64);
            let touches = Touches { exclusive: &exclusive, shared: &shared, session };
            take(self.positions.value(row), role, touches)?;
        }
        Ok(())
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, String> {
    batch.column_by_name(name).ok_or_else(|| format!("the trace has no column `{name}`"))
}

/// A column of lists of hashes; a missing list is an empty one.
struct Lists<'a> {
    lists: &'a ListArray,
    values: &'a [i64],
}

impl<'a> Lists<'a> {
    fn read(column: &'a ArrayRef, name: &str) -> Result<Self, String> {
        let wrong = || format!("the column `{name}` is no list of 64-bit integers");
        let lists = column.as_list_opt::<i32>().ok_or_else(wrong)?;
        let values = lists.values().as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
        if values.null_count() > 0 {
            return Err(format!("a list of the column `{name}` holds NULL"));
        }
        Ok(Self { lists, values: values.values() })
    }

    fn copy(&self, row: usize, out: &mut Vec<u64>) {
        out.clear();
        let offsets = self.lists.value_offsets();
        if self.lists.is_valid(row)
            && let (Some(from), Some(to)) = (offsets.get(row), offsets.get(row + 1))
            && let Some(values) = self.values.get(*from as usize..*to as usize)
        {
            out.extend(values.iter().map(|value| *value as u64));
        }
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
            .map_err(|error| usage(py, &error.to_string()))?;
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
        let answers: Vec<KeyAnswer> = answers
            .iter()
            .map(|(base, floor, crossings)| KeyAnswer { base: *base, floor: *floor, crossings: crossings.to_vec() })
            .collect();
        let mut numbered = Vec::new();
        number_rows(rows, &answers, &collections, &mut numbered).map_err(|error| error.to_string())?;
        let (mut positions, mut last, mut numbers) = (Int64Builder::new(), Int64Builder::new(), Int64Builder::new());
        for row in numbered {
            positions.append_value(row.position);
            last.append_option(row.numbers.map(|numbers| numbers.last_committed));
            numbers.append_option(row.numbers.map(|numbers| numbers.sequence_number));
        }
        let columns: Vec<ArrayRef> =
            vec![Arc::new(positions.finish()), Arc::new(last.finish()), Arc::new(numbers.finish())];
        let schema = Schema::new(vec![
            Field::new("position", DataType::Int64, false),
            Field::new("computed_last_committed", DataType::Int64, true),
            Field::new("computed_sequence_number", DataType::Int64, true),
        ]);
        RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| error.to_string())
    });
    PyRecordBatch::new(batch.map_err(|message| internal(&message))?).into_pyarrow(py)
}
