//! The rows of real logs, compared with the servers' own tables.

mod common;

use std::collections::BTreeMap;

use paraply_binlog::table_map::TableMap;
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
fn replayed_rows_equal_the_sources_tables() {
    let Some(truth) = common::truth() else { return };
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
