//! Arrow columns to candidates, and outcomes to Arrow columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use paraply_core::certifier::{Candidate, Certifier, Export, GtidFrom, Kind, Outcome};
use paraply_core::gtid::{Gtid, GtidSet};

use crate::error::Error;

/// The schema metadata key under which an export carries all GTIDs certified so far.
const KNOWN: &str = "known";

/// A batch of transactions with the columns of the trace: `write_set` list<int64>, and optionally `snapshot` and `gtid`
/// (text), `local` and `barrier` (bool).
pub struct CandidateColumns {
    offsets: Vec<usize>,
    items: Vec<u64>,
    snapshots: Vec<Option<GtidSet>>,
    gtids: Vec<Option<Gtid>>,
    local: Vec<bool>,
    barrier: Vec<bool>,
}

impl CandidateColumns {
    /// Reads the columns; a missing or mistyped one is a usage error.
    pub fn read(batch: &RecordBatch) -> Result<Self, Error> {
        let (offsets, items) = write_sets(batch)?;
        Ok(Self {
            offsets,
            items,
            snapshots: parsed(batch, "snapshot")?,
            gtids: parsed(batch, "gtid")?,
            local: flags(batch, "local")?,
            barrier: flags(batch, "barrier")?,
        })
    }

    /// Certifies all transactions in order.
    pub fn certify(&self, certifier: &mut Certifier) -> Vec<Outcome> {
        let candidates: Vec<Candidate<'_>> =
            (0..self.offsets.len().saturating_sub(1)).map(|row| self.candidate(row)).collect();
        certifier.certify_batch(&candidates)
    }

    fn candidate(&self, row: usize) -> Candidate<'_> {
        let barrier = self.barrier.get(row).copied().unwrap_or(false);
        Candidate {
            items: &self.items[self.offsets[row]..self.offsets[row + 1]],
            snapshot: self.snapshots.get(row).and_then(Option::as_ref),
            gtid: self.gtids.get(row).and_then(Option::as_ref).map_or(GtidFrom::Nowhere, GtidFrom::Own),
            local: self.local.get(row).copied().unwrap_or(false),
            kind: if barrier { Kind::Barrier } else { Kind::Rows },
        }
    }
}

fn write_sets(batch: &RecordBatch) -> Result<(Vec<usize>, Vec<u64>), Error> {
    let column = batch
        .column_by_name("write_set")
        .ok_or_else(|| Error::usage("the batch has no column `write_set` (list<int64>)"))?;
    let lists: &ListArray =
        column.as_list_opt().ok_or_else(|| Error::usage("the column `write_set` is no list of 64-bit integers"))?;
    let mut offsets = vec![0];
    let mut items = Vec::with_capacity(lists.values().len());
    for row in 0..lists.len() {
        if lists.is_valid(row) {
            append(&lists.value(row), &mut items)?;
        }
        offsets.push(items.len());
    }
    Ok((offsets, items))
}

fn append(values: &ArrayRef, items: &mut Vec<u64>) -> Result<(), Error> {
    match values.data_type() {
        DataType::Int64 => items.extend(values.as_primitive::<Int64Type>().values().iter().map(|&v| v as u64)),
        DataType::UInt64 => {
            items.extend_from_slice(values.as_primitive::<arrow_array::types::UInt64Type>().values());
        }
        _ => return Err(Error::usage("the column `write_set` is no list of 64-bit integers")),
    }
    Ok(())
}

fn parsed<T>(batch: &RecordBatch, name: &str) -> Result<Vec<Option<T>>, Error>
where
    T: std::str::FromStr + Clone,
    T::Err: ToString,
{
    let Some(column) = batch.column_by_name(name) else { return Ok(Vec::new()) };
    let texts: &StringArray =
        column.as_string_opt().ok_or_else(|| Error::usage(format!("the column `{name}` is no text")))?;
    let mut seen: HashMap<&str, T> = HashMap::new();
    let mut values = Vec::with_capacity(texts.len());
    for text in texts {
        let Some(text) = text else {
            values.push(None);
            continue;
        };
        if let Some(known) = seen.get(text) {
            values.push(Some(known.clone()));
            continue;
        }
        let value: T = text.parse().map_err(|error: T::Err| Error::usage(error.to_string()))?;
        seen.clear();
        seen.insert(text, value.clone());
        values.push(Some(value));
    }
    Ok(values)
}

