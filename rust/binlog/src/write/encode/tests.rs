//! Round trips: written events are read back unchanged.

use std::io::Cursor;

use paraply_core::schema::{Column, KeyPart, Table, TableName, UniqueKey};
use paraply_core::value::Value;

use super::{Collations, EncodeError, Head, RowChange, rows, rows_of, statement, transaction, view_change};
use crate::read::reader::{LogReader, ReaderOptions};
use crate::rows::row_walk::count_rows;
use crate::transaction::{Kind, Transaction};
use crate::write::relay::mysql_format;

fn column(name: &str, data_type: &str, length: Option<u32>) -> Column {
    Column {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        unsigned: data_type == "int",
        nullable: name != "id",
        collation: data_type.contains("char").then(|| "utf8mb4_bin".to_owned()),
        labels: Vec::new(),
        length,
        decimals: None,
        generated: None,
    }
}

fn table() -> Table {
    Table {
        name: TableName::new("shop", "item"),
        columns: vec![
            column("id", "bigint", None),
            column("small", "mediumint", None),
            column("count", "int", None),
            column("rate", "double", None),
            column("name", "varchar", Some(100)),
            column("note", "text", None),
        ],
        unique_keys: vec![UniqueKey { name: "PRIMARY".to_owned(), parts: vec![KeyPart::Column(0)] }],
        foreign_keys: Vec::new(),
    }
}

fn collations() -> Collations {
    Collations::from([("binary".to_owned(), 63), ("utf8mb4_bin".to_owned(), 46)])
}

fn head(number: u64) -> Head {
    Head {
        gtid: format!("00000000-0000-0000-0000-00000000000a:{number}").parse().expect("a GTID"),
        last_committed: number as i64,
        sequence_number: number as i64 + 1,
        server_id: 7,
        session: 42,
        committed_at: 1_700_000_000_000_005,
    }
}

fn read(transactions: &[Vec<Vec<u8>>]) -> Vec<Transaction> {
    let mut bytes = vec![0xfe, b'b', b'i', b'n'];
    bytes.extend(mysql_format("9.7.0", 7, 1_700_000_000).expect("a version"));
    for event in transactions.iter().flatten() {
        let mut event = event.clone();
        let size = event.len() as u32 + 4;
        event[9..13].copy_from_slice(&size.to_le_bytes());
        let end = bytes.len() as u32 + size;
        event[13..17].copy_from_slice(&end.to_le_bytes());
        event.extend(crc32fast::hash(&event).to_le_bytes());
        bytes.extend(event);
    }
    let source = vec![("log".to_owned(), Box::new(Cursor::new(bytes)) as _)];
    let mut reader = LogReader::from_sources(source, ReaderOptions::default());
    std::iter::from_fn(|| reader.next_transaction()).map(|next| next.expect("a whole transaction")).collect()
}

fn row(id: i64, name: &str) -> Vec<Value<'_>> {
    vec![Value::Int(id), Value::Int(-5), Value::UInt(9), Value::Double(0.5), Value::Bytes(name.as_bytes()), Value::Null]
}

#[test]
fn rows_are_read_as_they_were_written() {
    let table = table();
    let change = |before, after| RowChange { table: &table, before, after };
    let changes = [
        change(None, Some(row(1, "pen"))),
        change(Some(row(1, "pen")), Some(row(1, "ink"))),
        change(Some(row(2, "")), None),
    ];
    let inner = rows(&collations(), 7, 1_700_000_000_000_005, &changes).expect("written");
    let events = transaction(&head(3), &inner).expect("written");
    let read = read(&[events]);
    let [only] = &read[..] else { panic!("{} transactions", read.len()) };
    assert_eq!(only.kind, Kind::Dml);
    assert_eq!((only.last_committed, only.sequence_number), (Some(3), Some(4)));
    assert_eq!((only.server_id, only.session), (7, Some(42)));
    assert_eq!(only.committed_at, Some(1_700_000_000_000_005));
    assert_eq!(count_rows(only), Ok(3));
    assert_eq!(rows_of(only), inner);
}

#[test]
fn many_rows_take_several_events() {
    let table = table();
    let name = "x".repeat(90);
    let changes: Vec<_> =
        (0..500).map(|id| RowChange { table: &table, before: None, after: Some(row(id, &name)) }).collect();
    let events = transaction(&head(1), &rows(&collations(), 7, 0, &changes).expect("written")).expect("written");
    assert!(events.len() > 8);
    assert_eq!(count_rows(&read(&[events])[0]), Ok(500));
}

#[test]
fn statements_and_views_are_read_as_they_were_written() {
    let ddl = statement(&head(1), "shop", "create table t (id bigint primary key)").expect("written");
    let view = view_change(&head(2), "a:2", 2).expect("written");
    let read = read(&[ddl, view]);
    assert_eq!(read.iter().map(|t| t.kind).collect::<Vec<_>>(), [Kind::Ddl, Kind::ViewChange]);
    assert_eq!(read[0].statements[0].sql.as_slice(), b"create table t (id bigint primary key)");
    assert_eq!(read[0].statements[0].database, "shop");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut table = table();
    let mut values = row(1, "pen");
    values[1] = Value::Int(1 << 23);
    let refused = rows(&collations(), 7, 0, &[RowChange { table: &table, before: None, after: Some(values) }]);
    assert!(matches!(refused, Err(EncodeError::Column { reason: "is out of range", .. })));
    table.columns[0].data_type = "geometry".to_owned();
    let refused = rows(&collations(), 7, 0, &[RowChange { table: &table, before: None, after: Some(row(1, "")) }]);
    assert!(matches!(refused, Err(EncodeError::Column { .. })));
    assert_eq!(transaction(&head(1), b"no event"), Err(EncodeError::Rows));
}
