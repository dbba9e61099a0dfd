//! Candidates and outcomes of certification as columns, and the numbers of a trace.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use paraply_arrow::Error;
use paraply_arrow::certifier_batch::{CandidateColumns, export_batch, import_batch, outcome_batch, outcome_schema};
use paraply_arrow::resolver::{add_to_chunk, add_to_path, chunk_numbers};
use paraply_core::certifier::{Certifier, Options};
use paraply_core::trace::{ChunkResolver, CriticalPath, KeyResolver};

const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

fn lists(sets: &[&[i64]]) -> ArrayRef {
    let mut lists = ListBuilder::new(Int64Builder::new());
    for set in sets {
        lists.append_value(set.iter().map(|hash| Some(*hash)));
    }
    Arc::new(lists.finish())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn candidates() -> RecordBatch {
    let none = format!("{UUID}:1");
    batch(vec![
        ("write_set", lists(&[&[1], &[2], &[1]])),
        ("gtid", Arc::new(StringArray::from(vec![format!("{UUID}:1"), format!("{UUID}:2"), format!("{UUID}:3")]))),
        ("snapshot", Arc::new(StringArray::from(vec![Some(none.as_str()), None, Some("")]))),
    ])
}

#[test]
fn outcomes_stand_in_the_order_of_the_candidates() {
    let mut certifier = Certifier::new(Options::default());
    let columns = CandidateColumns::read(&candidates()).expect("candidates");
    let made = outcome_batch(columns.certify(&mut certifier)).expect("outcomes");
    assert_eq!(made.schema(), outcome_schema());
    let committed = made.column(0).as_boolean();
    assert!(committed.value(0) && committed.value(1));
    assert!(!committed.value(2), "its snapshot lacks the newest writer of its key");
    let numbers = made.column(2).as_primitive::<Int64Type>();
    assert!(numbers.value(1) > numbers.value(0) && numbers.is_null(2));
    assert_eq!(made.column(3).as_string::<i32>().value(1), format!("{UUID}:2"));
}

#[test]
fn batches_of_other_columns_are_refused() {
    let refused = |batch: &RecordBatch| match CandidateColumns::read(batch) {
        Err(Error::Usage(message)) => message,
        other => panic!("{:?}", other.map(|_| "read")),
    };
    assert!(refused(&batch(vec![("gtid", Arc::new(StringArray::from(vec!["x"])))])).contains("write_set"));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    assert!(refused(&batch(vec![("write_set", numbers)])).contains("no list"));
    let local: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    assert!(refused(&batch(vec![("write_set", lists(&[&[1]])), ("local", local)])).contains("no bool"));
    let gtid: ArrayRef = Arc::new(StringArray::from(vec!["no GTID"]));
    refused(&batch(vec![("write_set", lists(&[&[1]])), ("gtid", gtid)]));
    let local: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    assert!(CandidateColumns::read(&batch(vec![("write_set", lists(&[&[1]])), ("local", local)])).is_ok());
}

#[test]
fn an_export_is_read_as_it_was_written() {
    let mut certifier = Certifier::new(Options::default());
    CandidateColumns::read(&candidates()).expect("candidates").certify(&mut certifier);
    let export = certifier.export();
    assert!(!export.versions.is_empty());
    let found = import_batch(&export_batch(&export).expect("a batch")).expect("an export");
    assert_eq!((found.versions, found.known), (export.versions, export.known));
    assert!(matches!(import_batch(&candidates()), Err(Error::Usage(_))), "no certification info");
}

fn trace() -> RecordBatch {
    batch(vec![
        ("position", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
        ("role", Arc::new(Int8Array::from(vec![0, 0, 0, 1]))),
        ("write_set", lists(&[&[1], &[2], &[2], &[]])),
    ])
}

#[test]
fn the_numbers_of_a_chunk_follow_from_its_keys() {
    let mut chunk = ChunkResolver::new(1, false);
    add_to_chunk(&mut chunk, &trace()).expect("a trace");
    let report = chunk.finish();
    let answer = KeyResolver::new().add(report.header, &report.edges[0]).expect("an answer");
    let made = chunk_numbers(&report.rows, &[answer], &[]).expect("numbers");
    assert_eq!(made.column(0).as_primitive::<Int64Type>().values(), &[1, 2, 3, 4]);
    let (last, number) = (made.column(1).as_primitive::<Int64Type>(), made.column(2).as_primitive::<Int64Type>());
    assert_eq!(last.value(2), number.value(1), "it writes the second one's key");
    assert_eq!(last.value(3), number.value(3) - 1, "a barrier waits for all");
}

#[test]
fn the_longest_chain_counts_keys_and_barriers() {
    let mut path = CriticalPath::default();
    add_to_path(&mut path, &trace()).expect("a trace");
    assert_eq!((path.transactions(), path.barriers(), path.longest()), (4, 1, 3));
}

#[test]
fn columns_that_are_no_trace_are_refused() {
    let positions: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let with = |roles: ArrayRef, sets: ArrayRef| {
        let batch = batch(vec![("position", Arc::clone(&positions)), ("role", roles), ("write_set", sets)]);
        add_to_chunk(&mut ChunkResolver::new(1, false), &batch).expect_err("no trace").to_string()
    };
    let rows: ArrayRef = Arc::new(Int8Array::from(vec![0]));
    assert!(with(Arc::clone(&positions), lists(&[&[1]])).contains("`role`"));
    assert!(with(Arc::new(Int8Array::from(vec![9])), lists(&[&[1]])).contains("no role 9"));
    assert!(with(rows, Arc::clone(&positions)).contains("no list"));
    let schema = Schema::new(vec![Field::new("position", DataType::Int64, false)]);
    let lonely = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(&positions)]).expect("a batch");
    assert!(matches!(add_to_path(&mut CriticalPath::default(), &lonely), Err(Error::Usage(_))));
}
