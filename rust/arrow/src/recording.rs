//! Transactions of a trace for the simulation of appliers.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};
use paraply_core::simulate::{Cause, Entry, Place};
use paraply_plan::record::LogRecorder;

use crate::error::Error;
use crate::resolver::{Lists, column};

/// Add the transactions of a batch of a trace to a recording.
///
/// # Arguments
///
/// * `files`: names of the log's files so far; new ones are appended.
///
/// # Errors
///
/// [`Error::Usage`] for a batch that is not of a trace.
pub fn add_to_recording(recorder: &mut LogRecorder, batch: &RecordBatch, files: &mut Vec<String>) -> Result<(), Error> {
    let columns = Columns::read(batch)?;
    let (mut exclusive, mut shared) = (Vec::new(), Vec::new());
    for row in 0..batch.num_rows() {
        columns.exclusive.copy(row, &mut exclusive);
        shared.clear();
        if let Some(lists) = &columns.shared {
            lists.copy(row, &mut shared);
        }
        let file = columns.file(row, files);
        let offset = value(columns.offsets, row).unwrap_or_default() as u64;
        let entry = Entry {
            place: Place { file, offset },
            rows: value(columns.rows, row).unwrap_or_default().max(0) as u64,
            bytes: value(columns.bytes, row).unwrap_or_default().max(0) as u64,
            exclusive: &exclusive,
            shared: &shared,
            barrier: columns.barrier(row),
            statement_us: columns.kinds.get(row).filter(|kind| **kind == "ddl").map(|_| 0),
            stamp: value(columns.last_committed, row).zip(value(columns.sequence_numbers, row)),
            session: value(columns.sessions, row).map(|session| session as u64),
            ..Entry::default()
        };
        recorder.add(entry, text(columns.gtids, row), value(columns.times, row));
    }
    Ok(())
}

/// The columns that are read.
struct Columns<'a> {
    exclusive: Lists<'a>,
    shared: Option<Lists<'a>>,
    barriers: &'a ArrayRef,
    kinds: Vec<&'a str>,
    rows: Option<&'a PrimitiveArray<Int32Type>>,
    bytes: Option<&'a PrimitiveArray<Int64Type>>,
    offsets: Option<&'a PrimitiveArray<Int64Type>>,
    last_committed: Option<&'a PrimitiveArray<Int64Type>>,
    sequence_numbers: Option<&'a PrimitiveArray<Int64Type>>,
    sessions: Option<&'a PrimitiveArray<Int64Type>>,
    times: Option<&'a PrimitiveArray<TimestampMicrosecondType>>,
    gtids: Option<&'a StringArray>,
    files: Option<&'a StringArray>,
}

impl<'a> Columns<'a> {
    fn read(batch: &'a RecordBatch) -> Result<Self, Error> {
        let numbers = |name: &str| batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let texts = |name: &str| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        let barriers = column(batch, "barrier")?;
        if barriers.as_boolean_opt().is_none() {
            return Err(Error::usage("the column `barrier` is no boolean"));
        }
        Ok(Self {
            exclusive: Lists::read(column(batch, "write_set")?, "write_set")?,
            shared: batch.column_by_name("reads").map(|column| Lists::read(column, "reads")).transpose()?,
            barriers,
            kinds: kinds(batch),
            rows: Some(
                column(batch, "rows")?
                    .as_primitive_opt()
                    .ok_or_else(|| Error::usage("the column `rows` is no int32"))?,
            ),
            bytes: Some(numbers("bytes").ok_or_else(|| Error::usage("the column `bytes` is no int64"))?),
            offsets: numbers("offset"),
            last_committed: numbers("last_committed"),
            sequence_numbers: numbers("sequence_number"),
            sessions: numbers("session"),
            times: batch.column_by_name("committed_at").and_then(|column| column.as_primitive_opt()),
            gtids: texts("gtid"),
            files: texts("file"),
        })
    }

    /// Returns the number of a transaction's file.
    fn file(&self, row: usize, files: &mut Vec<String>) -> u32 {
        let name = text(self.files, row).unwrap_or_default();
        if files.last().is_none_or(|last| last != name) {
            files.push(name.to_owned());
        }
        files.len() as u32 - 1
    }

    /// Returns the cause of a barrier, which a trace does not have: a statement has no rows or is DDL.
    fn barrier(&self, row: usize) -> Option<Cause> {
        let barriers = self.barriers.as_boolean();
        if !barriers.is_valid(row) || !barriers.value(row) {
            return None;
        }
        match self.kinds.get(row).copied().unwrap_or_default() {
            "empty" | "view_change" => None,
            "dml" => Some(Cause::UnknownSchema),
            _ => Some(Cause::Ddl),
        }
    }
}

/// Returns the kind of each transaction, from a dictionary or plain text; none where there is no such column.
fn kinds(batch: &RecordBatch) -> Vec<&str> {
    let Some(column) = batch.column_by_name("kind") else { return Vec::new() };
    if let Some(plain) = column.as_string_opt::<i32>() {
        return plain.iter().map(Option::unwrap_or_default).collect();
    }
    let Some(coded) = column.as_dictionary_opt::<Int32Type>() else { return Vec::new() };
    let Some(names) = coded.values().as_string_opt::<i32>() else { return Vec::new() };
    coded.keys().iter().map(|key| key.map_or("", |key| names.value(key as usize))).collect()
}

fn value<T: arrow_array::ArrowPrimitiveType>(column: Option<&PrimitiveArray<T>>, row: usize) -> Option<T::Native> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}

fn text(column: Option<&StringArray>, row: usize) -> Option<&str> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}
