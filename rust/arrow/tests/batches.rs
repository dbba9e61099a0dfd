//! Rows and traces of a real server's log as record batches.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use paraply_arrow::batch::{file_name, gtid_text, kind_name};
use paraply_arrow::rows::{RowDecoder, schema};
use paraply_arrow::{Batch, Error, trace};
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::row_walk::count_rows;
use paraply_binlog::transaction::Kind;
use paraply_core::schema::Catalog;
use paraply_core::write_set::WriteSet;

const LOG: &str = "mysql-9.7-types.binlog";

fn batch() -> Batch {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../binlog/tests/data").join(LOG);
    let mut log = LogReader::open(&[path], ReaderOptions::default()).expect("the log opens");
    let mut transactions = Vec::new();
    while let Some(transaction) = log.next_transaction() {
        transactions.push(transaction.expect("a transaction"));
    }
    Batch {
        positions: (1..=transactions.len() as i64).collect(),
        wanted: vec![true; transactions.len()],
        files: Arc::new(vec![LOG.to_owned()]),
        transactions: Arc::new(transactions),
    }
}

fn rows(decoder: &mut RowDecoder, batch: Batch) -> Vec<RecordBatch> {
    decoder.begin(batch, Arc::new(Catalog::default()));
    let mut made = Vec::new();
    while let Some(rows) = decoder.next_batch().expect("sound rows") {
        made.push(rows);
    }
    made
}

fn decoder(columns: &[&str], tables: TableFilter, operations: Option<&[&str]>) -> RowDecoder {
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let operations = operations.map(|names| names.iter().map(ToString::to_string).collect());
    RowDecoder::new(&columns, tables, operations, None, false).expect("columns of the schema")
}

