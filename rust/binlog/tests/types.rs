//! Every column type, as two servers logged it; the expected rows are the server's own result of `SELECT`.
//!
//! The logs in `data/` were made on purpose: one table with each type at its limits, minimal images, partial JSON.

mod common;

use std::path::{Path, PathBuf};

use paraply_binlog::read::file::events;
use paraply_binlog::rows::layout::Layout;
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::rows::values::decode::decompress;
use paraply_binlog::rows::values::json::{json_text, updated_json_text};
use paraply_binlog::rows::{RowBuffer, RowsEvent, rows_kind};
use paraply_binlog::transaction::{Format, RowsKind};
use paraply_core::value::Value;
use proptest::prelude::*;

const MYSQL: &str = "mysql-9.7-types.binlog";
const MARIADB: &str = "mariadb-10.11-types.binlog";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A log's format, and its row events, each with the table map before it.
type RowEvents = (Format, Vec<(Vec<u8>, Vec<u8>)>);

fn events_of(name: &str) -> RowEvents {
    let mut log = events(&data(name)).expect("the log opens");
    let (mut map, mut pairs) = (Vec::new(), Vec::new());
    for event in log.by_ref() {
        let event = event.expect("the event is read");
        match event.header.type_code {
            19 => map.clone_from(&event.bytes),
            code if rows_kind(code).is_some() => pairs.push((map.clone(), event.bytes)),
            _ => {}
        }
    }
    (log.format().expect("a format").as_ref().clone(), pairs)
}

#[test]
fn every_type_of_mysql_equals_the_servers_answer() {
    let mut rows = Vec::new();
    common::each_row(&data(MYSQL), |map, _, row| {
        if map.name.table == "y" {
            rows.push(common::row_text(map, row.after.expect("an insert")));
        }
    });
    let expected = std::fs::read_to_string(data("mysql-9.7-types.y.jsonl")).expect("the expected rows");
    let mut expected: Vec<&str> = expected.lines().collect();
    rows.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rows, expected);
}

#[test]
fn every_type_of_mariadb_and_its_metadata() {
    let (format, pairs) = events_of(MARIADB);
    let map = TableMap::parse(&pairs[0].0, &format).expect("a table map");
    let column = |name: &str| map.columns.iter().find(|c| c.name.as_deref() == Some(name)).expect("a column");
    assert_eq!(column("s").unsigned, Some(false), "YEAR takes a flag too");
    assert_eq!(column("z").unsigned, Some(true));
    assert_eq!(column("bl").collation_id, Some(63), "a geometry takes a collation too");
    assert_eq!(column("tx").collation_id, Some(8));
    assert_eq!(column("lc").collation_id, Some(9));
    assert!(matches!(column("vc").layout, Layout::Compressed { prefix: 2 }));

    let event = RowsEvent::parse(&pairs[0].1, &map, &format).expect("an event");
    let mut buffer = RowBuffer::default();
    let mut rows = event.rows(&mut buffer, None);
    let row = rows.next_row().expect("a row").expect("it is read");
    let after = row.after.expect("an insert");
    let text = |name: &str| {
        let index = map.columns.iter().position(|c| c.name.as_deref() == Some(name)).expect("a column");
        common::value_text(&map.columns[index], &after[index].expect("a value"))
    };
    assert_eq!(text("s"), "-128");
    assert_eq!(text("de"), "\"1234567890.0987654321\"");
    assert_eq!(text("t"), "\"-838:59:59.00000\"");
    assert_eq!(text("ts"), "\"2038-01-19 03:14:07.999999\"");
    assert_eq!(text("i4"), "\"0x7f000001\"");
    assert_eq!(text("lc"), "\"z\"");
    for (name, width) in [("vc", 65_535), ("bc", 65_535)] {
        let index = map.columns.iter().position(|c| c.name.as_deref() == Some(name)).expect("a column");
        let Some(Value::Compressed { stored, limit }) = after[index] else { panic!("{name} is not compressed") };
        let value = decompress(stored, limit).expect("it is sound");
        assert_eq!((limit, value.len()), (width, 300), "{name}");
        assert!(value.iter().all(|byte| *byte == value[0]), "{name}: {value:?}");
    }
    assert!(rows.next_row().is_none());
}

