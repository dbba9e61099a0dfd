//! Rows of hand-made events of the table `d.t(id INT NOT NULL, n INT NULL)`.

use paraply_core::value::Value;

use super::{SingleRow, single_rows};
use crate::rows::table_map::TableMap;
use crate::rows::{RowBuffer, RowsEvent, RowsHeader};
use crate::transaction::{Format, RowsKind};

fn format() -> Format {
    Format {
        event: Vec::new(),
        server_version: "9.7.4".into(),
        mariadb: false,
        version: (9, 7, 4),
        post_header_lengths: vec![8; 41],
        checksum: false,
        server_id: 1,
        created: 0,
    }
}

fn map() -> TableMap {
    let mut event = vec![0; 19];
    event.extend([1, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 1, b't', 0, 2, 3, 3, 0, 2]);
    TableMap::parse(&event, &format()).expect("a table map")
}

/// Returns a row event; version 2 has extra row information: two bytes of it.
fn event(code: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 19];
    bytes[4] = code;
    bytes.extend([1, 0, 0, 0, 0, 0, 2, 0]);
    if code >= 30 {
        bytes.extend([4, 0, 9, 9]);
    }
    bytes.extend(body);
    bytes
}

/// Returns the image of `(id, n)`; none is NULL.
fn image(id: u8, n: Option<u8>) -> Vec<u8> {
    let mut bytes = vec![if n.is_some() { 0 } else { 2 }, id, 0, 0, 0];
    bytes.extend(n.into_iter().flat_map(|n| [n, 0, 0, 0]));
    bytes
}

fn rows<'a>(bytes: &'a [u8], map: &'a TableMap) -> Vec<SingleRow<'a>> {
    single_rows(&RowsEvent::parse(bytes, map, &format()).expect("a row event"), &format()).expect("its rows")
}

/// Reads an event with one row again: its kind, its flags, and the values of its images.
fn read(bytes: &[u8]) -> (RowsKind, u16, Vec<Vec<i64>>) {
    let map = map();
    let header = RowsHeader::parse(bytes, &format()).expect("a header");
    assert_eq!(bytes[9..13], u32::try_from(bytes.len()).unwrap().to_le_bytes(), "the size is the event's");
    let event = RowsEvent::with_header(header, bytes, &map).expect("a row event");
    let mut buffer = RowBuffer::default();
    let mut walk = event.rows(&mut buffer, None);
    let row = walk.next_row().expect("a row").expect("whole");
    let number = |value: &Option<Value<'_>>| match value {
        Some(Value::Int(number)) => *number,
        _ => -1,
    };
    let images =
        [row.before, row.after].into_iter().flatten().map(|image| image.iter().map(number).collect()).collect();
    assert!(walk.next_row().is_none(), "it has one row");
    (header.kind, header.flags, images)
}

#[test]
fn r31_each_row_of_an_insert_is_an_event_and_an_update_of_the_same_row() {
    for (code, update) in [(30, 31), (23, 24)] {
        let bytes = event(code, &[&[2, 3][..], &image(7, Some(70)), &image(8, None)].concat());
        let map = map();
        let found = rows(&bytes, &map);
        assert_eq!(found.len(), 2);
        assert_eq!(read(&found[0].event), (RowsKind::Insert, 3, vec![vec![7, 70]]));
        assert_eq!(read(&found[1].event), (RowsKind::Insert, 3, vec![vec![8, -1]]));
        let other = found[1].overwriting.as_ref().expect("an update");
        assert_eq!(other[4], update);
        assert_eq!(read(other), (RowsKind::Update, 3, vec![vec![8, -1], vec![8, -1]]));
        assert!(found.iter().all(|row| row.missing.is_empty()));
    }
}

#[test]
fn r31_an_update_becomes_an_insert_of_the_row_after_it() {
    for (code, insert) in [(31, 30), (24, 23)] {
        let bytes = event(code, &[&[2, 1, 3][..], &[0, 7, 0, 0, 0], &image(7, Some(71))].concat());
        let map = map();
        let found = rows(&bytes, &map);
        assert_eq!(read(&found[0].event), (RowsKind::Update, 3, vec![vec![7, -1], vec![7, 71]]));
        let other = found[0].overwriting.as_ref().expect("an insert");
        assert_eq!(other[4], insert);
        assert_eq!(read(other), (RowsKind::Insert, 3, vec![vec![7, 71]]));
    }
}

#[test]
fn columns_that_a_minimal_image_leaves_out_are_named() {
    let bytes = event(31, &[&[2, 1, 2][..], &[0, 7, 0, 0, 0], &[0, 71, 0, 0, 0]].concat());
    assert_eq!(rows(&bytes, &map())[0].missing, [0]);
}

#[test]
fn a_deletion_has_no_other_form() {
    let bytes = event(32, &[&[2, 3][..], &image(7, Some(70))].concat());
    let map = map();
    let found = rows(&bytes, &map);
    assert_eq!(read(&found[0].event), (RowsKind::Delete, 3, vec![vec![7, 70]]));
    assert_eq!((found[0].overwriting.clone(), found[0].missing.len()), (None, 0));
}
