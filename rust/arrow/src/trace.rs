//! The columnar trace: transactions and their write sets as Arrow record batches.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use paraply_binlog::transaction::Transaction;
use paraply_core::write_set::WriteSet;
use paraply_plan::trace::{is_barrier, origin, tables};

use crate::batch::{Batch, KINDS, file_name, gtid_text, kind_name};
use crate::error::Error;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let list = |item: DataType| DataType::List(Arc::new(Field::new("item", item, true)));
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("position", DataType::Int64, false),
        Field::new("gtid", DataType::Utf8, false),
        Field::new("origin", DataType::Utf8, false),
        Field::new("session", DataType::Int64, true),
        Field::new("committed_at", time, true),
        Field::new("kind", kind, false),
        Field::new("tables", list(DataType::Utf8), false),
        Field::new("write_set", list(DataType::Int64), false),
        Field::new("reads", list(DataType::Int64), true),
        Field::new("snapshot", DataType::Utf8, true),
        Field::new("rows", DataType::Int32, false),
        Field::new("bytes", DataType::Int64, false),
        Field::new("last_committed", DataType::Int64, true),
        Field::new("sequence_number", DataType::Int64, true),
        Field::new("server_id", DataType::Int64, false),
        Field::new("file", DataType::Utf8, false),
        Field::new("offset", DataType::Int64, false),
        Field::new("barrier", DataType::Boolean, false),
    ]))
});

/// Return the schema of the trace.
pub fn schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

/// Return the wanted transactions of a batch and their write sets as rows of the trace.
///
/// # Arguments
///
/// * `sets`: the write set of each transaction of the batch.
/// * `reads`: false leaves the shared hashes out.
///
/// # Errors
///
/// [`Error::Usage`] if there are not as many write sets as transactions, and [`Error::Log`] for a damaged table map.
pub fn trace_batch(batch: &Batch, sets: &[WriteSet], reads: bool) -> Result<RecordBatch, Error> {
    if batch.transactions.len() != sets.len() {
        return Err(Error::usage("the write sets are not those of this batch"));
    }
    let items = (0..batch.transactions.len()).filter(|index| batch.wanted.get(*index) == Some(&true)).collect();
    let rows = Rows { items, batch, sets };
    let tables_of = |transaction: &Transaction| tables(transaction).map_err(|error| batch.error(&error, transaction));
    let names = rows.transactions().map(tables_of).collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(schema(), rows.columns(&names, reads))?)
}

/// Input of a batch of the trace.
struct Rows<'a> {
    items: Vec<usize>,
    batch: &'a Batch,
    sets: &'a [WriteSet],
}

impl Rows<'_> {
    /// Returns the columns in the order of the schema.
    fn columns(&self, tables: &[Vec<String>], reads: bool) -> Vec<ArrayRef> {
        let positions = self.items.iter().map(|item| self.batch.positions[*item]);
        vec![
            Arc::new(Int64Array::from_iter_values(positions)),
            self.text(|transaction| gtid_text(transaction).unwrap_or_default()),
            self.text(origin),
            self.optional(|transaction| transaction.session.map(i64::from)),
            Arc::new(
                self.transactions().map(|t| t.committed_at).collect::<TimestampMicrosecondArray>().with_timezone("UTC"),
            ),
            self.kinds(),
            names(tables),
            hashes(self.sets().map(|set| Some(set.exclusive.as_slice()))),
            hashes(self.sets().map(|set| reads.then_some(set.shared.as_slice()))),
            Arc::new(self.transactions().map(snapshot).collect::<StringArray>()),
            Arc::new(Int32Array::from_iter_values(self.transactions().map(row_count))),
            self.number(|transaction| transaction.bytes as i64),
            self.optional(|transaction| transaction.last_committed),
            self.optional(|transaction| transaction.sequence_number),
            self.number(|transaction| i64::from(transaction.server_id)),
            Arc::new(StringArray::from_iter_values(self.transactions().map(|t| file_name(&self.batch.files, t.file)))),
            self.number(|transaction| transaction.offset as i64),
            Arc::new(self.barriers()),
        ]
    }

    fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        self.items.iter().map(|item| &self.batch.transactions[*item])
    }

    fn sets(&self) -> impl Iterator<Item = &WriteSet> {
        self.items.iter().map(|item| &self.sets[*item])
    }

    fn text(&self, value: impl Fn(&Transaction) -> String) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(self.transactions().map(value)))
    }

    fn number(&self, value: impl Fn(&Transaction) -> i64) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(self.transactions().map(value)))
    }

    fn optional(&self, value: impl Fn(&Transaction) -> Option<i64>) -> ArrayRef {
        Arc::new(self.transactions().map(value).collect::<Int64Array>())
    }

    fn kinds(&self) -> ArrayRef {
        let place = |transaction: &Transaction| KINDS.iter().position(|kind| *kind == transaction.kind);
        let keys = self.transactions().map(|transaction| place(transaction).map(|index| index as i32));
        let names = StringArray::from_iter_values(KINDS.iter().map(|kind| kind_name(*kind)));
        Arc::new(DictionaryArray::<Int32Type>::new(keys.collect(), Arc::new(names)))
    }

    fn barriers(&self) -> BooleanArray {
        self.transactions().zip(self.sets()).map(|(transaction, set)| Some(is_barrier(transaction, set))).collect()
    }
}

fn names(tables: &[Vec<String>]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for names in tables {
        lists.append_value(names.iter().map(Some));
    }
    Arc::new(lists.finish())
}

fn hashes<'a>(sets: impl Iterator<Item = Option<&'a [u64]>>) -> ArrayRef {
    let mut lists = ListBuilder::new(Int64Builder::new());
    for set in sets {
        match set {
            Some(set) => {
                for hash in set {
                    lists.values().append_value(*hash as i64);
                }
                lists.append(true);
            }
            None => lists.append(false),
        }
    }
    Arc::new(lists.finish())
}

fn snapshot(transaction: &Transaction) -> Option<String> {
    transaction.snapshot.as_ref().map(ToString::to_string)
}

/// Returns the number of rows, limited to the greatest that the column can hold.
fn row_count(transaction: &Transaction) -> i32 {
    i32::try_from(transaction.rows).unwrap_or(i32::MAX)
}