#[test]
fn partial_updates_give_the_servers_documents() {
    let mut documents: [Vec<u8>; 2] = Default::default();
    let mut updates = 0;
    common::each_row(&data(MYSQL), |map, header, row| {
        if map.name.table != "j" {
            return;
        }
        let after = row.after.expect("an insert or an update");
        for (place, column) in [(0, 1), (1, 3)] {
            let mut text = Vec::new();
            match (row.before.and_then(|before| before[column]), after[column]) {
                (Some(Value::Json(before)), Some(Value::JsonDiff(differences))) => {
                    updated_json_text(before, differences, &mut text).expect("the differences fit");
                    updates += 1;
                }
                (_, Some(Value::Json(after))) => json_text(after, &mut text).expect("sound JSON"),
                other => panic!("no document: {other:?}"),
            }
            if let Some(Some(Value::Json(before))) = row.before.map(|before| before[column]) {
                let mut expected = Vec::new();
                json_text(before, &mut expected).expect("sound JSON");
                assert_eq!(documents[place], expected, "the document after the update before");
            }
            documents[place] = text;
        }
        assert!(matches!(header.kind, RowsKind::Insert | RowsKind::PartialUpdate));
    });
    let [a, b] = documents.map(|text| String::from_utf8(text).expect("UTF-8"));
    let last = std::fs::read_to_string(data("mysql-9.7-types.j.jsonl")).expect("the expected row");
    assert_eq!(last.trim(), format!("[1, {a:?}, 5, {b:?}]"));
    assert_eq!(updates, 6);
}

#[test]
fn an_insert_of_default_values_under_minimal_images_is_one_row() {
    let (format, pairs) = events_of(MYSQL);
    let counts: Vec<u64> = pairs
        .iter()
        .map(|(map, event)| (TableMap::parse(map, &format).expect("a map"), event))
        .filter(|(map, _)| map.name.table == "d")
        .map(|(map, event)| RowsEvent::parse(event, &map, &format).expect("an event").count_rows().expect("rows"))
        .collect();
    assert_eq!(counts, [1, 1, 2, 1, 1]);
}

#[test]
fn fingerprints_pass_over_the_table_id() {
    let (format, pairs) = events_of(MYSQL);
    let map = TableMap::parse(&pairs[0].0, &format).expect("a map");
    let mut other = pairs[0].0.clone();
    other[19] ^= 1;
    let other = TableMap::parse(&other, &format).expect("a map");
    assert_ne!(map.table_id, other.table_id);
    assert_eq!(map.fingerprint(), other.fingerprint());
    let last = TableMap::parse(&pairs.last().expect("events").0, &format).expect("a map");
    assert_ne!(map.fingerprint(), last.fingerprint());
}

/// Reads everything that bytes may hold; only panics, hangs and unbounded memory are failures.
fn read_all(format: &Format, map: &[u8], event: &[u8]) {
    let Ok(map) = TableMap::parse(map, format) else { return };
    let Ok(event) = RowsEvent::parse(event, &map, format) else { return };
    let _ = event.count_rows();
    let mut buffer = RowBuffer::default();
    let mut rows = event.rows(&mut buffer, None);
    while let Some(Ok(row)) = rows.next_row() {
        for value in row.before.into_iter().chain(row.after).flatten().flatten() {
            let mut text = Vec::new();
            match value {
                Value::Json(document) => _ = json_text(document, &mut text),
                Value::JsonDiff(differences) => _ = updated_json_text(&[0, 0, 0, 4, 0], differences, &mut text),
                Value::Decimal { packed, precision, scale } => {
                    _ = paraply_binlog::rows::values::decode::decimal_text(packed, *precision, *scale, &mut text);
                }
                _ => {}
            }
            assert!(text.len() < 1_000_000, "a few kilobytes of log gave {} bytes", text.len());
        }
    }
}

proptest! {
    #[test]
    fn damaged_events_never_panic(which in 0_usize..16, flips in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in prop::option::of(any::<prop::sample::Index>())) {
        thread_local!(static LOG: RowEvents = events_of(MYSQL));
        LOG.with(|(format, pairs)| {
            let (mut map, mut event) = pairs[which % pairs.len()].clone();
            for (in_map, index, byte) in &flips {
                let bytes = if *in_map { &mut map } else { &mut event };
                let at = index.index(bytes.len());
                bytes[at] = *byte;
            }
            if let Some(cut) = cut {
                event.truncate(cut.index(event.len()));
            }
            read_all(format, &map, &event);
        });
    }

    #[test]
    fn damaged_json_never_panics(bytes in prop::collection::vec(prop_oneof![0_u8..16, any::<u8>()], 0..200)) {
        let mut text = Vec::new();
        let _ = json_text(&bytes, &mut text);
        let _ = updated_json_text(&bytes, &bytes, &mut text);
    }
}
