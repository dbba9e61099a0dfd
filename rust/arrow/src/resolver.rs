//! The columns of a trace that the resolvers of its numbers read, and the numbers as columns.

use std::sync::Arc;

use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use paraply_core::trace::{ChunkResolver, CriticalPath, KeyAnswer, Role, Touches, number_rows};

use crate::error::Error;

/// Add the transactions of a batch to a chunk.
///
/// # Errors
///
/// [`Error::Usage`] for a batch that is not of a trace, or whose transactions do not follow the chunk's.
pub fn add_to_chunk(resolver: &mut ChunkResolver, batch: &RecordBatch) -> Result<(), Error> {
    TraceColumns::read(batch)?.each(|position, role, touches| {
        resolver.add(position, role, touches).map_err(|error| Error::usage(error.to_string()))
    })
}

/// Add the transactions of a batch to a critical path.
///
/// # Errors
///
/// [`Error::Usage`] for a batch that is not of a trace.
pub fn add_to_path(path: &mut CriticalPath, batch: &RecordBatch) -> Result<(), Error> {
    TraceColumns::read(batch)?.each(|_, role, touches| {
        path.add(role, touches);
        Ok(())
    })
}

/// Return the numbers of a chunk's transactions as a batch.
///
/// # Arguments
///
/// * `rows`: the chunk's own report.
/// * `answers`: the answer of each part of the keys.
/// * `collections`: positions before which the certifier collected garbage.
///
/// # Errors
///
/// [`Error::Internal`] if the report and the answers do not belong together.
pub fn chunk_numbers(rows: &[u8], answers: &[KeyAnswer], collections: &[i64]) -> Result<RecordBatch, Error> {
    let mut numbered = Vec::new();
    number_rows(rows, answers, collections, &mut numbered).map_err(|error| Error::Internal(error.to_string()))?;
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
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

/// The columns of a batch: `position`, `role`, `write_set`, and optionally `reads` and `session`.
struct TraceColumns<'a> {
    positions: &'a Int64Array,
    roles: &'a PrimitiveArray<Int8Type>,
    exclusive: Lists<'a>,
    shared: Option<Lists<'a>>,
    sessions: Option<&'a Int64Array>,
}

impl<'a> TraceColumns<'a> {
    /// Read the columns of a batch.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for a column that is missing or of another type.
    fn read(batch: &'a RecordBatch) -> Result<Self, Error> {
        let positions = column(batch, "position")?
            .as_primitive_opt()
            .ok_or_else(|| Error::usage("the column `position` is no int64"))?;
        let roles =
            column(batch, "role")?.as_primitive_opt().ok_or_else(|| Error::usage("the column `role` is no int8"))?;
        if positions.null_count() > 0 || roles.null_count() > 0 {
            return Err(Error::usage("a transaction of the trace has no position"));
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

    /// Call `take` with position, role and touches of each transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for a code that is no role, and the first error of `take`.
    fn each(&self, mut take: impl FnMut(i64, Role, Touches<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let (mut exclusive, mut shared) = (Vec::new(), Vec::new());
        for row in 0..self.positions.len() {
            let code = self.roles.value(row);
            let role = u8::try_from(code)
                .ok()
                .and_then(Role::from_code)
                .ok_or_else(|| Error::usage(format!("no role {code}")))?;
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

pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, Error> {
    batch.column_by_name(name).ok_or_else(|| Error::usage(format!("the trace has no column `{name}`")))
}

/// A column of lists of hashes; a missing list is an empty one.
pub(crate) struct Lists<'a> {
    lists: &'a ListArray,
    values: &'a [i64],
}

impl<'a> Lists<'a> {
    pub(crate) fn read(column: &'a ArrayRef, name: &str) -> Result<Self, Error> {
        let wrong = || Error::usage(format!("the column `{name}` is no list of 64-bit integers"));
        let lists = column.as_list_opt::<i32>().ok_or_else(wrong)?;
        let values = lists.values().as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
        if values.null_count() > 0 {
            return Err(Error::usage(format!("a list of the column `{name}` holds NULL")));
        }
        Ok(Self { lists, values: values.values() })
    }

    pub(crate) fn copy(&self, row: usize, out: &mut Vec<u64>) {
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