#[test]
fn every_row_of_the_log_is_given_once() {
    let batch = batch();
    let expected: u64 = batch.transactions.iter().map(|transaction| count_rows(transaction).expect("rows")).sum();
    assert!(expected > 10);
    let names: Vec<String> = schema(None).fields().iter().map(|field| field.name().clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let made = rows(&mut decoder(&names, TableFilter::default(), None), batch);
    assert_eq!(made.iter().map(RecordBatch::num_rows).sum::<usize>() as u64, expected);
    let first = &made[0];
    assert_eq!(first.schema(), schema(None));
    let (before, after) = (first.column_by_name("before").unwrap(), first.column_by_name("after").unwrap());
    let operations = first.column_by_name("operation").unwrap().as_string::<i32>();
    for row in 0..first.num_rows() {
        assert_eq!(before.is_null(row), operations.value(row) == "insert");
        assert_eq!(after.is_null(row), operations.value(row) == "delete");
    }
    let begins = first.column_by_name("transaction_offset").unwrap().as_primitive::<Int64Type>();
    let offsets = first.column_by_name("offset").unwrap().as_primitive::<Int64Type>();
    assert!(begins.iter().zip(offsets.iter()).all(|(begin, offset)| begin < offset));
    let absent = first.column_by_name("absent").unwrap().as_list::<i32>();
    let tables = first.column_by_name("table").unwrap().as_string::<i32>();
    let partial: Vec<(usize, &str)> = (0..first.num_rows())
        .map(|row| (absent.value(row).len(), tables.value(row)))
        .filter(|(names, _)| *names > 0)
        .collect();
    // The log's last rows, of table d, were written with binlog_row_image=MINIMAL.
    assert_eq!(partial, [(2, "d"), (2, "d"), (1, "d"), (1, "d"), (1, "d")]);
    assert_eq!(first.column_by_name("xid").unwrap().null_count(), first.num_rows());
    assert!(first.column_by_name("file").unwrap().as_string::<i32>().iter().all(|file| file == Some(LOG)));
}

#[test]
fn columns_operations_and_transactions_are_chosen() {
    let mut whole = batch();
    let inserts =
        rows(&mut decoder(&["operation", "position"], TableFilter::default(), Some(&["insert"])), whole.clone());
    assert!(!inserts.is_empty());
    for made in &inserts {
        assert_eq!(made.num_columns(), 2);
        assert!(made.column(0).as_string::<i32>().iter().all(|name| name == Some("insert")));
    }
    let excluded = TableFilter { exclude_databases: databases(&inserts_databases(&whole)), ..TableFilter::default() };
    assert!(rows(&mut decoder(&["position"], excluded, None), whole.clone()).is_empty());
    whole.wanted.fill(false);
    assert!(rows(&mut decoder(&["position"], TableFilter::default(), None), whole).is_empty());
    let unknown = RowDecoder::new(&["nothing".to_owned()], TableFilter::default(), None, None, false);
    assert!(matches!(unknown, Err(Error::Usage(_))));
}

/// The databases whose rows the log holds.
fn inserts_databases(batch: &Batch) -> Vec<String> {
    let made = rows(&mut decoder(&["database"], TableFilter::default(), None), batch.clone());
    made.iter().flat_map(|rows| rows.column(0).as_string::<i32>().iter().flatten()).map(str::to_owned).collect()
}

fn databases<T: FromIterator<String>>(names: &[String]) -> T {
    names.iter().cloned().collect()
}

#[test]
fn a_trace_has_a_row_for_each_wanted_transaction() {
    let mut batch = batch();
    let sets: Vec<WriteSet> = batch
        .transactions
        .iter()
        .map(|transaction| WriteSet { exclusive: vec![transaction.offset], shared: vec![7], ..WriteSet::default() })
        .collect();
    batch.wanted[0] = false;
    let made = trace::trace_batch(&batch, &sets, true).expect("a trace");
    assert_eq!(made.schema(), trace::schema());
    assert_eq!(made.num_rows(), batch.transactions.len() - 1);
    let positions = made.column_by_name("position").unwrap().as_primitive::<Int64Type>();
    assert_eq!(positions.value(0), 2);
    let (hashes, reads) = (made.column_by_name("write_set").unwrap(), made.column_by_name("reads").unwrap());
    let kinds = made.column_by_name("kind").unwrap().as_dictionary::<arrow_array::types::Int32Type>();
    let kinds = kinds.downcast_dict::<arrow_array::StringArray>().expect("text");
    let gtids = made.column_by_name("gtid").unwrap().as_string::<i32>();
    for (row, transaction) in batch.transactions.iter().skip(1).enumerate() {
        let set = hashes.as_list::<i32>().value(row);
        assert_eq!(set.as_primitive::<Int64Type>().values(), &[transaction.offset as i64]);
        assert_eq!(reads.as_list::<i32>().value(row).len(), 1);
        assert_eq!(gtids.value(row), gtid_text(transaction).unwrap_or_default());
        assert_eq!(arrow_array::ArrayAccessor::value(&kinds, row), kind_name(transaction.kind));
    }
    let without = trace::trace_batch(&batch, &sets, false).expect("a trace");
    assert_eq!(without.column_by_name("reads").unwrap().null_count(), without.num_rows());
    assert!(matches!(trace::trace_batch(&batch, &sets[1..], true), Err(Error::Usage(_))));
}

#[test]
fn a_damaged_row_event_is_an_error_with_its_place() {
    let mut batch = batch();
    let mut transactions = batch.transactions.to_vec();
    let damaged = transactions.iter_mut().find(|transaction| transaction.kind == Kind::Dml).expect("rows");
    let (offset, gtid) = (damaged.offset, gtid_text(damaged));
    let rows = damaged.events.iter_mut().find(|event| event.type_code != 19).expect("a row event");
    damaged.data.change(&mut rows.range, |event| event[25..].fill(0xff));
    batch.transactions = Arc::new(transactions);
    let mut decoder = decoder(&["position"], TableFilter::default(), None);
    decoder.begin(batch, Arc::new(Catalog::default()));
    let mut next = decoder.next_batch();
    while let Ok(Some(_)) = next {
        next = decoder.next_batch();
    }
    let Err(Error::Log { error, gtid: found }) = next else { panic!("the damage is found: {next:?}") };
    assert_eq!((error.file(), found), (LOG, gtid));
    assert!(error.position() >= offset);
    assert_eq!(file_name(&[], 3), "");
}
