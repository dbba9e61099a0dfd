//! The rows of real logs, compared with the servers' own tables.

mod common;

use std::collections::BTreeMap;

use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::rows::layout::Layout;
use paraply_binlog::rows::row_walk::count_rows;
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::rows::values::json::{json_text, updated_json_text};
use paraply_core::value::Value;

/// Tables by name; rows as text by primary key.
type Tables = BTreeMap<String, BTreeMap<String, String>>;

fn key_text(map: &TableMap, image: &[Option<Value<'_>>]) -> String {
    let parts = map.primary_key.iter();
    let parts =
        parts.map(|part| common::value_text(&map.columns[part.column], &image[part.column].expect("a key column")));
    parts.collect::<Vec<_>>().join(",")
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn replayed_rows_equal_the_sources_tables() {
    let truth = common::truth();
    let mut tables = Tables::new();
    common::each_row(&truth.join("mysql-binlog/eight-sessions.binlog"), |map, _, row| {
        let table = tables.entry(map.name.table.clone()).or_default();
        if let Some(before) = row.before {
            let removed = table.remove(&key_text(map, before));
            assert_eq!(removed, Some(common::row_text(map, before)), "the before image is what stands in the table");
        }
        if let Some(after) = row.after {
            let replaced = table.insert(key_text(map, after), common::row_text(map, after));
            assert_eq!(replaced, None, "no row stands there yet");
        }
    });
    let archive = std::fs::read(truth.join("mysql-binlog/eight-sessions.final.tar")).expect("the tables' archive");
    let files = common::untar(&archive);
    let mut compared = 0;
    for (table, rows) in &tables {
        let mut found: Vec<&str> = rows.values().map(String::as_str).collect();
        let mut expected: Vec<&str> = files[&format!("./{table}.jsonl")].lines().collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found.len(), expected.len(), "rows of {table}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "a row of {table}");
        }
        compared += found.len();
    }
    assert_eq!(tables.len(), 6);
    println!("{compared} rows equal");
}

/// The logs that must be read whole.
const LOGS: [&str; 11] = [
    "group-multi-primary/member1.relay",
    "group-multi-primary/member2.relay",
    "group-multi-primary/member3.relay",
    "group-single-primary/member3.relay",
    "mysql-binlog/compressed.binlog",
    "mysql-binlog/eight-sessions.binlog",
    "mysql-binlog/minimal-image.binlog",
    "mysql-binlog/partial-json.binlog",
    "mysql-binlog/single-session.binlog",
    "mariadb-binlog/compressed.binlog",
    "mariadb-binlog/plain.binlog",
];

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn all_rows_of_all_logs_are_decoded() {
    let truth = common::truth();
    for name in LOGS {
        let mut log = LogReader::open(&[truth.join(name)], ReaderOptions::default()).expect("the log opens");
        let (mut transactions, mut rows, mut values) = (0_u64, BTreeMap::<String, u64>::new(), 0_u64);
        while let Some(transaction) = log.next_transaction() {
            let transaction = transaction.expect("the transaction is read");
            transactions += 1;
            let mut counted = 0;
            common::each_row_of(&transaction, |map, header, row| {
                counted += 1;
                *rows.entry(format!("{:?}", header.kind)).or_default() += 1;
                for (image, is_before) in [(row.before, true), (row.after, false)] {
                    for (column, value) in map.columns.iter().zip(image.into_iter().flatten()) {
                        let Some(value) = value else { continue };
                        assert!(!(is_before && matches!(value, Value::JsonDiff(_))));
                        values += u64::from(!common::value_text(column, value).is_empty());
                    }
                }
            });
            assert_eq!(count_rows(&transaction), Ok(counted));
        }
        println!("{name}: {transactions} transactions, {values} values, {rows:?}");
        assert!(values > 10_000);
    }
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn partial_updates_give_the_next_before_image() {
    let truth = common::truth();
    let mut documents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut compared = 0;
    common::each_row(&truth.join("mysql-binlog/partial-json.binlog"), |map, _, row| {
        let Some(column) = map.columns.iter().position(|c| matches!(c.layout, Layout::Json { .. })) else { return };
        let text = |document| {
            let mut text = Vec::new();
            json_text(document, &mut text).expect("sound JSON");
            text
        };
        if let Some(before) = row.before {
            let known = documents.remove(&key_text(map, before));
            if let (Some(known), Some(Value::Json(before))) = (known, before[column]) {
                assert_eq!(text(before), known);
                compared += 1;
            }
        }
        let Some(after) = row.after else { return };
        let document = match (row.before.and_then(|before| before[column]), after[column]) {
            (_, Some(Value::Json(after))) => text(after),
            (Some(Value::Json(before)), Some(Value::JsonDiff(differences))) => {
                let mut text = Vec::new();
                updated_json_text(before, differences, &mut text).expect("the differences fit");
                text
            }
            _ => return,
        };
        documents.insert(key_text(map, after), document);
    });
    println!("{compared} documents compared");
}