fn flags(batch: &RecordBatch, name: &str) -> Result<Vec<bool>, Error> {
    let Some(column) = batch.column_by_name(name) else { return Ok(Vec::new()) };
    let values: &BooleanArray =
        column.as_boolean_opt().ok_or_else(|| Error::usage(format!("the column `{name}` is no bool")))?;
    Ok(values.iter().map(|value| value.unwrap_or(false)).collect())
}

/// Returns the columns of an answer.
pub fn outcome_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("committed", DataType::Boolean, false),
        Field::new("last_committed", DataType::Int64, true),
        Field::new("sequence_number", DataType::Int64, true),
        Field::new("gtid", DataType::Utf8, true),
    ]))
}

/// Returns outcomes as a batch of [`outcome_schema`].
pub fn outcome_batch(outcomes: Vec<Outcome>) -> Result<RecordBatch, Error> {
    let mut committed = Vec::with_capacity(outcomes.len());
    let (mut last, mut number, mut gtids) = (Int64Builder::new(), Int64Builder::new(), StringBuilder::new());
    for outcome in outcomes {
        let (numbers, gtid) = match outcome {
            Outcome::Certified { numbers, gtid } => {
                committed.push(true);
                (numbers, gtid)
            }
            Outcome::Rejected(_) => {
                committed.push(false);
                (None, None)
            }
        };
        last.append_option(numbers.map(|n| n.last_committed));
        number.append_option(numbers.map(|n| n.sequence_number));
        gtids.append_option(gtid.map(|gtid| gtid.to_string()));
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(committed)),
        Arc::new(last.finish()),
        Arc::new(number.finish()),
        Arc::new(gtids.finish()),
    ];
    RecordBatch::try_new(outcome_schema(), columns).map_err(|error| Error::usage(error.to_string()))
}

/// Returns the certification info for a joining member: `version` (GTID set) and `items` (list<int64>), one row a
/// version.
pub fn export_batch(export: &Export) -> Result<RecordBatch, Error> {
    let (mut versions, mut lists) = (StringBuilder::new(), ListBuilder::new(Int64Builder::new()));
    for (version, items) in &export.versions {
        versions.append_value(version.to_string());
        lists.append_value(items.iter().map(|&item| Some(item as i64)));
    }
    let lists = lists.finish();
    let fields =
        vec![Field::new("version", DataType::Utf8, false), Field::new("items", lists.data_type().clone(), false)];
    let metadata = HashMap::from([(KNOWN.to_owned(), export.known.to_string())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    RecordBatch::try_new(schema, vec![Arc::new(versions.finish()), Arc::new(lists)]).map_err(Error::from)
}

/// Reads the output of [`export_batch`].
pub fn import_batch(batch: &RecordBatch) -> Result<Export, Error> {
    let bad = |what: &str| Error::usage(format!("this is no certification info: {what}"));
    let known = batch.schema().metadata().get(KNOWN).cloned().ok_or_else(|| bad("the known GTIDs are missing"))?;
    let versions: Vec<Option<GtidSet>> = parsed(batch, "version")?;
    let lists: &ListArray =
        batch.column_by_name("items").and_then(|column| column.as_list_opt()).ok_or_else(|| bad("no items"))?;
    let mut export =
        Export { known: known.parse().map_err(|_| bad("the known GTIDs are damaged"))?, ..Export::default() };
    for (row, version) in versions.into_iter().enumerate() {
        let mut items = Vec::new();
        append(&lists.value(row), &mut items)?;
        export.versions.push((version.ok_or_else(|| bad("a version is missing"))?, items));
    }
    Ok(export)
}
